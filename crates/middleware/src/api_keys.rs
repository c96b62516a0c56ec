//! The API keys of back ends and operators.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::principal::{BackendPrincipal, OperatorPrincipal, Principal};

/// The longest key that is looked at: far more than any key needs, and little to hash.
pub const API_KEY_BYTES_MAX: usize = 256;

/// Who holds which key. Only hashes of keys are kept; keys are random and long enough (128 bits and
/// more) that a plain hash hides them. `Debug` shows the holders' names.
///
/// ```
/// use middleware::{ApiKeys, Principal};
///
/// let keys = ApiKeys::new().backend("lobby", ApiKeys::digest(b"3f9c0d7ab1e24c58"));
/// assert_eq!(keys.holder(b"3f9c0d7ab1e24c58", 0).map(Principal::kind), Some("backend"));
/// assert_eq!(keys.holder(b"3f9c0d7ab1e24c59", 0), None);
/// ```
#[derive(Clone, Default)]
pub struct ApiKeys {
    holders: Vec<Holder>,
}

#[derive(Clone)]
struct Holder {
    key_digest: [u8; 32],
    principal: Principal,
    /// From when the key is taken no more, ms since 1970.
    until_ms: u64,
}

impl ApiKeys {
    /// No keys.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a back end by the SHA-256 of its key. A name may have several keys while one replaces
    /// another.
    #[must_use]
    pub fn backend(self, name: &str, key_digest: [u8; 32]) -> Self {
        let principal = Principal::Backend(BackendPrincipal { name: name.into() });
        self.with(principal, key_digest, None)
    }

    /// Adds an operator by the SHA-256 of his key.
    #[must_use]
    pub fn operator(self, name: &str, key_digest: [u8; 32]) -> Self {
        let principal = Principal::Operator(OperatorPrincipal { name: name.to_owned() });
        self.with(principal, key_digest, None)
    }

    /// Adds the holder of a key by its SHA-256, until a moment (ms since 1970) if there is one.
    #[must_use]
    pub fn with(mut self, principal: Principal, key_digest: [u8; 32], until_ms: Option<u64>) -> Self {
        self.holders.push(Holder { key_digest, principal, until_ms: until_ms.unwrap_or(u64::MAX) });
        self
    }

    /// The SHA-256 of a key, as [`Self::backend`] and [`Self::operator`] take it.
    #[must_use]
    pub fn digest(key: &[u8]) -> [u8; 32] {
        Sha256::digest(key).into()
    }

    /// Who holds this key at a moment, ms since 1970. Takes the same time whether it is one of the keys, and
    /// whichever it is.
    #[must_use]
    pub fn holder(&self, key: &[u8], now_ms: u64) -> Option<&Principal> {
        if key.len() > API_KEY_BYTES_MAX {
            return None;
        }
        let digest = Self::digest(key);
        let mut found = Choice::from(0);
        let mut position = 0_u64;
        for (index, holder) in (0_u64..).zip(&self.holders) {
            let equal = holder.key_digest.ct_eq(&digest);
            position.conditional_assign(&index, equal);
            found |= equal;
        }
        let index = usize::try_from(position).ok().filter(|_| found.into())?;
        let holder = self.holders.get(index).filter(|holder| now_ms < holder.until_ms)?;
        Some(&holder.principal)
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.holders.iter().map(|holder| &holder.principal)).finish()
    }
}

/// Keys that can be replaced while a server asks for them; copies share them. Every call reads them, and none
/// waits for another one that does.
#[derive(Clone, Default, Debug)]
pub struct LiveApiKeys(Arc<ArcSwap<ApiKeys>>);

impl LiveApiKeys {
    /// From now on these keys are taken and no others.
    pub fn replace(&self, keys: ApiKeys) {
        self.0.store(Arc::new(keys));
    }

    /// As [`ApiKeys::holder`].
    #[must_use]
    pub fn holder(&self, key: &[u8], now_ms: u64) -> Option<Principal> {
        self.0.load().holder(key, now_ms).cloned()
    }
}

impl From<ApiKeys> for LiveApiKeys {
    fn from(keys: ApiKeys) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(keys)))
    }
}
