//! The store's servers: a primary that answers, a replica that follows it, and who listens where.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use referee::{Match, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{Clock, FeedHints, FeedPosition, Hint, Loaded, Stored, TraceContext, Version};
use tokio::sync::watch;

use crate::model::Model;
use crate::scheduler::lock;

/// When a write counts as made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Durability {
    /// When the primary has it: a failover can lose the last ones.
    Primary,
    /// When the replica that would take over has it as well.
    Replica,
}

/// A change of a match that the primary has made, for whoever judges it afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) id: MatchId,
    /// The shard's time when it was made, by the store's own clock.
    pub(crate) at: Now,
    /// What was stored before; none at the creation.
    pub(crate) before: Option<Arc<Match>>,
    pub(crate) after: Arc<Match>,
    pub(crate) turn: Option<Arc<TurnRecord>>,
}

/// Who listens on one node, and what it remembers of what it has read.
#[derive(Default)]
struct Ears {
    matches: HashMap<MatchId, watch::Sender<Hint>>,
    players: HashMap<String, watch::Sender<u64>>,
    /// Where each shard's feed ends, as far as the node has seen.
    feed: watch::Sender<Vec<Option<FeedPosition>>>,
    heads: HashMap<MatchId, Stored>,
    /// The last time that was read, and when, by everybody's time, ms.
    clock: Option<(Now, u64)>,
}

struct Servers {
    primary: Arc<Model>,
    replica: Arc<Model>,
    /// Failovers so far. What was written in an earlier epoch may be gone.
    epoch: u64,
    /// How far the primary's clock is ahead, ms.
    skew_ms: i64,
    ears: BTreeMap<u64, Ears>,
    drawn: u64,
    made: Vec<Made>,
}

/// All servers of one store.
pub(crate) struct Primary {
    clock: Arc<dyn Clock>,
    pub(crate) durability: Durability,
    servers: Mutex<Servers>,
}

impl Primary {
    pub(crate) fn new(clock: Arc<dyn Clock>, shards: u16, durability: Durability) -> Self {
        let model = Arc::new(Model::new(shards));
        let servers = Servers {
            primary: Arc::clone(&model),
            replica: model,
            epoch: 0,
            skew_ms: 0,
            ears: BTreeMap::new(),
            drawn: 0,
            made: Vec::new(),
        };
        Self { clock, durability, servers: Mutex::new(servers) }
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        lock(&self.servers)
    }

    /// One step of the primary, at one moment of its clock, and the epoch it was taken in.
    pub(crate) fn step<T>(&self, step: impl FnOnce(&mut Model, Stamp) -> T) -> (T, u64) {
        let mut servers = self.servers();
        let clock = Stamp::from_ms(self.clock.now_ms().saturating_add_signed(servers.skew_ms));
        (step(Arc::make_mut(&mut servers.primary), clock), servers.epoch)
    }

    /// A step that may change a match, which is taken note of.
    pub(crate) fn change<T>(&self, id: MatchId, step: impl FnOnce(&mut Model, Stamp) -> T) -> (T, u64) {
        let head = |model: &Model| model.matches.get(&id).map(|entry| Arc::clone(&entry.stored.head));
        let before = head(&self.servers().primary);
        let ((result, at), epoch) = self.step(|model, clock| {
            let result = step(model, clock);
            (result, model.time_of(id, clock))
        });
        let mut servers = self.servers();
        let after = head(&servers.primary);
        if let Some(after) =
            after.filter(|after| before.as_ref().is_none_or(|before| !Arc::ptr_eq(before, after)))
        {
            let resolved = before.as_ref().map_or(0, |before| before.resolved);
            let entry = servers.primary.matches.get(&id);
            let turn = entry.and_then(|entry| entry.turns.get(resolved as usize)).map(Arc::clone);
            servers.made.push(Made { id, at, before, after, turn });
        }
        (result, epoch)
    }

    /// The changes since the last call.
    pub(crate) fn take_made(&self) -> Vec<Made> {
        std::mem::take(&mut self.servers().made)
    }

    /// What is stored at this moment.
    pub(crate) fn now_stored(&self) -> Arc<Model> {
        Arc::clone(&self.servers().primary)
    }

    /// The replica has all that the primary has.
    pub(crate) fn replicate(&self) {
        let mut servers = self.servers();
        servers.replica = Arc::clone(&servers.primary);
    }

    /// Waits for the replica on behalf of a step in `epoch`; false if another primary has taken over since.
    pub(crate) fn confirm(&self, epoch: u64) -> bool {
        let current = self.servers().epoch == epoch;
        if current {
            self.replicate();
        }
        current
    }

