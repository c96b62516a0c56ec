//! Calls that must reach replicas before anybody sees what came of them.
//!
//! What arrives while a batch is under way makes the next one: all of it is sent together on a connection
//! of its own, with one WAIT behind it. Only when enough replicas have it do the answers leave, and the
//! hints go out. WAIT covers the writes of its own connection, so every script writes, those that only
//! read as well: then an answer that rests on somebody else's write waits for that write too.

use std::num::NonZeroU8;
use std::sync::Arc;

use redis::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::call::{Call, Manner};
use crate::fault::Fault;
use crate::line::{Dialer, Generation, Line};
use crate::location::Address;

/// How long replicas may take, ms. With a healthy network it is less than one; a caller must hear of a
/// sick one before his own patience ends.
const WAIT_MS: u64 = 200;

/// Calls in one batch at most: its answers come together, so a longer one would cost the first of them.
const BATCH_MAX: usize = 256;

/// Calls that wait for their batch at most; whoever comes then waits for a place.
const QUEUE_MAX: usize = 1_024;

/// Hints that wait for replicas at most: of more, watchers learn by the checks of versions.
const OWED_MAX: usize = 4_096;

struct Item {
    call: Arc<Call>,
    manner: Manner,
    answer: oneshot::Sender<Result<Value, Fault>>,
}

/// Batches to one server. Dropping it ends them.
pub(crate) struct Batches {
    queue: mpsc::Sender<Item>,
    worker: AbortHandle,
}

/// What a batch needs to know.
pub(crate) struct Terms {
    /// How many replicas must have a write.
    pub(crate) replicas: NonZeroU8,
    /// The command that tells a channel.
    pub(crate) publish: &'static str,
}

impl Batches {
    /// Begins. Hints go over `teller`.
    pub(crate) fn start(dialer: &Dialer, address: Address, terms: Terms, teller: Arc<Line>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let line = Line::start(dialer, address);
        let worker = dialer.spawn(work(line, waiting, terms, teller));
        Self { queue, worker }
    }

    /// Sends a call with the next batch.
    pub(crate) async fn send(&self, call: &Arc<Call>, manner: Manner) -> Result<Value, Fault> {
        let (answer, answered) = oneshot::channel();
        let item = Item { call: Arc::clone(call), manner, answer };
        self.queue.send(item).await.map_err(|_| Fault::Down)?;
        answered.await.map_err(|_| Fault::Lost)?
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

async fn work(line: Line, mut waiting: mpsc::Receiver<Item>, terms: Terms, teller: Arc<Line>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut owed = Owed::default();
    while waiting.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // Whoever has given up meanwhile is not served.
        batch.retain(|item| !item.answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        if let Some(told) = send(&line, &terms, &mut batch, &mut owed).await {
            // Nobody waits for it: a hint that is lost is made up for by the checks of versions.
            let teller = Arc::clone(&teller);
            tokio::spawn(async move {
                let _ = teller.send_all(&told).await;
            });
        }
    }
}

/// What is to be told once enough replicas have it. A WAIT covers all earlier writes of its connection, so
/// what one batch owes can go out with the next.
#[derive(Default)]
struct Owed {
    commands: redis::Pipeline,
    /// The connection that it was written on.
    generation: Generation,
}

impl Owed {
    /// Forgets what was written on another connection: nothing says that it is still there.
    fn continue_on(&mut self, generation: Generation) {
        if self.generation != generation || self.commands.len() >= OWED_MAX {
            self.commands.clear();
        }
        self.generation = generation;
    }
}

/// Sends a batch and answers it. Returns what is to be told now.
async fn send(line: &Line, terms: &Terms, batch: &mut Vec<Item>, owed: &mut Owed) -> Option<redis::Pipeline> {
    let mut commands = redis::Pipeline::new();
    let before: Vec<usize> = batch.iter().map(|item| item.call.add_to(&mut commands, item.manner)).collect();
    commands.cmd("WAIT").arg(terms.replicas.get()).arg(WAIT_MS);
    let (mut answers, generation) = match line.send_all(&commands).await {
        Ok(answers) => answers,
        Err(fault) => {
            // Whoever asked may be gone.
            batch.drain(..).for_each(|item| drop(item.answer.send(Err(fault.clone()))));
            return None;
        }
    };
    owed.continue_on(generation);
    let replicated = match answers.pop() {
        Some(Value::Int(count)) => count >= i64::from(terms.replicas.get()),
        _ => false,
    };
    let mut answers = answers.into_iter();
    for (item, before) in batch.drain(..).zip(before) {
        let answer = match answers.nth(before) {
            // Says nothing of what is stored.
            Some(Value::ServerError(error)) => Err(Fault::of_server_error(&error)),
            Some(answer) => {
                if let Some((channel, message)) = to_tell(&item.call, &answer) {
                    owed.commands.cmd(terms.publish).arg(channel).arg(message);
                }
                if replicated { Ok(answer) } else { Err(Fault::NotReplicated) }
            }
            None => Err(Fault::Lost),
        };
        let _ = item.answer.send(answer);
    }
    (replicated && !owed.commands.is_empty()).then(|| std::mem::take(&mut owed.commands))
}

/// What an answer leaves to be told, and where.
fn to_tell<'a>(call: &'a Call, answer: &'a Value) -> Option<(&'a str, &'a [u8])> {
    let (channel, Value::Array(entries)) = (call.channel()?, answer) else { return None };
    match entries.last() {
        Some(Value::BulkString(message)) => Some((channel, message)),
        _ => None,
    }
}
