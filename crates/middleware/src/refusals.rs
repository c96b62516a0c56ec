//! What was refused because of a limit, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// A limit that refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// A peer has as many connections as he may: another one was closed.
    ConnectionsPerPeer,
    /// A TLS handshake took too long, or was none: its connection was closed.
    Handshake,
    /// A connection was closed for what came over it: calls taken back before they were answered, or credentials
    /// that are not valid.
    Conduct,
    /// A principal makes more calls a second than he may: RATE_LIMITED.
    CallRate,
    /// A principal has as many calls in flight as he may: RATE_LIMITED.
    CallsPerPrincipal,
    /// A principal has as many streams as he may: STREAM_LIMIT.
    StreamsPerPrincipal,
    /// A principal was sent as much history as he may be: RATE_LIMITED.
    Resumed,
    /// The node has as many calls in flight as it takes: OVERLOADED.
    CallsInFlight,
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ConnectionsPerPeer,
        Self::Handshake,
        Self::Conduct,
        Self::CallRate,
        Self::CallsPerPrincipal,
        Self::StreamsPerPrincipal,
        Self::Resumed,
        Self::CallsInFlight,
    ];

    /// Its name in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectionsPerPeer => "connections_per_peer",
            Self::Handshake => "handshake",
            Self::Conduct => "conduct",
            Self::CallRate => "call_rate",
            Self::CallsPerPrincipal => "calls_per_principal",
            Self::StreamsPerPrincipal => "streams_per_principal",
            Self::Resumed => "resumed",
            Self::CallsInFlight => "calls_in_flight",
        }
    }
}

/// How often each limit has refused something since the start. What is refused is rare or cheap, so one count for
/// all cores is good enough.
///
/// ```
/// use middleware::{Limit, Refusals};
///
/// let refusals = Refusals::default();
/// refusals.count(Limit::CallRate);
/// assert_eq!(refusals.of(Limit::CallRate), 1);
/// ```
#[derive(Default, Debug)]
pub struct Refusals {
    counts: [AtomicU64; Limit::ALL.len()],
}

impl Refusals {
    /// Something was refused.
    pub fn count(&self, limit: Limit) {
        tracing::debug!(limit = limit.name(), "refused");
        if let Some(count) = self.counts.get(limit as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often a limit has refused.
    #[must_use]
    pub fn of(&self, limit: Limit) -> u64 {
        self.counts.get(limit as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}
