//! What the Shell: tower layers around the service.
//!
//! What is decided of a call before the service sees it, and what is noticed of it after: who calls and
//! whether he may, how long it may take, what is logged. The layers, from the outside in:
//!
//! 1. [`BrowserLayer`]: within it a browser's call looks like any other, and what the layers below answer
//!    reaches it. Calls that are not a browser's pass it by.
//! 2. [`TraceLayer`]: the span that everything else happens in, and what is measured of a call.
//! 3. `CatchPanicLayer` (the service's): a panic of a call is an answer, and traced.
//! 4. [`DeadlineLayer`]: the time a call may take.
//! 5. [`AuthLayer`]: the [`Principal`] in the request's extensions, or a refusal.
//! 6. [`LimitLayer`]: a refusal where the node, or the principal's part of it, is used up.
//! 7. [`AuditLayer`]: what back ends and operators did is written down.
//! 8. [`ReasonLayer`]: a reason for what the transport refuses by itself.
//!
//! The service adds two of its own: after 2, one that counts for operators; after 4, one that sends calls elsewhere
//! while the node drains.
//!
//! [`Rpc`] is the one table of who may call what; [`TokenIssuer`] and [`TokenVerifier`] make and judge
//! the tokens of players, whose issuer may also be a [`TrustedIssuer`]; [`ApiKeys`] the keys of back ends and
//! operators.
//!
//! # Invariants
//! - A path without a row in the table reaches no service; every RPC of the API has a row.
//! - Every refusal is an error of the table in `wire`, with its reason.
//! - No credential, no body and no text that a caller chose is in a log, a span or a `Debug`. The audit log names
//!   the player and the resource that a back end or an operator acted on, and nothing else.
//! - Whatever is refused about a credential, the answer does not depend on which keys exist.
//! - Nothing here asks the machine for the time of day; [`WallClock`] is passed in. Time-outs run by the
//!   runtime's clock.
//! - This crate knows no match: what a principal may see within a call is the service's to judge.
//!
//! # Example
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//!
//! use http::{Request, Response};
//! use middleware::{ApiKeys, Auth, AuthLayer, DeadlineLayer, NewToken, Principal, TokenIssuer, TraceLayer};
//! use tonic::body::Body;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let issuer = TokenIssuer::new(&[7; 32], "wts", "wts");
//! let auth = Auth {
//!     verifier: Arc::new(issuer.verifier()),
//!     api_keys: ApiKeys::new().into(),
//!     dev: false,
//!     shelters: false,
//!     clock: Arc::new(|| 1_700_000_000_000),
//!     admission: Arc::new(|_player, _now_ms| Ok(())),
//! };
//! let service = ServiceBuilder::new()
//!     .layer(TraceLayer::default())
//!     .layer(DeadlineLayer::default())
//!     .layer(AuthLayer::new(auth))
//!     .service(service_fn(async |request: Request<Body>| {
//!         assert!(matches!(request.extensions().get(), Some(Principal::Player(_))));
//!         Ok::<_, Infallible>(Response::new(Body::empty()))
//!     }));
//!
//! let (token, _expires_ms) = issuer.mint(&NewToken::for_player("players/p1"), 1_700_000_000_000)?;
//! let request = Request::post("/whattheshell.v1.MatchService/GetMatch")
//!     .header("authorization", format!("Bearer {token}"))
//!     .body(Body::empty())?;
//! let response = service.oneshot(request).await?;
//! assert!(response.headers().get("grpc-status").is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allowance;
mod api_keys;
mod audit;
mod auth;
mod browser;
mod bucket;
mod claims;
mod deadline;
mod limit;
mod measured;
mod peer;
mod policy;
mod principal;
mod reason;
mod refusals;
mod revocable;
mod token_issuer;
mod token_verifier;
mod trace;
mod traceparent;
mod trusted_issuer;

pub use allowance::{Allowance, Allowances, CALLS_BURST_S, Usage, Usages};
pub use api_keys::{API_KEY_BYTES_MAX, ApiKeys, LiveApiKeys};
pub use audit::{AUDIT_TARGET, AuditFuture, AuditLayer, AuditNote, AuditService};
pub use auth::{API_KEY_HEADER, Admission, Auth, AuthLayer, AuthService, WallClock};
pub use browser::{BrowserLayer, BrowserService};
pub use bucket::Bucket;
pub use deadline::{
    Deadline, DeadlineBody, DeadlineFuture, DeadlineLayer, DeadlineService, UNARY_TIMEOUT_MAX_MS,
};
pub use limit::{LimitBody, LimitFuture, LimitLayer, LimitService};
pub use measured::CallInstruments;
pub use peer::{Peer, PeerAddress};
pub use policy::{Access, Denied, Door, Rpc};
pub use principal::{AgeMark, BackendPrincipal, OperatorPrincipal, PlayerPrincipal, Principal, Scope};
pub use reason::{ReasonLayer, ReasonService};
pub use refusals::{Limit, Refusals};
pub use token_issuer::{
    MintError, NewToken, TOKEN_TTL_DEFAULT_MS, TOKEN_TTL_MAX_MS, TOKEN_TTL_MIN_MS, TokenIssuer,
};
pub use token_verifier::{TOKEN_BYTES_MAX, TOKEN_LEEWAY_MS, TokenError, TokenVerifier};
pub use trace::{TraceBody, TraceFuture, TraceLayer, TraceService, status_code};
pub use trusted_issuer::{ISSUER_KEYS_MAX, KeySetError, TokenAlgorithm, TrustedIssuer, TrustedIssuerConfig};
