//! What a node counts, for operators who watch it.
//!
//! Every call counts, on every core: a counter that all cores write to would cost a call more than its layers do. So
//! each thread has a slot of counters of its own, and only whoever reads adds them up. What is counted depends on no
//! sealed cell, and on no seal whose turn has not resolved.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use middleware::status_code;
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tonic::Code;
use tower::{Layer, Service};

use crate::drain::OWN_PATHS;

/// Slots of a node. Threads beyond that share: one a core is usual, and few machines have more cores.
const SLOTS: usize = 64;

/// Buckets of latencies. Two to a doubling, from 64 µs to 22 minutes: no call takes longer, and a percentile that is
/// read from them is too high by less than half.
const BUCKETS: usize = 49;

/// The bound of the first bucket, µs: a call that takes less is as good as any.
const FIRST_BUCKET_US: u64 = 64;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    Calls,
    Errors,
    /// Seals whose turn has resolved.
    Seals,
    FinishedMatches,
    Conflicts,
    Restamps,
    OpenedStreams,
    ClosedStreams,
}

/// How many there are.
const COUNTS: usize = Count::ClosedStreams as usize + 1;

/// The counters of one thread, apart from those of others: two cores that write to one cache line take turns, and
/// some fetch lines in pairs.
#[repr(align(128))]
struct Slot {
    counts: [AtomicU64; COUNTS],
    latencies: [AtomicU64; BUCKETS],
}

/// The counters of one node.
pub(crate) struct Stats {
    slots: Box<[Slot]>,
}

/// What a node has counted by one moment.
pub(crate) struct Snapshot {
    counts: [u64; COUNTS],
    latencies: [u64; BUCKETS],
}

impl Default for Stats {
    fn default() -> Self {
        let zeros = || Slot {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            latencies: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        Self { slots: std::iter::repeat_with(zeros).take(SLOTS).collect() }
    }
}

/// The slot of this thread, the same in all nodes of a process.
fn own_slot() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.with(|own| match own.get() {
        Some(slot) => slot,
        None => {
            let slot = NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS;
            own.set(Some(slot));
            slot
        }
    })
}

/// The bucket of a call that took so long.
fn bucket(latency_us: u64) -> usize {
    (0..BUCKETS - 1).find(|bucket| latency_us <= bucket_max_us(*bucket)).unwrap_or(BUCKETS - 1)
}

/// The longest that a bucket counts, µs: 64, 96, 128, 192, 256, … The last one has no bound.
const fn bucket_max_us(bucket: usize) -> u64 {
    let doubled = FIRST_BUCKET_US << (bucket / 2);
    if bucket.is_multiple_of(2) { doubled } else { doubled + doubled / 2 }
}

impl Stats {
    /// One more.
    pub(crate) fn count(&self, what: Count) {
        self.slots[own_slot()].counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn answered(&self, latency_us: u64, is_error: bool) {
        let slot = &self.slots[own_slot()];
        slot.counts[Count::Calls as usize].fetch_add(1, Ordering::Relaxed);
        slot.counts[Count::Errors as usize].fetch_add(u64::from(is_error), Ordering::Relaxed);
        slot.latencies[bucket(latency_us)].fetch_add(1, Ordering::Relaxed);
    }

    /// A stream is open until what is returned is dropped.
    pub(crate) fn stream(self: &Arc<Self>) -> OpenStream {
        self.count(Count::OpenedStreams);
        OpenStream(Arc::clone(self))
    }

    /// All of it. Counted at the same time or not: there is no moment that it is of.
    pub(crate) fn read(&self) -> Snapshot {
        let sum = |of: &dyn Fn(&Slot) -> &AtomicU64| {
            self.slots.iter().map(|slot| of(slot).load(Ordering::Relaxed)).fold(0_u64, u64::wrapping_add)
        };
        Snapshot {
            counts: std::array::from_fn(|at| sum(&|slot| &slot.counts[at])),
            latencies: std::array::from_fn(|at| sum(&|slot| &slot.latencies[at])),
        }
    }
}

impl Snapshot {
    pub(crate) const fn of(&self, what: Count) -> u64 {
        self.counts[what as usize]
    }

