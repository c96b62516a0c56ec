//! The keys of the boxes that unresolved moves are stored in.

use std::collections::BTreeMap;

use sealing::{BoxKey, KeyId};

/// The keys that open stored boxes, one of which makes new ones. `Debug` shows their ids only.
///
/// To rotate, a new key is first added to every node for decryption, then made current; the old one is
/// kept until no match holds a box of it.
///
/// ```
/// use sealing::{BoxKey, KeyId};
/// use store::codec::Keyring;
///
/// let (old, new): (KeyId, KeyId) = ("box-1".parse()?, "box-2".parse()?);
/// let keyring = Keyring::new(new.clone(), BoxKey::from_bytes(&[2; 32]))
///     .with_old(old.clone(), BoxKey::from_bytes(&[1; 32]));
/// assert_eq!(keyring.current().0, &new);
/// assert!(keyring.key(&old).is_some());
/// # Ok::<(), sealing::MalformedKeyId>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keyring {
    current_id: KeyId,
    current: BoxKey,
    old: BTreeMap<KeyId, BoxKey>,
}

impl Keyring {
    /// A keyring of one key.
    #[must_use]
    pub const fn new(current_id: KeyId, current: BoxKey) -> Self {
        Self { current_id, current, old: BTreeMap::new() }
    }

    /// Adds a key that only opens boxes. It never replaces the current one.
    #[must_use]
    pub fn with_old(mut self, id: KeyId, key: BoxKey) -> Self {
        self.old.insert(id, key);
        self
    }

    /// The key that makes new boxes, and its id.
    #[must_use]
    pub const fn current(&self) -> (&KeyId, &BoxKey) {
        (&self.current_id, &self.current)
    }

    /// The key with this id.
    #[must_use]
    pub fn key(&self, id: &KeyId) -> Option<&BoxKey> {
        if *id == self.current_id { Some(&self.current) } else { self.old.get(id) }
    }
}
