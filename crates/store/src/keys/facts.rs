//! What may be told of a key.

use std::fmt;

use referee::Stamp;
use sealing::{KeyId, PublicKey, ServerSigningKey};

use super::{Entry, Role};

/// How far a key has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyState {
    /// Known and not yet used: it opens and verifies.
    Prepared,
    /// It signs and locks.
    InUse,
    /// It was in use, and opens and verifies what it locked and signed.
    Ended,
}

impl KeyState {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::InUse => "in-use",
            Self::Ended => "ended",
        }
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One key without its secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyFacts {
    /// What it is for.
    pub role: Role,
    /// Its public name, unique among the keys of its role.
    pub id: KeyId,
    /// In use from then on; none: it is prepared.
    pub from: Option<Stamp>,
    /// In use until then; none: it is in use, or prepared.
    pub until: Option<Stamp>,
    /// What everyone checks its signatures with; signing keys have one.
    pub public_key: Option<PublicKey>,
}

impl KeyFacts {
    pub(super) fn new(role: Role, entry: &Entry) -> Self {
        let public_key = || ServerSigningKey::from_seed(entry.id.clone(), &entry.secret).public_key();
        Self {
            role,
            id: entry.id.clone(),
            from: entry.from,
            until: entry.until,
            public_key: (role == Role::Signing).then(public_key),
        }
    }

    /// How far it has come.
    #[must_use]
    pub const fn state(&self) -> KeyState {
        match (self.from, self.until) {
            (None, _) => KeyState::Prepared,
            (Some(_), None) => KeyState::InUse,
            (Some(_), Some(_)) => KeyState::Ended,
        }
    }
}
