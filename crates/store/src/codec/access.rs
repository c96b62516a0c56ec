//! Who may not play, and whose tokens count no more.

use referee::Stamp;

use super::field::fixed;
use super::{CodecError, FORMAT, record};
use crate::{Access, Ban};

/// Writes what is kept of a player's access.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_access(access: &Access) -> Result<Vec<u8>, CodecError> {
    super::write(&record::Access {
        format: FORMAT,
        ban: access.ban.as_ref().map(write_ban),
        tokens_from_ms: access.tokens_from.map_or(0, Stamp::as_ms),
        done: access.done.iter().map(|id| id.to_vec()).collect(),
        changed_ms: access.changed.as_ms(),
    })
}

/// Reads what [`encode_access`] wrote.
///
/// # Errors
/// The bytes are no such record, or of a newer format.
pub fn decode_access(bytes: &[u8]) -> Result<Access, CodecError> {
    let access = super::read(bytes, |access: &record::Access| access.format)?;
    Ok(Access {
        ban: access.ban.map(read_ban),
        tokens_from: set(access.tokens_from_ms),
        done: access.done.iter().map(|id| fixed(id, "Access.done")).collect::<Result<_, _>>()?,
        changed: Stamp::from_ms(access.changed_ms),
    })
}

fn write_ban(ban: &Ban) -> record::Ban {
    let until_ms = ban.until.map_or(0, Stamp::as_ms);
    record::Ban { from_ms: ban.from.as_ms(), until_ms, reason: ban.reason.clone() }
}

fn read_ban(ban: record::Ban) -> Ban {
    Ban { from: Stamp::from_ms(ban.from_ms), until: set(ban.until_ms), reason: ban.reason }
}

/// A time; 0 stands for none.
fn set(ms: u64) -> Option<Stamp> {
    (ms > 0).then(|| Stamp::from_ms(ms))
}
