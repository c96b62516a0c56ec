//! Hints that a match has changed.

use thiserror::Error;
use tokio::sync::watch;

use crate::Version;

/// The span that a change was made in, where that is recorded: it goes along with the hint, so that what other
/// nodes do because of it is part of the same trace. It names random numbers and nothing of the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceContext {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The span.
    pub span_id: [u8; 8],
}

impl TraceContext {
    /// Its length where it is written, bytes.
    pub const BYTES: usize = 24;

    /// As it is written: trace, then span.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (trace, span) = bytes.split_at_mut(self.trace_id.len());
        trace.copy_from_slice(&self.trace_id);
        span.copy_from_slice(&self.span_id);
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; none if it is of another length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace_id, rest) = bytes.split_first_chunk()?;
        let span_id = rest.try_into().ok()?;
        Some(Self { trace_id: *trace_id, span_id })
    }
}

/// What a hint says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The version that the match has come to.
    pub version: Version,
    /// Where the change was made, if that is traced.
    pub trace: Option<TraceContext>,
    /// No hint of the change came: the store has looked by itself and found it.
    pub is_repair: bool,
}

/// A hint of a change that nobody traces.
impl From<Version> for Hint {
    fn from(version: Version) -> Self {
        Self { version, trace: None, is_repair: false }
    }
}

/// Says that a match may have changed. Only a hint: it may come twice or late, and hints close to each
/// other may come as one, but after the last change there is always one more.
#[derive(Debug)]
pub struct Hints {
    hints: watch::Receiver<Hint>,
}

/// The match is no longer stored, so no more hints will come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("no more hints will come")]
pub struct HintsLost;

impl Hints {
    /// Hints from a channel whose current value counts as seen.
    #[must_use]
    pub fn new(hints: watch::Receiver<Hint>) -> Self {
        Self { hints }
    }

    /// The version that was hinted at last; before the first hint, one that was there at some time since
    /// these hints were asked for, or older.
    #[must_use]
    pub fn latest(&self) -> Version {
        self.hints.borrow().version
    }

    /// Waits for a change after the last one seen. Nothing is lost if the wait is given up.
    ///
    /// # Errors
    /// If the match is no longer stored.
    pub async fn changed(&mut self) -> Result<Hint, HintsLost> {
        self.hints.changed().await.map_err(|_| HintsLost)?;
        Ok(*self.hints.borrow_and_update())
    }
}
