//! The tickets of one pool in memory: what is decided on them, and what everyone sees.
//!
//! A change has two steps, as one of a match has: an [`Update`] is decided on what everyone sees, and applied
//! once it is durable. Between the two nothing else of the pool is decided; but an update may hold many changes,
//! if no two of them are of one ticket. Only a lease is renewed at any time and in memory alone: an update ends
//! no lease that has not passed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use matchmaker::TicketId;
use referee::{NewMatch, Stamp};
use sealing::MatchId;
use store::{
    Claim, PoolCursor, PoolName, PoolPage, SeenTicket, StoreError, Ticket, TicketName, TicketState, Wish,
};

/// Tickets that one look at a pool expires at most, and that it forgets at most: none is slow after a pause.
const SWEPT_MAX: usize = 500;

/// Of so many tickets that a pool may hold there is room for one more that was left before it came: whoever
/// cannot wait in a full pool must get free of it all the same.
const LEFT_EXTRA_PER: usize = 4;

/// Claimed matches that a pool holds at most until they are made; some 700 bytes each. Each is made within
/// moments: a pool that cannot make this many has no use for more.
const OWED_MAX: usize = 100_000;

/// What is kept of a ticket beside its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) wish: Option<Arc<Wish>>,
    pub(crate) created: Stamp,
    pub(crate) state: TicketState,
    /// When it ended, if it has.
    pub(crate) ended: Option<Stamp>,
    /// The number of its last change.
    pub(crate) change: u64,
}

/// A match that was claimed and may not have been made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Owed {
    pub(crate) game: NewMatch,
    /// When it was claimed.
    pub(crate) since: Stamp,
}

/// Changes of a pool that are decided and not yet made.
pub(crate) struct Update {
    /// Tickets as they will be, in the order of their changes.
    pub(crate) tickets: Vec<(TicketId, Entry)>,
    /// How many of them are new.
    new: usize,
    is_swept: bool,
    pub(crate) forgotten: Vec<TicketId>,
    /// Matches that were claimed.
    pub(crate) owed: Vec<Owed>,
    /// Matches that were made.
    pub(crate) made: Vec<MatchId>,
    /// The number of the pool's last change then.
    pub(crate) last_change: u64,
    pub(crate) usual_wait_ms: Option<u64>,
}

impl Update {
    /// Whether it changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.tickets.is_empty() && self.forgotten.is_empty() && self.owed.is_empty() && self.made.is_empty()
    }

    /// Adds a ticket's change.
    fn change(&mut self, id: TicketId, entry: Entry) {
        self.last_change += 1;
        self.tickets.push((id, Entry { change: self.last_change, ..entry }));
    }
}

/// The tickets of one pool.
pub(crate) struct Pool {
    name: PoolName,
    tickets: HashMap<TicketId, Entry, RandomState>,
    /// Their last changes in order.
    changes: BTreeMap<u64, TicketId>,
    /// Those that wait, by the end of their leases.
    leases: BTreeSet<(Stamp, TicketId)>,
    /// Those that have ended, by the last moment at which they are kept.
    endings: BTreeSet<(Stamp, TicketId)>,
    owed: HashMap<MatchId, Owed>,
    /// What is owed, the longest first.
    owed_since: BTreeSet<(Stamp, MatchId)>,
    last_change: u64,
    usual_wait_ms: Option<u64>,
    tickets_max: usize,
}

impl Pool {
    /// An empty pool.
    pub(crate) fn new(name: PoolName) -> Self {
        Self {
            name,
            tickets: HashMap::default(),
            changes: BTreeMap::new(),
            leases: BTreeSet::new(),
            endings: BTreeSet::new(),
            owed: HashMap::new(),
            owed_since: BTreeSet::new(),
            last_change: 0,
            usual_wait_ms: None,
            tickets_max: Ticket::POOL_MAX,
        }
    }

