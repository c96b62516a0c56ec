//! The one loop by which a match changes: read, judge, compare-and-set, again if somebody was faster.

use std::sync::Arc;

use middleware::Deadline;
use referee::{Answer, Command, Match, Now, Refusal, Stamp};
use sealing::MatchId;
use store::{Commit, CommitOutcome, Loaded, Store, Stored};
use tokio::time::Instant;
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::convert::{errors, match_name};
use crate::{lost_history, spans};

/// How often a command is judged again. Two seats, their retries and a tick can make each other lose a
/// few times; whoever loses this often meets a fault, not contention.
const TRIES_MAX: usize = 16;

/// A match as a command has found or left it.
pub(crate) struct Driven {
    /// What is stored, or was when the command was judged to change nothing.
    pub(crate) stored: Stored,
    /// The moment the command was judged at.
    pub(crate) now: Now,
    /// What the command came to.
    pub(crate) answer: Result<Answer, Refusal>,
}

/// Judges a command on the stored match until its change is committed or it changes nothing.
///
/// `command` makes the command from the match it will be judged on, or refuses it. It is judged on the head
/// that this node has seen last, if the store remembers one, so that a change costs one step of the store;
/// a refusal, and an answer without a change, rest on a head that is read for them. Commands of one match on one
/// node wait for each other where that saves the store a step. Whatever the answer
/// rests on is committed when this returns, a deadline found passed included. Dropping the future at any
/// await leaves the change made as a whole or not at all.
///
/// Where the store turns out to have lost a part of the match, the match is made void first, and the command
/// finds it so.
///
/// After the call's `deadline`, if it has one, nothing is stored any more, also not what was sent before and
/// has been held up on its way: whoever called has been told by then that it did not come about in time.
pub(crate) async fn drive(
    store: &dyn Store,
    id: MatchId,
    deadline: Option<Deadline>,
    mut command: impl FnMut(&Match) -> Result<Command, ApiError> + Send,
) -> Result<Driven, ApiError> {
    let refused = |error| errors::store_on(&match_name(id), error);
    let mut passage = Some(store.pass(id).await);
    let mut base = match store.recent(id) {
        Some(seen) => Base { loaded: seen, is_read: false, is_lost: false },
        None => Base { loaded: store.load(id).await.map_err(refused)?, is_read: true, is_lost: false },
    };
    for _ in 0..TRIES_MAX {
        let (game, now) = (Arc::clone(&base.loaded.stored.head), base.loaded.now);
        let command = if base.is_lost { Ok(Command::LostHistory) } else { command(&game) };
        let judged = command.map(|command| game.apply(&command, now));
        let changes = judged.as_ref().is_ok_and(|transition| transition.change.is_some());
        if !changes && !base.is_read {
            // Whoever only reads keeps nobody waiting.
            drop(passage.take());
            base.replace(store.load(id).await.map_err(refused)?);
            continue;
        }
        let transition = judged?;
        let Some(mut change) = transition.change else {
            return Ok(Driven { stored: base.loaded.stored, now, answer: transition.answer });
        };
        if let Some(deadline) = deadline.filter(|_| !base.is_lost) {
            let over = over(deadline, now)?;
            change.not_after = Some(change.not_after.map_or(over, |not_after| not_after.min(over)));
        }
        let expected = base.loaded.stored.version;
        let commit = Commit { expected, nonce: rand::random(), judged: now, change, trace: spans::current() };
        match store.commit(commit).await.map_err(refused)? {
            CommitOutcome::Committed(stored) if base.is_lost => {
                base = Base { loaded: Loaded { stored, now }, is_read: true, is_lost: false };
            }
            CommitOutcome::Committed(stored) => {
                return Ok(Driven { stored, now, answer: transition.answer });
            }
            CommitOutcome::Conflict(winner) => base.replace(winner),
            CommitOutcome::Restamp(now) | CommitOutcome::TooLate(now) => base.loaded.now = now,
        }
    }
    Err(errors::contended())
}

/// The head that a command is judged on.
struct Base {
    loaded: Loaded,
    /// It was read for this command. One that was only seen before may be old: a change judged on it is
    /// checked by the store, and nothing else may rest on it.
    is_read: bool,
    /// It is older than, or unlike, what was there before, and the match goes on as if nothing were lost.
    is_lost: bool,
}

impl Base {
    /// The next head to judge on, asked for after the one before had been seen.
    fn replace(&mut self, read: Loaded) {
        let is_lost = self.is_lost || lost_history::is_lost(&self.loaded.stored, &read.stored);
        let is_lost = is_lost && read.stored.head.finish().is_none();
        if is_lost {
            lost_history::tell(read.stored.head.id);
        }
        *self = Self { loaded: read, is_read: true, is_lost };
    }
}

/// A call's deadline by the store's clock, which read `now` a little before: the answer is early by that
/// little, never late.
fn over(deadline: Deadline, now: Now) -> Result<Stamp, ApiError> {
    let left = deadline.at.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ApiError::new(ErrorReason::DeadlineExceeded));
    }
    Ok(now.stamp.plus_ms(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
}
