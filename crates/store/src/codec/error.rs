//! Why a record cannot be written or read.

use sealing::{BoxError, KeyId};
use thiserror::Error;

use super::{FORMAT, RECORD_BYTES_MAX};

/// Why a record cannot be written or read. Says nothing of what is sealed in it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CodecError {
    /// The record is longer than any can be.
    #[error("the record has {bytes} bytes; none has more than {RECORD_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The bytes are no record.
    #[error("the bytes are no record of this kind")]
    Malformed,
    /// A newer build wrote the record.
    #[error(
        "the record has format {found}, this build reads up to {FORMAT}: run the build that wrote it, or a newer one"
    )]
    NewerFormat {
        /// The record's format.
        found: u32,
    },
    /// A match of rules that this build does not play.
    #[error(
        "the match is played by the rules {version:?}, which this build does not know: run the build that wrote it, or a newer one"
    )]
    UnknownRules {
        /// Their version.
        version: String,
    },
    /// A field is missing or has a value that none can have.
    #[error("{field} is missing or damaged")]
    Field {
        /// The message and its field, as `proto/whattheshell/storage/v1` names them.
        field: &'static str,
    },
    /// The record holds a box of a key that is not in the keyring.
    #[error("a sealed move needs the key {key_id}: add it to the keys, for decryption only")]
    UnknownKey {
        /// The key's id.
        key_id: KeyId,
    },
    /// A box cannot be made, or does not open.
    #[error("a sealed move: {0}")]
    Box(BoxError),
}
