//! Who calls.

use std::sync::Arc;

/// On whose behalf a call is made, as its credential proves.
///
/// The [auth layer](crate::AuthLayer) puts it into the request's extensions; a request without one is
/// anonymous.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Principal {
    /// One player, by a token.
    Player(PlayerPrincipal),
    /// A game's own server, by an API key. It may act for any player it names.
    Backend(BackendPrincipal),
    /// Someone who runs the server, by an API key.
    Operator(OperatorPrincipal),
}

impl Principal {
    /// What kind it is, in one word, for logs and metrics: `player`, `backend` or `operator`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Player(_) => "player",
            Self::Backend(_) => "backend",
            Self::Operator(_) => "operator",
        }
    }
}

/// A player, as his token names him.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlayerPrincipal {
    /// `players/{player}`.
    pub player: String,
    /// What the token allows.
    pub scopes: Vec<Scope>,
    /// The Ed25519 key by which the player signs his commitments, if the token names one.
    pub public_key: Option<[u8; 32]>,
    /// When the token was issued, as it says itself, ms since 1970: whole seconds.
    pub issued_ms: u64,
    /// Until when the token is taken here, ms since 1970: a stream that outlives it ends with
    /// `TOKEN_EXPIRED`. Includes the verifier's leeway, so that no stream opens only to end at once.
    pub expires_ms: u64,
    /// What is known about the player's age. None counts as a child.
    pub age: Option<AgeMark>,
    /// Whether he is kept from strangers: the server asks for an age mark and the token has none. He neither looks
    /// for opponents in pools nor watches matches of others.
    pub is_sheltered: bool,
}

/// A back end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackendPrincipal {
    /// As the configuration names it.
    pub name: Arc<str>,
}

/// An operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorPrincipal {
    /// As the configuration names it.
    pub name: String,
}

/// A part of what players can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Take part in matches.
    Play,
    /// Tickets, invites and bots.
    Matchmake,
    /// Read and watch.
    Watch,
}

impl Scope {
    /// All that players can do.
    pub const ALL: [Self; 3] = [Self::Play, Self::Matchmake, Self::Watch];

    /// As tokens and requests write it.
    ///
    /// ```
    /// # use middleware::Scope;
    /// assert_eq!(Scope::Matchmake.as_str(), "matchmake");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Play => "play",
            Self::Matchmake => "matchmake",
            Self::Watch => "watch",
        }
    }

    /// The scope that is written so.
    ///
    /// ```
    /// # use middleware::Scope;
    /// assert_eq!(Scope::parse("play"), Some(Scope::Play));
    /// assert_eq!(Scope::parse("Play"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// What is known about a player's age.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgeMark {
    /// 16 years or older.
    Adult,
    /// Younger, with an account that a parent manages.
    Guardian,
}

impl AgeMark {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Adult => "adult",
            Self::Guardian => "guardian",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Adult, Self::Guardian].into_iter().find(|mark| mark.as_str() == text)
    }
}
