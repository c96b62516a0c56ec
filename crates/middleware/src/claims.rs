//! What stands in a player token: a JWT signed with Ed25519.

use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What the names of bots begin with; nobody holds a token of one.
pub(crate) const BOT_PREFIX: &str = "bot-";

/// Bytes of the public key's hash in a key id: enough that a server's few keys never meet.
const KEY_ID_BYTES: usize = 8;

/// The claims, as JSON names them. Times are whole seconds since 1970.
#[derive(Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    /// The `{player}` part of `players/{player}`.
    pub(crate) sub: String,
    pub(crate) aud: String,
    pub(crate) exp: u64,
    pub(crate) nbf: u64,
    pub(crate) iat: u64,
    /// Scopes, separated by a space.
    pub(crate) scope: String,
    /// The player's Ed25519 public key, base64url without padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wts_key: Option<String>,
    /// What is known about the player's age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wts_age: Option<String>,
}

/// The id of a key in a token's header, made of the key itself, so that all nodes agree on it.
pub(crate) fn key_id(public_key: &[u8; 32]) -> String {
    let hash = Sha256::digest(public_key);
    hash.iter().take(KEY_ID_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Chooses the cryptography of `jsonwebtoken`, which otherwise panics at its first use in a build that
/// happens to enable none or two. If somebody has chosen before, that choice stands.
pub(crate) fn choose_provider() {
    let _ = DEFAULT_PROVIDER.install_default();
}
