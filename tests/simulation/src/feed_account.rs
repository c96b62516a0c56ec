//! What a reader of the feed has been told, and what he must be told before that and in the end.

use std::collections::{BTreeSet, HashMap};

use referee::{Match, Phase};
use sealing::{Digest, MatchId};
use wire::v1;
use wire::v1::feed_event::Event;

use crate::model::Entry;
use crate::primary::Made;

/// A turn or an end as the store has taken it.
struct Step {
    /// Changes of the store before it.
    place: u64,
    /// h of the turn before it; none: there was no turn.
    before: Option<Digest>,
    /// The match had started.
    started: bool,
}

/// Turns and ends as the store has taken them, by their hashes: several times what a failover has lost and what
/// then came about again just like that.
#[derive(Default)]
pub(crate) struct Taken {
    made: u64,
    steps: HashMap<Digest, Vec<Step>>,
}

impl Taken {
    /// The store has made a change.
    pub(crate) fn note(&mut self, made: &Made) {
        self.made += 1;
        let Some(before) = &made.before else { return };
        let after = &made.after;
        let hash_of = |game: &Match| (game.resolved > 0).then_some(game.hash);
        let started = !matches!(before.phase, Phase::Waiting { .. });
        let step = |before| Step { place: self.made, before, started };
        if let Some(record) = &made.turn {
            self.steps.entry(record.hash).or_default().push(step(hash_of(before)));
        }
        if let Some(finish) = after.finish() {
            self.steps.entry(finish.end_hash).or_default().push(step(hash_of(after)));
        }
    }
}

/// One reader's account.
#[derive(Default)]
pub(crate) struct FeedAccount {
    started: BTreeSet<MatchId>,
    /// Resolved turns, by their numbers and by their hashes, and the hashes of ends.
    turns: BTreeSet<(MatchId, u32)>,
    hashes: BTreeSet<Digest>,
    /// When the store took the last of what was new to him.
    last: u64,
}

/// A broken promise: the invariant, and how.
pub(crate) type Broken = (u8, String);

impl FeedAccount {
    /// He is told an event, once more or for the first time.
    ///
    /// # Errors
    /// It never happened, or something that came before it has not been told.
    pub(crate) fn told(&mut self, id: MatchId, event: &v1::FeedEvent, taken: &Taken) -> Result<(), Broken> {
        match event.event.as_ref().ok_or((4, "an event that is none".to_owned()))? {
            Event::Started(_) => self.started.insert(id),
            Event::TurnOpened(opened) => {
                let first = opened.turn == 1 && self.started.contains(&id);
                let follows = first || self.turns.contains(&(id, opened.turn - 1));
                return follows
                    .then_some(())
                    .ok_or((4, format!("turn {} was opened before its time", opened.turn)));
            }
            Event::TurnResolved(resolved) => {
                self.step(id, &resolved.hash, &format!("turn {}", resolved.turn), taken)?;
                self.turns.insert((id, resolved.turn))
            }
            Event::Finished(finished) => return self.step(id, &finished.end_hash, "the end", taken),
        };
        Ok(())
    }

    /// What is new was really stored, after all else that he was told, and next to what came before it.
    fn step(&mut self, id: MatchId, hash: &[u8], what: &str, taken: &Taken) -> Result<(), Broken> {
        let hash = Digest::try_from(hash).map_err(|_| (1, format!("{what} was told without a hash")))?;
        if self.hashes.contains(&hash) {
            return Ok(());
        }
        let never = || (1, format!("{what} was told by the feed and never stored"));
        let steps = taken.steps.get(&hash).ok_or_else(never)?;
        let follows = |step: &&Step| {
            let knows_before = step.before.is_none_or(|before| self.hashes.contains(&before));
            knows_before && (!step.started || self.started.contains(&id))
        };
        let mut places = steps.iter().filter(follows).map(|step| step.place).peekable();
        if places.peek().is_none() {
            return Err((4, format!("the feed left out what comes before {what}")));
        }
        // Where it was stored more than once: the first time that is possible leaves most room for what comes.
        let next = places.find(|place| *place >= self.last);
        self.last =
            next.ok_or_else(|| (4, format!("{what} was told by the feed after what was stored later")))?;
        self.hashes.insert(hash);
        Ok(())
    }

    /// The first thing of a finished match that he has not been told.
    pub(crate) fn lacks(&self, entry: &Entry) -> Option<String> {
        let turn = entry.turns.iter().find(|record| !self.hashes.contains(&record.hash));
        let turn = turn.map(|record| format!("turn {}", record.turn));
        let end = entry.stored.head.finish().filter(|finish| !self.hashes.contains(&finish.end_hash));
        turn.or_else(|| end.map(|_| "the end".to_owned()))
    }
}
