//! The one loop by which a match changes: read, judge, compare-and-set, again if somebody was faster.

use std::sync::Arc;

use referee::{Answer, Command, Match, Now, Refusal};
use sealing::MatchId;
use store::{Commit, CommitOutcome, Store};
use wire::ApiError;

use crate::convert::{errors, match_name};

/// How often a command is judged again. Two seats, their retries and a tick can make each other lose a
/// few times; whoever loses this often meets a fault, not contention.
const TRIES_MAX: usize = 16;

/// A match as a command has found or left it.
pub(crate) struct Driven {
    /// What is stored, or was when the command was judged to change nothing.
    pub(crate) game: Arc<Match>,
    /// The moment the command was judged at.
    pub(crate) now: Now,
    /// What the command came to.
    pub(crate) answer: Result<Answer, Refusal>,
}

/// Judges a command on the stored match until its change is committed or it changes nothing.
///
/// `command` makes the command from the match it will be judged on, or refuses it. Whatever the answer
/// rests on is committed when this returns, a deadline found passed included. Dropping the future at any
/// await leaves the change made as a whole or not at all.
pub(crate) async fn drive(
    store: &dyn Store,
    id: MatchId,
    mut command: impl FnMut(&Match) -> Result<Command, ApiError> + Send,
) -> Result<Driven, ApiError> {
    let refused = |error| errors::store_on(&match_name(id), error);
    let mut loaded = store.load(id).await.map_err(refused)?;
    for _ in 0..TRIES_MAX {
        let (game, now) = (Arc::clone(&loaded.stored.head), loaded.now);
        let transition = game.apply(&command(&game)?, now);
        let Some(change) = transition.change else {
            return Ok(Driven { game, now, answer: transition.answer });
        };
        let expected = loaded.stored.version;
        let commit = Commit { expected, nonce: rand::random(), judged: now, change };
        match store.commit(commit).await.map_err(refused)? {
            CommitOutcome::Committed(stored) => {
                return Ok(Driven { game: stored.head, now, answer: transition.answer });
            }
            CommitOutcome::Conflict(winner) => loaded = winner,
            CommitOutcome::Restamp(now) | CommitOutcome::TooLate(now) => loaded.now = now,
        }
    }
    Err(errors::contended())
}
