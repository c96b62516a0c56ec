//! The layer that writes down what back ends and operators did.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tonic::Code;
use tower::{Layer, Service};

use crate::policy::{Access, Rpc};
use crate::principal::Principal;
use crate::trace::status_code;

/// The target of every line of the audit log, by which a subscriber finds them.
pub const AUDIT_TARGET: &str = "audit";

/// What is left out. A move is in its match's transcript, with the moment at which it was sealed; before its turn
/// resolves not even that it was sealed is anybody else's business.
const MOVES: [&str; 2] = ["SealMove", "RevealMove"];

/// Writes down each call by which a back end or an operator changes something, once it is answered: an event of
/// the target [`AUDIT_TARGET`] with `principal` (its kind), `holder` (its name), `rpc`, `player` (whom it acted
/// for), `object` (the resource's name) and `code`. What is for these callers alone is told as INFO, what players
/// could do themselves as DEBUG: a back end that plays for its players does that all the time.
///
/// It must be inside the auth layer. Names are those that the service has found well-formed.
#[derive(Clone, Copy, Default, Debug)]
pub struct AuditLayer;

impl<S> Layer<S> for AuditLayer {
    type Service = AuditService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AuditService { inner }
    }
}

/// Where the service notes what a call is about; in the extensions of requests that are written down.
#[derive(Clone, Default, Debug)]
pub struct AuditNote(Arc<Mutex<Noted>>);

#[derive(Default, Debug)]
struct Noted {
    player: String,
    object: String,
}

impl AuditNote {
    /// The player that the call acts for, well-formed.
    pub fn player(&self, name: &str) {
        name.clone_into(&mut self.noted().player);
    }

    /// The resource that it is about, well-formed. The last one counts.
    pub fn object(&self, name: String) {
        self.noted().object = name;
    }

    /// Nothing that panics happens while it is held.
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is to be written down. Dropped before it is answered it counts as cancelled: it may have had its
/// effect.
struct Entry {
    principal: Principal,
    rpc: &'static Rpc,
    note: AuditNote,
    code: Option<Code>,
}

impl Entry {
    fn of<B>(request: &Request<B>) -> Option<Self> {
        // Most calls are players', and need not be looked up.
        let principal = request
            .extensions()
            .get::<Principal>()
            .filter(|principal| !matches!(principal, Principal::Player(_)))?;
        let rpc = Rpc::by_path(request.uri().path())?;
        let is_written = !rpc.reads() && !MOVES.contains(&rpc.method);
        is_written.then(|| Self { principal: principal.clone(), rpc, note: AuditNote::default(), code: None })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let holder: &str = match &self.principal {
            Principal::Backend(backend) => &backend.name,
            Principal::Operator(operator) => &operator.name,
            Principal::Player(_) => return,
        };
        let code = self.code.unwrap_or(Code::Cancelled);
        let (principal, rpc) = (self.principal.kind(), self.rpc.method);
        let Noted { player, object } = &*self.note.noted();
        if matches!(self.rpc.access, Access::Players(_)) {
            tracing::debug!(target: AUDIT_TARGET, principal, holder, rpc, player, object, ?code);
        } else {
            tracing::info!(target: AUDIT_TARGET, principal, holder, rpc, player, object, ?code);
        }
    }
}

/// The service of [`AuditLayer`].
#[derive(Clone, Debug)]
pub struct AuditService<S> {
    inner: S,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for AuditService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = AuditFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let entry = Entry::of(&request);
        if let Some(entry) = &entry {
            request.extensions_mut().insert(entry.note.clone());
        }
        AuditFuture { future: self.inner.call(request), entry }
    }
}

pin_project! {
    /// The future of [`AuditService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct AuditFuture<F> {
        #[pin]
        future: F,
        entry: Option<Entry>,
    }
}

impl<F, ResBody, E> Future for AuditFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.future.poll(cx));
        if let Some(mut entry) = this.entry.take() {
            // A call that changes something has one answer: a refusal is in the headers, or there is none.
            let code = |response: &Response<_>| status_code(response.headers()).unwrap_or(Code::Ok);
            entry.code = Some(answer.as_ref().map_or(Code::Unknown, code));
        }
        Poll::Ready(answer)
    }
}
