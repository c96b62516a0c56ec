//! Who on this node wants to hear of what, and what is told to them.
//!
//! A hint can be lost on its way: connections break, a node dies between a write and its hint. So every
//! watched match is looked at again after any loss, at its due time, and every 15 s; players' watchers
//! are told then that something may have changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::RngExt as _;
use sealing::MatchId;
use store::{Hint, Shard, StoreError, Version};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::envelope::{self, Summary};
use crate::recent::Recent;

/// What can be watched on one node at most: each takes about half a kilobyte.
const TOPICS_MAX: usize = 200_000;

/// Pause between two looks at a watched match, ms.
const CHECK_MS: u64 = 15_000;

/// Pause between two times that watchers of a player are told to look again, ms: reading his lists costs
/// more, and what is told there is told again until it is done.
const PLAYER_CHECK_MS: u64 = 60_000;

/// How far looks that one event causes are spread, ms.
const SPREAD_MS: u64 = 500;

/// A connection on which hints come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch(pub(crate) u64);

/// What is watched, and what was told of it last.
enum Watched {
    Match { id: MatchId, shard: Shard, told: watch::Sender<Hint> },
    Player { changes: watch::Sender<u64> },
}

struct Topic {
    watched: Watched,
    slot: u16,
    /// Where its hints come, if they do.
    heard: watch::Sender<Option<Epoch>>,
    /// Its hints have come before: between then and now some may be lost.
    was_heard: bool,
    /// Hints so far: a look that one of them overtook says nothing.
    hints: u64,
    check_at: Instant,
}

/// Someone's interest. While `told` exists the topic stays.
pub(crate) struct Listening<T> {
    pub(crate) told: watch::Receiver<T>,
    pub(crate) heard: watch::Receiver<Option<Epoch>>,
}

/// A look at a watched match.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) channel: String,
    pub(crate) id: MatchId,
    pub(crate) shard: Shard,
    hints: u64,
}

/// All topics of a node, by channel.
pub(crate) struct Hub {
    topics: Mutex<HashMap<String, Topic>>,
    recent: Arc<Recent>,
}

