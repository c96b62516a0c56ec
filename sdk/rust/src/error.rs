//! What can go wrong, as types.

use std::fmt;

use rules::Seat;
use thiserror::Error;
use tonic::{Code, Status};
use wire::ApiError;
use wire::v1::ErrorReason;

/// Why a call or a stream failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused, or could not do it; see [`Error::reason`]. A call that got no answer in time
    /// is here too, as DEADLINE_EXCEEDED: it may have had its effect.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// There is no connection to the server.
    #[error("cannot connect to {url}")]
    Connect {
        /// The server's address, as it was given.
        url: String,
        /// What happened.
        source: tonic::transport::Error,
    },
    /// The transport broke, or what answered is not a server of this API. The call may have had its
    /// effect.
    #[error("no answer from the server ({:?}): {}", .0.code(), .0.message())]
    Transport(Status),
    /// A stream broke again and again without a new turn; how it broke last.
    #[error("the stream broke: {0}")]
    StreamBroken(&'static str),
    /// The receipt of a seal is not for what was sealed.
    #[error(transparent)]
    Receipt(#[from] ReceiptMismatch),
    /// A receipt is signed, and the server does not tell the keys to check it with. The seal may be in.
    #[error("the receipt cannot be checked: the server does not tell its keys")]
    ServerKeys(#[source] Box<Error>),
    /// What the server says about a match does not hold.
    #[error(transparent)]
    Verification(#[from] Violation),
    /// An answer lacks this field, or it is not of its form.
    #[error("the server's answer has no valid `{0}`")]
    Malformed(&'static str),
    /// A text is not a player token or an API key that can be sent.
    #[error("not a credential: {0}")]
    Credential(&'static str),
    /// A session's source of tokens gave none when the one before had expired; why. See
    /// [`Client::player_with`](crate::Client::player_with).
    #[error("no token can be had")]
    TokenSource(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Moves are sealed in a way that only a newer client knows: nothing was sent.
    #[error("moves of this match are sealed in a way that this client does not know")]
    SealMode,
    /// A text is not the opening of a move of this match and this player.
    #[error("not an opening of this match: {0}")]
    Opening(&'static str),
    /// There is no move of this turn that could be revealed from here: nothing was sent.
    #[error("no move was sealed here that can be revealed now")]
    NothingToReveal,
    /// The operating system gives no randomness, so there is no salt to seal with.
    #[error("the operating system gives no randomness")]
    Randomness,
}

impl Error {
    /// The API's reason, for a program to decide by. None: not an error of the API, or a reason that
    /// only a newer client knows ([`ApiError::name`] has its name).
    ///
    /// ```
    /// use whattheshell::{ApiError, Error, v1::ErrorReason};
    /// let error = Error::from(ApiError::new(ErrorReason::CellOccupied));
    /// assert_eq!(error.reason(), Some(ErrorReason::CellOccupied));
    /// ```
    #[must_use]
    pub fn reason(&self) -> Option<ErrorReason> {
        match self {
            Self::Api(error) => Some(error.reason()).filter(|reason| *reason != ErrorReason::Unspecified),
            _ => None,
        }
    }

    /// Whether the call may have had its effect all the same. If so, repeating it on the same
    /// [`MatchHandle`](crate::MatchHandle) is safe.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        match self {
            Self::Api(error) => {
                matches!(error.code(), Code::Unavailable | Code::DeadlineExceeded | Code::Internal)
            }
            Self::Transport(_) | Self::Malformed(_) | Self::Receipt(_) | Self::ServerKeys(_) => true,
            // An earlier try may have arrived.
            Self::TokenSource(_) => true,
            _ => false,
        }
    }

    /// The error that a status stands for.
    pub(crate) fn from_status(status: Status) -> Self {
        // The channel's own timer runs on `grpc-timeout` and calls it a cancellation.
        if causes(&status).any(|cause| cause.is::<tonic::TimeoutExpired>()) {
            return Self::deadline();
        }
        match ApiError::from_status(&status) {
            Some(error) => Self::Api(error),
            None if status.code() == Code::DeadlineExceeded => Self::deadline(),
            None => Self::Transport(status),
        }
    }

    pub(crate) fn deadline() -> Self {
        Self::Api(ApiError::new(ErrorReason::DeadlineExceeded))
    }

    /// Whether the token was refused because its time is over.
    pub(crate) fn is_token_expired(&self) -> bool {
        self.reason() == Some(ErrorReason::TokenExpired)
    }

    /// Whether the server has looked at what the call wants, and refused that. Any other error may hide an
    /// earlier try that arrived: a retry can be turned away at the door, for a token or a rate.
    pub(crate) fn is_judgement(&self) -> bool {
        let judged =
            |error: &ApiError| matches!(error.code(), Code::InvalidArgument | Code::FailedPrecondition);
        matches!(self, Self::Api(error) if judged(error))
    }

    /// Whether the server had too much to do, or of this caller, and says when it will look at the call: nothing of
    /// it has begun.
    pub(crate) fn is_turned_away(&self) -> bool {
        let is_rate = matches!(self.reason(), Some(ErrorReason::RateLimited | ErrorReason::Overloaded));
        matches!(self, Self::Api(error) if is_rate && error.retry_delay().is_some())
    }

    /// Whether another try may get an answer: UNAVAILABLE, or a transport that broke under the call.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            Self::Api(error) => error.code() == Code::Unavailable,
            // A status with a cause was made here, by the transport; others came over the wire.
            Self::Transport(status) => status.code() == Code::Unavailable || causes(status).next().is_some(),
            Self::StreamBroken(_) | Self::TokenSource(_) => true,
            _ => false,
        }
    }
}

fn causes(error: &dyn std::error::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |cause| cause.source())
}

/// What is wrong with a seal's receipt. It is not for what the client sealed: the server took another
/// move, or says so. Or nobody can hold the server to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReceiptMismatch {
    /// Another match.
    #[error("the receipt is for another match")]
    Match,
    /// Another turn.
    #[error("the receipt is for another turn")]
    Turn,
    /// Another seat.
    #[error("the receipt is for another seat")]
    Seat,
    /// Another commitment: not the move that was sealed.
    #[error("the receipt is for another move")]
    Commitment,
    /// No signature, though one was asked for.
    #[error("the receipt is not signed")]
    Unsigned,
    /// A key that the server does not list.
    #[error("the receipt is signed by a key that the server does not list")]
    UnknownKey,
    /// A signature that is not by the key that the receipt names, or not of this receipt.
    #[error("the signature of the receipt does not hold")]
    Signature,
}

/// A claim of the server about a match that does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The turn it is about, from 1; none where it is about the match or its end.
    pub turn: Option<u32>,
    /// The seat it is about, where it is about one.
    pub seat: Option<Seat>,
    /// What does not hold.
    pub claim: Claim,
}

