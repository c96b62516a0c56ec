//! The traits' tickets: all pools, and how a change of one is made.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{NewMatch, Stamp};
use sealing::MatchId;
use store::codec::{self, CodecError};
use store::{Claim, PoolCursor, PoolName, PoolPage, SeenTicket, StoreError, TicketName, TicketStore, Wish};
use tokio::sync::{OwnedMutexGuard, oneshot};

use crate::memory::{Memory, lock};
use crate::pool::{Pool, Update};
use crate::pool_on_disk;
use crate::single_node::{Backing, SingleNode};

/// Pools at most: an operator names them, and has a few.
const POOLS_MAX: usize = 1_000;

/// A pool, and who waits to change it.
pub(crate) struct PoolPlace {
    name: PoolName,
    /// Held from the look that changes are decided on until they are seen: nothing of a pool is decided while a
    /// change of it is on its way to the disk. Whoever has it decides for all who wait.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Each belongs to a call.
    waiting: Mutex<Vec<Waiting>>,
    /// What everyone sees.
    pub(crate) pool: Mutex<Pool>,
}

/// A change that waits to be decided.
struct Waiting {
    /// What it is of. Of two changes of one ticket the second is decided on what is left by the first.
    tickets: Vec<TicketId>,
    decide: Decide,
    answer: Answer,
    /// Nobody waits for it any more once this is gone: it is not made then.
    caller: Weak<()>,
}

type Decide = Box<dyn FnOnce(&Pool, &mut Update, Stamp) -> Result<(), StoreError> + Send>;
type Answer = Box<dyn FnOnce(Result<(&Pool, Stamp), StoreError>) + Send>;

/// All pools. One that was there once stays: the count of its changes goes on.
#[derive(Default)]
pub(crate) struct Pools {
    places: Mutex<HashMap<PoolName, Arc<PoolPlace>>>,
}

impl Pools {
    fn get(&self, name: &PoolName) -> Option<Arc<PoolPlace>> {
        lock(&self.places).get(name).cloned()
    }

    /// A pool, which is there from now on.
    fn get_or_begin(&self, name: &PoolName) -> Result<Arc<PoolPlace>, StoreError> {
        let mut places = lock(&self.places);
        if let Some(place) = places.get(name) {
            return Ok(Arc::clone(place));
        }
        if places.len() >= POOLS_MAX {
            return Err(StoreError::Full { limit: POOLS_MAX, what: "pools" });
        }
        Ok(Arc::clone(places.entry(name.clone()).or_insert_with(|| PoolPlace::new(name))))
    }

    /// A pool that an earlier process left.
    pub(crate) fn restore(&self, name: &PoolName) -> Arc<PoolPlace> {
        Arc::clone(lock(&self.places).entry(name.clone()).or_insert_with(|| PoolPlace::new(name)))
    }
}

impl PoolPlace {
    fn new(name: &PoolName) -> Arc<Self> {
        let pool = Mutex::new(Pool::new(name.clone()));
        Arc::new(Self { name: name.clone(), turn: Arc::default(), waiting: Mutex::default(), pool })
    }

    /// Decides what waits, but of each ticket one change, and returns what is to be answered once it is made.
    fn decide(&self, pool: &Pool, now: Stamp) -> (Update, Vec<Answer>) {
        let mut waiting = lock(&self.waiting);
        let (mut update, mut answers, mut of) = (pool.begin(), Vec::new(), HashSet::new());
        for change in std::mem::take(&mut *waiting) {
            if change.caller.strong_count() == 0 {
                continue;
            }
            let has_to_wait = change.tickets.iter().any(|id| of.contains(id));
            of.extend(change.tickets.iter().copied());
            if has_to_wait {
                waiting.push(change);
                continue;
            }
            match (change.decide)(pool, &mut update, now) {
                Ok(()) => answers.push(change.answer),
                Err(error) => (change.answer)(Err(error)),
            }
        }
        (update, answers)
    }
}

impl<B: Backing> SingleNode<B> {
    /// A look at a pool as everyone sees it.
    fn look<T>(&self, place: &PoolPlace, look: impl FnOnce(&mut Pool, Stamp) -> T) -> T {
        let mut pool = lock(&place.pool);
        // Under the lock, so that stamps follow the order of the operations.
        let now = self.memory.stamp();
        look(&mut pool, now)
    }

