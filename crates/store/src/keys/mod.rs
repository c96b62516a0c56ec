//! The service's secret keys: made, kept in a file, rotated.
//!
//! All nodes of a store share one set of [`Keys`]: whoever signs a receipt, opens a box or recognises
//! a repeated request may be another node than the one that began. A [`KeySource`] says where they come
//! from: a file that an operator gives every node, or one that a single node makes in its data
//! directory at its first start. The file is plain text, a key a line:
//!
//! ```text
//! whattheshell-keys 1
//! signing s-2f61c09b 1790000000000 - 64 hexadecimal digits
//! box     b-90a41f3e 1790000000000 - …
//! token   t-7cd01e55 1790000000000 - …
//! request r-1b3f8a02 1790000000000 - …
//! ```
//!
//! Role, id, the time from which the key is in use and that until which it was (milliseconds since the
//! Unix epoch, `-` for not yet), and 32 secret bytes. Blank lines and lines that begin with `#` are
//! skipped. Of each role exactly one key is *current*: in use, and without an end. It signs and locks.
//! A key that is not yet in use, and one that has ended, opens boxes, is listed for verification, and
//! signs only what already names it. `request` has one key and is not rotated: repetitions of requests
//! and join secrets of open invites are recognised by it.
//!
//! To rotate a key, [`Keys::prepare`] it and give the file to every node; when all have it,
//! [`Keys::promote`] it and give the file to every node again. With one node both are one step. An old
//! key is [retired](Keys::retire) once nothing needs it: a box key when no live match was sealed under it,
//! a signing key when no receipt of it can be asked for again (the retention of matches), a token key
//! after the longest life of a token. Its public side is then for the operator to keep.

mod error;
mod facts;
mod file;
mod signer;
mod text;

pub use error::KeysError;
pub use facts::{KeyFacts, KeyState};
pub use file::FILE_BYTES_MAX;
pub use signer::{PublishedKey, Signer};
pub use text::Problem;

use std::fmt;
use std::path::{Path, PathBuf};

use referee::Stamp;
use sealing::{BoxKey, KeyId};
use zeroize::Zeroizing;

use crate::codec::Keyring;

/// 32 secret bytes, wiped when they are dropped.
type Secret = Zeroizing<[u8; 32]>;

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Signs receipts and finished matches.
    Signing,
    /// Locks unresolved moves at rest.
    Box,
    /// Signs the tokens of players.
    Token,
    /// Recognises repeated requests. Not rotated.
    Request,
}

impl Role {
    /// Every role, in the order of the file.
    pub const ALL: [Self; 4] = [Self::Signing, Self::Box, Self::Token, Self::Request];

    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signing => "signing",
            Self::Box => "box",
            Self::Token => "token",
            Self::Request => "request",
        }
    }

    const fn id_letter(self) -> char {
        match self {
            Self::Signing => 's',
            Self::Box => 'b',
            Self::Token => 't',
            Self::Request => 'r',
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One key. `Debug` does not show its secret.
#[derive(Clone)]
struct Entry {
    id: KeyId,
    /// In use from then on; none: not yet.
    from: Option<Stamp>,
    /// In use until then; none: not ended.
    until: Option<Stamp>,
    secret: Secret,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.id, f)
    }
}

/// The keys of one role.
#[derive(Clone, Debug)]
struct Ring {
    /// The one in use.
    current: Entry,
    /// Those that are not in use yet, and those that have ended.
    others: Vec<Entry>,
}

impl Ring {
    fn iter(&self) -> impl Iterator<Item = &Entry> {
        std::iter::once(&self.current).chain(&self.others)
    }
}

/// Where keys come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeySource {
    /// A file that must be there: the operator gives all nodes of a store the same one.
    File(PathBuf),
    /// The file [`KeySource::FILE_NAME`] in a data directory, made at the first start.
    DataDirectory(PathBuf),
    /// Made anew at every start, for stores that forget with the process.
    Ephemeral,
}

impl KeySource {
    /// The name of the file in a data directory.
    pub const FILE_NAME: &str = "keys";