    /// A ticket, and what there is to know beside it.
    pub(crate) fn seen(&self, name: &TicketName, now: Stamp) -> Result<SeenTicket, StoreError> {
        let entry = self.stored(name.id, now).ok_or(StoreError::NotFound)?;
        let owed = match entry.state {
            TicketState::Matched { match_id, .. } => self.owed.get(&match_id),
            _ => None,
        };
        Ok(SeenTicket {
            ticket: entry.ticket(name.clone(), now),
            now,
            owed: owed.map(|owed| owed.game.clone()),
            usual_wait_ms: self.usual_wait_ms,
        })
    }

    /// A ticket as it is once its player has left it: one that came too late to be stored is cancelled too.
    pub(crate) fn seen_after_leaving(&self, name: &TicketName, now: Stamp) -> SeenTicket {
        self.seen(name, now).unwrap_or_else(|_| SeenTicket {
            ticket: cancelled_before(now).ticket(name.clone(), now),
            now,
            owed: None,
            usual_wait_ms: self.usual_wait_ms,
        })
    }

    /// What became of a claim, once it was decided and the update, if there is one, was applied.
    pub(crate) fn claimed(&self, tickets: &[TicketId], match_id: MatchId, now: Stamp) -> Claim {
        if self.is_claimed(tickets, match_id, now) {
            return Claim::Claimed;
        }
        Claim::Gone(tickets.iter().copied().filter(|id| self.waiting(*id, now).is_none()).collect())
    }

    /// A page of what has changed after a cursor.
    pub(crate) fn page(&self, after: PoolCursor, now: Stamp) -> PoolPage {
        let restarted = after.0 > self.last_change;
        let from = if restarted { 0 } else { after.0 };
        let rest = self.changes.range(from.saturating_add(1)..).take(PoolPage::TICKETS_MAX + 1);
        let mut page: Vec<(u64, TicketId)> = rest.map(|(change, id)| (*change, *id)).collect();
        let more = page.len() > PoolPage::TICKETS_MAX;
        page.truncate(PoolPage::TICKETS_MAX);
        let next = page.last().filter(|_| more).map_or(self.last_change, |(change, _)| *change);
        let seen = |(_, id): (u64, TicketId)| Some(self.stored(id, now)?.ticket(self.name_of(id), now));
        let changed = page.into_iter().filter_map(seen).collect();
        let for_long = |(since, _): &&(Stamp, MatchId)| now.ms_since(*since) >= PoolPage::OWED_AFTER_MS;
        let owed = self.owed_since.iter().take_while(for_long).take(PoolPage::OWED_MAX);
        let owed = owed.filter_map(|(_, id)| self.owed.get(id)).map(|owed| owed.game.clone()).collect();
        PoolPage { changed, next: PoolCursor(next), more, restarted, owed, now }
    }

    fn name_of(&self, id: TicketId) -> TicketName {
        TicketName { pool: self.name.clone(), id }
    }

    /// A ticket that can be read.
    fn stored(&self, id: TicketId, now: Stamp) -> Option<&Entry> {
        let entry = self.tickets.get(&id)?;
        self.kept_until(id, entry).is_none_or(|until| now <= until).then_some(entry)
    }

    /// A ticket that waits within its lease.
    fn waiting(&self, id: TicketId, now: Stamp) -> Option<&Entry> {
        self.tickets.get(&id).filter(|entry| match entry.state {
            TicketState::Waiting { lease_until, .. } => now <= lease_until,
            _ => false,
        })
    }

    /// Whether these tickets were claimed for this match, whatever became of them since.
    fn is_claimed(&self, tickets: &[TicketId], claimed: MatchId, now: Stamp) -> bool {
        tickets.iter().filter_map(|id| self.stored(*id, now)).any(|entry| match entry.state {
            TicketState::Matched { match_id, .. } => match_id == claimed,
            TicketState::Waiting { aborted, .. } => aborted == Some(claimed),
            TicketState::Cancelled | TicketState::Expired => false,
        })
    }

    /// Adds a new ticket to an update, if there is room for it.
    fn begin_ticket(
        &self,
        update: &mut Update,
        limit: usize,
        id: TicketId,
        entry: Entry,
    ) -> Result<(), StoreError> {
        if self.tickets.len() + update.new < limit {
            update.new += 1;
            update.change(id, entry);
            return Ok(());
        }
        Err(StoreError::Full { limit, what: "tickets a pool" })
    }
}

