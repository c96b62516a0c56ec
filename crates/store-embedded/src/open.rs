//! A directory and the engine in it, from its opening to its close.

use std::fs::File;

use crate::directory::Directory;
use crate::disk::Disk;
use crate::error::OpenError;
use crate::journal::Journal;

/// What the engine locks while anything of it is open.
const ENGINE_LOCK: &str = "lock";

/// A directory whose engine is open. When this is dropped, as the last that holds the engine, the directory
/// is noted as closed.
pub(crate) struct Open {
    /// Until it is closed.
    disk: Option<Disk>,
    directory: Directory,
}

impl Open {
    /// Opens the engine of a directory. What a crash has torn is cut off.
    ///
    /// # Errors
    /// It is damaged, in which case nothing was changed; or cannot be read.
    pub(crate) fn new(directory: Directory) -> Result<(Self, Disk), OpenError> {
        let journal = read_journal(&directory)?;
        directory.forget_closing()?;
        journal.mend()?;
        let disk = Disk::open(&directory.engine())?;
        Ok((Self { disk: Some(disk.clone()), directory }, disk))
    }

    /// Notes that this program writes from now on.
    pub(crate) fn raise_format(&self) -> Result<(), OpenError> {
        self.directory.raise_format()
    }

    /// Closes the engine and notes what its journal holds. Without a note, the next start takes the end for
    /// a crash, and loses nothing.
    fn close(&mut self) -> Result<(), OpenError> {
        let engine = self.directory.engine();
        if let Some(disk) = self.disk.take() {
            disk.sync().map_err(|error| OpenError::engine(&engine, error))?;
        }
        // Somebody who reads may still hold it, and then it may still change.
        let lock_path = engine.join(ENGINE_LOCK);
        let lock = File::open(&lock_path).map_err(|error| OpenError::io(&lock_path, error))?;
        if lock.try_lock().is_err() {
            return Ok(());
        }
        let journal = Journal::read(&engine)?;
        if journal.is_torn() {
            return Err(OpenError::Damaged("the journal was not written to its end".to_owned()));
        }
        self.directory.note_closing(&journal.to_note())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the store is not closed well");
        }
    }
}

/// Reads the journal of a directory, and checks that it holds what it held when the store was closed.
pub(crate) fn read_journal(directory: &Directory) -> Result<Journal, OpenError> {
    let journal = Journal::read(&directory.engine())?;
    if let Some(note) = directory.closing_note()? {
        journal.check_note(&note)?;
    }
    Ok(journal)
}
