//! The keys that a server signs receipts and transcripts with, as it lists them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sealing::{KeyId, PublicKey, ServerKey};
use wire::v1;
use wire::v1::player_service_client::PlayerServiceClient;

use crate::Error;
use crate::call::Caller;

/// The most keys that are kept of a server: more than it rotates through in years.
const KEYS_MAX: usize = 256;

/// The keys that a server lists for its receipts and transcripts, old ones too. Keys of another form
/// than this client knows are left out.
#[must_use]
pub fn server_keys(info: &v1::GetServerInfoResponse) -> Vec<ServerKey> {
    let read = |key: &v1::ServerKey| {
        let id: KeyId = key.key_id.parse().ok()?;
        Some(ServerKey { id, public_key: PublicKey::try_from(&key.public_key[..]).ok()? })
    };
    info.public_keys.iter().filter_map(read).collect()
}

/// The keys of a server, as far as they were asked for.
///
/// An id keeps the key that it was first listed with: a server that lists another one under it later
/// does not rewrite what it has signed.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys(Mutex<Vec<ServerKey>>);

impl KnownKeys {
    fn keys(&self) -> MutexGuard<'_, Vec<ServerKey>> {
        // A key is pushed whole or not at all.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key_id: &str) -> Option<PublicKey> {
        self.keys().iter().find(|key| key.id.as_str() == key_id).map(|key| key.public_key)
    }

    fn learn(&self, listed: Vec<ServerKey>) {
        let mut keys = self.keys();
        for key in listed {
            if keys.len() < KEYS_MAX && keys.iter().all(|known| known.id != key.id) {
                keys.push(key);
            }
        }
    }
}

impl Caller {
    /// The server's key of this id: asked for if it is not known, once. None: the server does not list it.
    pub(crate) async fn server_key(&self, key_id: &str) -> Result<Option<PublicKey>, Error> {
        if let Some(known) = self.known_keys().find(key_id) {
            return Ok(Some(known));
        }
        self.server_info().await?;
        Ok(self.known_keys().find(key_id))
    }

    /// What the server is; its keys are known from then on.
    pub(crate) async fn server_info(&self) -> Result<v1::GetServerInfoResponse, Error> {
        let call = async |channel, request| PlayerServiceClient::new(channel).get_server_info(request).await;
        let info = self.unary(v1::GetServerInfoRequest {}, call).await?;
        self.known_keys().learn(server_keys(&info));
        Ok(info)
    }
}
