//! Draw offers: one a seat a turn, lapsing with the turn; two in one turn are an agreement.

use std::sync::Arc;

use rules::{PerSeat, Seat};
use sealing::{EndReason, MatchResult};

use crate::apply::{Change, Transition, changed, finished, refused, unchanged};
use crate::command::{Answer, DrawCommand, Refusal};
use crate::ending::Verdict;
use crate::game::{DrawAnswer, Match, OpenTurn, Phase, Revealing, TurnRequests};
use crate::time::Stamp;

impl Match {
    /// A seat offers a draw in the turn that is played, or answers the opponent's offer.
    pub(crate) fn draw(&self, open: &OpenTurn, command: &DrawCommand, now: Stamp) -> Transition {
        let (seat, turn) = (command.seat, command.turn);
        if turn < open.turn {
            return refused(Refusal::TurnClosed { turn });
        }
        if turn > open.turn {
            return refused(Refusal::TurnNotOpenYet { turn });
        }
        if let Some(answer) = repeated(&open.requests, command) {
            return Transition { change: None, answer };
        }
        let mut requests = open.requests.clone();
        let agreed = match command.accept {
            None if requests[seat].offer.is_some() => return refused(Refusal::AlreadyOffered),
            None => {
                requests[seat].offer = Some(command.request_id.clone());
                has_open_offer(&requests, seat.opponent())
            }
            Some(_) if !has_open_offer(&requests, seat.opponent()) => return refused(Refusal::NoOpenOffer),
            Some(accept) => {
                let request_id = command.request_id.clone();
                requests[seat].answer = Some(DrawAnswer { accept, request_id });
                accept
            }
        };
        let not_after = self.deadline();
        let next = self.followed_by(self.phase.clone(), now).with_requests(requests);
        if agreed {
            let verdict = Verdict { result: MatchResult::Draw, reason: EndReason::AgreedDraw, at: now };
            return changed(finished(verdict.end(&next, None), not_after), Answer::Done);
        }
        let change = Change { next: Arc::new(next), not_after, events: Vec::new(), follow_ups: Vec::new() };
        changed(change, Answer::Done)
    }

    fn with_requests(mut self, requests: PerSeat<TurnRequests>) -> Self {
        if let Phase::Open(open) | Phase::Revealing(Revealing { open, .. }) = &mut self.phase {
            open.requests = requests;
        }
        self
    }
}

/// Whether a seat's offer stands: made, and not declined.
#[must_use]
pub fn has_open_offer(requests: &PerSeat<TurnRequests>, seat: Seat) -> bool {
    requests[seat].offer.is_some() && requests[seat.opponent()].answer.is_none()
}

/// The answer to a request that has been here before in its turn; none if it has not.
pub(crate) fn repeated(
    requests: &PerSeat<TurnRequests>,
    command: &DrawCommand,
) -> Option<Result<Answer, Refusal>> {
    let own = &requests[command.seat];
    let offer = own.offer.as_ref().filter(|offer| **offer == command.request_id);
    let answer = own.answer.as_ref().filter(|answer| answer.request_id == command.request_id);
    let same = match (offer, answer) {
        (None, None) => return None,
        (Some(_), _) => command.accept.is_none(),
        (None, Some(answer)) => command.accept == Some(answer.accept),
    };
    Some(if same { Ok(Answer::Done) } else { Err(Refusal::RequestIdReused) })
}

/// A draw request after the end is a repetition, or too late.
pub(crate) fn after_end(
    resolved: u32,
    requests: &PerSeat<TurnRequests>,
    command: &DrawCommand,
) -> Transition {
    let turn = command.turn;
    if turn <= resolved {
        return refused(Refusal::TurnClosed { turn });
    }
    match repeated(requests, command) {
        Some(Ok(answer)) if turn == resolved + 1 => unchanged(answer),
        Some(Err(refusal)) if turn == resolved + 1 => refused(refusal),
        _ => refused(Refusal::MatchFinished),
    }
}
