//! The one module that knows the engine: named spaces of keys, atomic batches, snapshots.

use std::path::Path;
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::FilterPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable as _, Slice, Snapshot};

use crate::error::OpenError;

/// Bytes a space holds in memory before they are sorted into a file. Heads are written over and over and
/// only their last ones go to a file: a small table is quicker to search than to keep.
const MEMTABLE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Files of a space that wait to be merged into the rest. What is stored is read seldom, from memory while it
/// is new: merging it less often costs little then, and saves most of its writing.
const UNMERGED_FILES_MAX: u8 = 16;

/// Bytes of journal kept at most. What is read at a start after a crash, so a bound on its length.
const JOURNAL_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Bytes of blocks cached: finished matches and lists are what is read from files.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// Threads that sort and merge files; calls do not wait for them.
const WORKERS: usize = 1;

/// A part of the store with keys of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Space {
    /// The shards' clocks.
    Clocks,
    /// Match → head, while something can still happen to the match.
    Live,
    /// Match → head, once it is over and nothing waits on it.
    Rest,
    /// Match and turn → resolved turn.
    Turns,
    /// Player, kind, time, match → nothing.
    Lists,
    /// End of retention, match → nothing.
    Expiry,
    /// Invite → when it is forgotten, invite.
    Invites,
    /// Actor and request → when it is forgotten, record.
    Requests,
    /// Shard, time, number → entry of the feed; shard → the last one that was trimmed.
    Feed,
    /// Pool → count of its changes; pool and ticket → ticket; pool and match → match that is owed.
    Pools,
    /// Player → since when, what holds him.
    Reservations,
    /// Player → version, what he has achieved.
    Records,
    /// Speed and player → his line of the leaderboard.
    Boards,
    /// Player → number of its last change, whether he may play; nobody → number of the last change of all.
    Access,
}

impl Space {
    pub(crate) const ALL: [Self; 14] = [
        Self::Clocks,
        Self::Live,
        Self::Rest,
        Self::Turns,
        Self::Lists,
        Self::Expiry,
        Self::Invites,
        Self::Requests,
        Self::Feed,
        Self::Pools,
        Self::Reservations,
        Self::Records,
        Self::Boards,
        Self::Access,
    ];

    /// The space's name in the engine and its place in a backup; never changes.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Clocks => "clocks",
            Self::Live => "live",
            Self::Rest => "rest",
            Self::Turns => "turns",
            Self::Lists => "lists",
            Self::Expiry => "expiry",
            Self::Invites => "invites",
            Self::Requests => "requests",
            Self::Feed => "feed",
            Self::Pools => "pools",
            Self::Reservations => "reservations",
            Self::Records => "records",
            Self::Boards => "boards",
            Self::Access => "access",
        }
    }

    /// How a new space is laid out.
    fn options(self) -> KeyspaceCreateOptions {
        let merged = Leveled::default().with_l0_threshold(UNMERGED_FILES_MAX);
        let options = KeyspaceCreateOptions::default()
            .max_memtable_size(MEMTABLE_BYTES_MAX)
            .compaction_strategy(Arc::new(merged));
        // A filter tells where a key is not: of no use where keys are read in ranges only.
        match self {
            Self::Rest | Self::Reservations | Self::Records => options,
            _ => options.filter_policy(FilterPolicy::disabled()),
        }
    }

    const fn index(self) -> usize {
        self as usize
    }

    /// The space with this place in [`Space::ALL`].
    pub(crate) fn from_index(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).copied()
    }
}

/// A key of a space and what becomes of it.
pub(crate) struct Write {
    pub(crate) space: Space,
    /// As the engine holds it: a match's keys are short enough to need no memory of their own.
    pub(crate) key: Slice,
    /// None removes the key.
    pub(crate) value: Option<Vec<u8>>,
}

impl Write {
    pub(crate) fn put(space: Space, key: impl AsRef<[u8]>, value: Vec<u8>) -> Self {
        Self { space, key: Slice::new(key.as_ref()), value: Some(value) }
    }

    pub(crate) fn remove(space: Space, key: impl AsRef<[u8]>) -> Self {
        Self { space, key: Slice::new(key.as_ref()), value: None }
    }
}

/// What survives once a write has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// The end of the process, of the machine, and of its power: one fsync for each group of commits.
    Power,
    /// The end of the process only: the operating system writes when it likes. For tests, benches, and
    /// whoever would rather lose seconds than wait for a disk, or the store if the system wrote something
    /// before what came earlier.
    Process,
}

