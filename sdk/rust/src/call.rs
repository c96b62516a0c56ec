//! How a call is made: with a credential, by a deadline, and again where that is safe.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::Error;
use crate::credential::Credential;
use crate::retry::{self, Pushback, Throttle};
use crate::server_keys::KnownKeys;
use crate::tokens::{Shown, Tokens};

/// Makes calls under one credential. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub(crate) struct Caller {
    channel: Channel,
    credential: Credential,
    deadline: Duration,
    throttle: Arc<Throttle>,
    known_keys: Arc<KnownKeys>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("credential", &self.credential).finish_non_exhaustive()
    }
}

impl Caller {
    pub(crate) fn new(channel: Channel, deadline: Duration) -> Self {
        let (throttle, known_keys) = (Arc::new(Throttle::new()), Arc::default());
        Self { channel, credential: Credential::Anonymous, deadline, throttle, known_keys }
    }

    pub(crate) fn with(&self, credential: Credential) -> Self {
        Self { credential, ..self.clone() }
    }

    /// How long a call may take, its retries included.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The server's keys, as far as they were asked for over this connection.
    pub(crate) fn known_keys(&self) -> &KnownKeys {
        &self.known_keys
    }

    /// Makes a call, and repeats the same request where the server was unavailable: whatever changes
    /// something carries a request id, so it has one effect.
    pub(crate) async fn unary<Q, A, Call, Answer>(&self, request: Q, call: Call) -> Result<A, Error>
    where
        Q: Clone,
        Call: Fn(Channel, Request<Q>) -> Answer,
        Answer: Future<Output = Result<Response<A>, Status>>,
    {
        let deadline = Instant::now() + self.deadline;
        let mut is_renewed = false;
        self.freshen().await;
        for tries in 1.. {
            let left = deadline.saturating_duration_since(Instant::now());
            let (mut request, shown) = self.request(request.clone());
            request.set_timeout(left);
            let status = match timeout_at(deadline, call(self.channel.clone(), request)).await {
                Ok(Ok(response)) => {
                    self.throttle.succeeded();
                    return Ok(response.into_inner());
                }
                Ok(Err(status)) => status,
                Err(_) => break,
            };
            let pushback = Pushback::of(&status);
            let error = Error::from_status(status);
            if !is_renewed && let Some((tokens, shown)) = self.expired(&error, shown) {
                // A new token that is refused, too, will not get better by another one.
                is_renewed = true;
                match timeout_at(deadline, tokens.renew(shown)).await {
                    Ok(renewed) => renewed?,
                    Err(_) => break,
                }
                continue;
            }
            if !error.is_unavailable() && !error.is_turned_away() {
                self.throttle.succeeded();
                return Err(error);
            }
            if !self.throttle.failed() {
                return Err(error);
            }
            match retry::delay(pushback, retry_delay(&error), tries) {
                Some(delay) if Instant::now() + delay < deadline => sleep(delay).await,
                _ => return Err(error),
            }
        }
        Err(Error::deadline())
    }

    /// Opens a stream, once: resuming it is its reader's business. The deadline bounds the opening, not
    /// the stream. A token that has expired is replaced first.
    pub(crate) async fn open<Q, A, Call, Answer>(&self, request: Q, call: Call) -> Result<A, Error>
    where
        Q: Clone,
        Call: Fn(Channel, Request<Q>) -> Answer,
        Answer: Future<Output = Result<Response<A>, Status>>,
    {
        let opened = async {
            self.freshen().await;
            let (first, shown) = self.request(request.clone());
            let error = match call(self.channel.clone(), first).await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => Error::from_status(status),
            };
            let Some((tokens, shown)) = self.expired(&error, shown) else { return Err(error) };
            tokens.renew(shown).await?;
            let (second, _) = self.request(request);
            let opened = call(self.channel.clone(), second).await;
            opened.map(Response::into_inner).map_err(Error::from_status)
        };
        match timeout(self.deadline, opened).await {
            Ok(opened) => opened,
            Err(_) => Err(Error::StreamBroken("the server does not answer")),
        }
    }

    /// Whether there is another token once this one has expired.
    pub(crate) fn renews(&self) -> bool {
        self.credential.tokens().is_some()
    }

    async fn freshen(&self) {
        if let Some(tokens) = self.credential.tokens() {
            tokens.freshen().await;
        }
    }

    /// The tokens to replace the shown one from, if that is what an error asks for.
    fn expired(&self, error: &Error, shown: Option<Shown>) -> Option<(&Tokens, Shown)> {
        self.credential.tokens().zip(shown).filter(|_| error.is_token_expired())
    }

    fn request<Q>(&self, message: Q) -> (Request<Q>, Option<Shown>) {
        let mut request = Request::new(message);
        let shown = self.credential.write(request.metadata_mut());
        (request, shown)
    }
}

/// The delay that the server asks for in an error's details.
pub(crate) fn retry_delay(error: &Error) -> Option<Duration> {
    match error {
        Error::Api(error) => error.retry_delay(),
        _ => None,
    }
}
