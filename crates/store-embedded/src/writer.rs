//! The one thread that writes: whatever waits goes to the disk together, with one fsync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use store::StoreError;

use crate::disk::{Disk, Durability, Write};

/// Changes that may wait for the disk. Each belongs to a call, so this is reached only if a disk stalls
/// for seconds; what comes then is refused.
const WAITING_MAX: usize = 4_096;

/// Changes written at once: bounds how long the first of them waits for the last.
const GROUP_MAX: usize = 1_024;

/// How old the written clocks may get. What passes between them and a crash counts as outage.
const CLOCKS_AGE_MAX: Duration = Duration::from_secs(1);

/// A change: all its writes are made or none, then it is done.
pub(crate) struct Submission {
    pub(crate) writes: Vec<Write>,
    /// Shows the change to everyone and answers its call. Runs once the writes are durable.
    pub(crate) done: Box<dyn FnOnce() + Send>,
}

/// The shards' clocks, as the writer sees them.
pub(crate) trait Clocks: Send + Sync {
    /// What stores those that have changed since the last call.
    fn writes(&self) -> Vec<Write>;

    /// Whether an outage was counted since the last call: no change judged under its sum may be written
    /// before the sum itself.
    fn take_outage(&self) -> bool;
}

/// The writing thread. It ends, having written all that waited, when this is dropped.
pub(crate) struct Writer {
    queue: Option<SyncSender<Submission>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        disk: Disk,
        durability: Durability,
        clocks: Arc<dyn Clocks>,
    ) -> std::io::Result<Self> {
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let writing = Writing { disk, durability, clocks, clocks_written: Instant::now() };
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
            // Half of a group may have been seen by then: what is on the disk is the truth.
            if catch_unwind(AssertUnwindSafe(|| writing.run(&waiting))).is_err() {
                tracing::error!("the store's writer panicked: the process ends");
                std::process::abort();
            }
        })?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Hands a change to the thread. If it cannot take it, the change has not happened.
    pub(crate) fn submit(&self, submission: Submission) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Err(stopped()) };
        queue.try_send(submission).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Unavailable("the disk does not keep up".to_owned()),
            TrySendError::Disconnected(_) => stopped(),
        })
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the store is being closed".to_owned())
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported; nothing is left to do about it.
            let _ = thread.join();
        }
    }
}

struct Writing {
    disk: Disk,
    durability: Durability,
    clocks: Arc<dyn Clocks>,
    clocks_written: Instant,
}

impl Writing {
    fn run(mut self, waiting: &Receiver<Submission>) {
        loop {
            match waiting.recv_timeout(CLOCKS_AGE_MAX) {
                Ok(first) => self.write_group(first, waiting),
                // While nothing happens the clocks need no fsync: one that is lost makes an outage longer.
                Err(RecvTimeoutError::Timeout) => self.write_clocks(Durability::Process),
                Err(RecvTimeoutError::Disconnected) => {
                    self.write_clocks(self.durability);
                    return;
                }
            }
        }
    }

    /// Writes a change together with those that wait, then lets all of them be seen.
    fn write_group(&mut self, first: Submission, waiting: &Receiver<Submission>) {
        let mut writes = Vec::new();
        let mut done = Vec::new();
        for submission in std::iter::once(first).chain(waiting.try_iter()).take(GROUP_MAX) {
            writes.extend(submission.writes);
            done.push(submission.done);
        }
        if self.clocks.take_outage() || self.clocks_written.elapsed() >= CLOCKS_AGE_MAX {
            writes.extend(self.clocks.writes());
            self.clocks_written = Instant::now();
        }
        self.write(last_of_each(writes), self.durability);
        for done in done {
            done();
        }
    }

    fn write_clocks(&mut self, durability: Durability) {
        self.write(self.clocks.writes(), durability);
        self.clocks_written = Instant::now();
    }

    /// Ends the process if the write fails. After a failed fsync nobody knows what is on the disk, and
    /// asking again may be answered with success for data that is gone; a new start reads what is there.
    fn write(&self, writes: Vec<Write>, durability: Durability) {
        if writes.is_empty() {
            return;
        }
        if let Err(error) = self.disk.write(writes, durability) {
            tracing::error!(%error, "the store cannot be written: the process ends so that nothing is promised that is not kept");
            std::process::abort();
        }
    }
}

/// Of several writes of one key the last one stands: the engine takes a key once a batch. In the order of
/// the keys, which it sorts them into anyway.
fn last_of_each(mut writes: Vec<Write>) -> Vec<Write> {
    writes.reverse();
    // Stable: of equal keys the one that was written last comes first.
    writes.sort_by(|one, other| (one.space, &one.key).cmp(&(other.space, &other.key)));
    writes.dedup_by(|later, kept| (later.space, &later.key) == (kept.space, &kept.key));
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Space;

    #[test]
    fn of_several_writes_of_a_key_the_last_one_stands() {
        let put = |space, key: &str, value: &str| Write::put(space, key, value.as_bytes().to_vec());
        let writes = vec![
            put(Space::Rest, "b", "1"),
            put(Space::Live, "a", "2"),
            Write::remove(Space::Live, "b"),
            put(Space::Live, "a", "3"),
            put(Space::Live, "b", "4"),
            Write::remove(Space::Live, "a"),
        ];
        let stand: Vec<(Space, Vec<u8>, Option<Vec<u8>>)> =
            last_of_each(writes).into_iter().map(|write| (write.space, write.key, write.value)).collect();
        let expected = [
            (Space::Live, b"a".to_vec(), None),
            (Space::Live, b"b".to_vec(), Some(b"4".to_vec())),
            (Space::Rest, b"b".to_vec(), Some(b"1".to_vec())),
        ];
        assert_eq!(stand, expected);
    }
}
