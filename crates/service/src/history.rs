//! The resolved turns of matches, kept once a process while somebody uses them.
//!
//! A resolved turn never changes, so all streams of a match share one list of them; a stream that has
//! fallen behind reads its next turn from here and holds no queue of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use referee::{Match, TurnRecord};
use rules::{Position, RulesVersion};
use sealing::MatchId;
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
    /// The board after it.
    pub(crate) position: Position,
    /// As sent.
    pub(crate) wire: v1::ResolvedTurn,
}

/// The turns of one match as far as they were asked for.
pub(crate) struct History {
    id: MatchId,
    rules: RulesVersion,
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
    /// The history of a match, shared with whoever else holds it.
    pub(crate) fn of(self: &Arc<Self>, game: &Match) -> Arc<History> {
        let (id, rules) = (game.id, game.settings.rules_version);
        let mut in_use = lock(&self.in_use);
        if let Some(history) = in_use.get(&id).and_then(Weak::upgrade) {
            return history;
        }
        let histories = Arc::downgrade(self);
        let history = Arc::new(History { id, rules, turns: Mutex::default(), histories });
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
    /// The turn with this number, which the caller knows to be resolved.
    pub(crate) async fn turn(&self, store: &dyn Store, number: u32) -> Result<Arc<Played>, ApiError> {
        let index = number.saturating_sub(1) as usize;
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
                return Err(errors::fault("a resolved turn is missing", self.id));
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

    /// Plays the records that follow turn `known`, unless somebody else has meanwhile.
    fn extend(&self, known: usize, records: Vec<Arc<TurnRecord>>) -> Result<(), ApiError> {
        let mut turns = lock(&self.turns);
        if turns.len() != known {
            return Ok(());
        }
        for record in records {
            let before = turns.last().map_or_else(Position::initial, |last| last.position);
            let openings = &record.facts.openings;
            let resolved = self
                .rules
                .resolve(&before, openings.black.cell, openings.white.cell)
                .map_err(|_| errors::fault("a stored turn is illegal", self.id))?;
            let wire = turn::resolved(&record, &resolved);
            turns.push(Arc::new(Played { record, position: resolved.position, wire }));
        }
        Ok(())
    }
}
