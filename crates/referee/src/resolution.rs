//! Resolution: both choices are opened and played together.

use std::sync::Arc;

use rules::PerSeat;
use sealing::{Opening, TurnFacts};

use crate::apply::{Change, Event, FollowUp};
use crate::command::Refusal;
use crate::ending::Verdict;
use crate::game::{Match, OpenTurn, Phase, Seal};
use crate::record::TurnRecord;
use crate::time::Stamp;

impl Match {
    /// The match after the turn has resolved: the next turn is open, or it has ended.
    pub(crate) fn resolve(
        self,
        open: &OpenTurn,
        not_after: Option<Stamp>,
        now: Stamp,
    ) -> Result<Change, Refusal> {
        let mut next = self;
        let before = next.position.outcome();
        let record = next.play(open, now)?;
        let turn_limit = u64::from(next.settings.turn_limit);
        let ended = sealing::decided_by_turn(&before, &next.position.outcome(), record.turn, turn_limit);
        let mut events = vec![Event::TurnResolved(Arc::new(record))];
        let mut follow_ups = Vec::new();
        if let Some((result, reason)) = ended {
            next = Verdict { result, reason, at: now }.end_resolved(&next);
            events.push(Event::Finished);
            follow_ups = FollowUp::index_both();
        } else {
            let open = next.next_turn(now);
            events.push(Event::TurnOpened { turn: open.turn });
            next.phase = Phase::Open(open);
        }
        Ok(Change { next: Arc::new(next), not_after, events, follow_ups })
    }

    /// Plays both moves on the board and returns the turn's record. Both are legal: server-sealed ones
    /// were checked when they came, revealed ones before this.
    fn play(&mut self, open: &OpenTurn, now: Stamp) -> Result<TurnRecord, Refusal> {
        let seals: PerSeat<&Seal> = open.seals.as_ref().map(Option::as_ref).both().ok_or(Refusal::Damaged)?;
        let openings: PerSeat<Opening> =
            seals.map(|seal| seal.opening.clone()).both().ok_or(Refusal::Damaged)?;
        let rules = self.settings.rules_version;
        let played = rules.play(&self.position, openings.black.cell, openings.white.cell);
        self.position = played.map_err(|_| Refusal::Damaged)?;
        let facts = TurnFacts {
            commitments: seals.map(|seal| seal.facts.commitment),
            openings,
            opened_ms: open.opened.as_ms(),
            sealed_ms: seals.map(|seal| seal.facts.sealed.as_ms()),
            resolved_ms: now.as_ms(),
            signatures: seals.map(|seal| seal.facts.signature),
        };
        self.hash = sealing::turn_hash(&self.hash, &facts, &self.position);
        self.resolved = open.turn;
        Ok(TurnRecord {
            turn: open.turn,
            facts,
            request_ids: seals.map(|seal| seal.facts.request_id.clone()),
            requests: open.requests.clone(),
            key_ids: seals.map(|seal| seal.facts.key_id.clone()),
            hash: self.hash,
        })
    }
}
