//! Requests that create something: the same request again creates nothing more.

use async_trait::async_trait;

use crate::StoreError;

/// Names a request: whose it is, and its id.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RequestKey {
    /// The acting player (`players/{player}`), or the back end where there is none.
    pub actor: String,
    /// The request's id.
    pub request_id: String,
}

/// What a request created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestRecord {
    /// A keyed hash of the request: another request under the same id is told apart, and nobody who
    /// reads the store can guess what was asked.
    pub mac: [u8; 32],
    /// The id under which it creates.
    pub created_id: [u8; 16],
}

impl RequestRecord {
    /// How long a request is remembered, ms: a day, longer than any client retries.
    pub const RETENTION_MS: u64 = 24 * 60 * 60 * 1_000;
}

/// Where requests are remembered, a day long.
#[async_trait]
pub trait RequestStore: Send + Sync + 'static {
    /// Remembers a request, or finds it: the answer is what was remembered first.
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError>;
}
