//! Resolution: both choices are opened and played together.

use std::sync::Arc;

use rules::{PerSeat, Position};
use sealing::TurnFacts;

use crate::apply::{Change, Event, finished};
use crate::command::Refusal;
use crate::ending::Verdict;
use crate::game::{Match, OpenTurn, Seal};
use crate::record::TurnRecord;
use crate::time::Stamp;

impl Match {
    /// The match after the turn has resolved, in which both choices are open: the next turn is open, with
    /// `clock_ms` on the clocks, or it has ended.
    pub(crate) fn resolve(
        &self,
        open: OpenTurn,
        clock_ms: PerSeat<u64>,
        now: Stamp,
    ) -> Result<Change, Refusal> {
        let not_after = self.deadline();
        let (position, record) = self.play(open, now)?;
        let turn_limit = u64::from(self.settings.turn_limit);
        let (before, after) = (self.position.outcome(), position.outcome());
        let ended = sealing::decided_by_turn(&before, &after, record.turn, turn_limit);
        let (phase, opened) = self.next_turn(record.turn + 1, clock_ms, now);
        let mut next = self.followed_by(phase, now);
        (next.resolved, next.position, next.hash) = (record.turn, position, record.hash);
        next.clock_ms = clock_ms;
        let resolved = Event::TurnResolved(Arc::new(record));
        let Some((result, reason)) = ended else {
            let events = [resolved].into_iter().chain(opened).collect();
            return Ok(Change { next: Arc::new(next), not_after, events, follow_ups: Vec::new() });
        };
        let mut change = finished(Verdict { result, reason, at: now }.end_resolved(&next), not_after);
        change.events.insert(0, resolved);
        Ok(change)
    }

    /// Plays both moves. Returns the board after them, and the turn's record. Both are legal: server-sealed
    /// ones were checked when they came, revealed ones before this.
    fn play(&self, open: OpenTurn, now: Stamp) -> Result<(Position, TurnRecord), Refusal> {
        let seals: PerSeat<Seal> = open.seals.both().ok_or(Refusal::Damaged)?;
        let openings = seals.as_ref().map(|seal| seal.opening.clone()).both().ok_or(Refusal::Damaged)?;
        let rules = self.settings.rules_version;
        let played = rules.play(&self.position, openings.black.cell, openings.white.cell);
        let position = played.map_err(|_| Refusal::Damaged)?;
        let sealed = seals.as_ref().map(|seal| &seal.facts);
        let facts = TurnFacts {
            commitments: sealed.map(|facts| facts.commitment),
            openings,
            opened_ms: open.opened.as_ms(),
            sealed_ms: sealed.map(|facts| facts.sealed.as_ms()),
            resolved_ms: now.as_ms(),
            signatures: sealed.map(|facts| facts.signature),
        };
        let record = TurnRecord {
            turn: open.turn,
            request_ids: sealed.map(|facts| facts.request_id.clone()),
            requests: open.requests,
            key_ids: sealed.map(|facts| Arc::clone(&facts.key_id)),
            hash: sealing::turn_hash(&self.hash, &facts, &position),
            facts,
        };
        Ok((position, record))
    }
}
