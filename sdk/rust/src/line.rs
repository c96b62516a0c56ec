//! The line that a stream hangs on: it falls silent, breaks, and is opened again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tonic::{Code, Streaming};

use crate::call::retry_delay;
use crate::{Error, retry};

/// The silence to expect before the server has said how often its heart beats.
const HEARTBEAT_DEFAULT: Duration = Duration::from_secs(10);

/// The longest interval that a server's word is taken for: beyond it a dead network would go unnoticed.
const HEARTBEAT_MAX: Duration = Duration::from_secs(10 * 60);

/// The longest wait before the first attempt to resume; it doubles with each further one. Chosen at
/// random up to that, so that the streams of a lost node do not come back at once.
const RESUME_BACKOFF_FIRST: Duration = Duration::from_millis(250);

/// The longest wait before any attempt to resume.
const RESUME_BACKOFF_MAX: Duration = Duration::from_secs(10);

/// The most attempts to resume in a row without anything new: about half a minute, longer than a node's
/// restart or a store's failover takes.
const RESUMES_MAX: u32 = 12;

/// The calls that carry one stream, one after the other.
pub(crate) struct Line<T> {
    call: Option<Call<T>>,
    is_connected: Arc<AtomicBool>,
    /// Whether a call that ended with its token can be made again with another one.
    renews: bool,
    silence: Silence,
    /// Attempts in a row without anything new.
    failures: u32,
    /// Whether anything has ever come.
    has_come_up: bool,
}

/// One open call.
struct Call<T> {
    messages: Streaming<T>,
    has_begun: bool,
}

impl<T> Line<T> {
    /// A line that no call has been made on. `is_connected` is what its holder is told; `renews` says
    /// whether its calls have another token once one has expired.
    pub(crate) fn new(is_connected: Arc<AtomicBool>, renews: bool) -> Self {
        let silence = Silence { heartbeat: HEARTBEAT_DEFAULT, is_told: false };
        Self { call: None, is_connected, renews, silence, failures: 0, has_come_up: false }
    }

    /// Whether a call is open.
    pub(crate) fn is_open(&self) -> bool {
        self.call.is_some()
    }

    /// A call was opened.
    pub(crate) fn opened(&mut self, messages: Streaming<T>) {
        self.call = Some(Call { messages, has_begun: false });
    }

    /// The next message of the open call, and whether it is the call's first.
    pub(crate) async fn message(&mut self) -> Result<(T, bool), Error> {
        let Some(call) = &mut self.call else { return Err(Error::StreamBroken("it is not open")) };
        match timeout(self.silence.limit(), call.messages.message()).await {
            Ok(Ok(Some(message))) => {
                self.is_connected.store(true, Ordering::Relaxed);
                self.has_come_up = true;
                Ok((message, !std::mem::replace(&mut call.has_begun, true)))
            }
            Ok(Ok(None)) => Err(Error::StreamBroken("the server ended it")),
            Ok(Err(status)) => Err(Error::from_status(status)),
            Err(_) => {
                self.silence.passed();
                Err(Error::StreamBroken("nothing came for twice the heartbeat's interval"))
            }
        }
    }

    /// Something new has come: from here the attempts are counted anew.
    pub(crate) fn progressed(&mut self) {
        self.failures = 0;
    }

    /// The server has said how often its heart beats.
    pub(crate) fn told(&mut self, interval: Option<&prost_types::Duration>) {
        self.silence.told(interval);
    }

    /// The call is as good as broken, though it has not said so: `why` if that is once too often.
    pub(crate) fn give_up_call(&mut self, why: &'static str) -> Result<(), Error> {
        self.call = None;
        self.failures += 1;
        if self.failures > RESUMES_MAX { Err(Error::StreamBroken(why)) } else { Ok(()) }
    }

    /// Waits before the next attempt, if there is one.
    pub(crate) async fn resume_after(&mut self, error: Error) -> Result<(), Error> {
        // Where no call was open, a new token was tried already.
        let is_over_with_token = self.call.take().is_some() && self.renews && error.is_token_expired();
        self.is_connected.store(false, Ordering::Relaxed);
        self.failures += 1;
        // A stream that never came up is a call that failed; one that did is worth waiting for.
        let failures_max = if self.has_come_up { RESUMES_MAX } else { retry::TRIES_MAX - 1 };
        let is_worth_it = error.is_unavailable()
            || error.is_turned_away()
            || is_over_with_token
            || (self.has_come_up && is_exhausted(&error));
        if !is_worth_it || self.failures > failures_max {
            return Err(error);
        }
        let jitter = retry::backoff(RESUME_BACKOFF_FIRST, RESUME_BACKOFF_MAX, self.failures);
        sleep(retry_delay(&error).unwrap_or_default() + jitter).await;
        Ok(())
    }
}

fn is_exhausted(error: &Error) -> bool {
    matches!(error, Error::Api(error) if error.code() == Code::ResourceExhausted)
}

/// How long no message may come.
#[derive(Clone, Copy)]
struct Silence {
    heartbeat: Duration,
    /// Whether the interval is the server's word.
    is_told: bool,
}

impl Silence {
    /// After twice the interval the stream is dead.
    fn limit(self) -> Duration {
        2 * self.heartbeat
    }

    /// The server has said how often its heart beats.
    fn told(&mut self, interval: Option<&prost_types::Duration>) {
        let interval = interval.and_then(|interval| Duration::try_from(*interval).ok());
        if let Some(interval) = interval.filter(|interval| !interval.is_zero()) {
            *self = Self { heartbeat: interval.min(HEARTBEAT_MAX), is_told: true };
        }
    }

    /// The limit has passed. If it was a guess, the server may just be set to a longer interval.
    fn passed(&mut self) {
        if !self.is_told {
            self.heartbeat = (2 * self.heartbeat).min(HEARTBEAT_MAX);
        }
    }
}
