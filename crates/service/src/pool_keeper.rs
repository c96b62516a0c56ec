//! A pool's keeper: it knows who waits, pairs them, and makes their matches.
//!
//! One node keeps a pool at a time, by rendezvous hashing. It is no lock: two that keep the same pool, as they
//! may while one comes or goes, do no harm, since a claim takes all its tickets or none. What a keeper knows it
//! has read from the pool's changes, and reads from the beginning again now and then, in case that the store
//! has lost some.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use matchmaker::{Rating, TicketContent, TicketId, pair};
use referee::{Mode, NewMatch, Origin, PinnedRating, Stamp, TicketRef, TimeControl};
use rules::{PerSeat, Seat};
use sealing::MatchId;
use store::{Claim, Clock, NodeId, PoolCursor, PoolName, PoolReport, Store, StoreError, Ticket, Wish};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

use crate::bots::{self, seat_by_id};
use crate::guard::caught;
use crate::node::new_id;
use crate::pools::{Pool, Pools, speed_class};
use crate::roster::Roster;
use crate::{making, standing};

/// From one look at a pool to the next, ms: of a player's wait nobody notices it, and a look at a pool where
/// nothing happened costs the store some 30 µs.
const PAUSE_MS: u64 = 50;

/// The part of the time that pairing may take, as one in so many: in a pool of a hundred thousand a pairing
/// takes as long as the pause, and the node has other things to do.
const PAIRING_SHARE: u32 = 4;

/// Tickets from which on pairing leaves the threads that serve calls.
const ASIDE_MIN: usize = 2_000;

/// After this long a pool is read from the beginning again, ms: a failover may have lost changes.
const REREAD_MS: u64 = 15_000;

/// Matches made at once: each takes half a dozen round trips one after the other, which those of others fill.
const AT_ONCE_MAX: usize = 256;

/// Looks after all pools that are this node's own among `nodes`, until it is dropped.
pub(crate) async fn keep_all(
    roster: Arc<Roster>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    pools: Pools,
    nodes: watch::Receiver<Vec<NodeId>>,
) {
    let keepers = pools.iter().map(|pool| {
        let keeper = Keeper::new(pool.clone(), Arc::clone(&store), Arc::clone(&clock));
        keeper.run(Arc::clone(&roster), nodes.clone())
    });
    futures::future::join_all(keepers).await;
}

/// The keeper of one pool.
struct Keeper {
    pool: Pool,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    cursor: PoolCursor,
    waiting: Waiting,
    /// When the pool is read from the beginning again, ms.
    reread_ms: u64,
    troubled: bool,
}

/// Who waits, as far as a keeper knows.
#[derive(Default)]
struct Waiting {
    /// As pairing takes them.
    tickets: Vec<matchmaker::Ticket>,
    /// Where each stands in `tickets`, and what it wishes.
    by_id: HashMap<TicketId, (usize, Arc<Wish>)>,
}

/// What came of a look at a pool.
struct Look {
    /// The pool's time.
    now: Stamp,
    /// How long to leave the pool alone, ms.
    leave_ms: u64,
}

/// Those that a match is to be made of.
struct Couple {
    older: (TicketId, Arc<Wish>),
    younger: (TicketId, Arc<Wish>),
}

impl Keeper {
    fn new(pool: Pool, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let (cursor, waiting) = (PoolCursor::default(), Waiting::default());
        Self { pool, store, clock, cursor, waiting, reread_ms: 0, troubled: false }
    }

    async fn run(mut self, roster: Arc<Roster>, nodes: watch::Receiver<Vec<NodeId>>) {
        loop {
            let own = NodeId::owner_of(&nodes.borrow(), self.pool.name.as_str().as_bytes());
            let mut pause_ms = PAUSE_MS;
            if own.is_none_or(|owner| owner == roster.id) {
                match caught(self.look()).await {
                    Some(Ok(seen)) => {
                        (self.troubled, pause_ms) = (false, seen.leave_ms);
                        roster.keeps(self.waiting.report(&self.pool.name, seen.now));
                    }
                    Some(Err(error)) if !std::mem::replace(&mut self.troubled, true) => {
                        warn!(pool = %self.pool.name, %error, "a pool cannot be looked after");
                    }
                    Some(Err(_)) => {}
                    // What it knew may be half of it.
                    None => self.forget(),
                }
            } else {
                roster.leaves(&self.pool.name);
                self.forget();
            }
            self.clock.sleep_until_ms(self.clock.now_ms().saturating_add(pause_ms)).await;
        }
    }

    /// Reads from the beginning next time.
    fn forget(&mut self) {
        (self.cursor, self.waiting) = (PoolCursor::default(), Waiting::default());
    }