/// What is decided on, and added to an update of which nothing else is of the same tickets.
impl Pool {
    /// An update that changes nothing yet.
    pub(crate) fn begin(&self) -> Update {
        Update {
            tickets: Vec::new(),
            new: 0,
            is_swept: false,
            forgotten: Vec::new(),
            owed: Vec::new(),
            made: Vec::new(),
            last_change: self.last_change,
            usual_wait_ms: self.usual_wait_ms,
        }
    }

    /// A new ticket.
    pub(crate) fn create(
        &self,
        update: &mut Update,
        name: &TicketName,
        wish: Arc<Wish>,
        now: Stamp,
    ) -> Result<(), StoreError> {
        if self.stored(name.id, now).is_some() {
            return Ok(());
        }
        if comes_too_late(name, now) {
            return Err(StoreError::NotFound);
        }
        let state = TicketState::Waiting { lease_until: now.plus_ms(Ticket::LEASE_MS), aborted: None };
        let entry = Entry { wish: Some(wish), created: now, state, ended: None, change: 0 };
        self.begin_ticket(update, self.tickets_max, name.id, entry)
    }

    /// The player leaves a ticket for good.
    pub(crate) fn leave(&self, update: &mut Update, name: &TicketName, now: Stamp) -> Result<(), StoreError> {
        let Some(entry) = self.stored(name.id, now) else {
            if comes_too_late(name, now) {
                return Ok(());
            }
            let limit = self.tickets_max + self.tickets_max / LEFT_EXTRA_PER;
            return self.begin_ticket(update, limit, name.id, cancelled_before(now));
        };
        match entry.state {
            TicketState::Waiting { .. } if self.waiting(name.id, now).is_some() => {
                let state = TicketState::Cancelled;
                update.change(name.id, Entry { state, ended: Some(now), ..entry.clone() });
            }
            TicketState::Matched { match_id, left: false } => {
                let state = TicketState::Matched { match_id, left: true };
                update.change(name.id, Entry { state, ..entry.clone() });
            }
            _ => {}
        }
        Ok(())
    }

    /// Matches all of these tickets or none.
    pub(crate) fn claim(
        &self,
        update: &mut Update,
        tickets: &[TicketId],
        game: &NewMatch,
        now: Stamp,
    ) -> Result<(), StoreError> {
        if tickets.is_empty() || self.is_claimed(tickets, game.id, now) {
            return Ok(());
        }
        let waiting: Option<Vec<(TicketId, &Entry)>> =
            tickets.iter().map(|id| Some((*id, self.waiting(*id, now)?))).collect();
        let Some(waiting) = waiting else { return Ok(()) };
        if self.owed.len() + update.owed.len() >= OWED_MAX {
            return Err(StoreError::Full { limit: OWED_MAX, what: "claimed matches a pool" });
        }
        for (index, (id, entry)) in waiting.into_iter().enumerate() {
            if tickets[..index].contains(&id) {
                continue;
            }
            let waited_ms = now.ms_since(entry.created);
            update.usual_wait_ms = Some(running_mean(update.usual_wait_ms, waited_ms));
            let state = TicketState::Matched { match_id: game.id, left: false };
            update.change(id, Entry { state, ended: Some(now), ..entry.clone() });
        }
        update.owed.push(Owed { game: game.clone(), since: now });
        Ok(())
    }

    /// A claimed match is made.
    pub(crate) fn made(&self, update: &mut Update, match_id: MatchId) {
        update.made.extend(self.owed.contains_key(&match_id).then_some(match_id));
    }

    /// A ticket that was matched with a match that never began waits again.
    pub(crate) fn requeue(&self, update: &mut Update, id: TicketId, aborted: MatchId, now: Stamp) {
        let matched = TicketState::Matched { match_id: aborted, left: false };
        let Some(entry) = self.stored(id, now).filter(|entry| entry.state == matched) else { return };
        let lease_until = now.plus_ms(Ticket::LEASE_MS);
        let state = TicketState::Waiting { lease_until, aborted: Some(aborted) };
        update.change(id, Entry { state, ended: None, ..entry.clone() });
    }

