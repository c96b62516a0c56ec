//! One batch for whatever waits: whoever comes first writes for all who come until then.
//!
//! A change joins a queue, and whoever finds nobody at work writes all that waits, group after group, until
//! nothing does. Where the system only takes note of a write, that is done at once, on the thread of the
//! call: it is faster than the way to another. Where an fsync is waited for, a task does it, which first lets
//! everyone run who is ready to join, beside the threads that serve calls. So groups form by themselves, and
//! what is built for a write is freed where it was built.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use store::StoreError;
use tokio::runtime::{self, Handle};
use tokio::task;

use crate::disk::{Disk, Durability, Write};
use crate::memory::lock;

/// Changes that may wait for the disk. Each belongs to a call, so this is reached only if a disk stalls
/// for seconds; what comes then is refused.
const WAITING_MAX: usize = 4_096;

/// Changes written at once: bounds how long the first of them waits for the last.
const GROUP_MAX: usize = 1_024;

/// Groups that a call writes on its own thread at most before others of that thread have their turn.
const GROUPS_AT_ONCE_MAX: usize = 16;

/// How old the written clocks may get. What passes between them and a crash counts as outage.
const CLOCKS_AGE_MAX: Duration = Duration::from_secs(1);

/// A change: all its writes are made or none, then it is done.
pub(crate) struct Submission {
    pub(crate) writes: Vec<Write>,
    /// Shows the change to everyone and answers its call. Runs once the writes are durable.
    pub(crate) done: Done,
}

type Done = Box<dyn FnOnce() + Send>;

/// The shards' clocks, as the writer sees them.
pub(crate) trait Clocks: Send + Sync {
    /// What stores those that have changed since the last call.
    fn writes(&self) -> Vec<Write>;

    /// Whether an outage was counted since the last call: no change judged under its sum may be written
    /// before the sum itself.
    fn take_outage(&self) -> bool;
}

/// Where changes wait for the disk. What still waits when this is dropped is written then.
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    pub(crate) fn new(disk: Disk, durability: Durability, clocks: Arc<dyn Clocks>) -> Self {
        let queue = Queue { waiting: Vec::new(), led: false, clocks_written: Instant::now() };
        let writing = Writing { disk, durability, clocks, group: Vec::new() };
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(queue),
                writing: Mutex::new(Some(writing)),
                durability,
            }),
        }
    }

    /// Takes a change to be written at once or soon. If it cannot, the change has not happened.
    pub(crate) fn submit(&self, submission: Submission) -> Result<(), StoreError> {
        let Some(leader) = self.enqueue(submission)? else { return Ok(()) };
        match self.shared.durability {
            Durability::Power => leader.spawn(),
            Durability::Process => leader.write_here(),
        }
        Ok(())
    }

    /// Takes a change to be written soon, waiting for nothing.
    pub(crate) fn submit_later(&self, submission: Submission) -> Result<(), StoreError> {
        if let Some(leader) = self.enqueue(submission)? {
            leader.spawn();
        }
        Ok(())
    }

    /// Puts a change into the queue. Whoever finds that nobody is at work has to lead.
    fn enqueue(&self, submission: Submission) -> Result<Option<Leader>, StoreError> {
        let runtime = Handle::try_current().map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let mut queue = lock(&self.shared.queue);
        if queue.waiting.len() >= WAITING_MAX {
            return Err(StoreError::Unavailable("the disk does not keep up".to_owned()));
        }
        let leader = (!queue.led).then(|| Leader {
            shared: Arc::clone(&self.shared),
            runtime: runtime.clone(),
            leads: true,
        });
        queue.led = true;
        queue.waiting.push(Waiting { submission, runtime });
        Ok(leader)
    }

    /// Has the clocks written if they were not for a while: somebody was here, and nothing else may be to
    /// write for long.
    pub(crate) fn note_life(&self) {
        let due = {
            let queue = lock(&self.shared.queue);
            queue.clocks_written.elapsed() >= CLOCKS_AGE_MAX && queue.waiting.is_empty()
        };
        if due {
            // One that is lost makes an outage longer.
            let _ = self.submit(Submission { writes: Vec::new(), done: Box::new(|| ()) });
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        while self.shared.write_group() {}
        // A leader that is still to come finds nothing, and does not hold the disk open.
        if let Some(writing) = lock(&self.shared.writing).take() {
            writing.write(writing.clocks.writes(), writing.durability);
        }
    }
}

/// A change and the runtime of its call.
struct Waiting {
    submission: Submission,
    runtime: Handle,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Held while a group is taken, written and shown, so that groups follow each other. None once closed.
    writing: Mutex<Option<Writing>>,
    durability: Durability,
}

struct Queue {
    waiting: Vec<Waiting>,
    /// Somebody is at work or will be.
    led: bool,
    clocks_written: Instant,
}

impl Shared {
    /// Writes what waits, then lets all of it be seen. Says whether anything did.
    fn write_group(&self) -> bool {
        whole(|| self.write_what_waits())
    }

