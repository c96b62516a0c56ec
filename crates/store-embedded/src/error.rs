//! Why a store cannot be opened.

use std::path::{Path, PathBuf};

use sealing::{KeyId, MatchId};
use thiserror::Error;

/// Why a store cannot be opened. Nothing was changed.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{} is in use by another process; stop that one first", .directory.display())]
    InUse {
        /// The store's directory.
        directory: PathBuf,
    },
    /// A newer version of this program wrote it.
    #[error(
        "{} was written in format {found}, and this program reads formats up to {known}: \
         use the newer program, or restore a backup of the older format",
        .directory.display()
    )]
    Newer {
        /// The store's directory.
        directory: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this program reads.
        known: u32,
    },
    /// There is a store where a new one was to be made.
    #[error("{} has a store already: name a new directory", .directory.display())]
    Occupied {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no store where one must be.
    #[error("there is no store in {}", .directory.display())]
    Missing {
        /// The directory.
        directory: PathBuf,
    },
    /// What is stored cannot be read.
    #[error(
        "the store is damaged: {0}; `wts store check` says more, `wts store restore` brings a backup back"
    )]
    Damaged(String),
    /// A match waits with a sealed move that no key opens.
    #[error(
        "a sealed move of match {match_id} needs the key {key_id}, which is not among the keys: add it, for \
         decryption only"
    )]
    UnknownKey {
        /// The match.
        match_id: MatchId,
        /// The key's id.
        key_id: KeyId,
    },
    /// The directory cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn engine(directory: &Path, error: fjall::Error) -> Self {
        match error {
            fjall::Error::Io(source) => Self::io(directory, source),
            fjall::Error::Locked => Self::InUse { directory: directory.to_owned() },
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<fjall::Error> for OpenError {
    fn from(error: fjall::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}
