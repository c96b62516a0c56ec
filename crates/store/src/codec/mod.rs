//! How what a store keeps is written: one function pair for each kind of record.
//!
//! Records are protobuf messages of `whattheshell.storage.v1`, a schema of their own that knows nothing
//! of the API. Each begins with its format, a number that grows when an old reader could no longer make
//! sense of a record: this build reads every format up to [`FORMAT`] and refuses a newer one by name.
//! Fields may be added within a format.
//!
//! Nothing here trusts the bytes: what is damaged, cut off or of another kind is a [`CodecError`].
//! **No sealed cell is ever written in the clear**: the opening of an unresolved move is put in a box
//! under the current key of a [`Keyring`], of the same length whatever it holds, so that a record shows
//! nothing of it, not even by its size.

mod access;
mod board;
mod entry;
mod error;
mod feed;
mod field;
mod head;
mod invite;
mod keyring;
mod node;
mod origin;
mod player_record;
mod seal;
mod settings;
mod ticket;
mod turn;

/// The messages of `proto/whattheshell/storage/v1`.
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
#[allow(rustdoc::bare_urls, rustdoc::invalid_html_tags, reason = "generated")]
mod record {
    include!("../generated/whattheshell.storage.v1.rs");
}

pub use access::{decode_access, encode_access};
pub use entry::{
    ShardClock, decode_indexed, decode_request, decode_shard_clock, encode_indexed, encode_request,
    encode_shard_clock,
};
pub use error::CodecError;
pub use feed::{decode_feed_entry, decode_feed_trimmed, encode_feed_entry, encode_feed_trimmed};
pub use head::{decode_follow_up, decode_head, decode_head_without_openings, encode_follow_up, encode_head};
pub use invite::{decode_invite, encode_invite};
pub use keyring::Keyring;
pub use node::{decode_node_report, encode_node_report};
pub use origin::{decode_new_match, encode_new_match};
pub use player_record::{decode_player_record, encode_player_record};
pub use ticket::{decode_reservation, decode_wish, encode_reservation, encode_wish};
pub use turn::{decode_turn, encode_turn};

use prost::Message;

/// The format that records are written in, and the newest that can be read.
pub const FORMAT: u32 = 1;

/// The longest record, bytes. The largest one, a head with two seals and the longest names, is below
/// 3 KiB; what is longer is damaged, and is refused before it takes memory.
pub const RECORD_BYTES_MAX: usize = 16 * 1024;

/// What every record begins with.
#[derive(Clone, PartialEq, Message)]
struct Header {
    #[prost(uint32, tag = "1")]
    format: u32,
}

/// Writes a record, whose `format` is set.
fn write(record: &impl Message) -> Result<Vec<u8>, CodecError> {
    let record = record.encode_to_vec();
    match record.len() {
        bytes if bytes > RECORD_BYTES_MAX => Err(CodecError::TooLong { bytes }),
        _ => Ok(record),
    }
}

/// Reads a record; `format` takes its format out of it.
fn read<M: Message + Default>(bytes: &[u8], format: impl Fn(&M) -> u32) -> Result<M, CodecError> {
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(CodecError::TooLong { bytes: bytes.len() });
    }
    let record = M::decode(bytes);
    // A newer format may not decode at all, and is to be named all the same.
    let found = match &record {
        Ok(record) => format(record),
        Err(_) => Header::decode(bytes).map_err(|_| CodecError::Malformed)?.format,
    };
    match found {
        0 => Err(CodecError::Malformed),
        found if found > FORMAT => Err(CodecError::NewerFormat { found }),
        _ => record.map_err(|_| CodecError::Malformed),
    }
}
