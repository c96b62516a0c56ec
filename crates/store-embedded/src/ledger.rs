//! Invites and requests in memory: written once, read, and forgotten after their time.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use referee::Stamp;
use store::{Closing, Invite, InviteId, RequestRecord, StoreError};

use crate::claims::{Claims, Turnstile};
use crate::waiting::OpenInvites;

/// Open and closed invites held at most; one takes about half a kilobyte.
const INVITES_MAX: usize = 100_000;

/// Requests remembered at most; one takes about a quarter of a kilobyte.
const REQUESTS_MAX: usize = 400_000;

/// Entries forgotten in one operation at most, so that none of them is slow after a long pause.
const EXPIRED_MAX: usize = 256;

/// A value and the last moment at which it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept<V> {
    pub(crate) value: V,
    pub(crate) until: Stamp,
}

/// How far an operation has come.
pub(crate) enum Step<I, V> {
    /// There is nothing to write: this is the answer.
    Answered(Result<V, StoreError>),
    /// Another change of the entry is in flight: wait for it and try again.
    Busy(I, Turnstile),
    /// This is to be written and then applied.
    Prepared(Kept<V>),
}

/// Entries by key, each forgotten at its time.
pub(crate) struct Expiring<K, V> {
    entries: HashMap<K, Kept<V>>,
    times: BTreeSet<(Stamp, K)>,
    changing: Claims<K>,
    /// Keys that were forgotten and are still to be removed from the disk.
    forgotten: Vec<K>,
    limit: usize,
    what: &'static str,
}

impl<K: Clone + Ord + Hash, V: Clone> Expiring<K, V> {
    fn new(limit: usize, what: &'static str) -> Self {
        Self {
            entries: HashMap::new(),
            times: BTreeSet::new(),
            changing: Claims::default(),
            forgotten: Vec::new(),
            limit,
            what,
        }
    }

    /// The value of a key, if its time has not passed.
    fn get(&mut self, key: &K, now: Stamp) -> Option<&Kept<V>> {
        self.expire(now);
        self.entries.get(key).filter(|kept| kept.until >= now)
    }

    /// Claims a key for `value`, unless it has one.
    fn create(&mut self, key: &K, value: V, until: Stamp, now: Stamp) -> Step<V, V> {
        if let Some(turnstile) = self.changing.queue(key) {
            return Step::Busy(value, turnstile);
        }
        if let Some(kept) = self.get(key, now) {
            return Step::Answered(Ok(kept.value.clone()));
        }
        if self.entries.len() >= self.limit {
            return Step::Answered(Err(StoreError::Full { limit: self.limit, what: self.what }));
        }
        self.changing.claim(key.clone());
        Step::Prepared(Kept { value, until })
    }

    /// Lets everyone see a value.
    pub(crate) fn apply(&mut self, key: K, kept: Kept<V>) {
        self.changing.release(&key);
        self.restore(key, kept);
    }

    /// Forgets a change that could not be written.
    pub(crate) fn give_up(&mut self, key: &K) {
        self.changing.release(key);
    }

    /// Takes in a value that an earlier process left.
    pub(crate) fn restore(&mut self, key: K, kept: Kept<V>) {
        self.times.insert((kept.until, key.clone()));
        if let Some(old) =
            self.entries.insert(key.clone(), kept.clone()).filter(|old| old.until != kept.until)
        {
            self.times.remove(&(old.until, key));
        }
    }

    /// The keys forgotten since the last call.
    pub(crate) fn take_forgotten(&mut self) -> Vec<K> {
        std::mem::take(&mut self.forgotten)
    }

    fn expire(&mut self, now: Stamp) {
        for _ in 0..EXPIRED_MAX {
            let Some((until, key)) = self.times.first().filter(|(until, _)| *until < now).cloned() else {
                return;
            };
            self.times.remove(&(until, key.clone()));
            self.entries.remove(&key);
            self.forgotten.push(key);
        }
    }
}

/// All invites and requests.
pub(crate) struct Ledger {
    pub(crate) invites: Expiring<InviteId, Invite>,
    /// The open ones among them, by player.
    pub(crate) open: OpenInvites,
    /// By the keys they have on a disk.
    pub(crate) requests: Expiring<Vec<u8>, RequestRecord>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            invites: Expiring::new(INVITES_MAX, "invites"),
            open: OpenInvites::default(),
            requests: Expiring::new(REQUESTS_MAX, "remembered requests"),
        }
    }

    /// The open invites of a player, newest first.
    pub(crate) fn open_invites_of(&self, player: &str, limit: usize) -> Vec<Invite> {
        let invites = self.open.of(player).filter_map(|id| self.invites.entries.get(&id));
        invites.take(limit).map(|kept| kept.value.clone()).collect()
    }

    pub(crate) fn create_invite(&mut self, invite: Invite, now: Stamp) -> Step<Invite, Invite> {
        let (id, until) = (invite.id, invite.expires.plus_ms(Invite::RETENTION_MS));
        self.invites.create(&id, invite, until, now)
    }

    pub(crate) fn invite(&mut self, id: InviteId, now: Stamp) -> Result<Invite, StoreError> {
        self.invites.get(&id, now).map(|kept| kept.value.clone()).ok_or(StoreError::NotFound)
    }

    pub(crate) fn close_invite(
        &mut self,
        id: InviteId,
        closing: Closing,
        now: Stamp,
    ) -> Step<Closing, Invite> {
        if let Some(turnstile) = self.invites.changing.queue(&id) {
            return Step::Busy(closing, turnstile);
        }
        let mut invite = match self.invite(id, now) {
            Ok(invite) if invite.closing.is_none() && now <= invite.expires => invite,
            unchanged => return Step::Answered(unchanged),
        };
        self.invites.changing.claim(id);
        invite.closing = Some(closing);
        Step::Prepared(Kept { value: invite, until: now.plus_ms(Invite::RETENTION_MS) })
    }

    pub(crate) fn remember(
        &mut self,
        key: &Vec<u8>,
        record: RequestRecord,
        now: Stamp,
    ) -> Step<RequestRecord, RequestRecord> {
        self.requests.create(key, record, now.plus_ms(RequestRecord::RETENTION_MS), now)
    }
}
