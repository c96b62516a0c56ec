//! A match at rest: what is stored between two commands.

use std::borrow::Cow;
use std::sync::Arc;

use rules::{PerSeat, Position, Seat};
use sealing::{Commitment, Digest, MatchId, Opening, Party, PlayerSignature, Receipt};

use crate::apply::{Change, FollowUp};
use crate::command::RequestId;
use crate::ending::Finish;
use crate::lost_history::HistoryClaim;
use crate::origin::Origin;
use crate::settings::{Settings, TimeControl};
use crate::time::{Now, Stamp};

/// The public side of a seal: what its receipt says and what a repetition is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealFacts {
    /// What binds the seat to its choice.
    pub commitment: Commitment,
    /// When it was sealed.
    pub sealed: Stamp,
    /// The request that sealed it.
    pub request_id: RequestId,
    /// The key that its receipt names; empty while the service has none.
    pub key_id: Arc<str>,
    /// The player's own signature over the commitment.
    pub signature: Option<PlayerSignature>,
}

/// A seat's choice in an open turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seal {
    /// The public side.
    pub facts: SealFacts,
    /// The secret side; none in commit-reveal before the reveal. Debug shows nothing of it.
    pub opening: Option<Opening>,
}

/// An answer to a draw offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawAnswer {
    /// Whether it was accepted.
    pub accept: bool,
    /// The request that answered.
    pub request_id: RequestId,
}

/// What a seat has asked for in a turn beside its seal: what a repetition is compared with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TurnRequests {
    /// The request that revealed.
    pub reveal: Option<RequestId>,
    /// The request that offered a draw.
    pub offer: Option<RequestId>,
    /// The answer to the opponent's offer.
    pub answer: Option<DrawAnswer>,
}

/// A turn that is played: it waits for seals, or for their reveals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenTurn {
    /// Its number, from 1.
    pub turn: u32,
    /// When it opened.
    pub opened: Stamp,
    /// The last moment at which each seat may seal, inclusive.
    pub deadlines: PerSeat<Stamp>,
    /// What is in so far.
    pub seals: PerSeat<Option<Seal>>,
    /// What else each seat has asked for.
    pub requests: PerSeat<TurnRequests>,
}

impl OpenTurn {
    /// A turn that opens at `now` with both clocks running.
    pub(crate) fn new(turn: u32, now: Stamp, clock_ms: PerSeat<u64>) -> Self {
        Self {
            turn,
            opened: now,
            deadlines: clock_ms.map(|clock_ms| now.plus_ms(clock_ms)),
            seals: PerSeat::default(),
            requests: PerSeat::default(),
        }
    }
}

/// A turn whose commitments are both in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Revealing {
    /// The turn; a seal has its opening once it is revealed.
    pub open: OpenTurn,
    /// The last moment to reveal, inclusive.
    pub reveal_by: Stamp,
}

/// Where a match stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Not both players are there.
    Waiting {
        /// Who is.
        joined: PerSeat<bool>,
        /// The last moment to join, inclusive, where the settings set one.
        start_by: Option<Stamp>,
    },
    /// A turn waits for seals.
    Open(OpenTurn),
    /// A turn waits for reveals.
    Revealing(Revealing),
    /// The bot's seal is awaited: the next turn and its clock open with it.
    BotDue {
        /// Since when.
        since: Stamp,
    },
    /// It is over.
    Finished(Finish),
}

/// A match without its history. Together with the resolved turns it is all there is to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// Its id.
    pub id: MatchId,
    /// What the players agreed on.
    pub settings: Settings,
    /// Who plays: the same for as long as the match is there, and shared by all its states.
    pub parties: Arc<PerSeat<Party>>,
    /// The finished match that this one is a rematch of.
    pub rematch_of: Option<MatchId>,
    /// What its end concerns beside the match; shared like the parties.
    pub origin: Option<Arc<Origin>>,
    /// When it was created.
    pub created: Stamp,
    /// When turn 1 opened.
    pub started: Option<Stamp>,
    /// The shard's outage sum that all deadlines below are written under, ms.
    pub outage_ms: u64,
    /// The last moment without a change, inclusive; after it a live match is void.
    pub idle_by: Stamp,
    /// Turns resolved so far.
    pub resolved: u32,
    /// The board after them.
    pub position: Position,
    /// h_0 before the first turn, then h of the last resolved one.
    pub hash: Digest,
    /// What each seat has on its clock for the turn that opens next, ms.
    pub clock_ms: PerSeat<u64>,
    /// What each seat has last claimed of another history than this one.
    pub claims: PerSeat<Option<HistoryClaim>>,
    /// Where it stands.
    pub phase: Phase,
}

/// What a match is made from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMatch {
    /// Its id.
    pub id: MatchId,
    /// What the players agreed on, validated.
    pub settings: Settings,
    /// Who plays; two different players.
    pub parties: PerSeat<Party>,
    /// The finished match that this one is a rematch of.
    pub rematch_of: Option<MatchId>,
    /// Tickets and ratings; none for a casual match that nobody queued for.
    pub origin: Option<Origin>,
}