    /// Changes a pool when it is its turn, together with whatever else waits for it. The answer is what is seen
    /// then.
    async fn change<T: Send + 'static>(
        &self,
        place: Arc<PoolPlace>,
        tickets: Vec<TicketId>,
        decide: impl FnOnce(&Pool, &mut Update, Stamp) -> Result<(), StoreError> + Send + 'static,
        answer: impl FnOnce(&Pool, Stamp) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, mut answered) = oneshot::channel();
        let caller = Arc::new(());
        let answer: Answer = Box::new(move |seen| {
            // Whoever asked may be gone; the change is made all the same.
            let _ = reply.send(seen.map(|(pool, now)| answer(pool, now)));
        });
        let waiting = Waiting { tickets, decide: Box::new(decide), answer, caller: Arc::downgrade(&caller) };
        lock(&place.waiting).push(waiting);
        loop {
            tokio::select! {
                biased;
                told = &mut answered => return told.unwrap_or_else(|_| Err(unwritten())),
                // A change that another one of its ticket came before is decided in the next turn.
                turn = Arc::clone(&place.turn).lock_owned() => self.change_for_all(&place, turn).await?,
            }
        }
    }

    /// Decides what waits, and has it written and then seen in one piece.
    async fn change_for_all(
        &self,
        place: &Arc<PoolPlace>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<(), StoreError> {
        let (update, answers, now) = self.look(place, |pool, now| {
            let (update, answers) = place.decide(pool, now);
            (update, answers, now)
        });
        let changes = !update.is_empty();
        let writes = self.writes(|| pool_on_disk::put_update(&place.name, &update))?;
        let shown = Arc::clone(place);
        let show = move |_: &Memory| {
            let mut pool = lock(&shown.pool);
            pool.apply(update);
            answers.into_iter().for_each(|answer| answer(Ok((&pool, now))));
            drop(turn);
        };
        if changes {
            return self.show_once_written(writes, show).await;
        }
        show(&self.memory);
        Ok(())
    }

    /// A change that cannot be written must be refused before others are written with it.
    fn is_writable<T>(&self, encoded: impl FnOnce() -> Result<T, CodecError>) -> Result<(), StoreError> {
        self.writes(|| encoded().map(|_| Vec::new())).map(drop)
    }
}

/// A change whose answer is lost was not written.
fn unwritten() -> StoreError {
    StoreError::Unavailable("a change of a pool was not written".to_owned())
}

#[async_trait]
impl<B: Backing> TicketStore for SingleNode<B> {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        self.is_writable(|| codec::encode_wish(&wish))?;
        let place = self.memory.pools.get_or_begin(&name.pool)?;
        let (created, seen) = (name.clone(), name.clone());
        let decide = move |pool: &Pool, update: &mut Update, now| pool.create(update, &created, wish, now);
        self.change(place, vec![name.id], decide, move |pool, now| pool.seen(&seen, now)).await?
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        let place = self.memory.pools.get(&name.pool).ok_or(StoreError::NotFound)?;
        self.look(&place, |pool, now| pool.seen(name, now))
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        let place = self.memory.pools.get(&name.pool).ok_or(StoreError::NotFound)?;
        self.look(&place, |pool, now| {
            pool.renew(name.id, now);
            pool.seen(name, now)
        })
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        let place = self.memory.pools.get_or_begin(&name.pool)?;
        let (left, seen) = (name.clone(), name.clone());
        let decide = move |pool: &Pool, update: &mut Update, now| pool.leave(update, &left, now);
        let answer = move |pool: &Pool, now| pool.seen_after_leaving(&seen, now);
        self.change(place, vec![name.id], decide, answer).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        self.is_writable(|| codec::encode_new_match(game))?;
        let Some(place) = self.memory.pools.get(pool) else {
            return Ok(Claim::Gone(tickets.to_vec()));
        };
        let (wanted, claimed) = (tickets.to_vec(), tickets.to_vec());
        let (game, match_id) = (game.clone(), game.id);
        let decide = move |pool: &Pool, update: &mut Update, now| pool.claim(update, &wanted, &game, now);
        let answer = move |pool: &Pool, now| pool.claimed(&claimed, match_id, now);
        self.change(place, tickets.to_vec(), decide, answer).await
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        let Some(place) = self.memory.pools.get(pool) else { return Ok(()) };
        let decide = move |pool: &Pool, update: &mut Update, _| {
            pool.made(update, match_id);
            Ok(())
        };
        self.change(place, Vec::new(), decide, |_, _| ()).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        let place = self.memory.pools.get(&name.pool).ok_or(StoreError::NotFound)?;
        let (seen, id) = (name.clone(), name.id);
        let decide = move |pool: &Pool, update: &mut Update, now| {
            pool.requeue(update, id, aborted, now);
            Ok(())
        };
        self.change(place, vec![id], decide, move |pool, now| pool.seen(&seen, now)).await?
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        let Some(place) = self.memory.pools.get(pool) else {
            let now = self.memory.stamp();
            return Ok(Pool::new(pool.clone()).page(after, now));
        };
        // Most looks find nothing to sweep, and then wait for nobody.
        let page = self.look(&place, |pool, now| (!pool.is_to_be_swept(now)).then(|| pool.page(after, now)));
        if let Some(page) = page {
            return Ok(page);
        }
        let decide = |pool: &Pool, update: &mut Update, now| {
            pool.sweep(update, now);
            Ok(())
        };
        self.change(place, Vec::new(), decide, move |pool, now| pool.page(after, now)).await
    }
}