    /// Streams that are open.
    pub(crate) const fn streams(&self) -> u64 {
        self.of(Count::OpenedStreams).saturating_sub(self.of(Count::ClosedStreams))
    }

    /// How many calls took at most so long, µs, and longer than the bucket before; the last without a bound.
    pub(crate) fn latencies(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let max_us = |at| (at + 1 < BUCKETS).then(|| bucket_max_us(at));
        self.latencies.iter().enumerate().map(move |(at, count)| (max_us(at), *count))
    }
}

/// An open stream, for as long as it is there.
pub(crate) struct OpenStream(Arc<Stats>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.count(Count::ClosedStreams);
    }
}

/// Counts the calls of the API's own services, and how long each takes until its answer begins.
#[derive(Clone)]
pub(crate) struct StatsLayer {
    pub(crate) stats: Arc<Stats>,
}

impl<S> Layer<S> for StatsLayer {
    type Service = StatsService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        StatsService { inner, stats: Arc::new(OfThread(Arc::clone(&self.stats))) }
    }
}

/// Of one thread, so that no other core counts its copies: each call makes some.
struct OfThread(Arc<Stats>);

/// The service of [`StatsLayer`].
#[derive(Clone)]
pub(crate) struct StatsService<S> {
    inner: S,
    stats: Arc<OfThread>,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for StatsService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = StatsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let is_own = request.uri().path().starts_with(OWN_PATHS);
        let counted = is_own.then(|| (Arc::clone(&self.stats), Instant::now()));
        StatsFuture { future: self.inner.call(request), counted }
    }
}

pin_project! {
    /// The future of [`StatsService`]. One that is dropped before its answer counts for nothing: its caller has gone.
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct StatsFuture<F> {
        #[pin]
        future: F,
        counted: Option<(Arc<OfThread>, Instant)>,
    }
}

impl<F, ResBody, E> Future for StatsFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.future.poll(cx));
        if let Some((stats, started)) = this.counted.take() {
            let latency_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            // A refusal is headers alone, with the status among them.
            let is_error = answer.as_ref().map_or(true, |response| {
                status_code(response.headers()).is_some_and(|code| code != Code::Ok)
            });
            stats.0.answered(latency_us, is_error);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_a_call_is_in_the_first_that_it_fits_in() {
        assert_eq!([0, 1, 2, 3, 4].map(bucket_max_us), [64, 96, 128, 192, 256]);
        for (latency_us, expected) in [(0, 0), (64, 0), (65, 1), (96, 1), (97, 2), (u64::MAX, BUCKETS - 1)] {
            assert_eq!(bucket(latency_us), expected, "{latency_us} µs");
        }
        let minutes = bucket_max_us(BUCKETS - 2) / 60_000_000;
        assert!((10..30).contains(&minutes), "{minutes} minutes");
    }

    #[test]
    fn what_many_threads_count_adds_up() {
        let stats = Arc::new(Stats::default());
        std::thread::scope(|scope| {
            for _ in 0..2 * SLOTS {
                scope.spawn(|| {
                    let _stream = stats.stream();
                    stats.answered(70, true);
                    stats.answered(100, false);
                });
            }
        });
        let open = stats.stream();
        let read = stats.read();
        let threads = 2 * SLOTS as u64;
        assert_eq!(
            (read.of(Count::Calls), read.of(Count::Errors), read.streams()),
            (2 * threads, threads, 1)
        );
        let slow: Vec<_> = read.latencies().filter(|(_, count)| *count > 0).collect();
        assert_eq!(slow, [(Some(96), threads), (Some(128), threads)]);
        drop(open);
        assert_eq!(stats.read().streams(), 0);
    }
}
