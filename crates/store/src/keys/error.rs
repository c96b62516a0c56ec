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
    #[error("there are no keys at {path}: give this node the keys file of the other nodes of its store")]
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
    /// Keys of this role are not rotated.
    #[error("{role} keys are not rotated")]
    NotRotated {
        /// The role.
        role: Role,
    },
    /// There are as many keys as there may be.
    #[error("there are {limit} keys: take old ones that nothing needs out of the file")]
    TooMany {
        /// The bound.
        limit: usize,
    },
}
