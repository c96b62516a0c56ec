//! Changes of one match leave a node one after the other.
//!
//! Two that are judged on the same head cost a script that stores nothing, and a second judgement. Whoever
//! waits for the first instead is judged on what it left, which this node then remembers. Nothing rests on
//! that: other nodes do not wait, and the compare-and-set decides whoever passed here and when.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use sealing::MatchId;
use store::Passage;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// Turnstiles, some 40 bytes each. Matches are dealt out to them by a hash: so many that of some hundred changes
/// under way hardly two of different matches meet, and those that do wait for one commit.
const TURNSTILES: usize = 8_192;

/// How long anybody waits, ms: many commits of a Redis that is well, few of one that is not. After it he goes on
/// as if there were no turnstile, so one who is stuck holds up nobody for long.
const WAIT_MAX_MS: u64 = 100;

/// The turnstiles of a node.
pub(crate) struct Turnstiles {
    turnstiles: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl Turnstiles {
    pub(crate) fn new() -> Self {
        let turnstiles = (0..TURNSTILES).map(|_| Mutex::new(())).collect();
        Self { turnstiles, hasher: RandomState::new() }
    }

    /// Waits for whoever passes at a match's turnstile and for those who came before.
    pub(crate) async fn pass(&self, id: MatchId) -> Passage<'_> {
        let place = self.hasher.hash_one(id) % TURNSTILES as u64;
        let Some(turnstile) = usize::try_from(place).ok().and_then(|place| self.turnstiles.get(place)) else {
            return Passage::free();
        };
        if let Ok(passing) = turnstile.try_lock() {
            return Passage::of(passing);
        }
        let waited = timeout(Duration::from_millis(WAIT_MAX_MS), turnstile.lock()).await;
        waited.map_or_else(|_| Passage::free(), Passage::of)
    }
}