    /// Whether there is anything to sweep.
    pub(crate) fn is_to_be_swept(&self, now: Stamp) -> bool {
        passed(&self.leases, now).next().is_some() || passed(&self.endings, now).next().is_some()
    }

    /// Tickets whose lease has passed expire, and those that ended too long ago are forgotten. No other change is
    /// of such a ticket.
    pub(crate) fn sweep(&self, update: &mut Update, now: Stamp) {
        if std::mem::replace(&mut update.is_swept, true) {
            return;
        }
        for id in passed(&self.leases, now) {
            if let Some(entry) = self.tickets.get(&id) {
                let entry = Entry { state: TicketState::Expired, ended: Some(now), ..entry.clone() };
                update.change(id, entry);
            }
        }
        update.forgotten.extend(passed(&self.endings, now));
    }
}

/// The tickets whose time has passed, up to a limit.
fn passed(times: &BTreeSet<(Stamp, TicketId)>, now: Stamp) -> impl Iterator<Item = TicketId> {
    times.iter().take_while(move |(until, _)| *until < now).take(SWEPT_MAX).map(|(_, id)| *id)
}

/// What is made.
impl Pool {
    /// Lets everyone see an update that is durable.
    pub(crate) fn apply(&mut self, update: Update) {
        for (id, entry) in update.tickets {
            self.put(id, entry);
        }
        for id in &update.forgotten {
            self.take(*id);
        }
        for owed in update.owed {
            self.owe(owed);
        }
        for owed in update.made.into_iter().filter_map(|id| self.owed.remove(&id)) {
            self.owed_since.remove(&(owed.since, owed.game.id));
        }
        self.count_from(update.last_change, update.usual_wait_ms);
    }

    /// Renews the lease of a ticket that waits.
    pub(crate) fn renew(&mut self, id: TicketId, now: Stamp) {
        if self.waiting(id, now).is_none() {
            return;
        }
        if let Some(mut entry) = self.take(id) {
            entry.renew(now);
            self.put(id, entry);
        }
    }

    /// Takes in a ticket that an earlier process left. One that waits has a new lease: nobody could renew it
    /// while no process was there.
    pub(crate) fn restore(&mut self, id: TicketId, mut entry: Entry, now: Stamp) {
        entry.renew(now);
        self.last_change = self.last_change.max(entry.change);
        self.put(id, entry);
    }

    /// Takes in a match that is owed.
    pub(crate) fn owe(&mut self, owed: Owed) {
        self.owed_since.insert((owed.since, owed.game.id));
        self.owed.insert(owed.game.id, owed);
    }

    /// Takes in how many changes there have been, and how long was waited.
    pub(crate) fn count_from(&mut self, last_change: u64, usual_wait_ms: Option<u64>) {
        self.last_change = self.last_change.max(last_change);
        self.usual_wait_ms = usual_wait_ms;
    }

    fn put(&mut self, id: TicketId, entry: Entry) {
        self.take(id);
        self.changes.insert(entry.change, id);
        if let TicketState::Waiting { lease_until, .. } = entry.state {
            self.leases.insert((lease_until, id));
        }
        if let Some(until) = self.kept_until(id, &entry) {
            self.endings.insert((until, id));
        }
        self.tickets.insert(id, entry);
    }

    fn take(&mut self, id: TicketId) -> Option<Entry> {
        let entry = self.tickets.remove(&id)?;
        self.changes.remove(&entry.change);
        if let TicketState::Waiting { lease_until, .. } = entry.state {
            self.leases.remove(&(lease_until, id));
        }
        if let Some(until) = self.kept_until(id, &entry) {
            self.endings.remove(&(until, id));
        }
        Some(entry)
    }

    /// The last moment at which a ticket that has ended is kept: until it can no longer be created, also by the
    /// clock of whoever made its id.
    fn kept_until(&self, id: TicketId, entry: &Entry) -> Option<Stamp> {
        Some(entry.ended?.max(self.name_of(id).made()).plus_ms(Ticket::RETENTION_MS))
    }
}

