//! Why a store cannot be opened.

use thiserror::Error;

/// The newest schema of keys and values that this build knows.
pub(crate) const SCHEMA: u32 = 1;

/// Why a store cannot be opened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum OpenError {
    /// The address line is none.
    #[error("this is no address of a Redis: {why}")]
    Location {
        /// What is wrong with it.
        why: &'static str,
    },
    /// A namespace is not of letters, digits, `.`, `_` and `-`.
    #[error("a namespace has letters, digits, `.`, `_` and `-` only")]
    Namespace,
    /// No server can be reached, or none of them answers as one that can be written.
    #[error("no Redis can be reached at {location}: {why}")]
    Unreachable {
        /// Where it should be, without the password.
        location: String,
        /// What the last attempt came to.
        why: String,
    },
    /// The server is too old.
    #[error("the server at {server} is Redis {version}: 7.0 is the oldest that will do")]
    TooOld {
        /// The server.
        server: String,
        /// Its version.
        version: String,
    },
    /// The server throws keys away when its memory is full.
    #[error(
        "the server at {server} has maxmemory-policy {policy}: set it to noeviction, else matches are lost"
    )]
    Evicts {
        /// The server.
        server: String,
        /// Its policy.
        policy: String,
    },
    /// The server is a node of a cluster and the address line says something else, or the other way round.
    #[error(
        "the server at {server} is {}a node of a cluster: say redis+cluster:// for a cluster and only for one",
        if *clustered { "" } else { "not " }
    )]
    OtherShape {
        /// The server.
        server: String,
        /// Whether it is a node of a cluster.
        clustered: bool,
    },
    /// The server accepts writes that too few replicas get.
    #[error(
        "the server at {server} has min-replicas-to-write {found}: set it to {needed} or more, or ask for fewer replicas"
    )]
    TooFewReplicas {
        /// The server.
        server: String,
        /// What is set there.
        found: u32,
        /// What the durability asks for.
        needed: u8,
    },
    /// A newer build made the store.
    #[error(
        "the store has schema {found}, this build knows up to {SCHEMA}: run the build that made it, or a newer one"
    )]
    NewerSchema {
        /// The store's schema.
        found: u32,
    },
    /// The store belongs to other keys.
    #[error(
        "the store was begun with the keys of {found}, and these are those of {own}: all nodes need the same file of keys"
    )]
    OtherKeys {
        /// The id of the store's keys.
        found: String,
        /// The id of the keys that it was to be opened with.
        own: String,
    },
    /// The store takes over another one, and does not have all of it yet.
    #[error("the store at {location} was to take over another one, which broke off: start that again")]
    HalfImported {
        /// Where it is, without the password.
        location: String,
    },
    /// The store was to take over another one, and has been served already.
    #[error(
        "the store at {location} has been served, so there may be matches: take one that is new, on another server or database"
    )]
    Served {
        /// Where it is, without the password.
        location: String,
    },
    /// What the store says of itself makes no sense.
    #[error("the store's own record is damaged")]
    DamagedMeta,
    /// A certificate or key is none.
    #[error("the certificates for TLS cannot be used: {why}")]
    Certificates {
        /// What is wrong; never what is in them.
        why: String,
    },
}
