//! The API keys of back ends and operators.

use std::fmt;

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
/// assert_eq!(keys.holder(b"3f9c0d7ab1e24c58").map(Principal::kind), Some("backend"));
/// assert_eq!(keys.holder(b"3f9c0d7ab1e24c59"), None);
/// ```
#[derive(Clone, Default)]
pub struct ApiKeys {
    holders: Vec<([u8; 32], Principal)>,
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
        self.with(key_digest, Principal::Backend(BackendPrincipal { name: name.into() }))
    }

    /// Adds an operator by the SHA-256 of his key.
    #[must_use]
    pub fn operator(self, name: &str, key_digest: [u8; 32]) -> Self {
        self.with(key_digest, Principal::Operator(OperatorPrincipal { name: name.to_owned() }))
    }

    fn with(mut self, key_digest: [u8; 32], holder: Principal) -> Self {
        self.holders.push((key_digest, holder));
        self
    }

    /// The SHA-256 of a key, as [`Self::backend`] and [`Self::operator`] take it.
    #[must_use]
    pub fn digest(key: &[u8]) -> [u8; 32] {
        Sha256::digest(key).into()
    }

    /// Who holds this key. Takes the same time whether it is one of the keys, and whichever it is.
    #[must_use]
    pub fn holder(&self, key: &[u8]) -> Option<&Principal> {
        if key.len() > API_KEY_BYTES_MAX {
            return None;
        }
        let digest = Self::digest(key);
        let mut found = Choice::from(0);
        let mut position = 0_u64;
        for (index, (holder_digest, _)) in (0_u64..).zip(&self.holders) {
            let equal = holder_digest.ct_eq(&digest);
            position.conditional_assign(&index, equal);
            found |= equal;
        }
        let index = usize::try_from(position).ok().filter(|_| found.into())?;
        self.holders.get(index).map(|(_, holder)| holder)
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.holders.iter().map(|(_, holder)| holder)).finish()
    }
}
