//! Folders for the files of servers, of which none is left in the end.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::Error;

/// What the names of all these folders begin with.
const PREFIX: &str = "redis-servers-";

/// A file in each folder, locked for as long as its process lives.
const LOCK: &str = "lock";

/// A folder of its own, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes those of processes that were killed or kept theirs to their end.
    pub(crate) fn new() -> Result<Self, Error> {
        Self::make(&std::env::temp_dir()).map_err(Error::io("making a scratch folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn make(parent: &Path) -> io::Result<Self> {
        sweep(parent)?;
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Locked under another name first: who finds the file finds it locked.
        let unnamed = dir.path().join("unlocked");
        let lock = File::create(&unnamed)?;
        lock.lock()?;
        fs::rename(&unnamed, dir.path().join(LOCK))?;
        Ok(Self { dir, _lock: lock })
    }
}

/// Removes the folders here whose lock nobody holds.
fn sweep(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // One without a lock has just been made, or is just being removed.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            // Another process may do the same.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    Ok(())
}