/// A kind of claim about a match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Claim {
    /// A claim of the transcript: a commitment, a move, a hash, a stamp, the end.
    Transcript(sealing::Claim),
    /// The message has this field, and it is of its form.
    Field(&'static str),
    /// It is the match that was asked for.
    Match,
    /// A stream sends every turn once and in order.
    Sequence,
    /// The stream goes on from the history that was verified before.
    History,
    /// The board is the one that the rules lead to.
    Position,
    /// What happened is what the rules say.
    Events,
    /// What the client sealed, and has a receipt for, is what is published.
    OwnSeal,
    /// The opponent had committed himself before a move was revealed, and to what is published.
    OpponentSeal,
    /// Result and reason are ones that this client knows.
    KnownEnding,
}

impl Violation {
    pub(crate) const fn of_match(claim: Claim) -> Self {
        Self { turn: None, seat: None, claim }
    }

    pub(crate) const fn of_turn(turn: u32, claim: Claim) -> Self {
        Self { turn: Some(turn), seat: None, claim }
    }
}

impl From<sealing::TranscriptError> for Violation {
    fn from(error: sealing::TranscriptError) -> Self {
        Self { turn: error.turn, seat: error.seat, claim: Claim::Transcript(error.claim) }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, seat, claim } = *self;
        if let Claim::Transcript(claim) = claim {
            return sealing::TranscriptError { turn, seat, claim }.fmt(f);
        }
        if let Some(turn) = turn {
            write!(f, "turn {turn}: ")?;
        }
        if let Some(seat) = seat {
            write!(f, "{seat}: ")?;
        }
        match claim {
            Claim::Transcript(_) => Ok(()),
            Claim::Field(field) => write!(f, "`{field}` is missing or malformed"),
            Claim::Match => f.write_str("this is another match than the one asked for"),
            Claim::Sequence => f.write_str("a turn was left out or sent again"),
            Claim::History => f.write_str("the history is another one than before"),
            Claim::Position => f.write_str("the board is not the one that the rules lead to"),
            Claim::Events => f.write_str("what happened is not what the rules say"),
            Claim::OwnSeal => f.write_str("this is not the move that was sealed here"),
            Claim::OpponentSeal => {
                f.write_str("this is not the move that was committed to before the reveal")
            }
            Claim::KnownEnding => f.write_str("the result or its reason is unknown to this client"),
        }
    }
}

impl std::error::Error for Violation {}
