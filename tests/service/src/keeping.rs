//! Where the store of a cluster is.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::codec::Keyring;
use store::{Clock, Store};
use store_embedded::{Checked, Durability, EmbeddedStore, VolatileStore};
use tempfile::TempDir;

/// Where matches are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keeping {
    /// In memory: they end with the cluster.
    #[default]
    Memory,
    /// In a directory of the cluster's own, which outlives its nodes. Without fsync: what tests end are
    /// processes, not machines.
    Directory,
}

/// Where files are in memory, on systems that have such a place: hundreds of stores are opened here, and
/// none of them has to survive the machine.
const IN_MEMORY: &str = "/dev/shm";

/// Bytes of a file that are looked at together.
const BLOCK_BYTES: usize = 64 * 1024;

/// A place for a store, and what opens it there. Removed with the value.
pub(crate) struct Place {
    directory: Option<TempDir>,
    keyring: Keyring,
}

impl Place {
    pub(crate) fn new(keeping: Keeping, keyring: Keyring) -> Self {
        let directory = match keeping {
            Keeping::Memory => None,
            Keeping::Directory => Some(empty_directory()),
        };
        Self { directory, keyring }
    }

    /// Where nothing is kept that this crate would know of.
    pub(crate) const fn nowhere(keyring: Keyring) -> Self {
        Self { directory: None, keyring }
    }

    pub(crate) fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn Store> {
        let Some(directory) = &self.directory else { return Arc::new(VolatileStore::new(clock)) };
        let keyring = self.keyring.clone();
        let store = EmbeddedStore::open_with(directory.path(), clock, keyring, Durability::Process);
        Arc::new(store.expect("a store opens where one was closed"))
    }

    /// The directory.
    ///
    /// # Panics
    /// If the store is in memory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.as_ref().expect("the cluster was set up with a directory").path()
    }

    /// What a check finds of a closed store.
    pub(crate) fn checked(&self) -> Checked {
        store_embedded::check(self.path(), &self.keyring).expect("a closed store can be checked")
    }

    /// The same with a copy of the directory, which nobody may have open.
    pub(crate) fn copy(&self) -> Self {
        let directory = empty_directory();
        copy(self.path(), directory.path()).expect("a closed store can be copied");
        Self { directory: Some(directory), keyring: self.keyring.clone() }
    }
}

fn empty_directory() -> TempDir {
    let directory = tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir());
    directory.expect("a temporary directory")
}

/// Copies what is in a directory into another one.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir(&to)?;
            copy(&entry.path(), &to)?;
        } else {
            copy_file(&entry.path(), &to)?;
        }
    }
    Ok(())
}

/// A journal is long and mostly nothing yet: what is nothing takes no place in the copy either.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    to.set_len(from.metadata()?.len())?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match from.read(&mut block)? {
            0 => return Ok(()),
            count if is_nothing(&block[..count]) => {
                to.seek_relative(count.try_into().unwrap_or(i64::MAX))?;
            }
            count => to.write_all(&block[..count])?,
        }
    }
}

/// Adds every file of a directory, without the nothing that it ends with.
pub(crate) fn read_all(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(&path, files)?;
            continue;
        }
        let mut bytes = std::fs::read(&path)?;
        while bytes.len() >= BLOCK_BYTES && is_nothing(&bytes[bytes.len() - BLOCK_BYTES..]) {
            bytes.truncate(bytes.len() - BLOCK_BYTES);
        }
        files.push((path, bytes));
    }
    Ok(())
}

fn is_nothing(block: &[u8]) -> bool {
    static NOTHING: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
    *block == NOTHING[..block.len()]
}