impl Entry {
    /// The ticket as everyone sees it: one whose lease has passed is expired.
    fn ticket(&self, name: TicketName, now: Stamp) -> Ticket {
        let state = match self.state {
            TicketState::Waiting { lease_until, .. } if lease_until < now => TicketState::Expired,
            state => state,
        };
        Ticket { name, wish: self.wish.clone(), created: self.created, state }
    }

    fn renew(&mut self, now: Stamp) {
        if let TicketState::Waiting { lease_until, .. } = &mut self.state {
            *lease_until = now.plus_ms(Ticket::LEASE_MS);
        }
    }
}

/// A ticket that was cancelled before it came.
const fn cancelled_before(now: Stamp) -> Entry {
    Entry { wish: None, created: now, state: TicketState::Cancelled, ended: Some(now), change: 0 }
}

/// Whether a ticket that is not there can no longer be created.
fn comes_too_late(name: &TicketName, now: Stamp) -> bool {
    now.ms_since(name.made()) > Ticket::RETENTION_MS
}

/// A mean in which the last eight count for about two thirds; whole ms, rounded down.
const fn running_mean(mean_ms: Option<u64>, waited_ms: u64) -> u64 {
    match mean_ms {
        None => waited_ms,
        Some(mean_ms) if waited_ms < mean_ms => mean_ms - (mean_ms - waited_ms).div_ceil(8),
        Some(mean_ms) => mean_ms + (waited_ms - mean_ms) / 8,
    }
}

#[cfg(test)]
mod tests {
    use sealing::Party;

    use super::*;

    /// Whose id was made at the number.
    fn name(number: u8) -> TicketName {
        TicketName {
            pool: PoolName::new("p").unwrap(),
            id: TicketId::from_bytes([0, 0, 1, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        }
    }

    #[test]
    fn a_full_pool_takes_no_ticket_but_the_word_of_some_who_leave() {
        let full = |limit| Err(StoreError::Full { limit, what: "tickets a pool" });
        let wish = || {
            Arc::new(Wish {
                party: Party { player: "players/ann".to_owned(), public_key: None },
                time_controls: Vec::new(),
                rating_milli: 0,
                deviation_points: 0,
                excluded: Vec::new(),
                recent: Vec::new(),
                bot_fallback: None,
            })
        };
        // As far as the ids say, they were all made about now.
        let now = name(9).made();
        let mut pool = Pool { tickets_max: 4, ..Pool::new(name(1).pool) };
        for numbers in [1..=2, 3..=5] {
            let mut update = pool.begin();
            for number in numbers {
                let created = pool.create(&mut update, &name(number), wish(), now);
                assert_eq!(created, if number < 5 { Ok(()) } else { full(4) });
            }
            pool.apply(update);
        }
        let mut update = pool.begin();
        assert_eq!(pool.leave(&mut update, &name(5), now), Ok(()));
        assert_eq!(pool.leave(&mut update, &name(6), now), full(5));
        assert_eq!(pool.leave(&mut update, &name(1), now), Ok(()), "it is there");
        pool.apply(update);
        assert_eq!(pool.tickets.len(), 5);
        let later = now.plus_ms(Ticket::RETENTION_MS + 1);
        let mut update = pool.begin();
        pool.sweep(&mut update, later);
        pool.apply(update);
        assert_eq!(pool.tickets.len(), 3, "those who left are forgotten");
    }

    #[test]
    fn a_ticket_whose_id_was_made_ahead_of_the_pools_time_is_kept_until_it_can_no_longer_be_created() {
        let (made, mut pool) = (name(1).made(), Pool::new(name(1).pool));
        let mut update = pool.begin();
        pool.leave(&mut update, &name(1), Stamp::from_ms(made.as_ms() - 5_000)).unwrap();
        pool.apply(update);
        let last = made.plus_ms(Ticket::RETENTION_MS);
        assert!(!pool.is_to_be_swept(last));
        assert!(pool.seen(&name(1), last).is_ok());
        assert!(pool.is_to_be_swept(last.plus_ms(1)));
        assert!(comes_too_late(&name(1), last.plus_ms(1)));
    }
}
