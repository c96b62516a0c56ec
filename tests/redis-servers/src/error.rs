//! Why a server does not do what a test needs.

use std::io;
use std::time::Duration;

/// What went wrong with a server of a test.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is not installed.
    #[error("{program} is missing; install it by `{command}`")]
    Missing {
        /// Its name.
        program: &'static str,
        /// What installs it.
        command: &'static str,
    },
    /// A server ended instead of starting.
    #[error("{server} does not start; the end of its log:\n{log}")]
    Start {
        /// Which one.
        server: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// A server refused a command.
    #[error("{server} answered `{command}` with {answer}")]
    Refused {
        /// Which one.
        server: String,
        /// What it was asked.
        command: String,
        /// Its answer.
        answer: String,
    },
    /// A state was not reached in time.
    #[error("still missing after {bound:?}: {what}; last seen: {last}")]
    TooLate {
        /// What was awaited.
        what: String,
        /// How long.
        bound: Duration,
        /// What was there instead.
        last: String,
    },
    /// No server has the role that was asked for.
    #[error("there is no {0}")]
    Nobody(String),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// What turns an I/O error into one that says what was tried.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source }
    }
}
