//! Revealing: both commitments are in, and each seat opens its own.

use std::sync::Arc;

use rules::{PerSeat, Seat};
use sealing::{Opening, SealContext};

use crate::apply::{Change, Transition, changed, finished, refused, unchanged};
use crate::command::{Answer, Refusal, RevealCommand};
use crate::ending::{Finish, Verdict};
use crate::game::{Match, OpenTurn, Phase, Revealing};
use crate::time::Stamp;

impl Match {
    /// A seat opens its commitment. The first one is held; with the second the turn resolves, or ends
    /// the match for whoever committed to an illegal cell.
    pub(crate) fn reveal(&self, revealing: &Revealing, command: &RevealCommand, now: Stamp) -> Transition {
        let open = &revealing.open;
        let (seat, turn) = (command.seat, command.turn);
        if turn > open.turn {
            return refused(Refusal::TurnNotOpenYet { turn });
        }
        if turn < open.turn {
            return refused(Refusal::TurnClosed { turn });
        }
        let Some(seal) = &open.seals[seat] else { return refused(Refusal::Damaged) };
        let fits = self.context(turn, seat).opens(&seal.facts.commitment, &command.opening);
        match &open.requests[seat].reveal {
            Some(first) if *first == command.request_id && !fits => {
                return refused(Refusal::RequestIdReused);
            }
            _ if !fits => return refused(Refusal::CommitmentMismatch),
            Some(_) => return unchanged(Answer::Done),
            None => {}
        }
        let mut revealed = revealing.clone();
        revealed.open.requests[seat].reveal = Some(command.request_id.clone());
        if let Some(seal) = &mut revealed.open.seals[seat] {
            seal.opening = Some(command.opening.clone());
        }
        match self.revealed(revealed, now) {
            Ok(change) => changed(change, Answer::Done),
            Err(refusal) => refused(refusal),
        }
    }

    fn revealed(&self, revealing: Revealing, now: Stamp) -> Result<Change, Refusal> {
        let not_after = self.deadline();
        let both = revealing
            .open
            .seals
            .iter()
            .all(|(_, seal)| seal.as_ref().is_some_and(|seal| seal.opening.is_some()));
        if !both {
            let next = Arc::new(self.followed_by(Phase::Revealing(revealing), now));
            return Ok(Change { next, not_after, events: Vec::new(), follow_ups: Vec::new() });
        }
        let failed = PerSeat::from_fn(|seat| !self.has_legal_opening(&revealing.open, seat));
        if failed.black || failed.white {
            let revealed = self.followed_by(Phase::Revealing(revealing), now);
            let ended = Verdict::of_failed_reveal(failed, now).end(&revealed, None);
            return Ok(finished(ended, not_after));
        }
        self.resolve(revealing.open, self.clock_ms, now)
    }

    /// Whether a seat has revealed, and a cell that is empty on the board.
    pub(crate) fn has_legal_opening(&self, open: &OpenTurn, seat: Seat) -> bool {
        let opening: Option<&Opening> = open.seals[seat].as_ref().and_then(|seal| seal.opening.as_ref());
        opening.is_some_and(|opening| self.position.is_empty(opening.cell))
    }

    /// A reveal after the end is a repetition, or too late.
    pub(crate) fn reveal_after_end(&self, finish: &Finish, command: &RevealCommand) -> Transition {
        let turn = command.turn;
        if turn <= self.resolved {
            return refused(Refusal::TurnClosed { turn });
        }
        let in_play = turn == self.resolved + 1;
        let revealed = finish.requests[command.seat].reveal.as_ref().filter(|_| in_play);
        let sealed = finish.unresolved[command.seat].as_ref();
        let (Some(first), Some(sealed)) = (revealed, sealed) else {
            return refused(Refusal::MatchFinished);
        };
        if self.context(turn, command.seat).opens(&sealed.commitment, &command.opening) {
            unchanged(Answer::Done)
        } else if *first == command.request_id {
            refused(Refusal::RequestIdReused)
        } else {
            refused(Refusal::MatchFinished)
        }
    }

    fn context(&self, turn: u32, seat: Seat) -> SealContext<'_> {
        SealContext {
            match_id: self.id,
            turn,
            seat,
            player: &self.parties[seat].player,
            previous: &self.hash,
        }
    }
}
