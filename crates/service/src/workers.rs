//! Serving on threads of their own: each has a runtime, and its connections stay with it.
//!
//! Tasks of one connection talk to each other all the time. Where a pool of threads shares them, each word
//! may wake another core: measured, a call costs about 1.6 times the CPU time and twice the p99. The price
//! is that one connection uses one core, so connections are dealt out, each to whoever has the fewest, and
//! a back end does well to open a few.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::future::try_join_all;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task;
use tokio::time::timeout;
use tracing::warn;

use crate::listener::{Accepted, Connection};
use crate::server::ServeError;

/// Connections dealt to a worker that it has not yet taken: it takes them between two polls of those it
/// has, so more than a few wait only for one that is stuck.
const DEALT_MAX: usize = 64;

/// How long a worker may take to let go of everything once it is cut off: what is left by then waits for a
/// disk, and the process may end without it.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(5);

/// The connections that a worker is to serve.
pub(crate) type Dealt = BoxStream<'static, Connection>;

/// Threads that serve, until this is dropped.
pub(crate) struct Workers {
    workers: Vec<Worker>,
    ends: Vec<oneshot::Receiver<Result<(), ServeError>>>,
}

struct Worker {
    dealt: mpsc::Sender<(Accepted, Arc<()>)>,
    /// Shared with each connection that the worker has.
    open: Arc<()>,
    /// Dropped to cut the worker off.
    alive: oneshot::Sender<Infallible>,
    thread: thread::JoinHandle<()>,
}

impl Workers {
    /// Starts `count` threads. Each runs what `serve` makes of the connections dealt to it.
    ///
    /// # Errors
    /// The system gives no thread or no runtime.
    pub(crate) fn start<F>(count: usize, serve: impl Fn(Dealt) -> F) -> Result<Self, ServeError>
    where
        F: Future<Output = Result<(), ServeError>> + Send + 'static,
    {
        let (mut workers, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for number in 0..count {
            let (dealt, taken) = mpsc::channel(DEALT_MAX);
            let (alive, cut_off) = oneshot::channel();
            let (end, ended) = oneshot::channel();
            let serving = serve(connections(taken));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let work = move || {
                let served = runtime.block_on(async {
                    tokio::select! {
                        served = serving => served,
                        _ = cut_off => Ok(()),
                    }
                });
                runtime.shutdown_timeout(CUT_OFF_TIMEOUT);
                // Nobody may be waiting any more.
                let _ = end.send(served);
            };
            let thread = thread::Builder::new().name(format!("serve-{number}")).spawn(work)?;
            workers.push(Worker { dealt, open: Arc::new(()), alive, thread });
            ends.push(ended);
        }
        Ok(Self { workers, ends })
    }

    /// Serves what `incoming` brings until all workers have ended by themselves.
    ///
    /// # Errors
    /// That of the first worker that fails.
    pub(crate) async fn serve(&mut self, incoming: BoxStream<'static, Accepted>) -> Result<(), ServeError> {
        let workers = &self.workers;
        let dealing = incoming.for_each(|accepted| async move {
            let Some(worker) = workers.iter().min_by_key(|worker| Arc::strong_count(&worker.open)) else {
                return;
            };
            // One that has ended takes nothing; then the server ends.
            let _ = worker.dealt.send((accepted, Arc::clone(&worker.open))).await;
        });
        let ended = try_join_all(self.ends.iter_mut().map(async |end| match end.await {
            Ok(served) => served,
            Err(_) => Err(ServeError::Worker(io::Error::other("it panicked"))),
        }));
        tokio::select! {
            ended = ended => ended.map(drop),
            // There is an end of connections only where the listener is gone.
            () = dealing => Ok(()),
        }
    }

    /// Cuts off what still runs, and waits until it has let go of all that it held.
    pub(crate) async fn cut_off(self) {
        let threads: Vec<_> = self
            .workers
            .into_iter()
            .map(|Worker { alive, thread, .. }| {
                drop(alive);
                thread
            })
            .collect();
        // A panic there has been heard of already.
        let joined = task::spawn_blocking(|| threads.into_iter().for_each(|thread| _ = thread.join()));
        if timeout(CUT_OFF_TIMEOUT, joined).await.is_err() {
            warn!("a thread that serves has not ended; what it holds goes with the process");
        }
    }
}

/// The connections that come out of a queue, on the runtime that polls for them.
fn connections(taken: mpsc::Receiver<(Accepted, Arc<()>)>) -> Dealt {
    let taken = stream::unfold(taken, async |mut taken| Some((taken.recv().await?, taken)));
    taken.filter_map(async |(accepted, open)| accepted.open(Some(open))).boxed()
}
