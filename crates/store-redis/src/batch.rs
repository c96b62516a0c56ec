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
use crate::line::{Dialer, Line};
use crate::location::Address;

/// How long replicas may take, ms. With a healthy network it is less than one; a caller must hear of a
/// sick one before his own patience ends.
const WAIT_MS: u64 = 200;

/// Calls in one batch at most: its answers come together, so a longer one would cost the first of them.
const BATCH_MAX: usize = 256;

/// Calls that wait for their batch at most; whoever comes then waits for a place.
const QUEUE_MAX: usize = 1_024;

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
    pub(crate) fn start(dialer: Dialer, address: Address, terms: Terms, teller: Arc<Line>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let line = Line::start(dialer, address);
        let worker = tokio::spawn(work(line, waiting, terms, teller)).abort_handle();
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
    while waiting.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // Whoever has given up meanwhile is not served.
        batch.retain(|item| !item.answer.is_closed());
        let told = send(&line, &terms, &mut batch).await;
        if !told.is_empty() {
            // Nobody waits for it: a hint that is lost is made up for by the checks of versions.
            let teller = Arc::clone(&teller);
            tokio::spawn(async move {
                let _ = teller.send_all(&told).await;
            });
        }
    }
}

/// Sends a batch, answers it, and returns what is to be told.
async fn send(line: &Line, terms: &Terms, batch: &mut Vec<Item>) -> redis::Pipeline {
    let mut told = redis::Pipeline::new();
    if batch.is_empty() {
        return told;
    }
    let mut commands = redis::Pipeline::new();
    let before: Vec<usize> = batch.iter().map(|item| item.call.add_to(&mut commands, item.manner)).collect();
    commands.cmd("WAIT").arg(terms.replicas.get()).arg(WAIT_MS);
    match line.send_all(&commands).await {
        Err(fault) => batch.drain(..).for_each(|item| drop(item.answer.send(Err(fault.clone())))),
        Ok(mut answers) => {
            let replicated = match answers.pop() {
                Some(Value::Int(count)) => count >= i64::from(terms.replicas.get()),
                _ => false,
            };
            let mut answers = answers.into_iter();
            for (item, before) in batch.drain(..).zip(before) {
                let answer = match answers.nth(before) {
                    // Says nothing of what is stored.
                    Some(Value::ServerError(error)) => Err(Fault::of_server_error(&error)),
                    Some(answer) if replicated => {
                        if let Some((channel, message)) = to_tell(&item.call, &answer) {
                            told.cmd(terms.publish).arg(channel).arg(message);
                        }
                        Ok(answer)
                    }
                    Some(_) => Err(Fault::NotReplicated),
                    None => Err(Fault::Lost),
                };
                // Whoever asked may be gone.
                let _ = item.answer.send(answer);
            }
        }
    }
    told
}

/// What an answer leaves to be told, and where.
fn to_tell<'a>(call: &'a Call, answer: &'a Value) -> Option<(&'a str, &'a [u8])> {
    let (channel, Value::Array(entries)) = (call.channel()?, answer) else { return None };
    match entries.last() {
        Some(Value::BulkString(message)) => Some((channel, message)),
        _ => None,
    }
}
