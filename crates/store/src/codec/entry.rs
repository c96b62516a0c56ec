//! Small records: requests, entries of players' lists, shards' clocks.

use referee::Stamp;
use sealing::MatchId;

use super::field::fixed;
use super::{CodecError, FORMAT, record};
use crate::{Indexed, RequestRecord};

/// The clock of a shard as a store keeps it: what an outage is measured from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardClock {
    /// When somebody was last there.
    pub alive: Stamp,
    /// The sum of all times at which nobody was, ms.
    pub outage_ms: u64,
}

/// Writes what a request created.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_request(request: &RequestRecord) -> Result<Vec<u8>, CodecError> {
    let (mac, created_id) = (request.mac.to_vec(), request.created_id.to_vec());
    super::write(&record::Request { format: FORMAT, mac, created_id })
}

/// Reads what [`encode_request`] wrote.
///
/// # Errors
/// The bytes are no request, or of a newer format.
pub fn decode_request(bytes: &[u8]) -> Result<RequestRecord, CodecError> {
    let request = super::read(bytes, |request: &record::Request| request.format)?;
    let mac = fixed(&request.mac, "Request.mac")?;
    Ok(RequestRecord { mac, created_id: fixed(&request.created_id, "Request.created_id")? })
}

/// Writes an entry of a player's list.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_indexed(entry: &Indexed) -> Result<Vec<u8>, CodecError> {
    super::write(&record::IndexedMatch {
        format: FORMAT,
        match_id: entry.match_id.as_bytes().to_vec(),
        finished: entry.finished,
        created_ms: entry.created.as_ms(),
    })
}

/// Reads what [`encode_indexed`] wrote.
///
/// # Errors
/// The bytes are no entry, or of a newer format.
pub fn decode_indexed(bytes: &[u8]) -> Result<Indexed, CodecError> {
    let entry = super::read(bytes, |entry: &record::IndexedMatch| entry.format)?;
    Ok(Indexed {
        match_id: MatchId::from_bytes(fixed(&entry.match_id, "IndexedMatch.match_id")?),
        finished: entry.finished,
        created: Stamp::from_ms(entry.created_ms),
    })
}

/// Writes a shard's clock.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_shard_clock(clock: &ShardClock) -> Result<Vec<u8>, CodecError> {
    let (alive_ms, outage_ms) = (clock.alive.as_ms(), clock.outage_ms);
    super::write(&record::ShardClock { format: FORMAT, alive_ms, outage_ms })
}

/// Reads what [`encode_shard_clock`] wrote.
///
/// # Errors
/// The bytes are no clock, or of a newer format.
pub fn decode_shard_clock(bytes: &[u8]) -> Result<ShardClock, CodecError> {
    let clock = super::read(bytes, |clock: &record::ShardClock| clock.format)?;
    Ok(ShardClock { alive: Stamp::from_ms(clock.alive_ms), outage_ms: clock.outage_ms })
}
