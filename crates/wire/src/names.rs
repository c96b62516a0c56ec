//! Resource names: `matches/{match}` and the like.

use thiserror::Error;

/// The most characters of an id, enough for a UUID or a back end's own player id; names are stored with
/// every match and hashed.
const ID_LENGTH_MAX: usize = 64;

/// True for what may stand after the slash of a resource name, and for request ids, key ids, pools and
/// join secrets: 1 to 64 characters of `[A-Za-z0-9._-]`.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=ID_LENGTH_MAX).contains(&text.len()) && text.bytes().all(allowed)
}

/// A kind of resource, as the first part of its names.
///
/// ```
/// use wire::Collection;
/// assert_eq!(Collection::Players.id("players/p1"), Ok("p1"));
/// assert_eq!(Collection::Players.name("p1").as_deref(), Ok("players/p1"));
/// assert!(Collection::Players.id("matches/p1").is_err());
/// assert!(Collection::Players.id("players/p/1").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collection {
    /// `players/{player}`
    Players,
    /// `matches/{match}`
    Matches,
    /// `invites/{invite}`
    Invites,
    /// `tickets/{ticket}`
    Tickets,
    /// `nodes/{node}`
    Nodes,
}

impl Collection {
    /// How a name of this kind looks, for messages: `players/{player}`.
    #[must_use]
    pub const fn pattern(self) -> &'static str {
        match self {
            Self::Players => "players/{player}",
            Self::Matches => "matches/{match}",
            Self::Invites => "invites/{invite}",
            Self::Tickets => "tickets/{ticket}",
            Self::Nodes => "nodes/{node}",
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Players => "players/",
            Self::Matches => "matches/",
            Self::Invites => "invites/",
            Self::Tickets => "tickets/",
            Self::Nodes => "nodes/",
        }
    }

    /// The id in a name of this kind.
    ///
    /// # Errors
    /// The name is of another kind, or its id is not an [id](is_id).
    pub fn id(self, name: &str) -> Result<&str, NameError> {
        name.strip_prefix(self.prefix()).filter(|id| is_id(id)).ok_or(NameError { pattern: self.pattern() })
    }

    /// The name of the resource with this id.
    ///
    /// # Errors
    /// It is not an [id](is_id).
    pub fn name(self, id: &str) -> Result<String, NameError> {
        if is_id(id) {
            Ok(format!("{}{id}", self.prefix()))
        } else {
            Err(NameError { pattern: self.pattern() })
        }
    }
}

/// A text that is not the name of a resource of the kind that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("must be {pattern}, the part after the slash 1 to 64 characters of [A-Za-z0-9._-]")]
pub struct NameError {
    pattern: &'static str,
}