    fn write_what_waits(&self) -> bool {
        let mut writing = lock(&self.writing);
        let Some(writing) = writing.as_mut() else { return false };
        let mut group = std::mem::take(&mut writing.group);
        let clocks = self.take_group(&mut group);
        writing.write_group(&mut group, clocks);
        let any = !group.is_empty();
        // An fsync is waited for beside the runtime, not on it.
        let here = Handle::try_current().ok().filter(|_| self.durability == Durability::Process);
        show(&mut group, here.map(|here| here.id()));
        writing.group = group;
        any
    }

    /// Moves what waits into `group`. Says whether the clocks are to be written with it.
    fn take_group(&self, group: &mut Vec<Waiting>) -> bool {
        let mut queue = lock(&self.queue);
        if queue.waiting.len() <= GROUP_MAX {
            std::mem::swap(&mut queue.waiting, group);
        } else {
            group.extend(queue.waiting.drain(..GROUP_MAX));
        }
        let clocks = !group.is_empty() && queue.clocks_written.elapsed() >= CLOCKS_AGE_MAX;
        if clocks {
            queue.clocks_written = Instant::now();
        }
        clocks
    }
}

/// Does it to its end, or ends the process: half of a group may have been seen when it panics, and what is on
/// the disk is the truth.
fn whole<T>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!("the store's writer panicked: the process ends");
        std::process::abort()
    })
}

/// Shows what has been written, at once to calls of the runtime `here`. To another goes one word for all of
/// its calls: to wake each of them from here costs a system call each.
fn show(group: &mut Vec<Waiting>, here: Option<runtime::Id>) {
    let mut elsewhere: Vec<(Handle, Shows)> = Vec::new();
    for Waiting { submission, runtime } in group.drain(..) {
        if here == Some(runtime.id()) {
            (submission.done)();
            continue;
        }
        match elsewhere.iter_mut().find(|(other, _)| other.id() == runtime.id()) {
            Some((_, shows)) => shows.0.push(submission.done),
            None => elsewhere.push((runtime, Shows(vec![submission.done]))),
        }
    }
    for (runtime, shows) in elsewhere {
        runtime.spawn(async move { drop(shows) });
    }
}

/// What is to be shown on another runtime, or here if that has ended.
struct Shows(Vec<Done>);

impl Drop for Shows {
    fn drop(&mut self) {
        whole(|| self.0.drain(..).for_each(|done| done()));
    }
}

/// Who writes for all.
struct Leader {
    shared: Arc<Shared>,
    runtime: Handle,
    leads: bool,
}

impl Leader {
    /// Writes on this thread. If it gets too much, the rest is for a task.
    fn write_here(mut self) {
        for _ in 0..GROUPS_AT_ONCE_MAX {
            self.shared.write_group();
            if self.resigns() {
                return;
            }
        }
        self.spawn();
    }

    fn spawn(self) {
        self.runtime.clone().spawn(self.run());
    }

    async fn run(mut self) {
        loop {
            // Whoever is ready to submit a change joins the group.
            task::yield_now().await;
            match self.shared.durability {
                Durability::Power => {
                    let shared = Arc::clone(&self.shared);
                    if task::spawn_blocking(move || shared.write_group()).await.is_err() {
                        // The runtime ends. What waits is written by the next leader, or at the end.
                        return;
                    }
                }
                Durability::Process => _ = self.shared.write_group(),
            }
            if self.resigns() {
                return;
            }
        }
    }

    /// Leads no longer, if nothing waits.
    fn resigns(&mut self) -> bool {
        let mut queue = lock(&self.shared.queue);
        if queue.waiting.is_empty() {
            (queue.led, self.leads) = (false, false);
        }
        !self.leads
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.leads {
            lock(&self.shared.queue).led = false;
        }
    }
}

/// What writes.
struct Writing {
    disk: Disk,
    durability: Durability,
    clocks: Arc<dyn Clocks>,
    /// Empty between two groups; kept for its memory.
    group: Vec<Waiting>,
}

impl Writing {
    /// Writes the changes of a group, and the clocks where asked or needed.
    fn write_group(&self, group: &mut [Waiting], clocks: bool) {
        let changes = group.iter().map(|waiting| waiting.submission.writes.len()).sum();
        let mut writes = Vec::with_capacity(changes);
        group.iter_mut().for_each(|waiting| writes.append(&mut waiting.submission.writes));
        // While nothing else happens the clocks need no fsync.
        let durability = if changes == 0 { Durability::Process } else { self.durability };
        if clocks || (changes > 0 && self.clocks.take_outage()) {
            writes.extend(self.clocks.writes());
        }
        self.write(last_of_each(writes), durability);
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
        let stand: Vec<(Space, Vec<u8>, Option<Vec<u8>>)> = last_of_each(writes)
            .into_iter()
            .map(|write| (write.space, write.key.to_vec(), write.value))
            .collect();
        let expected = [
            (Space::Live, b"a".to_vec(), None),
            (Space::Live, b"b".to_vec(), Some(b"4".to_vec())),
            (Space::Rest, b"b".to_vec(), Some(b"1".to_vec())),
        ];
        assert_eq!(stand, expected);
    }
}
