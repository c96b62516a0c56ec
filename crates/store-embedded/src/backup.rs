//! Copies of a store: taken while it runs, and brought back.
//!
//! A backup is one stream of bytes: [`MAGIC`], the format of the store (u32), then each entry as
//! `space (u8) ‖ length of key (u32) ‖ length of value (u32) ‖ key ‖ value`, then [`END`], the number of
//! entries (u64) and the SHA-256 of all bytes before it. Numbers are big-endian. Keys of boxes, signatures
//! and tokens are not in it: whoever has a backup alone learns no unresolved move.

use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::directory::{Directory, FORMAT};
use crate::disk::{self, Disk, Durability, Space, View};
use crate::durable::Durable;
use crate::error::OpenError;
use crate::reading_copy::ReadingCopy;
use crate::single_node::SingleNode;

/// What a backup begins with.
const MAGIC: &[u8; 16] = b"whattheshell-bak";

/// Stands where the next entry's space would.
const END: u8 = 0xff;

/// The longest key or value, bytes: a record is far below; what is longer is damage.
const PART_BYTES_MAX: u32 = 64 * 1024;

/// Bytes brought back at once.
const GROUP_BYTES: usize = 1024 * 1024;

/// Why a backup cannot be taken or brought back.
#[derive(Debug, Error)]
pub enum BackupError {
    /// It cannot be written or read.
    #[error("the backup cannot be written or read: {0}")]
    Io(#[from] std::io::Error),
    /// The store cannot be read or made.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// It ends before its end: the copy is not whole.
    #[error("the backup is not whole: it ends after {entries} entries")]
    Unfinished {
        /// Entries that were read.
        entries: u64,
    },
    /// The bytes are no backup, or not those that were written.
    #[error("the backup is damaged: {0}")]
    Damaged(&'static str),
    /// A newer program took it.
    #[error(
        "the backup has format {found}, and this program reads formats up to {FORMAT}: use the newer one"
    )]
    Newer {
        /// Its format.
        found: u32,
    },
}

impl From<fjall::Error> for BackupError {
    fn from(error: fjall::Error) -> Self {
        Self::Store(error.into())
    }
}

impl SingleNode<Durable> {
    /// Writes all that is stored at this moment to `to`, while the store is in use. Returns the number of
    /// entries. Blocks: call it where blocking is allowed.
    ///
    /// # Errors
    /// If the store cannot be read or `to` not be written.
    pub fn backup(&self, to: &mut dyn Write) -> Result<u64, BackupError> {
        write_backup(&self.behind.view(), to)
    }
}

/// Writes a backup of the store in a directory that no process has open. Returns the number of entries.
///
/// # Errors
/// If the store cannot be opened or read, or `to` not be written.
pub fn backup(directory: &Path, to: &mut dyn Write) -> Result<u64, BackupError> {
    let directory = Directory::open(directory)?;
    write_backup(&ReadingCopy::of(&directory)?.open()?.view(), to)
}

fn write_backup(view: &View, to: &mut dyn Write) -> Result<u64, BackupError> {
    let mut to = Hashed { inner: to, hash: Sha256::new() };
    to.write_all(MAGIC)?;
    to.write_all(&FORMAT.to_be_bytes())?;
    let mut entries: u64 = 0;
    for space in Space::ALL {
        for entry in view.all(space) {
            let (key, value) = entry?;
            to.write_all(&[space as u8])?;
            to.write_all(&(key.len() as u32).to_be_bytes())?;
            to.write_all(&(value.len() as u32).to_be_bytes())?;
            to.write_all(&key)?;
            to.write_all(&value)?;
            entries += 1;
        }
    }
    to.write_all(&[END])?;
    to.write_all(&entries.to_be_bytes())?;
    let hash = to.hash.clone().finalize();
    to.write_all(&hash)?;
    to.flush()?;
    Ok(entries)
}

/// Makes a store in a directory that has none from a backup. It is there as a whole or not at all.
/// Returns the number of entries. Since the backup was taken nobody was there: that time is an outage.
///
/// # Errors
/// If the directory has a store, or the backup is damaged, not whole, or newer than this program.
pub fn restore(directory: &Path, from: &mut dyn Read) -> Result<u64, BackupError> {
    let mut entries = 0;
    Directory::begin_new(directory, |path| -> Result<(), BackupError> {
        let disk = Disk::open(path)?;
        let (mut group, mut bytes) = (Vec::new(), 0);
        entries = read_backup(from, |write| {
            bytes += write.key.len() + write.value.as_ref().map_or(0, Vec::len);
            group.push(write);
            if bytes >= GROUP_BYTES {
                bytes = 0;
                disk.write(std::mem::take(&mut group), Durability::Process)?;
            }
            Ok(())
        })?;
        Ok(disk.write(group, Durability::Power)?)
    })?;
    Ok(entries)
}

/// Reads a backup to its end and checks that it is whole. Returns the number of entries.
///
/// # Errors
/// If it is damaged, not whole, or newer than this program.
pub fn verify_backup(from: &mut dyn Read) -> Result<u64, BackupError> {
    read_backup(from, |_| Ok(()))
}

/// Reads a backup; `each` takes its entries. What it was given counts only once this has returned.
fn read_backup(
    from: &mut dyn Read,
    mut each: impl FnMut(disk::Write) -> Result<(), BackupError>,
) -> Result<u64, BackupError> {
    let mut from = Hashed { inner: from, hash: Sha256::new() };
    if from.take::<16>(0)? != *MAGIC {
        return Err(BackupError::Damaged("these bytes are no backup"));
    }
    let found = u32::from_be_bytes(from.take(0)?);
    if found > FORMAT {
        return Err(BackupError::Newer { found });
    }
    let mut entries = 0;
    loop {
        let [space] = from.take(entries)?;
        if space == END {
            break;
        }
        let space = Space::from_index(space).ok_or(BackupError::Damaged("a space is not known"))?;
        let key_bytes = u32::from_be_bytes(from.take(entries)?);
        let value_bytes = u32::from_be_bytes(from.take(entries)?);
        if key_bytes == 0 || key_bytes.max(value_bytes) > PART_BYTES_MAX {
            return Err(BackupError::Damaged("an entry is too long"));
        }
        let key = from.take_many(key_bytes, entries)?;
        let value = from.take_many(value_bytes, entries)?;
        entries += 1;
        each(disk::Write::put(space, key, value))?;
    }
    let counted = u64::from_be_bytes(from.take(entries)?);
    let hash: [u8; 32] = from.hash.clone().finalize().into();
    if counted != entries || from.take::<32>(entries)? != hash {
        return Err(BackupError::Damaged("its hash is another one"));
    }
    Ok(entries)
}

/// A stream and the hash of what went through it.
struct Hashed<T> {
    inner: T,
    hash: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Hashed<R> {
    fn take<const N: usize>(&mut self, entries: u64) -> Result<[u8; N], BackupError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, entries)?;
        Ok(bytes)
    }

    fn take_many(&mut self, count: u32, entries: u64) -> Result<Vec<u8>, BackupError> {
        let mut bytes = vec![0; count as usize];
        self.fill(&mut bytes, entries)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], entries: u64) -> Result<(), BackupError> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => BackupError::Unfinished { entries },
            _ => BackupError::Io(error),
        })?;
        self.hash.update(bytes);
        Ok(())
    }
}
