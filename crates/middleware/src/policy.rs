//! Who may call what: one table of every RPC.
//!
//! What a caller may see or change *within* a call (his own match, his own seat) is the service's to
//! judge; here is only whether his kind of principal may make the call at all.

use std::sync::LazyLock;

use thiserror::Error;
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::principal::{Principal, Scope};

/// Whom an RPC is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Everyone. A credential is neither needed nor looked at, so that who has an expired one can still
    /// ask for the server's time.
    Anyone,
    /// Players whose token has this scope, and back ends, which name the player they act for.
    Players(Scope),
    /// Back ends alone.
    Backends,
    /// Operators alone.
    Operators,
}

/// Where a call comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    /// The port that everyone reaches.
    Public,
    /// The listener of operators.
    Operators,
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rpc {
    /// The service with its package: `whattheshell.v1.MatchService`.
    pub service: &'static str,
    /// The method: `SealMove`.
    pub method: &'static str,
    /// Whom it is for.
    pub access: Access,
    /// Whether it answers with a stream, which lives as long as its client likes.
    pub streams: bool,
}

/// What a call that is not in the table is named: a caller must not choose what is logged or counted.
pub(crate) const OTHER: &str = "_OTHER";

/// The method that development mode opens to everyone.
pub(crate) const MINT_PLAYER_TOKEN: &str = "MintPlayerToken";

const MATCH: &str = "whattheshell.v1.MatchService";
const MATCHMAKING: &str = "whattheshell.v1.MatchmakingService";
const PLAYER: &str = "whattheshell.v1.PlayerService";
const FEED: &str = "whattheshell.v1.FeedService";
const ADMIN: &str = "whattheshell.admin.v1.AdminService";
const HEALTH: &str = "grpc.health.v1.Health";
const REFLECTION: &str = "grpc.reflection.v1.ServerReflection";
const REFLECTION_ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection";

static RPCS: &[Rpc] = {
    use Access::{Anyone, Backends, Operators, Players};
    use Scope::{Matchmake, Play, Watch};
    &[
        unary(MATCH, "GetMatch", Players(Watch)),
        unary(MATCH, "ListMatches", Players(Watch)),
        unary(MATCH, "JoinMatch", Players(Play)),
        unary(MATCH, "SealMove", Players(Play)),
        unary(MATCH, "RevealMove", Players(Play)),
        stream(MATCH, "WatchMatch", Players(Watch)),
        unary(MATCH, "Resign", Players(Play)),
        unary(MATCH, "OfferDraw", Players(Play)),
        unary(MATCH, "AnswerDraw", Players(Play)),
        unary(MATCH, "GetTranscript", Players(Watch)),
        unary(MATCHMAKING, "CreateTicket", Players(Matchmake)),
        unary(MATCHMAKING, "GetTicket", Players(Matchmake)),
        unary(MATCHMAKING, "RenewTicket", Players(Matchmake)),
        stream(MATCHMAKING, "WatchTicket", Players(Matchmake)),
        unary(MATCHMAKING, "CancelTicket", Players(Matchmake)),
        unary(MATCHMAKING, "CreateInvite", Players(Matchmake)),
        unary(MATCHMAKING, "GetInvite", Players(Matchmake)),
        unary(MATCHMAKING, "AcceptInvite", Players(Matchmake)),
        unary(MATCHMAKING, "DeclineInvite", Players(Matchmake)),
        unary(MATCHMAKING, "RevokeInvite", Players(Matchmake)),
        unary(MATCHMAKING, "CreateBotMatch", Players(Matchmake)),
        unary(PLAYER, "GetPlayer", Players(Watch)),
        stream(PLAYER, "WatchPlayer", Players(Watch)),
        unary(PLAYER, "ListLeaderboard", Players(Watch)),
        unary(PLAYER, MINT_PLAYER_TOKEN, Backends),
        unary(PLAYER, "BanPlayer", Backends),
        unary(PLAYER, "UnbanPlayer", Backends),
        unary(PLAYER, "RevokePlayerTokens", Backends),
        unary(PLAYER, "ExportPlayer", Backends),
        unary(PLAYER, "DeletePlayer", Backends),
        unary(PLAYER, "GetServerInfo", Anyone),
        stream(FEED, "WatchFeed", Backends),
        unary(ADMIN, "AbortMatch", Operators),
        unary(ADMIN, "InspectMatch", Operators),
        unary(ADMIN, "ListNodes", Operators),
        unary(ADMIN, "GetNodeStats", Operators),
        unary(ADMIN, "GetStoreStats", Operators),
        unary(ADMIN, "ListPools", Operators),
        unary(ADMIN, "DrainNode", Operators),
        unary(ADMIN, "ListKeys", Operators),
        unary(ADMIN, "PrepareKey", Operators),
        unary(ADMIN, "PromoteKey", Operators),
        unary(ADMIN, "RetireKey", Operators),
        unary(HEALTH, "Check", Anyone),
        stream(HEALTH, "Watch", Anyone),
        stream(REFLECTION, "ServerReflectionInfo", Anyone),
        stream(REFLECTION_ALPHA, "ServerReflectionInfo", Anyone),
    ]
};

const fn unary(service: &'static str, method: &'static str, access: Access) -> Rpc {
    Rpc { service, method, access, streams: false }
}

