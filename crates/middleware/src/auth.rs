//! The layer that finds out who calls and whether he may.

use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::Either;
use http::header::{AUTHORIZATION, Entry};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tonic::Status;
use tower::{Layer, Service};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::api_keys::ApiKeys;
use crate::policy::{Access, Denied, MINT_PLAYER_TOKEN, Rpc};
use crate::principal::{BackendPrincipal, PlayerPrincipal, Principal};
use crate::token_verifier::TokenVerifier;

/// Tells the time of day, ms since 1970. Passed in: tests set it, and nothing here asks the machine.
pub type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Says why the holder of a valid token may not call now, if he may not: he is banned, or the token was called back.
/// The time is in ms since 1970. It is asked on every call, so it answers from memory.
pub type Admission = Arc<dyn Fn(&PlayerPrincipal, u64) -> Result<(), ApiError> + Send + Sync>;

/// Carries the key of a back end or an operator.
pub const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// The name of the back end that a caller without a credential is in development mode.
const DEV_BACKEND: &str = "dev";

/// What the auth layer judges by.
#[derive(Clone)]
pub struct Auth {
    /// Judges the tokens of players.
    pub verifier: Arc<TokenVerifier>,
    /// Knows the keys of back ends and operators.
    pub api_keys: ApiKeys,
    /// Development mode: `MintPlayerToken` without a credential is taken for a back end's, so anyone can
    /// be anyone. Never in production.
    pub dev: bool,
    /// Judges whether tokens have expired.
    pub clock: WallClock,
    /// Judges whether their holders may call.
    pub admission: Admission,
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth")
            .field("verifier", &self.verifier)
            .field("api_keys", &self.api_keys)
            .field("dev", &self.dev)
            .finish_non_exhaustive()
    }
}

impl Auth {
    /// Who makes this call: None is anonymous.
    fn admit(&self, path: &str, headers: &HeaderMap) -> Result<Option<Principal>, ApiError> {
        let rpc = Rpc::by_path(path).ok_or(Denied::UnknownRpc)?;
        if rpc.access == Access::Anyone {
            return Ok(None);
        }
        let principal = match Credential::of(headers)? {
            Some(Credential::Token(token)) => {
                let now_ms = (self.clock)();
                let player = self.verifier.verify(token, now_ms).map_err(|error| {
                    tracing::debug!(%error, "token refused");
                    ApiError::from(error)
                })?;
                (self.admission)(&player, now_ms)?;
                Some(Principal::Player(player))
            }
            Some(Credential::ApiKey(key)) => {
                Some(self.api_keys.holder(key).cloned().ok_or_else(credential_invalid)?)
            }
            None if self.dev && rpc.method == MINT_PLAYER_TOKEN => {
                Some(Principal::Backend(BackendPrincipal { name: DEV_BACKEND.into() }))
            }
            None => None,
        };
        rpc.authorize(principal.as_ref())?;
        Ok(principal)
    }
}

/// What a caller shows.
enum Credential<'a> {
    Token(&'a str),
    ApiKey(&'a [u8]),
}

impl<'a> Credential<'a> {
    /// The one credential of a call. Two leave open which one counts, so they are refused.
    fn of(headers: &'a HeaderMap) -> Result<Option<Self>, ApiError> {
        match (sole(headers, &AUTHORIZATION)?, sole(headers, &API_KEY_HEADER)?) {
            (None, None) => Ok(None),
            (Some(value), None) => bearer(value).map(|token| Some(Self::Token(token))),
            (None, Some(key)) => Ok(Some(Self::ApiKey(key.as_bytes()))),
            (Some(_), Some(_)) => Err(credential_invalid()),
        }
    }
}

/// The value of a header that may come once.
fn sole<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, ApiError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(credential_invalid()),
    }
}

fn bearer(value: &HeaderValue) -> Result<&str, ApiError> {
    let (scheme, token) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(credential_invalid)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim_start()) } else { Err(credential_invalid()) }
}

/// The same for every credential that is not valid: an answer that differed would tell which keys exist.
fn credential_invalid() -> ApiError {
    ApiError::new(ErrorReason::TokenInvalid)
}

/// Keeps the values of a header out of every `Debug` from here on.
fn hide(headers: &mut HeaderMap, name: &HeaderName) {
    if let Entry::Occupied(mut entry) = headers.entry(name) {
        entry.iter_mut().for_each(|value| value.set_sensitive(true));
    }
}

/// Lets a call pass with its [`Principal`] in the request's extensions, or answers it at once with an
/// error of the API (headers only, which gRPC-Web clients read too).
///
/// A path that is not in the policy table never reaches the service. Credentials are marked sensitive
/// and never logged.
#[derive(Clone, Debug)]
pub struct AuthLayer {
    auth: Arc<Auth>,
}

impl AuthLayer {
    /// A layer that judges by `auth`.
    #[must_use]
    pub fn new(auth: Auth) -> Self {
        Self { auth: Arc::new(auth) }
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = AuthService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AuthService { inner, auth: Arc::clone(&self.auth) }
    }
}

/// The service of [`AuthLayer`].
#[derive(Clone, Debug)]
pub struct AuthService<S> {
    inner: S,
    auth: Arc<Auth>,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for AuthService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<Ready<Result<S::Response, S::Error>>, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        hide(request.headers_mut(), &AUTHORIZATION);
        hide(request.headers_mut(), &API_KEY_HEADER);
        match self.auth.admit(request.uri().path(), request.headers()) {
            Ok(principal) => {
                let kind = principal.as_ref().map_or("anonymous", Principal::kind);
                tracing::Span::current().record("principal", kind);
                if let Some(principal) = principal {
                    request.extensions_mut().insert(principal);
                }
                Either::Right(self.inner.call(request))
            }
            Err(error) => Either::Left(ready(Ok(Status::from(error).into_http()))),
        }
    }
}