    /// The keys, made and written first where this source makes them. `now` is when keys that are made
    /// come into use.
    ///
    /// # Errors
    /// The file is missing, cannot be read or written, may be read by others, or is damaged.
    pub fn load(&self, now: Stamp) -> Result<Keys, KeysError> {
        match self {
            Self::File(path) => Keys::load(path),
            Self::DataDirectory(directory) => Keys::load_or_create(&directory.join(Self::FILE_NAME), now),
            Self::Ephemeral => Ok(Keys::generate(now)),
        }
    }
}

/// All secret keys of a service. `Debug` shows their ids only.
///
/// ```
/// use referee::Stamp;
/// use store::keys::{Keys, Role};
///
/// let mut keys = Keys::generate(Stamp::from_ms(1_000));
/// let next = keys.prepare(Role::Box)?;
/// keys.promote(Role::Box, &next, Stamp::from_ms(2_000))?;
/// assert_eq!(keys.keyring().current().0, &next);
/// # Ok::<(), store::keys::KeysError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keys {
    signing: Ring,
    boxes: Ring,
    token: Ring,
    request: Ring,
}

impl Keys {
    /// The most keys of a file: years of monthly rotation.
    pub const COUNT_MAX: usize = 256;

    /// New keys, one a role, in use from `now` on.
    #[must_use]
    pub fn generate(now: Stamp) -> Self {
        let ring = |role| Ring { current: Entry { from: Some(now), ..draw(role) }, others: Vec::new() };
        Self {
            signing: ring(Role::Signing),
            boxes: ring(Role::Box),
            token: ring(Role::Token),
            request: ring(Role::Request),
        }
    }

    /// The keys of a file.
    ///
    /// # Errors
    /// The file is missing, cannot be read, may be read by others, or is damaged.
    pub fn load(path: &Path) -> Result<Self, KeysError> {
        let text = file::read(path)?;
        text::parse(&text).map_err(|problem| KeysError::Malformed { path: path.to_owned(), problem })
    }

    /// The keys of a file, made if there is none. Of several processes that make it at once, one wins
    /// and all have its keys.
    ///
    /// # Errors
    /// As of [`Keys::load`], or the file cannot be written.
    pub fn load_or_create(path: &Path, now: Stamp) -> Result<Self, KeysError> {
        if !path.exists() {
            file::create(path, &text::print(&Self::generate(now)))?;
        }
        Self::load(path)
    }