const fn stream(service: &'static str, method: &'static str, access: Access) -> Rpc {
    Rpc { service, method, access, streams: true }
}

impl Rpc {
    /// The whole table.
    #[must_use]
    pub fn all() -> &'static [Self] {
        RPCS
    }

    /// The row of an HTTP path. None: no service here has such a call.
    ///
    /// ```
    /// use middleware::{Access, Rpc, Scope};
    ///
    /// let rpc = Rpc::by_path("/whattheshell.v1.MatchService/SealMove").expect("it is in the table");
    /// assert_eq!(rpc.access, Access::Players(Scope::Play));
    /// assert_eq!(Rpc::by_path("/whattheshell.v1.MatchService/Unseal"), None);
    /// ```
    #[must_use]
    pub fn by_path(path: &str) -> Option<&'static Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        RPCS.iter().find(|rpc| rpc.method == method && rpc.service == service)
    }

    /// Whether it changes nothing, as its name says: the API keeps to the verbs of the API design guide.
    ///
    /// ```
    /// # use middleware::Rpc;
    /// let rpc = |path| Rpc::by_path(path).expect("it is in the table");
    /// assert!(rpc("/whattheshell.v1.MatchService/GetMatch").reads());
    /// assert!(!rpc("/whattheshell.v1.PlayerService/MintPlayerToken").reads());
    /// ```
    #[must_use]
    pub fn reads(&self) -> bool {
        ["Get", "List", "Watch", "Inspect", "Check", "ServerReflectionInfo"]
            .iter()
            .any(|verb| self.method.starts_with(verb))
    }

    /// Service and method as telemetry names them: `whattheshell.v1.MatchService/SealMove`.
    #[must_use]
    pub fn full_name(&self) -> &'static str {
        /// Each is made once and stays: they are labels of what is measured.
        static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
            RPCS.iter().map(|rpc| &*format!("{}/{}", rpc.service, rpc.method).leak()).collect()
        });
        let is_this = |rpc: &Self| rpc.method == self.method && rpc.service == self.service;
        RPCS.iter().position(is_this).map_or(OTHER, |at| NAMES[at])
    }

    /// Whether the call is there at this door. What is for operators is at theirs alone, beside health and
    /// reflection, and nothing else is.
    #[must_use]
    pub fn is_at(&self, door: Door) -> bool {
        let is_theirs = self.access == Access::Operators;
        match door {
            Door::Public => !is_theirs,
            Door::Operators => is_theirs || [HEALTH, REFLECTION, REFLECTION_ALPHA].contains(&self.service),
        }
    }

    /// The HTTP path: `/whattheshell.v1.MatchService/SealMove`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{}/{}", self.service, self.method)
    }

    /// Whether the principal (none: anonymous) may make this call.
    ///
    /// # Errors
    /// He may not; [`Denied`] says why.
    pub fn authorize(&self, principal: Option<&Principal>) -> Result<(), Denied> {
        match (self.access, principal) {
            (Access::Anyone, _)
            | (Access::Players(_) | Access::Backends, Some(Principal::Backend(_)))
            | (Access::Operators, Some(Principal::Operator(_))) => Ok(()),
            (Access::Players(scope), Some(Principal::Player(player))) => {
                if player.scopes.contains(&scope) {
                    Ok(())
                } else {
                    Err(Denied::ScopeMissing(scope))
                }
            }
            (access, None) => Err(Denied::CredentialMissing(access)),
            (access, Some(_)) => Err(Denied::WrongPrincipal(access)),
        }
    }
}

/// Why a call was refused before the service saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Denied {
    /// The call is not in the table, or not at this door: UNIMPLEMENTED, whoever asks.
    #[error("no such call")]
    UnknownRpc,
    /// An anonymous caller where a principal is needed: TOKEN_MISSING.
    #[error("no credential")]
    CredentialMissing(Access),
    /// A principal of another kind than the call is for: SCOPE_MISSING.
    #[error("another kind of principal may call this")]
    WrongPrincipal(Access),
    /// A player whose token lacks this scope: SCOPE_MISSING.
    #[error("the token has no scope {}", .0.as_str())]
    ScopeMissing(Scope),
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::UnknownRpc => Self::new(ErrorReason::Unimplemented),
            Denied::CredentialMissing(Access::Anyone | Access::Players(_)) => {
                Self::new(ErrorReason::TokenMissing)
            }
            Denied::CredentialMissing(Access::Backends | Access::Operators) => {
                Self::new(ErrorReason::TokenMissing).with_message("send `x-api-key: <key>`")
            }
            Denied::WrongPrincipal(access) => {
                Self::new(ErrorReason::ScopeMissing).with_message(match access {
                    Access::Anyone => "this call is for everyone",
                    Access::Players(_) => "this call is for players and back ends",
                    Access::Backends => "this call is for back ends; send an `x-api-key` of one",
                    Access::Operators => "this call is for operators; send an `x-api-key` of one",
                })
            }
            Denied::ScopeMissing(scope) => Self::new(ErrorReason::ScopeMissing)
                .with_message(&format!("this call needs a token with scope `{}`", scope.as_str()))
                .with_metadata("scope", scope.as_str()),
        }
    }
}
