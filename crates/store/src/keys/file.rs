//! The file that keys are kept in: whole or not at all, and for its owner alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::KeysError;

/// The longest file that is read, bytes: 256 keys take 32 KiB, comments the rest.
pub const FILE_BYTES_MAX: u64 = 128 * 1024;

/// Read and write for the owner.
const OWNER_ONLY: u32 = 0o600;
/// What others may do.
const OTHERS: u32 = 0o077;

pub(super) fn read(path: &Path) -> Result<Zeroizing<String>, KeysError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => KeysError::Missing { path: path.to_owned() },
        _ => KeysError::Read { path: path.to_owned(), error },
    };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mode = metadata.mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(KeysError::Exposed { path: path.to_owned(), mode });
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(KeysError::TooLong { path: path.to_owned() });
    }
    // Room for all of it, so that no copy is left behind by growing.
    let capacity = usize::try_from(metadata.len()).unwrap_or_default() + 1;
    let mut text = Zeroizing::new(String::with_capacity(capacity));
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// The right to change a file, until it is dropped or the process ends.
pub(super) struct Claim {
    _directory: File,
}

/// Takes the right to change a file: the lock of its directory, since the file itself is replaced.
pub(super) fn claim(path: &Path) -> Result<Claim, KeysError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => KeysError::Missing { path: path.to_owned() },
        _ => KeysError::Read { path: path.to_owned(), error },
    };
    let directory = File::open(directory(path)).map_err(failed)?;
    match directory.try_lock() {
        Ok(()) => Ok(Claim { _directory: directory }),
        Err(TryLockError::WouldBlock) => Err(KeysError::Claimed { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Writes a file that is not there yet. One that another process made meanwhile stays.
pub(super) fn create(path: &Path, text: &str) -> Result<(), KeysError> {
    let write = || {
        let fresh = write_beside(path, text, None)?;
        let linked = match fs::hard_link(&fresh, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        };
        fs::remove_file(&fresh)?;
        linked.and_then(|()| sync_directory(path))
    };
    write().map_err(|error| KeysError::Write { path: path.to_owned(), error })
}

/// Writes a file in the place of what is there, for the same owner. A link stays one: the file that it
/// names is replaced.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), KeysError> {
    let write = || {
        let (target, owner) = match fs::metadata(path) {
            Ok(before) => (fs::canonicalize(path)?, Some((before.uid(), before.gid()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(error),
        };
        let fresh = write_beside(&target, text, owner)?;
        if let Err(error) = fs::rename(&fresh, &target) {
            // The first failure is the one to tell.
            let _ = fs::remove_file(&fresh);
            return Err(error);
        }
        sync_directory(&target)
    };
    write().map_err(|error| KeysError::Write { path: path.to_owned(), error })
}

/// Writes a file of a name of its own beside `path`, for this owner (user and group) if any, and waits
/// until it is on the disk.
fn write_beside(path: &Path, text: &str, owner: Option<(u32, u32)>) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut fresh_name = name.to_owned();
    fresh_name.push(format!(".{:016x}", rand::random::<u64>()));
    let fresh = path.with_file_name(fresh_name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(&fresh)?;
    let written =
        file.write_all(text.as_bytes()).and_then(|()| give(&file, owner)).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&fresh);
        return Err(error);
    }
    Ok(fresh)
}

/// Gives a file to its owner if that is another user: an administrator's change must leave the server able
/// to read it.
fn give(file: &File, owner: Option<(u32, u32)>) -> io::Result<()> {
    match owner {
        Some((user, group)) if file.metadata()?.uid() != user => fchown(file, Some(user), Some(group)),
        Some(_) | None => Ok(()),
    }
}

/// Waits until the directory's entry of `path` is on the disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}
