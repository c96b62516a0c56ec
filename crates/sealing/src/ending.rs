//! How a match ends.

use rules::{Outcome, PerSeat, Seat, Status};

use crate::bytes::Commitment;

/// Who won. The numbers are the API's, and h_end takes them: they never change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MatchResult {
    /// Black won.
    BlackWins = 1,
    /// White won.
    WhiteWins = 2,
    /// Nobody won.
    Draw = 3,
    /// The match never began: its first turn had not opened.
    Aborted = 4,
    /// The match does not count.
    Void = 5,
}

impl MatchResult {
    /// Every result, by number.
    pub const ALL: [Self; 5] = [Self::BlackWins, Self::WhiteWins, Self::Draw, Self::Aborted, Self::Void];

    /// The number in the API and in h_end, from 1.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The result with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.number() == number)
    }

    /// The result in which `seat` wins.
    #[must_use]
    pub const fn won_by(seat: Seat) -> Self {
        match seat {
            Seat::Black => Self::BlackWins,
            Seat::White => Self::WhiteWins,
        }
    }

    /// The seat that won, if one did.
    #[must_use]
    pub const fn winner(self) -> Option<Seat> {
        match self {
            Self::BlackWins => Some(Seat::Black),
            Self::WhiteWins => Some(Seat::White),
            Self::Draw | Self::Aborted | Self::Void => None,
        }
    }
}

/// Why a match ended. The numbers are the API's, and h_end takes them: they never change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum EndReason {
    /// A player has a row and the other has none.
    Row = 1,
    /// The majority of winning turtles decided: both players have rows, or the turn broke a sudden
    /// death.
    SuddenDeath = 2,
    /// The board is full and nobody is ahead: a draw.
    FullBoard = 3,
    /// The last turn that the settings allow is played and the board decides nothing: a draw.
    TurnLimit = 4,
    /// A player gave up: the other wins, or the match is aborted if its first turn had not opened.
    Resignation = 5,
    /// The players agreed on a draw.
    AgreedDraw = 6,
    /// A player's time ran out before he sealed.
    Flag = 7,
    /// Both players' time ran out at the same stamp: a draw.
    BothFlagged = 8,
    /// A player did not reveal in time, or revealed an illegal cell; a draw if both did.
    FailedReveal = 9,
    /// A seat was not taken by the start time: aborted.
    NoShow = 10,
    /// An operator ended the match: void, or aborted if its first turn had not opened.
    Operator = 11,
    /// Nothing happened for the idle limit: void.
    Idle = 12,
    /// The store lost turns that had been acknowledged: void.
    LostHistory = 13,
}

impl EndReason {
    /// Every reason, by number.
    pub const ALL: [Self; 13] = [
        Self::Row,
        Self::SuddenDeath,
        Self::FullBoard,
        Self::TurnLimit,
        Self::Resignation,
        Self::AgreedDraw,
        Self::Flag,
        Self::BothFlagged,
        Self::FailedReveal,
        Self::NoShow,
        Self::Operator,
        Self::Idle,
        Self::LostHistory,
    ];

    /// The number in the API and in h_end, from 1.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The reason with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.number() == number)
    }

    /// Whether a match can end with this result for this reason.
    ///
    /// ```
    /// use sealing::{EndReason, MatchResult};
    /// assert!(EndReason::Flag.allows(MatchResult::WhiteWins));
    /// assert!(!EndReason::Flag.allows(MatchResult::Draw));
    /// ```
    #[must_use]
    pub const fn allows(self, result: MatchResult) -> bool {
        use MatchResult::{Aborted, BlackWins, Draw, Void, WhiteWins};
        match self {
            Self::Row | Self::SuddenDeath | Self::Flag => matches!(result, BlackWins | WhiteWins),
            Self::Resignation => matches!(result, BlackWins | WhiteWins | Aborted),
            Self::FullBoard | Self::TurnLimit | Self::AgreedDraw | Self::BothFlagged => {
                matches!(result, Draw)
            }
            Self::FailedReveal => matches!(result, BlackWins | WhiteWins | Draw),
            Self::NoShow => matches!(result, Aborted),
            Self::Operator => matches!(result, Aborted | Void),
            Self::Idle | Self::LostHistory => matches!(result, Void),
        }
    }
}

/// How a match ended, as h_end takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Who won.
    pub result: MatchResult,
    /// Why.
    pub reason: EndReason,
    /// The stamp of the end, in milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The commitments of a turn that never resolved. Their openings are never published.
    pub unresolved: PerSeat<Option<Commitment>>,
}

/// How a match ends with the turn just resolved, if it does.
///
/// `before` and `after` are what the board said before and after that turn, `turn` is its number,
/// from 1. The board decides first, then the turn limit.
///
/// ```
/// use rules::Position;
/// use sealing::{EndReason, MatchResult, decided_by_turn};
/// let (before, after) = (Position::initial(), Position::initial().play("A1".parse()?, "I9".parse()?)?);
/// let limit_reached = Some((MatchResult::Draw, EndReason::TurnLimit));
/// assert_eq!(decided_by_turn(&before.outcome(), &after.outcome(), 1, 500), None);
/// assert_eq!(decided_by_turn(&before.outcome(), &after.outcome(), 1, 1), limit_reached);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn decided_by_turn(
    before: &Outcome,
    after: &Outcome,
    turn: u32,
    turn_limit: u64,
) -> Option<(MatchResult, EndReason)> {
    if let Some(winner) = after.status.winner() {
        let contested = after.winning_turtles[winner.opponent()] > 0 || before.status == Status::SuddenDeath;
        let reason = if contested { EndReason::SuddenDeath } else { EndReason::Row };
        return Some((MatchResult::won_by(winner), reason));
    }
    if after.status == Status::Draw {
        return Some((MatchResult::Draw, EndReason::FullBoard));
    }
    (u64::from(turn) >= turn_limit).then_some((MatchResult::Draw, EndReason::TurnLimit))
}
