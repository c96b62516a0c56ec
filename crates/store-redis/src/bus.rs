//! The connection on which hints come from one server.
//!
//! The client library does not bring subscriptions back in every case, so they are supervised here: only
//! what the server has confirmed counts as heard, a ping every second finds a dead connection, and
//! whatever should be heard and is not is subscribed to again until it is.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::hub::{Epoch, Hub};
use crate::line::{Dialer, Push, jittered, longer};
use crate::location::Address;
use crate::routes::Table;

/// Pause between two pings, ms, and how long one may take.
const PING_MS: u64 = 1_000;

/// Pause between two looks at what should be heard, ms.
const PLAN_MS: u64 = 5_000;

/// Pause before what could not be subscribed to is tried again, ms.
const RETRY_MS: u64 = 100;

/// Channels subscribed to in one go: the answers of more would keep others waiting.
const TOGETHER_MAX: usize = 256;

static NEXT_EPOCH: AtomicU64 = AtomicU64::new(0);

/// What every bus of a store needs.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) hub: Arc<Hub>,
    pub(crate) dialer: Dialer,
    /// Channels belong to slots.
    pub(crate) sharded: bool,
    /// Which server has which slot.
    pub(crate) table: watch::Receiver<Arc<Table>>,
    /// To be told when the table seems to be wrong.
    pub(crate) stale: Arc<Notify>,
}

/// A supervised bus. Dropping it ends it.
pub(crate) struct Bus {
    fresh: Arc<Fresh>,
    supervisor: AbortHandle,
}

/// Channels that somebody has just begun to listen to. Bounded by the topics of the hub.
#[derive(Default)]
struct Fresh {
    channels: Mutex<HashSet<String>>,
    wake: Notify,
}

impl Bus {
    pub(crate) fn start(network: Network, address: Address) -> Self {
        let fresh = Arc::new(Fresh::default());
        let dialer = network.dialer.clone();
        let listener = Listener { network, address, fresh: Arc::clone(&fresh) };
        Self { fresh, supervisor: dialer.spawn(listener.run()) }
    }

    /// Subscribes to a channel of the hub, soon.
    pub(crate) fn add(&self, channel: String) {
        self.fresh.channels.lock().unwrap_or_else(PoisonError::into_inner).insert(channel);
        self.fresh.wake.notify_one();
    }
}

impl Fresh {
    fn take(&self) -> Vec<String> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).drain().collect()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

struct Listener {
    network: Network,
    address: Address,
    fresh: Arc<Fresh>,
}

/// One connection's life.
struct Session {
    connection: MultiplexedConnection,
    epoch: Epoch,
    subscribed: HashSet<String>,
    plan_at: Instant,
}

/// Why a session is over.
struct Over;

/// While it exists, what was subscribed to in its epoch may count as heard.
struct Hearing {
    hub: Arc<Hub>,
    epoch: Epoch,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.hub.lost(self.epoch);
    }
}

impl Listener {
    async fn run(mut self) {
        let mut pause_ms = 0;
        loop {
            let epoch = Epoch(NEXT_EPOCH.fetch_add(1, Ordering::Relaxed));
            let hearing = Hearing { hub: Arc::clone(&self.network.hub), epoch };
            let (lost, replan) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let push = self.push(epoch, &lost, &replan);
            match self.network.dialer.dial(&self.address, Some(push)).await {
                Ok(connection) => {
                    pause_ms = 0;
                    let subscribed = HashSet::new();
                    let session = Session { connection, epoch, subscribed, plan_at: Instant::now() };
                    let _: Result<Infallible, Over> = self.serve(session, &lost, &replan).await;
                    tracing::warn!(server = %self.address, "the connection for hints was lost");
                }
                Err(error) => {
                    tracing::debug!(server = %self.address, kind = %error.category(), "cannot connect");
                }
            }
            drop(hearing);
            pause_ms = longer(pause_ms);
            tokio::time::sleep(jittered(pause_ms)).await;
        }
    }

