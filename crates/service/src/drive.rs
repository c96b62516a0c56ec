//! The one loop by which a match changes: read, judge, compare-and-set, again if somebody was faster.

use std::sync::Arc;

use middleware::Deadline;
use referee::{Answer, Command, Match, Now, Refusal, Stamp};
use sealing::MatchId;
use store::{Commit, CommitOutcome, Store};
use tokio::time::Instant;
use wire::ApiError;
use wire::v1::ErrorReason;

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
    let mut loaded = store.load(id).await.map_err(refused)?;
    for _ in 0..TRIES_MAX {
        let (game, now) = (Arc::clone(&loaded.stored.head), loaded.now);
        let transition = game.apply(&command(&game)?, now);
        let Some(mut change) = transition.change else {
            return Ok(Driven { game, now, answer: transition.answer });
        };
        if let Some(deadline) = deadline {
            let over = over(deadline, now)?;
            change.not_after = Some(change.not_after.map_or(over, |not_after| not_after.min(over)));
        }
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

/// A call's deadline by the store's clock, which read `now` a little before: the answer is early by that
/// little, never late.
fn over(deadline: Deadline, now: Now) -> Result<Stamp, ApiError> {
    let left = deadline.at.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ApiError::new(ErrorReason::DeadlineExceeded));
    }
    Ok(now.stamp.plus_ms(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
}
