//! The limits that no option moves, told for the documentation.

use std::time::Duration;

use crate::front::REQUEST_BYTES_MAX;
use crate::node::NodeConfig;
use crate::transport::{
    GOING_MAX, HANDSHAKE_TIMEOUT, HANDSHAKES_MAX, HEADER_BYTES_MAX, IDLE_MAX, KEEPALIVE_INTERVAL,
    KEEPALIVE_TIMEOUT, MISTAKES_MAX, NOT_VALID_BURST, NOT_VALID_PER_S, RESETS_PENDING_MAX,
    STREAM_BUFFER_BYTES, STREAM_WINDOW_BYTES, STREAMS_PER_CONNECTION_MAX, TAKEN_BACK_BURST, TAKEN_BACK_PER_S,
};

/// A limit that no option moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedLimit {
    /// What is bounded.
    pub what: &'static str,
    /// By how much.
    pub value: u64,
    /// What that is counted in.
    pub unit: &'static str,
    /// What happens beyond it.
    pub beyond: &'static str,
}

/// All of them.
#[must_use]
pub fn fixed_limits() -> Vec<FixedLimit> {
    let limit = |what, value, unit, beyond| FixedLimit { what, value, unit, beyond };
    let seconds = |time: Duration| time.as_secs();
    let player = NodeConfig::default().allowances.player;
    vec![
        limit(
            "A request's message; none may be compressed, so before decompression and after it",
            REQUEST_BYTES_MAX as u64,
            "bytes",
            "FIELD_INVALID; UNIMPLEMENTED where it is compressed",
        ),
        limit("A request's headers", HEADER_BYTES_MAX.into(), "bytes", "the connection ends"),
        limit(
            "Calls and streams open on one connection",
            STREAMS_PER_CONNECTION_MAX.into(),
            "calls",
            "the client queues them",
        ),
        limit("Unary calls in flight of one player", player.calls_max.into(), "calls", "RATE_LIMITED"),
        limit(
            "What a peer may send of a stream before it is read",
            STREAM_WINDOW_BYTES.into(),
            "bytes",
            "the peer waits",
        ),
        limit(
            "What waits on a stream for a peer that does not read",
            STREAM_BUFFER_BYTES as u64,
            "bytes",
            "no more is made for it",
        ),
        limit("A TLS handshake", seconds(HANDSHAKE_TIMEOUT), "seconds", "the connection is closed"),
        limit(
            "TLS handshakes at once",
            HANDSHAKES_MAX as u64,
            "handshakes",
            "others wait, within their time",
        ),
        limit(
            "The first bytes of a connection",
            seconds(NodeConfig::default().first_bytes_timeout),
            "seconds",
            "the connection is closed",
        ),
        limit("A connection without a call or a stream", seconds(IDLE_MAX), "seconds", "it is told to go"),
        limit(
            "What is open on a connection that was told to go",
            seconds(GOING_MAX),
            "seconds",
            "it is cut off",
        ),
        limit(
            "Silence on a connection until the server pings",
            seconds(KEEPALIVE_INTERVAL),
            "seconds",
            "a ping",
        ),
        limit("The answer to that", seconds(KEEPALIVE_TIMEOUT), "seconds", "the connection is closed"),
        limit(
            "Calls of a connection that are taken back before their answer",
            TAKEN_BACK_PER_S.into(),
            "a second",
            "the connection is closed",
        ),
        limit(
            "The same at once, after a pause",
            TAKEN_BACK_BURST.into(),
            "calls",
            "the connection is closed",
        ),
        limit(
            "Calls of a connection whose credential is not valid",
            NOT_VALID_PER_S.into(),
            "a second",
            "the connection is closed",
        ),
        limit("The same at once, after a pause", NOT_VALID_BURST.into(), "calls", "the connection is closed"),
        limit(
            "Calls that are taken back before the server has looked at them",
            RESETS_PENDING_MAX as u64,
            "calls",
            "GOAWAY, ENHANCE_YOUR_CALM",
        ),
        limit(
            "Streams that a peer's mistakes have ended on a connection",
            MISTAKES_MAX as u64,
            "streams",
            "GOAWAY, ENHANCE_YOUR_CALM",
        ),
    ]
}
