//! What time drives: the shards' clocks that must hear of somebody, deadlines that pass with nobody there,
//! and follow-ups that wait. The nodes of a store divide it among themselves (`store::NodeId::owner`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use referee::{Command, Stamp};
use sealing::MatchId;
use store::{Clock, Glance, Meeting, NodeId, Shard, Store, StoreError};
use tokio::sync::{Notify, watch};
use tracing::{info, warn};
use wire::ApiError;

use crate::bots::Bots;
use crate::convert::errors;
use crate::drive::{Driven, drive};
use crate::follow_up;
use crate::guard::caught;
use crate::metrics::Instruments;
use crate::node::Node;
use crate::readiness::Readiness;
use crate::roster::Roster;

/// Pause between two signs of life to a shard's clock, ms: well under the gap that it takes for an outage.
/// They wait for nothing else, or a backlog of work would move every deadline.
const ALIVE_PAUSE_MS: u64 = 500;

/// Pause between two looks at what is due, ms. A deadline is found passed at most this late, or as late as a
/// store's glance is old; the result does not depend on it.
const PAUSE_MS: u64 = 100;

/// How long something must have been due to be anyone's, ms: by then a node that died is known to be dead, and
/// one that lives is not equal to its work.
const OVERDUE_MS: u64 = NodeId::SILENCE_MAX_MS;

/// Matches taken from a shard at once: bounds what one look keeps in memory.
const BATCH: usize = 256;

/// Matches of a shard that are worked on at once: enough that they share the store's durable writes.
const AT_ONCE_MAX: usize = 16;

/// How long a match whose work fails is left alone, ms.
const BACKOFF_MS: u64 = 2_000;

/// Runs until it is dropped. Each shard is looked after by itself: one in trouble holds up no other. Tells
/// `readiness`, where there is somebody who asks for it, whether the store can be written to, and `nodes`, who
/// is there.
pub(crate) async fn run(node: &Node, readiness: Option<Arc<Readiness>>, nodes: watch::Sender<Vec<NodeId>>) {
    let clockwork = Clockwork::new(node, readiness.as_deref(), nodes);
    let work = join_all(clockwork.desks.iter().map(|desk| clockwork.work(desk)));
    futures::join!(clockwork.meet(), clockwork.keep_alive(), clockwork.look(), work);
}

/// The clockwork of one node.
struct Clockwork<'a> {
    roster: &'a Roster,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    bots: &'a Bots,
    instruments: &'a Instruments,
    readiness: Option<&'a Readiness>,
    nodes: watch::Sender<Vec<NodeId>>,
    desks: Vec<Desk>,
    glancing: Trouble,
    touching: Trouble,
    meeting: Trouble,
}

/// Where the work of a shard is done.
struct Desk {
    shard: Shard,
    /// It is this node that looks after the shard. At first that is so everywhere: better twice than not at all.
    own: AtomicBool,
    /// Something is due.
    work: Notify,
    trouble: Trouble,
}

/// Tells the log that something fails, and that it is over, and nothing in between.
#[derive(Default)]
struct Trouble(AtomicBool);