impl Durability {
    const fn persist(self) -> PersistMode {
        match self {
            // A journal's length changes with every write, and `fdatasync` covers that.
            Self::Power => PersistMode::SyncData,
            Self::Process => PersistMode::Buffer,
        }
    }
}

/// A key and its value.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// Files that the engine keeps open. A process leaves it some of its descriptors beside its connections;
/// a disk without a descriptor ends the process.
const FILES_MAX: usize = 128;

/// The engine, open.
#[derive(Clone)]
pub(crate) struct Disk {
    database: Database,
    spaces: [Keyspace; Space::ALL.len()],
}

impl Disk {
    /// Opens what is in `directory`, or begins it.
    pub(crate) fn open(directory: &Path) -> Result<Self, OpenError> {
        Self::open_with(directory, WORKERS)
    }

    /// Opens what is in `directory` to be read only: nothing is sorted or merged.
    pub(crate) fn open_to_read(directory: &Path) -> Result<Self, OpenError> {
        Self::open_with(directory, 0)
    }

    fn open_with(directory: &Path, workers: usize) -> Result<Self, OpenError> {
        let database = Database::builder(directory)
            // The checked one takes no 0.
            .worker_threads_unchecked(workers)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .max_cached_files(Some(FILES_MAX))
            .open()
            .map_err(|error| OpenError::engine(directory, error))?;
        let mut spaces = Vec::with_capacity(Space::ALL.len());
        for space in Space::ALL {
            let opened = database.keyspace(space.name(), || space.options());
            spaces.push(opened.map_err(|error| OpenError::engine(directory, error))?);
        }
        let Ok(spaces) = spaces.try_into() else {
            return Err(OpenError::Damaged("the engine has other spaces".to_owned()));
        };
        Ok(Self { database, spaces })
    }

    /// Makes all writes or none; they are seen once they are durable.
    pub(crate) fn write(
        &self,
        writes: impl IntoIterator<Item = Write>,
        durability: Durability,
    ) -> Result<(), fjall::Error> {
        let mut batch = self.database.batch().durability(Some(durability.persist()));
        for write in writes {
            let space = &self.spaces[write.space.index()];
            match write.value {
                Some(value) => batch.insert(space, write.key, value),
                None => batch.remove(space, write.key),
            }
        }
        batch.commit()
    }

    /// Makes durable whatever was written.
    pub(crate) fn sync(&self) -> Result<(), fjall::Error> {
        self.database.persist(PersistMode::SyncAll)
    }

    /// Everything as it is now; later writes do not change it.
    pub(crate) fn view(&self) -> View {
        View { spaces: self.spaces.clone(), snapshot: self.database.snapshot() }
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, fjall::Error> {
        Ok(self.spaces[space.index()].get(key)?.map(|value| value.to_vec()))
    }
}

/// The state of all spaces at one moment.
pub(crate) struct View {
    spaces: [Keyspace; Space::ALL.len()],
    snapshot: Snapshot,
}

impl View {
    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, fjall::Error> {
        Ok(self.snapshot.get(&self.spaces[space.index()], key)?.map(|value| value.to_vec()))
    }

    /// The entries from `from` on and before `until`, in the order of their keys.
    pub(crate) fn range(
        &self,
        space: Space,
        from: &[u8],
        until: &[u8],
    ) -> impl Iterator<Item = Result<Entry, fjall::Error>> + use<> {
        let range = from.to_vec()..until.to_vec();
        self.snapshot.range(&self.spaces[space.index()], range).map(entry)
    }

    /// The last of the entries from `from` on and before `until`.
    pub(crate) fn last(
        &self,
        space: Space,
        from: &[u8],
        until: &[u8],
    ) -> Result<Option<Entry>, fjall::Error> {
        let range = from.to_vec()..until.to_vec();
        self.snapshot.range(&self.spaces[space.index()], range).next_back().map(entry).transpose()
    }

    /// All entries of a space.
    pub(crate) fn all(&self, space: Space) -> impl Iterator<Item = Result<Entry, fjall::Error>> + use<> {
        self.snapshot.iter(&self.spaces[space.index()]).map(entry)
    }
}

fn entry(guard: fjall::Guard) -> Result<Entry, fjall::Error> {
    let (key, value) = guard.into_inner()?;
    Ok((key.to_vec(), value.to_vec()))
}