    /// Finds out what has changed, and pairs those who wait.
    async fn look(&mut self) -> Result<Look, StoreError> {
        if self.clock.now_ms() >= self.reread_ms {
            self.forget();
            // Not all pools of all nodes at once.
            let jitter_ms = u64::from(rand::random::<u16>()) % (REREAD_MS / 4);
            self.reread_ms = self.clock.now_ms().saturating_add(REREAD_MS - jitter_ms);
        }
        let began = Instant::now();
        let now = self.read().await?;
        let read = Instant::now();
        let couples = self.pair(now).await;
        let pairing = read.elapsed();
        let claims = couples.into_iter().map(|couple| self.claim(couple, now));
        let claims = stream::iter(claims).buffer_unordered(AT_ONCE_MAX).collect().await;
        let paired = self.remove_gone(claims);
        // Who has just been given a person needs no bot.
        let bots = self.waiting.due_for_bot(now).into_iter().map(|lone| self.claim_for_bot(lone));
        let bots = stream::iter(bots).buffer_unordered(AT_ONCE_MAX).collect().await;
        paired.and(self.remove_gone(bots))?;
        let pause = Duration::from_millis(PAUSE_MS).saturating_sub(began.elapsed());
        let leave_ms = u64::try_from(pause.max(pairing * PAIRING_SHARE).as_millis()).unwrap_or(u64::MAX);
        Ok(Look { now, leave_ms })
    }

