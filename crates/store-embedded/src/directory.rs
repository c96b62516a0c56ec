//! The directory of a store: who may use it, and in what format it is written.
//!
//! ```text
//! DIR/lock      held by the process that has the store open
//! DIR/engine/   the engine's files
//! DIR/format    the number of the format, as text; once it is there the store is begun
//! DIR/closed    what the engine's journal holds, while nobody has the store open and it was closed well
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::error::OpenError;

/// The newest format that this program reads, and the one it writes. Raised when an older program could
/// no longer read what is written, or would lose a part of it.
///
/// - 1: matches, lists, invites, requests, the feed.
/// - 2: pools, reservations, records, leaderboards; matches have an origin.
/// - 3: who may not play.
pub(crate) const FORMAT: u32 = 3;

/// The oldest format that this program reads.
const FORMAT_MIN: u32 = 1;

const LOCK: &str = "lock";
const FORMAT_FILE: &str = "format";
const ENGINE: &str = "engine";
const CLOSED: &str = "closed";
/// What was begun and not finished is not there.
const UNFINISHED: &str = ".new";

/// A directory that this process alone uses until it is dropped.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// The operating system gives the lock back when the process ends, however it ends.
    _lock: File,
}

impl Directory {
    /// Takes a directory that has a store.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        if !path.join(FORMAT_FILE).exists() {
            return Err(OpenError::Missing { directory: path.to_owned() });
        }
        let directory = Self::lock(path)?;
        directory.check_format()?;
        Ok(directory)
    }

    /// Takes a directory that has a store, or begins an empty one there, which `fill` makes.
    pub(crate) fn open_or_begin(
        path: &Path,
        fill: impl FnOnce(&Path) -> Result<(), OpenError>,
    ) -> Result<Self, OpenError> {
        std::fs::create_dir_all(path).map_err(|error| OpenError::io(path, error))?;
        let directory = Self::lock(path)?;
        match (directory.engine().exists(), path.join(FORMAT_FILE).exists()) {
            (true, true) => _ = directory.check_format()?,
            (false, false) => directory.begin(fill)?,
            // A crash came between the two; the engine is whole.
            (true, false) => directory.write_format()?,
            (false, true) => {
                return Err(OpenError::Damaged(format!("{} is gone", directory.engine().display())));
            }
        }
        Ok(directory)
    }

    /// Begins a store in a directory that has none. `fill` makes the engine.
    pub(crate) fn begin_new<E: From<OpenError>>(
        path: &Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        std::fs::create_dir_all(path).map_err(|error| OpenError::io(path, error))?;
        let directory = Self::lock(path)?;
        if directory.engine().exists() || path.join(FORMAT_FILE).exists() {
            return Err(OpenError::Occupied { directory: path.to_owned() }.into());
        }
        directory.begin(fill)
    }

    fn lock(path: &Path) -> Result<Self, OpenError> {
        let lock_path = path.join(LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(|error| OpenError::io(&lock_path, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { directory: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(OpenError::io(&lock_path, error)),
        }
    }

    /// The format that the store is written in, if this program reads it.
    fn check_format(&self) -> Result<u32, OpenError> {
        let path = self.path.join(FORMAT_FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| OpenError::io(&path, error))?;
        let found: u32 = text
            .trim()
            .parse()
            .map_err(|_| OpenError::Damaged(format!("{} is no number", path.display())))?;
        if found > FORMAT {
            return Err(OpenError::Newer { directory: self.path.clone(), found, known: FORMAT });
        }
        if found < FORMAT_MIN {
            return Err(OpenError::Damaged(format!("there never was a format {found}")));
        }
        Ok(found)
    }

    /// Notes that what is written from now on is in the newest format: an older program leaves it alone.
    pub(crate) fn raise_format(&self) -> Result<(), OpenError> {
        if self.check_format()? < FORMAT { self.write_format() } else { Ok(()) }
    }

    fn write_format(&self) -> Result<(), OpenError> {
        self.write_whole(FORMAT_FILE, format!("{FORMAT}\n").as_bytes())
    }

    /// What was noted when the store was closed; none if it was not closed well.
    pub(crate) fn closing_note(&self) -> Result<Option<String>, OpenError> {
        let path = self.path.join(CLOSED);
        match std::fs::read_to_string(&path) {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(OpenError::io(&path, error)),
        }
    }

    /// Notes that the store is closed, and how.
    pub(crate) fn note_closing(&self, note: &str) -> Result<(), OpenError> {
        self.write_whole(CLOSED, note.as_bytes())
    }

    /// Takes the note away, durably: what it says is about to change.
    pub(crate) fn forget_closing(&self) -> Result<(), OpenError> {
        let path = self.path.join(CLOSED);
        match std::fs::remove_file(&path).and_then(|()| sync_directory(&self.path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(OpenError::io(&path, error)),
            _ => Ok(()),
        }
    }

    /// Writes a file as a whole or not at all, and durably.
    fn write_whole(&self, name: &str, content: &[u8]) -> Result<(), OpenError> {
        let path = self.path.join(name);
        let unfinished = self.path.join(format!("{name}{UNFINISHED}"));
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.write_all(content)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &path)?;
            sync_directory(&self.path)
        };
        write().map_err(|error| OpenError::io(&path, error))
    }

    /// Where the engine keeps its files.
    pub(crate) fn engine(&self) -> PathBuf {
        self.path.join(ENGINE)
    }

    /// Has `fill` make the engine in another place, which takes its name only when it is complete: a power
    /// cut at any moment leaves all of it or nothing.
    fn begin<E: From<OpenError>>(&self, fill: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        let unfinished = self.path.join(format!("{ENGINE}{UNFINISHED}"));
        if unfinished.exists() {
            std::fs::remove_dir_all(&unfinished).map_err(|error| OpenError::io(&unfinished, error))?;
        }
        fill(&unfinished)?;
        let finish = || {
            sync_tree(&unfinished)?;
            std::fs::rename(&unfinished, self.engine())?;
            sync_directory(&self.path)
        };
        finish().map_err(|error| OpenError::io(&unfinished, error))?;
        Ok(self.write_format()?)
    }
}

/// Makes the names in a directory durable.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes everything below a directory durable.
fn sync_tree(path: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_directory(path)
}
