//! A copy of an engine that can be opened without a change to the original: an engine that is opened cuts
//! its journal, sorts and merges.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::directory::Directory;
use crate::disk::Disk;
use crate::error::OpenError;
use crate::open::read_journal;

/// Histories are in it, and who plays whom.
const OWNER_ONLY: u32 = 0o700;

/// Folders below a space's whose files never change; most of a store is in them. They are linked to.
const UNCHANGING: [&str; 2] = ["tables", "blobs"];

/// Levels of folders in an engine, and one to spare.
const DEPTH_MAX: u32 = 4;

/// The copy, in the system's place for temporary files; removed when it is dropped.
pub(crate) struct ReadingCopy {
    path: PathBuf,
}

impl ReadingCopy {
    /// Copies the engine of a directory as it would be opened. Takes as much room as its journal.
    ///
    /// # Errors
    /// The journal is damaged, or the copy cannot be made.
    pub(crate) fn of(directory: &Directory) -> Result<Self, OpenError> {
        let journal = read_journal(directory)?;
        let engine = directory.engine();
        let path = std::env::temp_dir().join(format!("wts-store-{:016x}", rand::random::<u64>()));
        let failed = |error| OpenError::io(&path, error);
        DirBuilder::new().mode(OWNER_ONLY).create(&path).map_err(failed)?;
        // From here on it is removed.
        let copy = Self { path: path.clone() };
        let fill = || {
            journal.copy_to(&path)?;
            copy_folder(&engine.canonicalize()?, &path, DEPTH_MAX)
        };
        fill().map_err(failed)?;
        Ok(copy)
    }

    /// Opens the copy.
    pub(crate) fn open(&self) -> Result<Disk, OpenError> {
        Disk::open_to_read(&self.path)
    }
}

impl Drop for ReadingCopy {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a copy is left behind");
        }
    }
}

/// Copies what is in a folder and not yet in the other one.
fn copy_folder(from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    let links = from.file_name().is_some_and(|name| UNCHANGING.iter().any(|unchanging| name == *unchanging));
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            let depth = depth.checked_sub(1).ok_or_else(|| io::Error::other("folders in folders"))?;
            std::fs::create_dir(&to)?;
            copy_folder(&from, &to, depth)?;
        } else if links {
            symlink(&from, &to)?;
        } else if !to.exists() {
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
