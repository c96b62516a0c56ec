//! What a store holds of tickets, reservations and players' records, and what each operation does to it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use matchmaker::TicketId;
use referee::{NewMatch, Stamp};
use sealing::MatchId;
use store::{
    Claim, Held, PlayerRecord, PoolCursor, PoolName, PoolPage, Ranked, Reservation, SeenTicket, Speed,
    StoreError, Ticket, TicketName, TicketState, Version, Wish,
};

/// Tickets expired or forgotten in one look at a pool.
const SWEPT_MAX: usize = 500;

/// A ticket as it is kept.
#[derive(Clone)]
struct Kept {
    ticket: Ticket,
    /// When it ended, if it has.
    ended: Option<Stamp>,
    /// The number of its last change.
    changed: u64,
}

#[derive(Clone, Default)]
struct PoolState {
    tickets: BTreeMap<TicketId, Kept>,
    owed: BTreeMap<MatchId, (Stamp, NewMatch)>,
    changes: u64,
    usual_wait_ms: Option<u64>,
}

/// All pools.
#[derive(Clone, Default)]
pub(crate) struct ModelPools(BTreeMap<PoolName, PoolState>);

impl ModelPools {
    /// A pool without what has been kept long enough.
    fn pool(&mut self, name: &PoolName, now: Stamp) -> &mut PoolState {
        let pool = self.0.entry(name.clone()).or_default();
        let is_kept = |ended: Stamp| now.ms_since(ended) <= Ticket::RETENTION_MS;
        pool.tickets.retain(|_, kept| kept.ended.is_none_or(is_kept));
        pool
    }

    pub(crate) fn create(
        &mut self,
        name: &TicketName,
        wish: Arc<Wish>,
        now: Stamp,
    ) -> Result<SeenTicket, StoreError> {
        let pool = self.pool(&name.pool, now);
        if !pool.tickets.contains_key(&name.id) {
            if now.ms_since(name.made()) > Ticket::RETENTION_MS {
                return Err(StoreError::NotFound);
            }
            let state = TicketState::Waiting { lease_until: now.plus_ms(Ticket::LEASE_MS), aborted: None };
            pool.put(Ticket { name: name.clone(), wish: Some(wish), created: now, state }, None);
        }
        pool.seen(name, now)
    }

    pub(crate) fn ticket(&mut self, name: &TicketName, now: Stamp) -> Result<SeenTicket, StoreError> {
        self.pool(&name.pool, now).seen(name, now)
    }

    pub(crate) fn renew(&mut self, name: &TicketName, now: Stamp) -> Result<SeenTicket, StoreError> {
        let pool = self.pool(&name.pool, now);
        if let Some(kept) = pool.tickets.get_mut(&name.id)
            && let TicketState::Waiting { lease_until, .. } = &mut kept.ticket.state
            && now <= *lease_until
        {
            *lease_until = now.plus_ms(Ticket::LEASE_MS);
        }
        pool.seen(name, now)
    }

    pub(crate) fn leave(&mut self, name: &TicketName, now: Stamp) -> Result<SeenTicket, StoreError> {
        let pool = self.pool(&name.pool, now);
        pool.expire(name.id, now);
        let ticket = pool.tickets.get(&name.id).map(|kept| kept.ticket.clone());
        let ticket = ticket.unwrap_or_else(|| Ticket {
            name: name.clone(),
            wish: None,
            created: now,
            state: TicketState::Waiting { lease_until: now, aborted: None },
        });
        let state = match ticket.state {
            TicketState::Waiting { .. } => TicketState::Cancelled,
            TicketState::Matched { match_id, .. } => TicketState::Matched { match_id, left: true },
            ended => ended,
        };
        let ticket = Ticket { state, ..ticket };
        if ticket.wish.is_none() && now.ms_since(name.made()) > Ticket::RETENTION_MS {
            // Nothing can come any more that this would hold up.
            let (owed, usual_wait_ms) = (None, pool.usual_wait_ms);
            return Ok(SeenTicket { ticket, now, owed, usual_wait_ms });
        }
        if pool.tickets.get(&name.id).is_none_or(|kept| kept.ticket.state != state) {
            pool.put(ticket, Some(now));
        }
        pool.seen(name, now)
    }