impl Hub {
    pub(crate) fn new(recent: Arc<Recent>) -> Self {
        Self { topics: Mutex::default(), recent }
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<String, Topic>> {
        // No operation leaves half of its work behind.
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to listen to a match.
    pub(crate) fn listen_to_match(
        &self,
        channel: &str,
        slot: u16,
        (id, shard): (MatchId, Shard),
    ) -> Result<Listening<Hint>, StoreError> {
        let unknown = Version { counter: 0, nonce: [0; 8] };
        let new = || Watched::Match { id, shard, told: watch::Sender::new(unknown.into()) };
        self.listen(channel, slot, new, |watched| match watched {
            Watched::Match { told, .. } => Some(told.subscribe()),
            Watched::Player { .. } => None,
        })
    }

    /// Begins to listen to a player.
    pub(crate) fn listen_to_player(&self, channel: &str, slot: u16) -> Result<Listening<u64>, StoreError> {
        let new = || Watched::Player { changes: watch::Sender::new(0) };
        self.listen(channel, slot, new, |watched| match watched {
            Watched::Player { changes } => Some(changes.subscribe()),
            Watched::Match { .. } => None,
        })
    }

    fn listen<T>(
        &self,
        channel: &str,
        slot: u16,
        new: impl FnOnce() -> Watched,
        subscribe: impl FnOnce(&Watched) -> Option<watch::Receiver<T>>,
    ) -> Result<Listening<T>, StoreError> {
        let mut topics = self.topics();
        if topics.len() >= TOPICS_MAX && !topics.contains_key(channel) {
            return Err(StoreError::Full { limit: TOPICS_MAX, what: "watched objects" });
        }
        let topic = topics.entry(channel.to_owned()).or_insert_with(|| Topic::new(new(), slot));
        // The names of matches' channels and of players' are never the same.
        let told = subscribe(&topic.watched).ok_or(StoreError::NotFound)?;
        Ok(Listening { told, heard: topic.heard.subscribe() })
    }

    /// Takes note of what was read of a match after its topic was heard. Returns hints from there on.
    pub(crate) fn begin(&self, channel: &str, version: Version) -> Option<watch::Receiver<Hint>> {
        let topics = self.topics();
        let Watched::Match { told, .. } = &topics.get(channel)?.watched else { return None };
        advance(told, version.into());
        Some(told.subscribe())
    }

    /// A hint has come.
    pub(crate) fn message(&self, channel: &str, message: &[u8]) {
        let mut topics = self.topics();
        let Some(topic) = topics.get_mut(channel) else { return };
        topic.hints += 1;
        let (id, shard, told) = match &topic.watched {
            Watched::Match { id, shard, told } => (*id, *shard, told),
            Watched::Player { changes } => return again(changes),
        };
        let (message, trace) = envelope::split_trace(message);
        match envelope::read_summary(message) {
            Ok(summary) => {
                // Before anybody is told: whoever is finds the head here.
                self.recent.hinted(id, summary.version, message);
                if advance(told, Hint { version: summary.version, trace, is_repair: false }) {
                    topic.check_at = Instant::now() + self.next_check(shard, &summary);
                } else if told.borrow().version != summary.version {
                    // Hints of several nodes may overtake each other, or history was lost: look.
                    topic.check_at = Instant::now() + spread();
                }
            }
            // What is no envelope still says that something happened.
            Err(_) => topic.check_at = Instant::now(),
        }
    }

    /// A subscription stands.
    pub(crate) fn heard(&self, channel: &str, epoch: Epoch) {
        let mut topics = self.topics();
        let Some(topic) = topics.get_mut(channel) else { return };
        topic.heard.send_replace(Some(epoch));
        if topic.was_heard {
            topic.check_at = Instant::now() + spread();
        }
        topic.was_heard = true;
    }

    /// A subscription was ended by the server. True if somebody still wants it.
    pub(crate) fn unheard(&self, channel: &str, epoch: Epoch) -> bool {
        self.topics().get_mut(channel).is_some_and(|topic| topic.lose(epoch))
    }

    /// A connection is gone, with all its subscriptions.
    pub(crate) fn lost(&self, epoch: Epoch) {
        for topic in self.topics().values_mut() {
            topic.lose(epoch);
        }
    }

    /// Channels that should be heard on a connection and are not.
    pub(crate) fn missing(&self, epoch: Epoch, owns: impl Fn(u16) -> bool) -> Vec<String> {
        let topics = self.topics();
        let missing =
            topics.iter().filter(|(_, topic)| owns(topic.slot) && *topic.heard.borrow() != Some(epoch));
        missing.map(|(channel, _)| channel.clone()).collect()
    }

    /// Whether somebody wants this channel from whoever `owns` its slot.
    pub(crate) fn wants(&self, channel: &str, owns: impl Fn(u16) -> bool) -> bool {
        self.topics().get(channel).is_some_and(|topic| owns(topic.slot))
    }

    /// Takes off what nobody listens to any more.
    pub(crate) fn sweep(&self) {
        self.topics().retain(|_, topic| match &topic.watched {
            Watched::Match { told, .. } => told.receiver_count() > 0,
            Watched::Player { changes } => changes.receiver_count() > 0,
        });
    }

    /// At most `limit` matches that are to be looked at now. Tells players' watchers to look.
    pub(crate) fn checks(&self, limit: usize) -> Vec<Check> {
        let now = Instant::now();
        let mut checks = Vec::new();
        for (channel, topic) in self.topics().iter_mut() {
            if topic.check_at > now || checks.len() >= limit {
                continue;
            }
            topic.check_at = now + topic.watched.pause();
            match &topic.watched {
                Watched::Match { id, shard, .. } => {
                    let (id, shard, hints) = (*id, *shard, topic.hints);
                    checks.push(Check { channel: channel.clone(), id, shard, hints });
                }
                Watched::Player { changes } => again(changes),
            }
        }
        checks
    }

    /// What a look found; nothing if there is no such match any more.
    pub(crate) fn checked(&self, check: &Check, found: Option<Summary>) {
        let mut topics = self.topics();
        let Some(topic) = topics.get_mut(&check.channel) else { return };
        let Some(summary) = found else {
            topics.remove(&check.channel);
            drop(topics);
            self.recent.forget(check.id);
            return;
        };
        topic.check_at = topic.check_at.min(Instant::now() + self.next_check(check.shard, &summary));
        let Watched::Match { told, .. } = &topic.watched else { return };
        if topic.hints == check.hints {
            // Even if it is older than what was told: then history was lost, and whoever watches must
            // read again.
            if summary.version.counter < told.borrow().version.counter {
                tracing::warn!(id = %check.id, "a match is older than it was: history was lost");
                self.recent.forget(check.id);
            }
            let hint = Hint { is_repair: true, ..summary.version.into() };
            told.send_if_modified(|told| {
                let changes = told.version != hint.version;
                if changes {
                    *told = hint;
                }
                changes
            });
        }
    }

    /// Looks that failed are made again soon.
    pub(crate) fn check_again(&self, checks: &[Check]) {
        let mut topics = self.topics();
        for check in checks {
            if let Some(topic) = topics.get_mut(&check.channel) {
                topic.check_at = Instant::now() + Duration::from_millis(SPREAD_MS) + spread();
            }
        }
    }

    fn next_check(&self, shard: Shard, summary: &Summary) -> Duration {
        // What is overdue changes any moment, and a hint comes of it.
        let due = summary.due.and_then(|due| self.recent.until(shard, due)).filter(|due| !due.is_zero());
        let due = due.map(|due| due + Duration::from_millis(SPREAD_MS) + spread());
        due.map_or(around(CHECK_MS), |due| due.min(around(CHECK_MS)))
    }
}

impl Topic {
    fn new(watched: Watched, slot: u16) -> Self {
        let check_at = Instant::now() + watched.pause();
        Self { watched, slot, heard: watch::Sender::new(None), was_heard: false, hints: 0, check_at }
    }

    fn lose(&self, epoch: Epoch) -> bool {
        self.heard.send_if_modified(|heard| {
            let lost = *heard == Some(epoch);
            if lost {
                *heard = None;
            }
            lost
        })
    }
}

impl Watched {
    /// The pause until it is looked at though nothing was heard of it.
    fn pause(&self) -> Duration {
        match self {
            Self::Match { .. } => around(CHECK_MS),
            Self::Player { .. } => around(PLAYER_CHECK_MS),
        }
    }
}

/// Tells a version, if it is newer than what was told.
fn advance(told: &watch::Sender<Hint>, hint: Hint) -> bool {
    told.send_if_modified(|told| {
        let newer = hint.version.counter > told.version.counter;
        if newer {
            *told = hint;
        }
        newer
    })
}

/// Tells a player's watchers that something may have changed.
fn again(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count = count.wrapping_add(1));
}

fn spread() -> Duration {
    Duration::from_millis(rand::rng().random_range(0..SPREAD_MS))
}

/// Within a fifth of a pause.
fn around(pause_ms: u64) -> Duration {
    Duration::from_millis(pause_ms - pause_ms / 5 + rand::rng().random_range(0..pause_ms / 5 * 2))
}