    /// Forgets the tickets that claims have found not to wait any more. Returns why one of the others failed.
    fn remove_gone(&mut self, claimed: Vec<Result<Vec<TicketId>, StoreError>>) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for claimed in claimed {
            match claimed {
                Ok(gone) => gone.iter().for_each(|id| self.waiting.remove(*id)),
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    /// Reads all changes, and makes the matches that somebody has left unmade. Returns the pool's time.
    async fn read(&mut self) -> Result<Stamp, StoreError> {
        loop {
            let page = self.store.pool(&self.pool.name, self.cursor).await?;
            if page.restarted {
                self.waiting = Waiting::default();
            }
            self.cursor = page.next;
            for ticket in page.changed {
                self.waiting.note(&self.pool, ticket);
            }
            for owed in &page.owed {
                self.make(owed).await;
            }
            if !page.more {
                return Ok(page.now);
            }
        }
    }

    /// Those who are to play each other.
    async fn pair(&mut self, now: Stamp) -> Vec<Couple> {
        let (policy, now_ms) = (self.pool.policy, now.as_ms());
        let ids = move |tickets: &[matchmaker::Ticket]| match pair(tickets, now_ms, &policy) {
            Ok(pairing) => pairing.pairs.iter().map(|pair| (pair.older.id(), pair.younger.id())).collect(),
            Err(error) => {
                warn!(%error, "a pool holds more than can be paired");
                Vec::new()
            }
        };
        let pairs = if self.waiting.tickets.len() < ASIDE_MIN {
            ids(&self.waiting.tickets)
        } else {
            let tickets = std::mem::take(&mut self.waiting.tickets);
            let paired = tokio::task::spawn_blocking(move || (ids(&tickets), tickets)).await;
            let Ok((pairs, tickets)) = paired else {
                self.forget();
                return Vec::new();
            };
            self.waiting.tickets = tickets;
            pairs
        };
        let of = |id: TicketId| Some((id, Arc::clone(&self.waiting.by_id.get(&id)?.1)));
        pairs.into_iter().filter_map(|(a, b)| Some(Couple { older: of(a)?, younger: of(b)? })).collect()
    }

    /// Makes the match of a couple, if both still wait. Returns the tickets that wait no more.
    async fn claim(&self, couple: Couple, now: Stamp) -> Result<Vec<TicketId>, StoreError> {
        let Couple { older: (older, first), younger: (younger, second) } = couple;
        // Who has waited longer is asked first.
        let common = first.time_controls.iter().find(|time| second.time_controls.contains(time));
        let Some(time) = common.copied() else { return Ok(Vec::new()) };
        let id = new_id(now.as_ms());
        let parties = [(older, &first), (younger, &second)];
        let [black, white] = match colour_of_first(&first, &second, id) {
            Seat::Black => parties,
            Seat::White => [parties[1], parties[0]],
        };
        let settings = self.pool.settings_with(time);
        let ratings = match settings.mode {
            Mode::Casual => None,
            Mode::Ranked => {
                let players = PerSeat { black: &*black.1.party.player, white: &*white.1.party.player };
                Some(ratings(self.store.as_ref(), players, time).await?)
            }
        };
        let game = NewMatch {
            id,
            settings,
            parties: PerSeat { black: black.1.party.clone(), white: white.1.party.clone() },
            rematch_of: None,
            origin: Some(Origin {
                tickets: PerSeat { black: self.reference(black.0), white: self.reference(white.0) },
                ratings,
            }),
        };
        self.claim_match(&[older, younger], &game).await
    }

    /// Makes a match against a bot for one who has waited as long as he wanted to.
    async fn claim_for_bot(
        &self,
        (ticket, wish): (TicketId, Arc<Wish>),
    ) -> Result<Vec<TicketId>, StoreError> {
        let (Some(bot), Some(time)) = (wish.bot_fallback, wish.time_controls.first().copied()) else {
            return Ok(Vec::new());
        };
        let id = new_id(self.clock.now_ms());
        let own = seat_by_id(id);
        let tickets = match own {
            Seat::Black => PerSeat { black: self.reference(ticket), white: None },
            Seat::White => PerSeat { black: None, white: self.reference(ticket) },
        };
        let game = NewMatch {
            id,
            settings: self.pool.settings_with_bot(time, own.opponent(), bot.level),
            parties: bots::against(wish.party.clone(), own, bot.level),
            rematch_of: None,
            origin: Some(Origin { tickets, ratings: None }),
        };
        self.claim_match(&[ticket], &game).await
    }

    async fn claim_match(&self, tickets: &[TicketId], game: &NewMatch) -> Result<Vec<TicketId>, StoreError> {
        match self.store.claim(&self.pool.name, tickets, game).await? {
            Claim::Gone(gone) => Ok(gone),
            Claim::Claimed => {
                self.make(game).await;
                Ok(tickets.to_vec())
            }
        }
    }

    /// Makes a match that is owed. If this fails, whoever finds it so makes it.
    async fn make(&self, game: &NewMatch) {
        if let Err(error) = making::make(self.store.as_ref(), &self.pool.name, game).await {
            warn!(pool = %self.pool.name, id = %game.id, %error, "a match must be made later");
        }
    }

    fn reference(&self, id: TicketId) -> Option<TicketRef> {
        let name = store::TicketName { pool: self.pool.name.clone(), id };
        Some(TicketRef(name.to_string().into()))
    }
}

/// What both players of a ranked match are rated before it.
pub(crate) async fn ratings(
    store: &dyn Store,
    players: PerSeat<&str>,
    time: TimeControl,
) -> Result<PerSeat<PinnedRating>, StoreError> {
    let rated = async |player| {
        let (record, _) = store.record(player).await?;
        Ok::<_, StoreError>(standing::pinned(standing::rating(&record, speed_class(time))))
    };
    let (black, white) = futures::try_join!(rated(players.black), rated(players.white))?;
    Ok(PerSeat { black, white })
}

/// The colour of the first of two: who has played black more often against the other plays white.
fn colour_of_first(first: &Wish, second: &Wish, id: MatchId) -> Seat {
    let surplus = |of: &Wish, other: &Wish| {
        let met = of.recent.iter().find(|met| met.player == other.party.player);
        met.map_or(0, |met| i32::from(met.black_surplus))
    };
    // Both remember the same matches, but one may have forgotten some.
    match surplus(first, second) - surplus(second, first) {
        1.. => Seat::White,
        0 => seat_by_id(id),
        ..0 => Seat::Black,
    }
}

impl Waiting {
    /// Takes note of a ticket as it is now.
    fn note(&mut self, pool: &Pool, ticket: Ticket) {
        let wish = ticket.wish.as_ref().filter(|_| ticket.is_waiting());
        let checked = wish.and_then(|wish| {
            let content = TicketContent {
                id: ticket.name.id,
                player: wish.party.player.clone(),
                created_ms: ticket.created.as_ms(),
                time_controls: pool.places(&wish.time_controls),
                rating_points: Rating::new(wish.rating_milli.saturating_mul(1_000), 0, 0).rounded_points(),
                deviation_points: wish.deviation_points.min(matchmaker::Ticket::DEVIATION_MAX_POINTS),
                exclusions: wish.excluded.clone(),
                recent_opponents: wish.recent.iter().map(|met| met.player.clone()).collect(),
            };
            // One that a node with other pools let in waits for that node.
            Some((matchmaker::Ticket::new(content).ok()?, Arc::clone(wish)))
        });
        self.remove(ticket.name.id);
        if let Some((checked, wish)) = checked {
            self.by_id.insert(ticket.name.id, (self.tickets.len(), wish));
            self.tickets.push(checked);
        }
    }

    fn remove(&mut self, id: TicketId) {
        let Some((at, _)) = self.by_id.remove(&id) else { return };
        self.tickets.swap_remove(at);
        if let Some(moved) = self.tickets.get(at)
            && let Some((place, _)) = self.by_id.get_mut(&moved.id())
        {
            *place = at;
        }
    }

    /// What there is to tell of those who wait.
    fn report(&self, pool: &PoolName, now: Stamp) -> PoolReport {
        let oldest_wait_ms = self.tickets.iter().map(|ticket| ticket.waited_ms(now.as_ms())).max();
        PoolReport { pool: pool.clone(), waiting: self.tickets.len() as u64, oldest_wait_ms }
    }

    /// Those who want a bot by now.
    fn due_for_bot(&self, now: Stamp) -> Vec<(TicketId, Arc<Wish>)> {
        let due = |ticket: &&matchmaker::Ticket| {
            let wish = &self.by_id.get(&ticket.id())?.1;
            let bot = wish.bot_fallback?;
            (ticket.waited_ms(now.as_ms()) >= bot.after_ms).then(|| (ticket.id(), Arc::clone(wish)))
        };
        self.tickets.iter().filter_map(|ticket| due(&ticket)).collect()
    }
}
