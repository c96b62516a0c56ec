//! What is stored of a match: an envelope that the scripts read, and in it the record of the head.
//!
//! `scripts/shared/envelope.lua` says what lies where. The bytes may come from anywhere: what is no
//! envelope is an error.

use std::sync::Arc;

use referee::{FollowUp, Match, Stamp};
use rules::PerSeat;
use sealing::MatchId;
use store::codec::{self, CodecError, Keyring};
use store::{Stored, TraceContext, Version};

/// The most follow-ups that can wait, and the longest one, bytes: each is counted by one byte.
const COUNTED_MAX: usize = u8::MAX as usize;

/// The start of an envelope: what hints and checks of versions need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Summary {
    pub(crate) version: Version,
    /// Where the match stands in the due set.
    pub(crate) due: Option<Stamp>,
}

/// A version as it stands in an envelope.
pub(crate) fn version_bytes(version: Version) -> Vec<u8> {
    [version.counter.to_be_bytes(), version.nonce].concat()
}

/// Reads a version and what stands behind it.
pub(crate) fn read_version(bytes: &[u8]) -> Result<(Version, &[u8]), CodecError> {
    let mut fields = Fields(bytes);
    Ok((fields.version()?, fields.0))
}

/// Reads the first 32 bytes of an envelope.
pub(crate) fn read_summary(bytes: &[u8]) -> Result<Summary, CodecError> {
    let mut fields = Fields(bytes);
    let version = fields.version()?;
    let _stamp = fields.number()?;
    Ok(Summary { version, due: stamp(fields.number()?) })
}

/// What a hint has behind the envelope where its commit was traced, before the trace itself: a field of the
/// record, the last one there can be, so that a reader that knows nothing of it passes it by.
const TRACE_FIELD: [u8; 6] = [0xfa, 0xff, 0xff, 0xff, 0x0f, TraceContext::BYTES as u8];

/// Writes what a hint has behind the envelope.
pub(crate) fn write_trace(trace: Option<TraceContext>) -> Vec<u8> {
    trace.map_or(Vec::new(), |trace| [&TRACE_FIELD[..], &trace.to_bytes()].concat())
}

/// The envelope of a hint, and what is behind it.
pub(crate) fn split_trace(hint: &[u8]) -> (&[u8], Option<TraceContext>) {
    let at = hint.len().saturating_sub(TRACE_FIELD.len() + TraceContext::BYTES);
    let (envelope, behind) = hint.split_at(at);
    match behind.strip_prefix(&TRACE_FIELD).and_then(TraceContext::from_bytes) {
        Some(trace) => (envelope, Some(trace)),
        None => (hint, None),
    }
}

/// Reads what is stored under the id of a match.
pub(crate) fn read(id: MatchId, bytes: &[u8], keyring: &Keyring) -> Result<Stored, CodecError> {
    let mut fields = Fields(bytes);
    let version = fields.version()?;
    let stamp = Stamp::from_ms(fields.number()?);
    for _due_deadline_kept_until in 0..3 {
        fields.number()?;
    }
    let follow_ups = fields.follow_ups()?;
    let recorded = codec::decode_head(fields.0, keyring)?;
    if recorded.head.id != id {
        return Err(CodecError::Field { field: "Head.match_id" });
    }
    if recorded.version != version {
        return Err(CodecError::Field { field: "Head.version_counter" });
    }
    Ok(Stored { head: recorded.head, version, stamp, follow_ups })
}

/// Reads follow-ups alone, as a commit answers them.
pub(crate) fn read_follow_ups(bytes: &[u8]) -> Result<Vec<FollowUp>, CodecError> {
    let mut fields = Fields(bytes);
    let follow_ups = fields.follow_ups()?;
    if fields.0.is_empty() { Ok(follow_ups) } else { Err(CodecError::Malformed) }
}

/// Writes the record of a head. Its follow-ups are in the envelope, where a script can take them off.
pub(crate) fn write_record(
    head: &Arc<Match>,
    version: Version,
    stamp: Stamp,
    keyring: &Keyring,
) -> Result<Vec<u8>, CodecError> {
    let stored = Stored { head: Arc::clone(head), version, stamp, follow_ups: Vec::new() };
    // Drawn for this record alone.
    let nonces = PerSeat { black: rand::random(), white: rand::random() };
    codec::encode_head(&stored, keyring, &nonces)
}

/// Writes follow-ups, each alone, as arguments of a script.
pub(crate) fn write_follow_ups(follow_ups: &[FollowUp]) -> Result<Vec<Vec<u8>>, CodecError> {
    let written: Vec<Vec<u8>> = follow_ups.iter().map(codec::encode_follow_up).collect();
    let bytes = written.len().max(written.iter().map(Vec::len).max().unwrap_or_default());
    if bytes > COUNTED_MAX { Err(CodecError::TooLong { bytes }) } else { Ok(written) }
}

/// The last moment at which a match is kept; zero while it is live.
pub(crate) fn kept_until_ms(head: &Match) -> u64 {
    head.finish().map_or(0, |finish| finish.at.plus_ms(Stored::RETENTION_DEFAULT_MS).as_ms())
}

fn stamp(ms: u64) -> Option<Stamp> {
    (ms > 0).then(|| Stamp::from_ms(ms))
}

/// What is left to read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(CodecError::Malformed)?;
        self.0 = rest;
        Ok(*field)
    }

    fn number(&mut self) -> Result<u64, CodecError> {
        self.take().map(u64::from_be_bytes)
    }

    fn version(&mut self) -> Result<Version, CodecError> {
        Ok(Version { counter: self.number()?, nonce: self.take()? })
    }

    fn follow_ups(&mut self) -> Result<Vec<FollowUp>, CodecError> {
        let [count] = self.take()?;
        let mut follow_ups = Vec::new();
        for _ in 0..count {
            let [length] = self.take()?;
            let (follow_up, rest) =
                self.0.split_at_checked(usize::from(length)).ok_or(CodecError::Malformed)?;
            self.0 = rest;
            follow_ups.push(codec::decode_follow_up(follow_up)?);
        }
        Ok(follow_ups)
    }
}

#[cfg(test)]
mod tests {
    use store::codec::{ShardClock, decode_shard_clock, encode_shard_clock};

    use super::*;

    const TRACE: TraceContext = TraceContext { trace_id: [0xfa; 16], span_id: [0x0f; 8] };

    #[test]
    fn a_reader_that_knows_nothing_of_traces_passes_one_by() {
        let clock = ShardClock { alive: Stamp::from_ms(7), outage_ms: 3 };
        let record = encode_shard_clock(&clock).unwrap();
        let hinted = [record, write_trace(Some(TRACE))].concat();
        assert_eq!(decode_shard_clock(&hinted), Ok(clock));
    }

    #[test]
    fn a_hint_is_split_from_its_trace_and_one_without_stays_whole() {
        let envelope = [7; 100];
        let hint = [&envelope[..], &write_trace(Some(TRACE))].concat();
        assert_eq!(split_trace(&hint), (&envelope[..], Some(TRACE)));
        for hint in [&envelope[..], &[], &TRACE_FIELD, &hint[..hint.len() - 1], &hint[1..29]] {
            assert_eq!(split_trace(hint), (hint, None));
        }
        assert!(write_trace(None).is_empty());
    }
}
