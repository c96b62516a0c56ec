//! Why there are no keys.

use std::io;
use std::path::PathBuf;

use sealing::KeyId;
use thiserror::Error;

use super::{FILE_BYTES_MAX, Problem, Role};

/// Why keys cannot be had, kept or rotated. Says nothing of a secret.
#[derive(Debug, Error)]
pub enum KeysError {
    /// There is no file.
    #[error(
        "there are no keys at {path}: restore the file from a backup, or take that of the other nodes of the store"
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// Others can read the file.
    #[error(
        "{path} can be read by others (mode {mode:o}): run `chmod 600 {path}`, and rotate the keys if anybody may have"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file cannot be read.
    #[error("the keys at {path} cannot be read: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is far too long.
    #[error("{path} is longer than {FILE_BYTES_MAX} bytes: it is no keys file")]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("the keys cannot be written to {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Another process changes the file.
    #[error("{path} is being changed by another process: try again")]
    Claimed {
        /// The file.
        path: PathBuf,
    },
    /// What is in the file are no keys.
    #[error("{path}: {problem}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Problem,
    },
    /// No key of this id waits to be used.
    #[error("no {role} key {id} waits to be used: prepare one first")]
    NotPrepared {
        /// The role.
        role: Role,
        /// The id.
        id: KeyId,
    },
    /// The key cannot go: it is in use.
    #[error("{role} key {id} is in use: prepare and promote another one first")]
    InUse {
        /// The role.
        role: Role,
        /// The id.
        id: KeyId,
    },
    /// There is no key of this id.
    #[error("there is no {role} key {id}")]
    Unknown {
        /// The role.
        role: Role,
        /// The id.
        id: KeyId,
    },
    /// Keys of this role are not rotated.
    #[error("{role} keys are not rotated")]
    NotRotated {
        /// The role.
        role: Role,
    },
    /// There are as many keys as there may be.
    #[error("there are {limit} keys: retire old ones that nothing needs")]
    TooMany {
        /// The bound.
        limit: usize,
    },
}