impl Trouble {
    fn begins(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    fn ends(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl<'a> Clockwork<'a> {
    fn new(node: &'a Node, readiness: Option<&'a Readiness>, nodes: watch::Sender<Vec<NodeId>>) -> Self {
        let store = node.store.as_ref();
        let desk = |shard| Desk {
            shard: Shard(shard),
            own: AtomicBool::new(true),
            work: Notify::new(),
            trouble: Trouble::default(),
        };
        Self {
            roster: &node.roster,
            store,
            clock: node.clock.as_ref(),
            bots: &node.bots,
            instruments: &node.config.instruments,
            readiness,
            nodes,
            desks: (0..store.shard_count()).map(desk).collect(),
            glancing: Trouble::default(),
            touching: Trouble::default(),
            meeting: Trouble::default(),
        }
    }

    /// Tells the other nodes that this one is there, and learns which shards are its own and whether it is to
    /// drain. While they cannot be asked all stays as it was.
    async fn meet(&self) {
        loop {
            match caught(self.store.meet(&self.roster.report())).await {
                Some(Ok(Meeting { mut nodes, drain })) => {
                    self.meeting.ends();
                    if drain {
                        self.roster.ask_to_drain();
                    }
                    nodes.sort_unstable();
                    if *self.nodes.borrow() != nodes {
                        self.divide(&nodes);
                        self.nodes.send_replace(nodes);
                    }
                }
                Some(Err(error)) if self.meeting.begins() => warn!(%error, "other nodes cannot be asked for"),
                Some(Err(_)) | None => {}
            }
            self.pause(NodeId::HEARTBEAT_MS).await;
        }
    }

    fn divide(&self, nodes: &[NodeId]) {
        for desk in &self.desks {
            let own = NodeId::owner(nodes, desk.shard).is_none_or(|owner| owner == self.roster.id);
            desk.own.store(own, Ordering::Relaxed);
        }
        let own = self.desks.iter().filter(|desk| desk.own.load(Ordering::Relaxed)).count();
        info!(nodes = nodes.len(), own, shards = self.desks.len(), "the work that time triggers is divided");
    }

    /// Tells every shard's clock that somebody is there, if nobody else does, finds what the node whose
    /// work it is has left undone, and learns whether any shard is writable.
    async fn keep_alive(&self) {
        loop {
            self.readiness.inspect(|readiness| readiness.tries());
            let glances = self.glance(|_| true).await;
            let left = |glance: &Glance| glance.overdue_ms.is_some_and(|overdue_ms| overdue_ms >= OVERDUE_MS);
            self.call(glances.iter().filter(|glance| left(glance)));
            let (silent, others): (Vec<&Glance>, Vec<&Glance>) =
                glances.iter().partition(|glance| glance.silent);
            let error = self.touch(silent).await;
            // Where nothing is silent, one of the others shows it, and all of them if that one fails.
            let (first, rest) = others.split_at(others.len().min(1));
            for others in [first, rest] {
                if self.readiness.is_some_and(|readiness| !readiness.is_proven()) {
                    self.touch(others.iter().copied()).await;
                }
            }
            match error {
                None => _ = self.touching.ends(),
                Some(error) if self.touching.begins() => {
                    warn!(%error, "a shard's clock cannot be reached");
                }
                Some(_) => {}
            }
            self.pause(ALIVE_PAUSE_MS).await;
        }
    }

    /// Touches the clocks of shards. Returns why one could not be.
    async fn touch<'g>(&self, glances: impl IntoIterator<Item = &'g Glance>) -> Option<StoreError> {
        let touched = glances.into_iter().map(async |glance| {
            let touched = caught(self.store.touch(glance.shard)).await?;
            if touched.is_ok() {
                self.readiness.inspect(|readiness| readiness.has_written());
            }
            touched.err()
        });
        join_all(touched).await.into_iter().flatten().next()
    }

    /// Looks for what is due in this node's own shards, again and again.
    async fn look(&self) {
        loop {
            let glances = self.glance(|desk| desk.own.load(Ordering::Relaxed)).await;
            let overdue_ms = glances.iter().filter_map(|glance| glance.overdue_ms).max();
            self.instruments.overdue(overdue_ms.unwrap_or_default());
            self.call(glances.iter().filter(|glance| glance.overdue_ms.is_some()));
            self.pause(PAUSE_MS).await;
        }
    }

    async fn glance(&self, which: impl Fn(&Desk) -> bool) -> Vec<Glance> {
        let shards: Vec<Shard> =
            self.desks.iter().filter(|desk| which(desk)).map(|desk| desk.shard).collect();
        match caught(self.store.glance(&shards)).await {
            Some(Ok(glances)) => {
                if self.glancing.ends() {
                    info!("the store can be reached again");
                }
                glances
            }
            Some(Err(error)) if self.glancing.begins() => {
                warn!(%error, "it cannot be seen what is due");
                Vec::new()
            }
            Some(Err(_)) | None => Vec::new(),
        }
    }

    /// Calls to work where these glances were.
    fn call<'g>(&self, glances: impl Iterator<Item = &'g Glance>) {
        for glance in glances {
            if let Some(desk) = self.desks.get(usize::from(glance.shard.0)) {
                desk.work.notify_one();
            }
        }
    }

    /// Does what is due in a shard whenever there is something.
    async fn work(&self, desk: &Desk) {
        loop {
            desk.work.notified().await;
            while caught(self.sweep(desk)).await == Some(BATCH) {}
        }
    }

    /// Does what is due in a shard and returns how much of it was done: what failed does not count, so a
    /// shard in trouble is left until the next look.
    async fn sweep(&self, desk: &Desk) -> usize {
        let due = match self.store.due(desk.shard, BATCH).await {
            Ok(due) => due,
            Err(error) => {
                if desk.trouble.begins() {
                    warn!(shard = desk.shard.0, %error, "what is due cannot be read");
                }
                return 0;
            }
        };
        desk.trouble.ends();
        let work =
            due.matches.into_iter().map(|id| async move { usize::from(self.attend_or_put_off(id).await) });
        stream::iter(work).buffer_unordered(AT_ONCE_MAX).fold(0, async |done, one| done + one).await
    }

    async fn pause(&self, ms: u64) {
        self.clock.sleep_until_ms(self.clock.now_ms().saturating_add(ms)).await;
    }

    /// Attends to a match; one whose work fails is put off.
    async fn attend_or_put_off(&self, id: MatchId) -> bool {
        let attended = caught(self.attend(id)).await;
        match attended.unwrap_or_else(|| Err(errors::fault("the work on a due match panicked", id))) {
            Ok(()) => true,
            Err(error) => {
                warn!(%id, reason = error.reason().as_str_name(), "a due match must wait");
                caught(put_off(self.store, id)).await;
                false
            }
        }
    }

    /// Applies the deadlines that have passed, settles what waits, and has bots move. A match that turns out not
    /// to be due, because an outage moved its deadlines, is put off until it is; one whose bot is asked, until it
    /// must have moved.
    async fn attend(&self, id: MatchId) -> Result<(), ApiError> {
        let Driven { stored, now, .. } = drive(self.store, id, None, |_| Ok(Command::Tick)).await?;
        if !stored.follow_ups.is_empty() {
            return follow_up::settle(self.store, &stored).await.map_err(|error| {
                self.instruments.follow_ups(&stored.follow_ups, "failed");
                errors::store(error)
            });
        }
        self.bots.ask(&stored.head);
        let due = match stored.head.bot_due() {
            Some(_) => Some(now.stamp.plus_ms(BACKOFF_MS)),
            None => stored.head.under_outage(now.outage_ms).due(),
        };
        match due {
            Some(due) => self.store.postpone(id, stored.version, due).await.map_err(errors::store),
            None => Ok(()),
        }
    }
}

/// Puts a match off for a while, so that one that fails does not keep the others from their turn.
async fn put_off(store: &dyn Store, id: MatchId) {
    let put_off = async {
        let loaded = store.load(id).await?;
        let later: Stamp = loaded.now.stamp.plus_ms(BACKOFF_MS);
        store.postpone(id, loaded.stored.version, later).await
    };
    match put_off.await {
        Ok(()) | Err(StoreError::NotFound) => {}
        Err(error) => warn!(%id, %error, "a due match cannot be put off"),
    }
}