    /// What is done with what the server sends, where it is read: nothing queues up.
    fn push(&self, epoch: Epoch, lost: &Arc<Notify>, replan: &Arc<Notify>) -> Push {
        let (hub, lost, replan) = (Arc::clone(&self.network.hub), Arc::clone(lost), Arc::clone(replan));
        Arc::new(move |info: PushInfo| {
            let text = |at: usize| match info.data.get(at) {
                Some(Value::BulkString(bytes)) => Some(&bytes[..]),
                _ => None,
            };
            let channel = text(0).and_then(|channel| std::str::from_utf8(channel).ok());
            match (&info.kind, channel) {
                (PushKind::Message | PushKind::SMessage, Some(channel)) => {
                    hub.message(channel, text(1).unwrap_or_default());
                }
                (PushKind::Subscribe | PushKind::SSubscribe, Some(channel)) => hub.heard(channel, epoch),
                (PushKind::Unsubscribe | PushKind::SUnsubscribe, Some(channel))
                    if hub.unheard(channel, epoch) =>
                {
                    replan.notify_one();
                }
                (PushKind::Disconnection, _) => lost.notify_one(),
                _ => {}
            }
            Ok::<(), Infallible>(())
        })
    }

    async fn serve(
        &mut self,
        mut session: Session,
        lost: &Notify,
        replan: &Notify,
    ) -> Result<Infallible, Over> {
        let mut ping_at = Instant::now() + Duration::from_millis(PING_MS);
        loop {
            if session.plan_at <= Instant::now() {
                self.plan(&mut session).await?;
            }
            let next = ping_at.min(session.plan_at);
            tokio::select! {
                () = lost.notified() => return Err(Over),
                () = replan.notified() => {
                    self.network.stale.notify_one();
                    session.plan_at = Instant::now() + Duration::from_millis(RETRY_MS);
                }
                changed = self.network.table.changed() => {
                    changed.map_err(|_| Over)?;
                    session.plan_at = Instant::now();
                }
                () = self.fresh.wake.notified() => {
                    self.subscribe(&mut session, self.fresh.take()).await?;
                }
                () = tokio::time::sleep_until(next) => {
                    if ping_at <= Instant::now() {
                        ping_at = Instant::now() + Duration::from_millis(PING_MS);
                        ping(&mut session.connection).await?;
                    }
                }
            }
        }
    }

    /// Compares what is heard with what should be.
    async fn plan(&self, session: &mut Session) -> Result<(), Over> {
        session.plan_at = Instant::now() + Duration::from_millis(PLAN_MS);
        let hub = &self.network.hub;
        hub.sweep();
        let table = Arc::clone(&self.network.table.borrow());
        let owns = |slot: u16| table.owner(slot) == Some(&self.address);
        let left = session.subscribed.extract_if(|channel| !hub.wants(channel, owns)).collect::<Vec<_>>();
        for channels in left.chunks(TOGETHER_MAX) {
            let command = if self.network.sharded { "SUNSUBSCRIBE" } else { "UNSUBSCRIBE" };
            together(&mut session.connection, command, channels).await?;
        }
        let missing = hub.missing(session.epoch, owns);
        self.subscribe(session, missing).await
    }

    async fn subscribe(&self, session: &mut Session, channels: Vec<String>) -> Result<(), Over> {
        let command = if self.network.sharded { "SSUBSCRIBE" } else { "SUBSCRIBE" };
        for channels in channels.chunks(TOGETHER_MAX) {
            let refused = together(&mut session.connection, command, channels).await?;
            session.subscribed.extend(channels.iter().cloned());
            if refused {
                // Slots have moved, or are on their way.
                self.network.stale.notify_one();
                session.plan_at = Instant::now() + Duration::from_millis(RETRY_MS);
            }
        }
        Ok(())
    }
}

/// Sends a command for each channel. True if the server refused one.
async fn together(
    connection: &mut MultiplexedConnection,
    command: &str,
    channels: &[String],
) -> Result<bool, Over> {
    let mut commands = redis::Pipeline::new();
    for channel in channels {
        commands.cmd(command).arg(channel);
    }
    let answers = connection.send_packed_commands(&commands, 0, channels.len()).await.map_err(|_| Over)?;
    Ok(answers.iter().any(|answer| matches!(answer, Value::ServerError(_))))
}

async fn ping(connection: &mut MultiplexedConnection) -> Result<(), Over> {
    let ping = redis::cmd("PING");
    let ping = connection.send_packed_command(&ping);
    match tokio::time::timeout(Duration::from_millis(PING_MS), ping).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Over),
    }
}