    pub(crate) fn claim(&mut self, pool: &PoolName, ids: &[TicketId], game: &NewMatch, now: Stamp) -> Claim {
        let pool = self.pool(pool, now);
        ids.iter().for_each(|id| pool.expire(*id, now));
        let is_his = |kept: &Kept| match kept.ticket.state {
            TicketState::Matched { match_id, .. } => match_id == game.id,
            TicketState::Waiting { aborted, .. } => aborted == Some(game.id),
            TicketState::Cancelled | TicketState::Expired => false,
        };
        if ids.iter().all(|id| pool.tickets.get(id).is_some_and(is_his)) {
            return Claim::Claimed;
        }
        let waits = |id: &TicketId| pool.tickets.get(id).is_some_and(|kept| kept.ticket.is_waiting());
        let gone: Vec<TicketId> = ids.iter().copied().filter(|id| !waits(id)).collect();
        if !gone.is_empty() {
            return Claim::Gone(gone);
        }
        for id in ids {
            let Some(ticket) = pool.tickets.get(id).map(|kept| kept.ticket.clone()) else { continue };
            let waited_ms = now.ms_since(ticket.created);
            pool.usual_wait_ms = Some(match pool.usual_wait_ms {
                None => waited_ms,
                Some(usual) if waited_ms >= usual => usual + (waited_ms - usual) / 8,
                Some(usual) => usual - (usual - waited_ms) / 8,
            });
            let state = TicketState::Matched { match_id: game.id, left: false };
            pool.put(Ticket { state, ..ticket }, Some(now));
        }
        pool.owed.insert(game.id, (now, game.clone()));
        Claim::Claimed
    }

    pub(crate) fn made(&mut self, pool: &PoolName, id: MatchId) {
        self.0.entry(pool.clone()).or_default().owed.remove(&id);
    }

    pub(crate) fn requeue(
        &mut self,
        name: &TicketName,
        aborted: MatchId,
        now: Stamp,
    ) -> Result<SeenTicket, StoreError> {
        let pool = self.pool(&name.pool, now);
        let matched = TicketState::Matched { match_id: aborted, left: false };
        let ticket = pool.tickets.get(&name.id).map(|kept| kept.ticket.clone());
        if let Some(ticket) = ticket.filter(|ticket| ticket.state == matched) {
            let lease_until = now.plus_ms(Ticket::LEASE_MS);
            let state = TicketState::Waiting { lease_until, aborted: Some(aborted) };
            pool.put(Ticket { state, ..ticket }, None);
        }
        pool.seen(name, now)
    }

    pub(crate) fn page(&mut self, pool: &PoolName, after: PoolCursor, now: Stamp) -> PoolPage {
        let pool = self.pool(pool, now);
        pool.sweep(now);
        let restarted = after.0 > pool.changes;
        let after = if restarted { 0 } else { after.0 };
        let mut changed: Vec<&Kept> = pool.tickets.values().filter(|kept| kept.changed > after).collect();
        changed.sort_by_key(|kept| kept.changed);
        let more = changed.len() > PoolPage::TICKETS_MAX;
        changed.truncate(PoolPage::TICKETS_MAX);
        let last = changed.last().map_or(pool.changes, |kept| kept.changed);
        let next = PoolCursor(if more { last } else { pool.changes });
        let is_left = |claimed: Stamp| now.ms_since(claimed) >= PoolPage::OWED_AFTER_MS;
        let owed = pool.owed.values().filter(|(claimed, _)| is_left(*claimed));
        PoolPage {
            changed: changed.into_iter().map(|kept| kept.ticket.clone()).collect(),
            next,
            more,
            restarted,
            owed: owed.take(PoolPage::OWED_MAX).map(|(_, game)| game.clone()).collect(),
            now,
        }
    }
}

impl PoolState {
    /// Stores a change that the change list tells of.
    fn put(&mut self, ticket: Ticket, ended: Option<Stamp>) {
        self.changes += 1;
        let ended = if ticket.is_waiting() { None } else { ended };
        self.tickets.insert(ticket.name.id, Kept { ticket, ended, changed: self.changes });
    }

    fn expire(&mut self, id: TicketId, now: Stamp) {
        let Some(ticket) = self.tickets.get(&id).map(|kept| kept.ticket.clone()) else { return };
        if let TicketState::Waiting { lease_until, .. } = ticket.state
            && now > lease_until
        {
            self.put(Ticket { state: TicketState::Expired, ..ticket }, Some(now));
        }
    }