    /// The replica takes over as it is, with a clock of its own.
    pub(crate) fn fail_over(&self, skew_ms: i64) {
        let mut servers = self.servers();
        servers.primary = Arc::clone(&servers.replica);
        servers.epoch += 1;
        servers.skew_ms = skew_ms;
    }

    /// Listens for hints of the feed from now on.
    pub(crate) fn listen_to_feed(&self, ears: u64) -> FeedHints {
        FeedHints::new(self.servers().ears.entry(ears).or_default().feed.subscribe())
    }

    /// Who waits for the feed to go on.
    pub(crate) fn feed_listeners(&self) -> Vec<u64> {
        let servers = self.servers();
        let waiting = servers.ears.iter().filter(|(_, ears)| ears.feed.receiver_count() > 0);
        waiting.map(|(name, _)| *name).collect()
    }

    /// A node looks where the feeds end.
    pub(crate) fn look_at_feed(&self, ears: u64) {
        let servers = self.servers();
        if let Some(ears) = servers.ears.get(&ears) {
            let ends = servers.primary.feed_ends();
            ears.feed.send_if_modified(|known| {
                let moved = *known != ends;
                *known = ends;
                moved
            });
        }
    }

    /// A new listener: a node that has just started.
    pub(crate) fn new_ears(&self) -> u64 {
        let mut servers = self.servers();
        servers.drawn += 1;
        let ears = servers.drawn;
        servers.ears.insert(ears, Ears::default());
        ears
    }

    /// The node is gone.
    pub(crate) fn drop_ears(&self, ears: u64) {
        self.servers().ears.remove(&ears);
    }

    /// Listens for hints of a match from now on.
    pub(crate) fn listen(&self, ears: u64, id: MatchId, version: Version) -> watch::Receiver<Hint> {
        let mut servers = self.servers();
        let ears = servers.ears.entry(ears).or_default();
        ears.matches.entry(id).or_insert_with(|| watch::Sender::new(version.into())).subscribe()
    }

    /// Listens for hints of a player from now on.
    pub(crate) fn listen_to_player(&self, ears: u64, player: &str) -> watch::Receiver<u64> {
        let mut servers = self.servers();
        let ears = servers.ears.entry(ears).or_default();
        ears.players.entry(player.to_owned()).or_default().subscribe()
    }

    /// Who would hear a hint of this match.
    pub(crate) fn listeners(&self, id: MatchId) -> Vec<u64> {
        let mut servers = self.servers();
        let hears = |ears: &mut Ears| {
            ears.matches.retain(|_, topic| topic.receiver_count() > 0);
            ears.matches.contains_key(&id)
        };
        servers.ears.iter_mut().filter_map(|(name, ears)| hears(ears).then_some(*name)).collect()
    }

    /// Delivers a hint, which carries the head.
    pub(crate) fn tell(&self, ears: u64, stored: &Stored, trace: Option<TraceContext>) {
        let mut servers = self.servers();
        let Some(ears) = servers.ears.get_mut(&ears) else { return };
        remember(&mut ears.heads, stored);
        if let Some(topic) = ears.matches.get(&stored.head.id) {
            topic.send_replace(Hint { version: stored.version, trace, is_repair: false });
        }
    }

    /// Delivers a hint of a player to everyone.
    pub(crate) fn tell_of_player(&self, player: &str) {
        for ears in self.servers().ears.values() {
            if let Some(topic) = ears.players.get(player) {
                topic.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }

    /// A node has read this.
    pub(crate) fn has_read(&self, ears: u64, loaded: &Loaded) {
        let now_ms = self.clock.now_ms();
        let mut servers = self.servers();
        if let Some(ears) = servers.ears.get_mut(&ears) {
            // It is what is stored, whatever was seen before.
            ears.heads.insert(loaded.stored.head.id, loaded.stored.clone());
            ears.clock = Some((loaded.now, now_ms));
        }
    }

    /// What a node remembers of a match, and what it takes the time to be. Its own clock runs a little fast.
    pub(crate) fn remembered(&self, ears: u64, id: MatchId) -> Option<Loaded> {
        let now_ms = self.clock.now_ms();
        let servers = self.servers();
        let ears = servers.ears.get(&ears)?;
        let (now, at_ms) = ears.clock?;
        let passed_ms = now_ms.saturating_sub(at_ms);
        let stamp = now.stamp.plus_ms(passed_ms + passed_ms / 100);
        let stored = ears.heads.get(&id)?.clone();
        Some(Loaded { now: Now { stamp: stamp.max(stored.stamp), ..now }, stored })
    }
}

/// Keeps the newer of two heads.
fn remember(heads: &mut HashMap<MatchId, Stored>, stored: &Stored) {
    let known = heads.entry(stored.head.id).or_insert_with(|| stored.clone());
    if known.version.counter <= stored.version.counter {
        *known = stored.clone();
    }
}
