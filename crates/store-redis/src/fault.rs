//! What can go wrong with one try of a call, and so whether another one makes sense.

use redis::{ErrorKind, RedisError, ServerError};
use store::StoreError;

use crate::location::Address;

/// What came of a try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// There is no connection, and has not been one for a while. Nothing was sent.
    Down,
    /// The connection broke. What was sent may have been done.
    Lost,
    /// The answer did not come in time. What was sent may yet be done.
    Slow,
    /// It was done, but too few replicas have it so far.
    NotReplicated,
    /// The server does not know the script by its name. Nothing was done.
    NoScript,
    /// The slot is at another server now. Nothing was done.
    Moved(Address),
    /// The slot is on its way to another server, which is to be asked this once. Nothing was done.
    Ask(Address),
    /// The slot's keys are partly here and partly there; soon they are all in one place. Nothing was done.
    Migrating,
    /// The server cannot do it now: it is no primary any more, still loads, or has too few replicas.
    /// Nothing was done.
    NotNow(String),
    /// The server refuses. Asking again would not help.
    Refused(String),
}

impl Fault {
    /// What an error of the connection comes to.
    pub(crate) fn of_error(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => {
                Self::of_server(error.code().unwrap_or_default(), error.detail().unwrap_or_default())
            }
            _ if error.is_timeout() => Self::Slow,
            ErrorKind::Io => Self::Lost,
            _ => Self::Refused(error.category().to_owned()),
        }
    }

    /// What an error that the server sent comes to.
    pub(crate) fn of_server_error(error: &ServerError) -> Self {
        Self::of_server(error.code(), error.details().unwrap_or_default())
    }

    fn of_server(code: &str, details: &str) -> Self {
        let address = || {
            let address = details.split_ascii_whitespace().nth(1)?;
            Address::parse(address, 0).ok()
        };
        match code {
            "NOSCRIPT" => Self::NoScript,
            "MOVED" => address().map_or(Self::NotNow("moved".to_owned()), Self::Moved),
            "ASK" => address().map_or(Self::Migrating, Self::Ask),
            "TRYAGAIN" => Self::Migrating,
            "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "NOREPLICAS" | "READONLY" => {
                Self::NotNow(code.to_owned())
            }
            // The script's text may stand in the details; the code says enough.
            _ => Self::Refused(format!("{code} {}", first_words(details))),
        }
    }

    /// Whether the server may have done what was sent.
    pub(crate) fn may_be_done(&self) -> bool {
        matches!(self, Self::Lost | Self::Slow | Self::NotReplicated)
    }
}

/// Words of an error that reach a message at most.
const WORDS_MAX: usize = 12;

fn first_words(details: &str) -> String {
    details.split_ascii_whitespace().take(WORDS_MAX).collect::<Vec<_>>().join(" ")
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        Self::Unavailable(match fault {
            Fault::Down => "there is no connection".to_owned(),
            Fault::Lost => "the connection broke".to_owned(),
            Fault::Slow => "no answer in time".to_owned(),
            Fault::NotReplicated => "too few replicas have it".to_owned(),
            Fault::NoScript | Fault::Moved(_) | Fault::Ask(_) | Fault::Migrating => {
                "the servers are being rearranged".to_owned()
            }
            Fault::NotNow(why) => format!("the server cannot be written now: {why}"),
            Fault::Refused(why) => format!("the server refuses: {why}"),
        })
    }
}