impl Match {
    /// The match at its beginning: it waits for both players.
    #[must_use]
    pub fn create(new: NewMatch, now: Now) -> Change {
        let idle_by = now.stamp.plus_ms(new.settings.idle_ms);
        let start_by = new.settings.start_ms.map(|start_ms| now.stamp.plus_ms(start_ms));
        let clock_ms = match new.settings.time {
            TimeControl::PerTurn { turn_ms } => turn_ms,
            TimeControl::Bank { initial_ms, .. } => initial_ms,
        };
        let follow_ups = FollowUp::index(&new.settings);
        let joined = PerSeat::from_fn(|seat| new.settings.is_bot(seat));
        let hash = sealing::match_hash(new.id, &new.settings.fields(), new.parties.as_ref());
        let next = Self {
            id: new.id,
            settings: new.settings,
            parties: Arc::new(new.parties),
            rematch_of: new.rematch_of,
            origin: new.origin.map(Arc::new),
            created: now.stamp,
            started: None,
            outage_ms: now.outage_ms,
            idle_by,
            resolved: 0,
            position: Position::initial(),
            hash,
            clock_ms: PerSeat { black: clock_ms, white: clock_ms },
            claims: PerSeat::default(),
            phase: Phase::Waiting { joined, start_by },
        };
        Change { next: Arc::new(next), not_after: None, events: Vec::new(), follow_ups }
    }

    /// h_0: what the chain of turn hashes begins with.
    #[must_use]
    pub fn first_hash(&self) -> Digest {
        sealing::match_hash(self.id, &self.settings.fields(), PerSeat::as_ref(&self.parties))
    }

    /// The seat of this player (`players/{player}`), if he has one.
    #[must_use]
    pub fn seat_of(&self, player: &str) -> Option<Seat> {
        Seat::BOTH.into_iter().find(|seat| self.parties[*seat].player == player)
    }

    /// The turn that waits for seals, if one does.
    #[must_use]
    pub const fn open_turn(&self) -> Option<&OpenTurn> {
        match &self.phase {
            Phase::Open(open) => Some(open),
            Phase::Waiting { .. } | Phase::Revealing(_) | Phase::BotDue { .. } | Phase::Finished(_) => None,
        }
    }

    /// The turn that is played, whether it waits for seals or for reveals.
    #[must_use]
    pub const fn turn_in_play(&self) -> Option<&OpenTurn> {
        match &self.phase {
            Phase::Open(open) | Phase::Revealing(Revealing { open, .. }) => Some(open),
            Phase::Waiting { .. } | Phase::BotDue { .. } | Phase::Finished(_) => None,
        }
    }

    /// The seat of the bot whose seal is awaited.
    #[must_use]
    pub fn bot_due(&self) -> Option<Seat> {
        match &self.phase {
            Phase::BotDue { .. } => self.settings.bot.map(|bot| bot.seat),
            Phase::Waiting { .. } | Phase::Open(_) | Phase::Revealing(_) | Phase::Finished(_) => None,
        }
    }

    /// How it ended, if it has.
    #[must_use]
    pub const fn finish(&self) -> Option<&Finish> {
        match &self.phase {
            Phase::Finished(finish) => Some(finish),
            Phase::Waiting { .. } | Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. } => None,
        }
    }

    /// The first deadline that can still pass, inclusive. None only once the match is finished.
    #[must_use]
    pub fn deadline(&self) -> Option<Stamp> {
        match &self.phase {
            Phase::Finished(_) => None,
            Phase::Waiting { start_by, .. } => start_by.iter().copied().chain([self.idle_by]).min(),
            Phase::Revealing(revealing) => Some(revealing.reveal_by.min(self.idle_by)),
            Phase::BotDue { .. } => Some(self.idle_by),
            Phase::Open(open) => Seat::BOTH
                .into_iter()
                .filter(|seat| open.seals[*seat].is_none())
                .map(|seat| open.deadlines[seat])
                .chain([self.idle_by])
                .min(),
        }
    }

    /// The first moment at which the service has to do something: a tick changes the match, or its bot is to
    /// move. None only once it is finished.
    #[must_use]
    pub fn due(&self) -> Option<Stamp> {
        match &self.phase {
            Phase::BotDue { since } => Some(*since),
            Phase::Waiting { .. } | Phase::Open(_) | Phase::Revealing(_) | Phase::Finished(_) => {
                self.deadline().map(|deadline| deadline.plus_ms(1))
            }
        }
    }

    /// The same match with its deadlines under a later outage sum.
    #[must_use]
    pub fn under_outage(&self, outage_ms: u64) -> Cow<'_, Self> {
        let shift_ms = outage_ms.saturating_sub(self.outage_ms);
        if shift_ms == 0 {
            return Cow::Borrowed(self);
        }
        let mut moved = self.clone();
        moved.outage_ms = outage_ms;
        moved.idle_by = moved.idle_by.plus_ms(shift_ms);
        match &mut moved.phase {
            Phase::Waiting { start_by, .. } => *start_by = start_by.map(|by| by.plus_ms(shift_ms)),
            Phase::Open(open) => {
                open.deadlines = open.deadlines.map(|deadline| deadline.plus_ms(shift_ms));
            }
            Phase::Revealing(revealing) => {
                revealing.reveal_by = revealing.reveal_by.plus_ms(shift_ms);
            }
            Phase::BotDue { .. } | Phase::Finished(_) => {}
        }
        Cow::Owned(moved)
    }

    /// The receipt for a seal of `seat` in `turn`.
    #[must_use]
    pub fn receipt(&self, seat: Seat, turn: u32, facts: &SealFacts) -> Receipt {
        Receipt {
            match_id: self.id,
            turn,
            seat,
            commitment: facts.commitment,
            sealed_ms: facts.sealed.as_ms(),
            key_id: Arc::clone(&facts.key_id),
        }
    }

    /// What a seat that seals at `now` has on its clock for the turn after, ms.
    pub(crate) fn clock_after_seal_ms(&self, deadline: Stamp, now: Stamp) -> u64 {
        match self.settings.time {
            TimeControl::PerTurn { turn_ms } => turn_ms,
            TimeControl::Bank { increment_ms, .. } => {
                deadline.ms_since(now).saturating_add(increment_ms).min(Settings::BANK_MAX_MS)
            }
        }
    }
}
