//! The resolved turns of matches, kept once a process while somebody uses them.
//!
//! A resolved turn never changes, so all streams of a match share one list of them; a stream that has
//! fallen behind reads its next turn from here and holds no queue of its own.
//!
//! A store that promises nothing across a failover can lose turns all the same, and go on with others. Each
//! turn is therefore checked to follow from the one before it by its hash: turns that the store has lost are
//! forgotten here, and nobody is told a history of two halves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use referee::{Match, TurnRecord};
use rules::{Position, RulesVersion};
use sealing::{Digest, MatchId};
use store::Store;
use wire::ApiError;
use wire::v1;

use crate::convert::{errors, turn};

/// Turns read from the store at once.
const PAGE: usize = 128;

/// A resolved turn with the position it led to.
pub(crate) struct Played {
    /// As stored.
    pub(crate) record: Arc<TurnRecord>,
    /// The h of the turn before it, or h_0.
    pub(crate) previous: Digest,
    /// The board after it.
    pub(crate) position: Position,
    /// As sent.
    pub(crate) wire: v1::ResolvedTurn,
}

/// The turns of one match as far as they were asked for.
pub(crate) struct History {
    id: MatchId,
    rules: RulesVersion,
    /// h_0.
    first: Digest,
    turns: Mutex<Vec<Arc<Played>>>,
    histories: Weak<Histories>,
}

/// The histories in use. An entry lives as long as somebody holds it.
#[derive(Default)]
pub(crate) struct Histories {
    in_use: Mutex<HashMap<MatchId, Weak<History>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Histories {
    /// The history of a match, shared with whoever else holds it, without what contradicts this head.
    pub(crate) fn of(self: &Arc<Self>, game: &Match) -> Arc<History> {
        let history = self.shared(game);
        history.keep_to(game);
        history
    }

    fn shared(self: &Arc<Self>, game: &Match) -> Arc<History> {
        let (id, rules) = (game.id, game.settings.rules_version);
        let mut in_use = lock(&self.in_use);
        if let Some(history) = in_use.get(&id).and_then(Weak::upgrade) {
            return history;
        }
        let histories = Arc::downgrade(self);
        let first = game.first_hash();
        let history = Arc::new(History { id, rules, first, turns: Mutex::default(), histories });
        in_use.insert(id, Arc::downgrade(&history));
        history
    }
}

impl Drop for History {
    fn drop(&mut self) {
        let Some(histories) = self.histories.upgrade() else { return };
        let mut in_use = lock(&histories.in_use);
        // Another one may have taken the place since the last holder let go.
        if in_use.get(&self.id).is_some_and(|history| history.strong_count() == 0) {
            in_use.remove(&self.id);
        }
    }
}

impl History {
    /// Forgets what is known if it is not the history of this head, which was just read.
    pub(crate) fn keep_to(&self, head: &Match) {
        let mut turns = lock(&self.turns);
        let last = (head.resolved as usize).checked_sub(1).and_then(|index| turns.get(index));
        if last.is_some_and(|last| last.record.hash != head.hash) {
            turns.clear();
        }
    }

    /// The turn with this number, which the caller knows to be resolved. CONTENDED if it is so no more: he is
    /// to look at the match again.
    pub(crate) async fn turn(&self, store: &dyn Store, number: u32) -> Result<Arc<Played>, ApiError> {
        let index = number.saturating_sub(1) as usize;
        let mut missed = false;
        loop {
            let known = {
                let turns = lock(&self.turns);
                match turns.get(index) {
                    Some(played) => return Ok(Arc::clone(played)),
                    None => turns.len(),
                }
            };
            let next = u32::try_from(known).unwrap_or(u32::MAX).saturating_add(1);
            let records = store.turns(self.id, next, PAGE).await.map_err(errors::store)?;
            if records.is_empty() {
                // The store may have lost it since the caller read the head that has it.
                let head = store.load(self.id).await.map_err(errors::store)?.stored.head;
                if head.resolved < number {
                    return Err(errors::contended());
                }
                if missed {
                    return Err(errors::fault("a resolved turn is missing", self.id));
                }
                missed = true;
                continue;
            }
            self.extend(known, records)?;
        }
    }

    /// Every turn of a match up to its head.
    pub(crate) async fn all(&self, store: &dyn Store, game: &Match) -> Result<Vec<Arc<Played>>, ApiError> {
        if game.resolved > 0 {
            self.turn(store, game.resolved).await?;
        }
        Ok(lock(&self.turns).iter().take(game.resolved as usize).cloned().collect())
    }

    /// Plays the records that follow turn `known`, unless somebody else has meanwhile. Where they do not follow
    /// from what is known here, the store has lost that: it is forgotten, and to be read anew.
    fn extend(&self, known: usize, records: Vec<Arc<TurnRecord>>) -> Result<(), ApiError> {
        let mut turns = lock(&self.turns);
        if turns.len() != known {
            return Ok(());
        }
        for record in records {
            let Some(played) = self.play(turns.last(), record) else {
                if known == 0 {
                    return Err(errors::fault("a stored history does not hold", self.id));
                }
                turns.clear();
                return Ok(());
            };
            turns.push(Arc::new(played));
        }
        Ok(())
    }

    /// A record played after the turn before it; none if it does not follow from that.
    fn play(&self, last: Option<&Arc<Played>>, record: Arc<TurnRecord>) -> Option<Played> {
        let (before, previous) =
            last.map_or((Position::initial(), self.first), |last| (last.position, last.record.hash));
        let openings = &record.facts.openings;
        let resolved = self.rules.resolve(&before, openings.black.cell, openings.white.cell).ok()?;
        let hash = sealing::turn_hash(&previous, &record.facts, &resolved.position);
        let wire = turn::resolved(&record, &resolved);
        (hash == record.hash).then_some(Played { record, previous, position: resolved.position, wire })
    }
}
