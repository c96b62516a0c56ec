//! How a call finds its way to the server that can do it, and how often it is tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::Value;
use store::{Clock, Shard, StoreError};
use tokio::time::Instant;

use crate::call::{Call, Manner};
use crate::fault::Fault;
use crate::line::jittered;
use crate::names::Place;
use crate::reply::Reply;
use crate::routes::Routes;
use crate::server::Server;

/// How long a call is tried again while servers say that they cannot serve it now, ms. What takes longer,
/// a failover for one, is the caller's to wait for.
const NOT_NOW_MS: u64 = 250;

/// How long a call is tried again while the keys of its slot are on their way to another server, ms: a
/// slot of some thousand matches takes about a second.
const MIGRATING_MS: u64 = 3_000;

/// Times in a row that a call is sent without a pause: redirections, and lost connections.
const HOPS_MAX: u32 = 6;

/// The first and the longest pause between two tries, ms.
const PAUSE_FIRST_MS: u64 = 4;
const PAUSE_MAX_MS: u64 = 64;

/// The budget of tries after a lost connection: how many can be made in a row, and how many successes earn
/// one more. In trouble they add a tenth to the load of a server at most.
const RETRIES_MAX: u32 = 256;
const EARNED_BY: u32 = 10;

/// Sends calls.
pub(crate) struct Caller {
    pub(crate) routes: Arc<Routes>,
    /// The time that scripts are given, where the server's is not taken.
    clock: Option<Arc<dyn Clock>>,
    /// What is left of the budget, in successes.
    budget: AtomicU32,
}

/// A server, and shards that it has.
pub(crate) type ServerShards = (Arc<Server>, Vec<Shard>);

/// What came of a call.
pub(crate) struct Ran {
    pub(crate) reply: Reply,
    /// An earlier try was lost on its way and may have been done as well.
    pub(crate) repeated: bool,
}

impl Caller {
    pub(crate) fn new(routes: Arc<Routes>, clock: Option<Arc<dyn Clock>>) -> Self {
        Self { routes, clock, budget: AtomicU32::new(RETRIES_MAX * EARNED_BY) }
    }

    /// The time that scripts are given, if they are given one.
    pub(crate) fn given_ms(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| clock.now_ms())
    }

    /// Runs a script.
    pub(crate) async fn run(&self, call: Call) -> Result<Reply, StoreError> {
        self.try_to_run(call).await.map(|ran| ran.reply)
    }

    /// Runs a script, and tells whether it may have run twice.
    pub(crate) async fn try_to_run(&self, call: Call) -> Result<Ran, StoreError> {
        let call = match &self.clock {
            Some(clock) => call.number(clock.now_ms()),
            None => call,
        };
        let call = Arc::new(call);
        let mut way = Way::new();
        loop {
            let fault = match self.send(&call, &mut way).await {
                Ok(value) => {
                    self.earn();
                    return Ok(Ran { reply: Reply::new(value)?, repeated: way.repeated });
                }
                Err(fault) => fault,
            };
            self.next(&mut way, call.place().slot(), fault).await?;
        }
    }

    async fn send(&self, call: &Arc<Call>, way: &mut Way) -> Result<Value, Fault> {
        let manner = std::mem::take(&mut way.manner);
        let server = match way.server.take() {
            Some(server) => server,
            None => self.routes.server(call.place().slot())?,
        };
        server.run(call, manner).await
    }

    /// Prepares the next try, or gives up.
    async fn next(&self, way: &mut Way, slot: u16, fault: Fault) -> Result<(), StoreError> {
        match &fault {
            Fault::NoScript => {
                way.manner.whole = true;
                way.hop(fault)
            }
            Fault::Moved(address) => {
                self.routes.moved(slot, address);
                way.server = Some(self.routes.pointed_at(address));
                way.hop(fault)
            }
            Fault::Ask(address) => {
                way.server = Some(self.routes.pointed_at(address));
                // It may not know the script yet, and is asked this once.
                way.manner = Manner { whole: true, asking: true };
                way.hop(fault)
            }
            Fault::Migrating => way.pause(fault, MIGRATING_MS).await,
            Fault::NotNow(_) => {
                self.routes.doubt();
                way.pause(fault, NOT_NOW_MS).await
            }
            Fault::Lost if self.spend() => {
                self.routes.doubt();
                way.repeated = true;
                way.hop(fault)
            }
            Fault::Down | Fault::Lost | Fault::Slow => {
                self.routes.doubt();
                Err(fault.into())
            }
            Fault::NotReplicated | Fault::Refused(_) => Err(fault.into()),
        }
    }

    /// Shards by the servers that have them, and why some of them have none.
    pub(crate) fn by_server(
        &self,
        shards: impl Iterator<Item = (Shard, Place)>,
    ) -> (Vec<ServerShards>, Option<Fault>) {
        let mut by_server: Vec<ServerShards> = Vec::new();
        let mut fault = None;
        for (shard, place) in shards {
            match self.routes.server(place.slot()) {
                Ok(server) => match by_server.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &server)) {
                    Some((_, its_shards)) => its_shards.push(shard),
                    None => by_server.push((server, vec![shard])),
                },
                Err(found) => fault = Some(found),
            }
        }
        (by_server, fault)
    }

    fn earn(&self) {
        let earned = |budget: u32| (budget < RETRIES_MAX * EARNED_BY).then_some(budget + 1);
        // Full is as good.
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, earned);
    }

    fn spend(&self) -> bool {
        let spent = |budget: u32| budget.checked_sub(EARNED_BY);
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent).is_ok()
    }
}

/// How far a call has come.
struct Way {
    /// Where it goes next, if not where the table says.
    server: Option<Arc<Server>>,
    manner: Manner,
    hops: u32,
    pause_ms: u64,
    began: Instant,
    repeated: bool,
}

impl Way {
    fn new() -> Self {
        Self {
            server: None,
            manner: Manner::default(),
            hops: 0,
            pause_ms: PAUSE_FIRST_MS,
            began: Instant::now(),
            repeated: false,
        }
    }

    /// Tries again at once, a bounded number of times.
    fn hop(&mut self, fault: Fault) -> Result<(), StoreError> {
        self.hops += 1;
        if self.hops > HOPS_MAX { Err(fault.into()) } else { Ok(()) }
    }

    /// Tries again after a pause, until `bound_ms` after the call began.
    async fn pause(&mut self, fault: Fault, bound_ms: u64) -> Result<(), StoreError> {
        if self.began.elapsed() > Duration::from_millis(bound_ms) {
            return Err(fault.into());
        }
        tokio::time::sleep(jittered(self.pause_ms)).await;
        self.pause_ms = (self.pause_ms * 2).min(PAUSE_MAX_MS);
        Ok(())
    }
}
