//! Requests that create something: the same request again finds what it created.

use hmac::{Hmac, KeyInit, Mac};
use prost::Message;
use referee::RequestId;
use sealing::MatchId;
use sha2::Sha256;
use store::{RequestKey, RequestRecord, Store};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::convert::errors;

/// The secret that requests are remembered under and join secrets are made from. All nodes of a store
/// share it.
#[derive(Clone)]
pub(crate) struct RequestKeys([u8; 32]);

impl RequestKeys {
    pub(crate) const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The id that a request creates under: `fresh` the first time, the first one ever after.
    ///
    /// `content` is the request without its id and its actor. The same request id with other content
    /// is refused.
    pub(crate) async fn created_id(
        &self,
        store: &dyn Store,
        actor: &str,
        request_id: &RequestId,
        content: &impl Message,
        fresh: MatchId,
    ) -> Result<MatchId, ApiError> {
        let record = self.record(content, fresh);
        let first = store.remember(key(actor, request_id), record).await.map_err(errors::store)?;
        created(first, record)
    }

    /// What a request is remembered as, if it is new.
    pub(crate) fn record(&self, content: &impl Message, fresh: MatchId) -> RequestRecord {
        RequestRecord { mac: self.mac("request", &content.encode_to_vec()), created_id: *fresh.as_bytes() }
    }

    /// The join secret of an invite: the same whenever its creation is repeated, and nowhere stored.
    pub(crate) fn join_secret(&self, invite: MatchId) -> String {
        let mac = self.mac("join", invite.as_bytes());
        mac[..JOIN_SECRET_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn mac(&self, purpose: &str, content: &[u8]) -> [u8; 32] {
        // HMAC takes a key of any length, so this cannot fail; a key of its own keeps purposes apart.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return [0; 32] };
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(content);
        mac.finalize().into_bytes().into()
    }
}

/// Names a request of an actor.
pub(crate) fn key(actor: &str, request_id: &RequestId) -> RequestKey {
    RequestKey { actor: actor.to_owned(), request_id: request_id.as_str().to_owned() }
}

/// The id that a request creates under, where `first` is what was remembered and `record` what this one would be.
pub(crate) fn created(first: RequestRecord, record: RequestRecord) -> Result<MatchId, ApiError> {
    if first.mac == record.mac {
        return Ok(MatchId::from_bytes(first.created_id));
    }
    let what = "it was used for another request; draw a new one for a new intent";
    Err(ApiError::field(ErrorReason::RequestIdReused, "request_id", what))
}

/// 128 bits, written as 32 hexadecimal digits: not to be guessed, short enough to be read out.
const JOIN_SECRET_BYTES: usize = 16;
