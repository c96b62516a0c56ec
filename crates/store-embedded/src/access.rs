//! Who may not play, and whose tokens count no more: all of it in memory, and each change on the disk first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use referee::Stamp;
use store::{Access, AccessCursor, AccessPage, AccessStore, StoreError};

use crate::disk::{Space, View, Write};
use crate::durable::damaged;
use crate::error::OpenError;
use crate::key;
use crate::memory::{Memory, lock};
use crate::record::{self, ReadAccess};
use crate::single_node::{Backing, SingleNode};

/// Players that one look at the list forgets at most: none is slow after a pause.
const SWEPT_MAX: usize = 500;

/// The list, and whose turn it is to change it.
#[derive(Default)]
pub(crate) struct AccessList {
    /// Held until a change is written: the numbers of changes are in the order in which they are seen.
    turn: Arc<tokio::sync::Mutex<()>>,
    kept: Mutex<Kept>,
}

struct Entry {
    access: Access,
    /// The number of his last change.
    change: u64,
}

/// What everyone sees.
#[derive(Default)]
struct Kept {
    players: HashMap<String, Entry>,
    /// Their last changes in order.
    changes: BTreeMap<u64, String>,
    /// The last moment at which each is kept, if there is one.
    endings: BTreeSet<(Stamp, String)>,
    last_change: u64,
}

impl Kept {
    fn get(&self, player: &str, now: Stamp) -> Option<&Access> {
        let access = &self.players.get(player)?.access;
        access.kept_until().is_none_or(|until| now <= until).then_some(access)
    }

    fn put(&mut self, player: String, access: Access, change: u64) {
        self.take(&player);
        if let Some(until) = access.kept_until() {
            self.endings.insert((until, player.clone()));
        }
        self.changes.insert(change, player.clone());
        self.last_change = self.last_change.max(change);
        self.players.insert(player, Entry { access, change });
    }

    fn take(&mut self, player: &str) {
        let Some(entry) = self.players.remove(player) else { return };
        self.changes.remove(&entry.change);
        if let Some(until) = entry.access.kept_until() {
            self.endings.remove(&(until, player.to_owned()));
        }
    }

    /// Forgets some of those that have been kept long enough.
    fn sweep(&mut self, now: Stamp) -> Vec<String> {
        let passed = self.endings.iter().take_while(|(until, _)| *until < now).take(SWEPT_MAX);
        let passed: Vec<String> = passed.map(|(_, player)| player.clone()).collect();
        passed.iter().for_each(|player| self.take(player));
        passed
    }

    fn page(&self, after: AccessCursor, now: Stamp) -> AccessPage {
        let restarted = after.0 > self.last_change;
        let from = if restarted { 0 } else { after.0 };
        let rest = self.changes.range(from.saturating_add(1)..).take(AccessPage::PLAYERS_MAX + 1);
        let mut page: Vec<(u64, &String)> = rest.map(|(change, player)| (*change, player)).collect();
        let more = page.len() > AccessPage::PLAYERS_MAX;
        page.truncate(AccessPage::PLAYERS_MAX);
        let next = page.last().filter(|_| more).map_or(self.last_change, |(change, _)| *change);
        let seen = |(_, player): (u64, &String)| Some((player.clone(), self.get(player, now)?.clone()));
        let changed = page.into_iter().filter_map(seen).collect();
        AccessPage { changed, next: AccessCursor(next), more, restarted, now }
    }
}

/// Takes in what an earlier process left.
pub(crate) fn restore(view: &View, memory: &Memory) -> Result<(), OpenError> {
    let mut kept = lock(&memory.access.kept);
    for entry in view.all(Space::Access) {
        let (key, value) = entry?;
        match record::read_access(&key, &value).map_err(|error| damaged("a player's access", &error))? {
            ReadAccess::LastChange(number) => kept.last_change = kept.last_change.max(number),
            ReadAccess::Player(player, number, access) => kept.put(player, access, number),
        }
    }
    Ok(())
}

impl<B: Backing> SingleNode<B> {
    /// Forgets who has been kept long enough, unless somebody is changing the list: then the next look does.
    fn sweep_access(&self, now: Stamp) {
        let Ok(_turn) = self.memory.access.turn.try_lock() else { return };
        let forgotten = lock(&self.memory.access.kept).sweep(now);
        if let Some(durable) = self.behind.durable().filter(|_| !forgotten.is_empty()) {
            let removals = forgotten.iter().map(|player| Write::remove(Space::Access, key::player(player)));
            durable.remove(removals.collect());
        }
    }
}

#[async_trait]
impl<B: Backing> AccessStore for SingleNode<B> {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        let now = self.memory.stamp();
        Ok(lock(&self.memory.access.kept).get(player, now).cloned())
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        let turn = Arc::clone(&self.memory.access.turn).lock_owned().await;
        let now = self.memory.stamp();
        let number = {
            let kept = lock(&self.memory.access.kept);
            let there = kept.get(player, now);
            if there != expected || there == Some(next) {
                return Ok(there.cloned());
            }
            if kept.players.len() >= Access::PLAYERS_MAX && !kept.players.contains_key(player) {
                return Err(StoreError::Full { limit: Access::PLAYERS_MAX, what: "players with a ban" });
            }
            kept.last_change + 1
        };
        let writes = self.writes(|| record::put_access(player, next, number))?;
        let (player, next) = (player.to_owned(), next.clone());
        self.show_once_written(writes, move |memory| {
            lock(&memory.access.kept).put(player, next.clone(), number);
            drop(turn);
            Some(next)
        })
        .await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        let now = self.memory.stamp();
        self.sweep_access(now);
        Ok(lock(&self.memory.access.kept).page(after, now))
    }
}