    /// Writes the keys to a file in the place of what is there, as a whole or not at all, for the owner
    /// alone to read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), KeysError> {
        file::replace(path, &text::print(self))
    }

    /// Changes the keys of a file: all of the change or nothing of it is written, and of two processes
    /// that change it at once one is refused. Comments in the file are not kept. Processes that have
    /// loaded the file go on with the keys that they have.
    ///
    /// # Errors
    /// As of [`Keys::load`] and of `change`; another process changes the file; or it cannot be written.
    pub fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, KeysError>,
    ) -> Result<T, KeysError> {
        let _claim = file::claim(path)?;
        let mut keys = Self::load(path)?;
        let changed = change(&mut keys)?;
        keys.save(path)?;
        Ok(changed)
    }

    /// Every key without its secret: role by role, the one in use first.
    #[must_use]
    pub fn facts(&self) -> Vec<KeyFacts> {
        let of_role = |role| self.ring(role).iter().map(move |entry| KeyFacts::new(role, entry));
        Role::ALL.into_iter().flat_map(of_role).collect()
    }

    /// Adds a key that is not in use yet, and says its id.
    ///
    /// # Errors
    /// Keys of this role are not rotated, or there are as many as there may be.
    pub fn prepare(&mut self, role: Role) -> Result<KeyId, KeysError> {
        loop {
            let number = rand::random();
            let id = KeyId::numbered(role.id_letter(), number);
            if self.ring(role).iter().all(|entry| entry.id != id) {
                return self.prepare_numbered(role, number);
            }
        }
    }

    /// Adds the key of a number, which whoever calls has drawn, or finds it: [`Keys::prepare`] for requests that may
    /// be repeated.
    ///
    /// # Errors
    /// As of [`Keys::prepare`].
    pub fn prepare_numbered(&mut self, role: Role, number: u32) -> Result<KeyId, KeysError> {
        let count: usize = Role::ALL.map(|role| self.ring(role).iter().count()).iter().sum();
        if role == Role::Request {
            return Err(KeysError::NotRotated { role });
        }
        let id = KeyId::numbered(role.id_letter(), number);
        if self.ring(role).iter().any(|entry| entry.id == id) {
            return Ok(id);
        }
        if count >= Self::COUNT_MAX {
            return Err(KeysError::TooMany { limit: Self::COUNT_MAX });
        }
        self.ring_mut(role).others.push(Entry { id: id.clone(), ..draw(role) });
        Ok(id)
    }

    /// Takes a prepared key into use in the place of the current one, which ends. If `now` lies before the
    /// current one began, as on a machine whose clock is behind, that beginning counts as now.
    ///
    /// # Errors
    /// There is no such key that waits.
    pub fn promote(&mut self, role: Role, id: &KeyId, now: Stamp) -> Result<(), KeysError> {
        let ring = self.ring_mut(role);
        let waits = |entry: &Entry| entry.id == *id && entry.from.is_none();
        let at = ring.others.iter().position(waits);
        let at = at.ok_or_else(|| KeysError::NotPrepared { role, id: id.clone() })?;
        let now = ring.current.from.map_or(now, |from| from.max(now));
        let next = Entry { from: Some(now), ..ring.others.remove(at) };
        let ended = std::mem::replace(&mut ring.current, next);
        ring.others.push(Entry { until: Some(now), ..ended });
        Ok(())
    }

    /// Removes a key that is not in use, and says what it was. What it locked cannot be opened any more,
    /// and what it signed is not vouched for: see the head of this module for when nothing needs it.
    ///
    /// # Errors
    /// The key is in use, or there is no such key.
    pub fn retire(&mut self, role: Role, id: &KeyId) -> Result<KeyFacts, KeysError> {
        let ring = self.ring_mut(role);
        if ring.current.id == *id {
            return Err(KeysError::InUse { role, id: id.clone() });
        }
        let at = ring.others.iter().position(|entry| entry.id == *id);
        let at = at.ok_or_else(|| KeysError::Unknown { role, id: id.clone() })?;
        Ok(KeyFacts::new(role, &ring.others.remove(at)))
    }

    /// What unresolved moves are locked with.
    #[must_use]
    pub fn keyring(&self) -> Keyring {
        let key = |entry: &Entry| (entry.id.clone(), BoxKey::from_bytes(&entry.secret));
        let (id, current) = key(&self.boxes.current);
        self.boxes
            .others
            .iter()
            .map(key)
            .fold(Keyring::new(id, current), |keyring, (id, key)| keyring.with_old(id, key))
    }

    /// What receipts and finished matches are signed with.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer::new(&self.signing)
    }

    /// The Ed25519 seed that makes players' tokens.
    #[must_use]
    pub fn token_seed(&self) -> &[u8; 32] {
        &self.token.current.secret
    }

    /// The seeds of all keys whose tokens are taken, the current one first.
    pub fn token_seeds(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.token.iter().map(|entry| &*entry.secret)
    }

    /// What repeated requests are recognised by.
    #[must_use]
    pub fn request_secret(&self) -> &[u8; 32] {
        &self.request.current.secret
    }

    const fn ring(&self, role: Role) -> &Ring {
        match role {
            Role::Signing => &self.signing,
            Role::Box => &self.boxes,
            Role::Token => &self.token,
            Role::Request => &self.request,
        }
    }

    const fn ring_mut(&mut self, role: Role) -> &mut Ring {
        match role {
            Role::Signing => &mut self.signing,
            Role::Box => &mut self.boxes,
            Role::Token => &mut self.token,
            Role::Request => &mut self.request,
        }
    }
}

/// A new key that is not in use.
fn draw(role: Role) -> Entry {
    let id = KeyId::numbered(role.id_letter(), rand::random());
    Entry { id, from: None, until: None, secret: Zeroizing::new(rand::random()) }
}
