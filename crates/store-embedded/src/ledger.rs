//! Invites and requests in memory: written once, read, and forgotten after their time.

use std::collections::{BTreeSet, HashMap};

use referee::Stamp;
use store::{Closing, Invite, InviteId, RequestKey, RequestRecord, StoreError};

/// Open and closed invites held at most; one takes about half a kilobyte.
const INVITES_MAX: usize = 100_000;

/// Requests remembered at most; one takes about a quarter of a kilobyte.
const REQUESTS_MAX: usize = 400_000;

/// How long a request is remembered, ms: a day, longer than any client retries.
const REQUEST_RETENTION_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long an invite can be read after it was closed or expired, ms. Far shorter than the retention of
/// the match that came of it: whoever reads an accepted invite makes its match if there is none, and must
/// not make one again that was played and forgotten.
const INVITE_RETENTION_MS: u64 = 24 * 60 * 60 * 1_000;

/// Entries by key, each forgotten at its time.
struct Expiring<K, V> {
    /// Each with the time until which it is kept.
    entries: HashMap<K, (V, Stamp)>,
    times: BTreeSet<(Stamp, K)>,
    limit: usize,
    what: &'static str,
}

impl<K: Clone + Ord + std::hash::Hash, V> Expiring<K, V> {
    fn new(limit: usize, what: &'static str) -> Self {
        Self { entries: HashMap::new(), times: BTreeSet::new(), limit, what }
    }

    /// The entry of a key: the one that is there, else `value`, kept until `until`.
    fn insert_once(&mut self, now: Stamp, key: K, value: V, until: Stamp) -> Result<&V, StoreError> {
        self.expire(now);
        if !self.entries.contains_key(&key) {
            if self.entries.len() >= self.limit {
                return Err(StoreError::Full { limit: self.limit, what: self.what });
            }
            self.times.insert((until, key.clone()));
        }
        Ok(&self.entries.entry(key).or_insert((value, until)).0)
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(value, _)| value)
    }

    /// The entry of a key, kept until another time from now on.
    fn get_until(&mut self, key: &K, until: Stamp) -> Option<&mut V> {
        let (value, old) = self.entries.get_mut(key)?;
        self.times.remove(&(*old, key.clone()));
        self.times.insert((until, key.clone()));
        *old = until;
        Some(value)
    }

    fn expire(&mut self, now: Stamp) {
        while self.times.first().is_some_and(|(until, _)| *until < now) {
            if let Some((_, key)) = self.times.pop_first() {
                self.entries.remove(&key);
            }
        }
    }
}

/// All invites and requests.
pub(crate) struct Ledger {
    invites: Expiring<InviteId, Invite>,
    requests: Expiring<(String, String), RequestRecord>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            invites: Expiring::new(INVITES_MAX, "invites"),
            requests: Expiring::new(REQUESTS_MAX, "remembered requests"),
        }
    }

    pub(crate) fn create_invite(&mut self, invite: Invite, now: Stamp) -> Result<Invite, StoreError> {
        let until = invite.expires.plus_ms(INVITE_RETENTION_MS);
        self.invites.insert_once(now, invite.id, invite, until).cloned()
    }

    pub(crate) fn invite(&mut self, id: InviteId, now: Stamp) -> Result<Invite, StoreError> {
        self.invites.expire(now);
        self.invites.get(&id).cloned().ok_or(StoreError::NotFound)
    }

    pub(crate) fn close_invite(
        &mut self,
        id: InviteId,
        closing: Closing,
        now: Stamp,
    ) -> Result<Invite, StoreError> {
        self.invites.expire(now);
        let invite = self.invites.get(&id).ok_or(StoreError::NotFound)?;
        if invite.closing.is_some() || now > invite.expires {
            return Ok(invite.clone());
        }
        let until = now.plus_ms(INVITE_RETENTION_MS);
        let invite = self.invites.get_until(&id, until).ok_or(StoreError::NotFound)?;
        invite.closing = Some(closing);
        Ok(invite.clone())
    }

    pub(crate) fn remember(
        &mut self,
        key: RequestKey,
        record: RequestRecord,
        now: Stamp,
    ) -> Result<RequestRecord, StoreError> {
        let until = now.plus_ms(REQUEST_RETENTION_MS);
        self.requests.insert_once(now, (key.actor, key.request_id), record, until).copied()
    }
}
