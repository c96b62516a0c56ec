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

use crate::api_keys::LiveApiKeys;
use crate::measured::CallerKind;
use crate::peer::Peer;
use crate::policy::{Access, Denied, Door, MINT_PLAYER_TOKEN, Rpc};
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
    pub api_keys: LiveApiKeys,
    /// Development mode: `MintPlayerToken` without a credential is taken for a back end's, so anyone can
    /// be anyone. Never in production.
    pub dev: bool,
    /// Whether players are kept from strangers whose token has no age mark; see
    /// [`PlayerPrincipal::is_sheltered`](crate::PlayerPrincipal::is_sheltered).
    pub shelters: bool,
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
            .field("shelters", &self.shelters)
            .finish_non_exhaustive()
    }
}

impl Auth {
    /// Who makes this call: None is anonymous. `connected` is the back end that the connection's certificate is of:
    /// it makes the calls that show no credential of their own. A player's token beside it counts, since a back end
    /// may pass on what its players ask; the key of anybody else leaves open who calls, and is refused.
    fn admit(
        &self,
        door: Door,
        path: &str,
        headers: &HeaderMap,
        connected: Option<&Arc<str>>,
    ) -> Result<Option<Principal>, ApiError> {
        let rpc = Rpc::by_path(path).filter(|rpc| rpc.is_at(door)).ok_or(Denied::UnknownRpc)?;
        if rpc.access == Access::Anyone {
            return Ok(None);
        }
        let now_ms = (self.clock)();
        let principal = match Credential::of(headers)? {
            Some(Credential::Token(token)) => {
                let player = self.player(token, now_ms)?;
                (self.admission)(&player, now_ms)?;
                Some(Principal::Player(player))
            }
            Some(Credential::ApiKey(key)) => {
                let holder = self.api_keys.holder(key, now_ms).ok_or_else(credential_invalid)?;
                let is_connected =
                    |name: &Arc<str>| matches!(&holder, Principal::Backend(backend) if backend.name == *name);
                if !connected.is_none_or(is_connected) {
                    return Err(credential_invalid());
                }
                Some(holder)
            }
            None if connected.is_some() => {
                connected.map(|name| Principal::Backend(BackendPrincipal { name: Arc::clone(name) }))
            }
            None if self.dev && rpc.method == MINT_PLAYER_TOKEN => {
                Some(Principal::Backend(BackendPrincipal { name: DEV_BACKEND.into() }))
            }
            None => None,
        };
        rpc.authorize(principal.as_ref())?;
        Ok(principal)
    }

    /// Whose token this is.
    fn player(&self, token: &str, now_ms: u64) -> Result<PlayerPrincipal, ApiError> {
        let mut player = self.verifier.verify(token, now_ms).map_err(|error| {
            tracing::debug!(%error, "token refused");
            ApiError::from(error)
        })?;
        player.is_sheltered = self.shelters && player.age.is_none();
        Ok(player)
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
    door: Door,
}

impl AuthLayer {
    /// A layer that judges by `auth`, at the door that everyone reaches.
    #[must_use]
    pub fn new(auth: Auth) -> Self {
        Self { auth: Arc::new(auth), door: Door::Public }
    }

    /// The same at another door.
    #[must_use]
    pub fn at(self, door: Door) -> Self {
        Self { door, ..self }
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = AuthService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AuthService { inner, auth: Arc::clone(&self.auth), door: self.door }
    }
}

/// The service of [`AuthLayer`].
#[derive(Clone, Debug)]
pub struct AuthService<S> {
    inner: S,
    auth: Arc<Auth>,
    door: Door,
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
        let connected = request.extensions().get::<Arc<Peer>>().and_then(|peer| peer.backend());
        match self.auth.admit(self.door, request.uri().path(), request.headers(), connected) {
            Ok(principal) => {
                let kind = principal.as_ref().map_or("anonymous", Principal::kind);
                tracing::Span::current().record("principal", kind);
                CallerKind::tell(request.extensions(), kind);
                if let Some(principal) = principal {
                    request.extensions_mut().insert(principal);
                }
                Either::Right(self.inner.call(request))
            }
            Err(error) => Either::Left(ready(Ok(Status::from(error).into_http()))),
        }
    }
}
