//! What scripts answer.

use redis::Value;
use referee::{Now, Stamp};
use store::StoreError;
use store::codec::CodecError;

use crate::scripts::Status;

/// Entries that the reply of a script on a shard begins with: time, outage sum.
const TIME: usize = 2;

/// The reply of a script: an array. What is not as it should be is an error, never a panic.
#[derive(Debug)]
pub(crate) struct Reply {
    entries: Vec<Value>,
}

impl Reply {
    pub(crate) fn new(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Array(entries) => Ok(Self { entries }),
            _ => Err(unexpected()),
        }
    }

    /// The shard's time.
    pub(crate) fn now(&self) -> Result<Now, StoreError> {
        let stamp = Stamp::from_ms(self.number(0)?);
        Ok(Now { stamp, outage_ms: self.number(1)? })
    }

    /// The status of a step on a match.
    pub(crate) fn status(&self) -> Result<Status, StoreError> {
        let number = i64::try_from(self.number(TIME)?).map_err(|_| unexpected())?;
        Status::from_number(number).ok_or_else(unexpected)
    }

    pub(crate) fn number(&self, at: usize) -> Result<u64, StoreError> {
        match self.entries.get(at) {
            Some(Value::Int(number)) => u64::try_from(*number).map_err(|_| unexpected()),
            Some(Value::BulkString(text)) => {
                let text = std::str::from_utf8(text).map_err(|_| unexpected())?;
                text.parse().map_err(|_| unexpected())
            }
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn bytes(&self, at: usize) -> Result<&[u8], StoreError> {
        self.optional_bytes(at)?.ok_or_else(unexpected)
    }

    /// Bytes, or nothing where the script says nil or its reply ends before.
    pub(crate) fn optional_bytes(&self, at: usize) -> Result<Option<&[u8]>, StoreError> {
        match self.entries.get(at) {
            Some(Value::BulkString(bytes)) => Ok(Some(bytes)),
            None | Some(Value::Nil) => Ok(None),
            _ => Err(unexpected()),
        }
    }

    /// A number, or nothing where the script says nil or its reply ends before.
    pub(crate) fn optional_number(&self, at: usize) -> Result<Option<u64>, StoreError> {
        match self.entries.get(at) {
            None | Some(Value::Nil) => Ok(None),
            Some(_) => self.number(at).map(Some),
        }
    }

    /// A list of bytes.
    pub(crate) fn list(&self, at: usize) -> Result<Vec<&[u8]>, StoreError> {
        let Some(Value::Array(items)) = self.entries.get(at) else { return Err(unexpected()) };
        fn bytes(item: &Value) -> Result<&[u8], StoreError> {
            match item {
                Value::BulkString(bytes) => Ok(bytes),
                _ => Err(unexpected()),
            }
        }
        items.iter().map(bytes).collect()
    }
}

/// A reply that no script of this build gives.
pub(crate) fn unexpected() -> StoreError {
    tracing::error!("a script gave an unexpected reply");
    StoreError::Unavailable("a reply makes no sense".to_owned())
}

/// What is stored cannot be read.
pub(crate) fn unreadable(error: &CodecError) -> StoreError {
    tracing::error!(%error, "a record cannot be read");
    StoreError::Unavailable(format!("a record cannot be read: {error}"))
}

/// A record that cannot be written is a fault of this program; the match goes on without the change.
pub(crate) fn unwritable(error: &CodecError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}