    fn sweep(&mut self, now: Stamp) {
        let ids: Vec<TicketId> = self.tickets.keys().copied().collect();
        ids.into_iter().take(SWEPT_MAX).for_each(|id| self.expire(id, now));
    }

    fn seen(&mut self, name: &TicketName, now: Stamp) -> Result<SeenTicket, StoreError> {
        let kept = self.tickets.get(&name.id).ok_or(StoreError::NotFound)?;
        let mut ticket = kept.ticket.clone();
        let mut owed = None;
        match ticket.state {
            TicketState::Waiting { lease_until, .. } if now > lease_until => {
                ticket.state = TicketState::Expired;
            }
            TicketState::Matched { match_id, .. } => {
                owed = self.owed.get(&match_id).map(|(_, game)| game.clone());
            }
            _ => {}
        }
        Ok(SeenTicket { ticket, now, owed, usual_wait_ms: self.usual_wait_ms })
    }
}

/// What is kept of players beside their lists.
#[derive(Clone, Default)]
pub(crate) struct ModelPlayers {
    reservations: BTreeMap<String, (Reservation, Stamp)>,
    records: BTreeMap<String, (PlayerRecord, Version)>,
    /// By speed class and player: points, and after how many matches.
    boards: BTreeMap<(Speed, String), (u64, u64)>,
}

impl ModelPlayers {
    pub(crate) fn reservation(&self, player: &str, now: Stamp) -> Option<Held> {
        let (by, since) = self.reservations.get(player)?;
        Some(Held { by: by.clone(), for_ms: now.ms_since(*since) })
    }

    pub(crate) fn reserve(
        &mut self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
        now: Stamp,
    ) -> Option<Reservation> {
        let there = self.reservations.get(player).map(|(by, _)| by.clone());
        if there.as_ref() != expected || there.as_ref() == next {
            return there;
        }
        match next {
            Some(next) => drop(self.reservations.insert(player.to_owned(), (next.clone(), now))),
            None => drop(self.reservations.remove(player)),
        }
        next.cloned()
    }

    pub(crate) fn record(&self, player: &str) -> (PlayerRecord, Option<Version>) {
        match self.records.get(player) {
            Some((record, version)) => (record.clone(), Some(*version)),
            None => (PlayerRecord::default(), None),
        }
    }

    pub(crate) fn put_record(
        &mut self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> bool {
        let there = self.records.get(player).map(|(_, version)| *version);
        if there != expected {
            return false;
        }
        let version = there.map_or_else(|| Version::first(nonce), |version| version.next(nonce));
        self.records.insert(player.to_owned(), (record.clone(), version));
        true
    }

    pub(crate) fn remove_record(&mut self, player: &str) {
        self.records.remove(player);
    }

    pub(crate) fn unrank(&mut self, speed: Speed, player: &str) {
        self.boards.remove(&(speed, player.to_owned()));
    }

    pub(crate) fn rank(&mut self, speed: Speed, player: &str, points_micro: u64, matches: u64) {
        let line = self.boards.entry((speed, player.to_owned())).or_insert((points_micro, matches));
        if line.1 <= matches {
            *line = (points_micro, matches);
        }
    }

    fn board(&self, speed: Speed) -> Vec<(u64, &str)> {
        let lines = self.boards.iter().filter(|((of, _), _)| *of == speed);
        let mut lines: Vec<_> = lines.map(|((_, player), (points, _))| (*points, player.as_str())).collect();
        lines.sort_by_key(|(points, player)| (Reverse(*points), *player));
        lines
    }

    pub(crate) fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Vec<Ranked> {
        let board = self.board(speed);
        let better = |points| board.iter().filter(|(other, _)| *other > points).count() as u64;
        let shown = board.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(limit);
        shown
            .map(|(points_micro, player)| Ranked {
                rank: better(*points_micro) + 1,
                player: (*player).to_owned(),
                points_micro: *points_micro,
            })
            .collect()
    }

    pub(crate) fn place(&self, speed: Speed, player: &str) -> Option<u64> {
        self.board(speed).iter().position(|(_, other)| *other == player).map(|place| place as u64)
    }
}
