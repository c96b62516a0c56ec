//! One batch for whatever waits: a task writes for all who come until it runs.
//!
//! A change joins a line, and whoever finds a line without a leader starts one: a task that writes what waits,
//! group after group, until nothing does. Whoever is ready to submit a change runs before it, so groups form
//! by themselves.
//!
//! Where an fsync is waited for, all changes stand in one line, and it is waited for beside the threads that
//! serve calls. Where the system only takes note of a write, each runtime has a line of its own: all of it
//! happens on one thread, and no call is woken from another, which would cost more than its write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use store::StoreError;
use tokio::runtime::{self, Handle};
use tokio::task;

use crate::disk::{Disk, Durability, Write};
use crate::memory::{Memory, lock};

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
    pub(crate) done: Done,
}

type Done = Box<dyn FnOnce(&Memory) + Send>;

/// Where changes wait for the disk. What still waits when this is dropped is written then.
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    /// What it writes is shown in `memory`, whose clocks it keeps on the disk.
    pub(crate) fn new(disk: Disk, durability: Durability, memory: Arc<Memory>) -> Self {
        let queue = Queue { lines: Vec::new(), left: Vec::new(), clocks_written: Instant::now() };
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(queue),
                writing: Mutex::new(Some(Writing { disk, durability })),
                durability,
                memory,
            }),
        }
    }

    /// Takes a change to be written soon. If it cannot, the change has not happened.
    pub(crate) fn submit(&self, submission: Submission) -> Result<(), StoreError> {
        self.enqueue(submission, |queue, name| &mut queue.line(name).waiting)
    }

    /// Takes a change that no call waits for. Whatever is submitted after it is written after it, or with it.
    pub(crate) fn submit_unwatched(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.enqueue(Submission { writes, done: Box::new(|_| ()) }, |queue, _| &mut queue.left)
    }

    /// Puts a change into `place`, and starts a leader for the line of this runtime if it has none.
    fn enqueue(
        &self,
        submission: Submission,
        place: impl FnOnce(&mut Queue, LineName) -> &mut Vec<Waiting>,
    ) -> Result<(), StoreError> {
        let runtime = Handle::try_current().map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let name = match self.shared.durability {
            Durability::Power => None,
            Durability::Process => Some(runtime.id()),
        };
        let mut queue = lock(&self.shared.queue);
        if queue.waiting() >= WAITING_MAX {
            return Err(StoreError::Unavailable("the disk does not keep up".to_owned()));
        }
        let unled = !std::mem::replace(&mut queue.line(name).led, true);
        let lead = unled
            .then(|| (runtime.clone(), Leader { shared: Arc::clone(&self.shared), line: name, leads: true }));
        place(&mut queue, name).push(Waiting { submission, runtime });
        drop(queue);
        if let Some((runtime, leader)) = lead {
            runtime.spawn(leader.run());
        }
        Ok(())
    }

    /// Has the clocks written if they were not for a while: somebody was here, and nothing else may be to
    /// write for long.
    pub(crate) fn note_life(&self) {
        let due = {
            let queue = lock(&self.shared.queue);
            queue.clocks_written.elapsed() >= CLOCKS_AGE_MAX && queue.waiting() == 0
        };
        if due {
            // One that is lost makes an outage longer.
            let _ = self.submit_unwatched(Vec::new());
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.shared.queue).leave(|_| true);
        while self.shared.write_group(None) {}
        // A leader that is still to come finds nothing, and does not hold the disk open.
        if let Some(writing) = lock(&self.shared.writing).take() {
            writing.write(self.shared.memory.clock_writes(), writing.durability);
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
    /// Held while a group is taken and written, so that groups follow each other. None once closed.
    writing: Mutex<Option<Writing>>,
    durability: Durability,
    memory: Arc<Memory>,
}

struct Queue {
    /// One that has no leader is empty.
    lines: Vec<Line>,
    /// What no call waits for. Whoever leads any line next takes it along, before the line.
    left: Vec<Waiting>,
    clocks_written: Instant,
}

/// Whose line: that of all, or that of a runtime.
type LineName = Option<runtime::Id>;

struct Line {
    name: LineName,
    waiting: Vec<Waiting>,
    /// Somebody is at work or will be.
    led: bool,
}

impl Queue {
    fn waiting(&self) -> usize {
        self.lines.iter().map(|line| line.waiting.len()).sum::<usize>() + self.left.len()
    }

    fn line(&mut self, name: LineName) -> &mut Line {
        let at = self.lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            // Those of runtimes that have ended make room.
            self.lines.retain(|line| line.led);
            self.lines.push(Line { name, waiting: Vec::new(), led: false });
            self.lines.len() - 1
        });
        &mut self.lines[at]
    }

    /// These lines have no leader any more: what waits in them is for the next one of any line.
    fn leave(&mut self, leaves: impl Fn(LineName) -> bool) {
        for line in self.lines.iter_mut().filter(|line| leaves(line.name)) {
            line.led = false;
            self.left.append(&mut line.waiting);
        }
    }
}

impl Shared {
    /// Writes what waits in a line, then lets all of it be seen. Says whether anything did.
    fn write_group(&self, line: LineName) -> bool {
        whole(|| self.write_what_waits(line))
    }

    fn write_what_waits(&self, line: LineName) -> bool {
        let group = {
            let writing = lock(&self.writing);
            let Some(writing) = writing.as_ref() else { return false };
            let (mut group, clocks) = self.take_group(line);
            writing.write_group(&mut group, clocks, &self.memory);
            group
        };
        let any = !group.is_empty();
        show(group, line, &self.memory);
        any
    }

    /// What is written next for a line, and whether the clocks are to be written with it.
    fn take_group(&self, line: LineName) -> (Vec<Waiting>, bool) {
        let mut queue = lock(&self.queue);
        let mut group = std::mem::take(&mut queue.left);
        let waiting = &mut queue.line(line).waiting;
        let room = GROUP_MAX.saturating_sub(group.len()).min(waiting.len());
        if group.is_empty() && room == waiting.len() {
            group = std::mem::take(waiting);
        } else {
            group.extend(waiting.drain(..room));
        }
        let clocks = !group.is_empty() && queue.clocks_written.elapsed() >= CLOCKS_AGE_MAX;
        if clocks {
            queue.clocks_written = Instant::now();
        }
        (group, clocks)
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
fn show(group: Vec<Waiting>, here: Option<runtime::Id>, memory: &Arc<Memory>) {
    let mut elsewhere: Vec<(Handle, Shows)> = Vec::new();
    for Waiting { submission, runtime } in group {
        if here == Some(runtime.id()) {
            (submission.done)(memory);
            continue;
        }
        match elsewhere.iter_mut().find(|(other, _)| other.id() == runtime.id()) {
            Some((_, shows)) => shows.done.push(submission.done),
            None => {
                elsewhere.push((runtime, Shows { done: vec![submission.done], memory: Arc::clone(memory) }));
            }
        }
    }
    for (runtime, shows) in elsewhere {
        runtime.spawn(async move { drop(shows) });
    }
}

/// What is to be shown on another runtime, or here if that has ended.
struct Shows {
    done: Vec<Done>,
    memory: Arc<Memory>,
}

impl Drop for Shows {
    fn drop(&mut self) {
        whole(|| self.done.drain(..).for_each(|done| done(&self.memory)));
    }
}

/// Who writes for all of a line.
struct Leader {
    shared: Arc<Shared>,
    line: LineName,
    leads: bool,
}

impl Leader {
    async fn run(mut self) {
        if self.shared.durability == Durability::Power {
            // Whoever is ready to submit a change joins the group, also on another thread.
            task::yield_now().await;
        }
        loop {
            match self.shared.durability {
                Durability::Power => {
                    let shared = Arc::clone(&self.shared);
                    let line = self.line;
                    if task::spawn_blocking(move || shared.write_group(line)).await.is_err() {
                        // The runtime ends.
                        return;
                    }
                }
                Durability::Process => _ = self.shared.write_group(self.line),
            }
            if self.resigns() {
                return;
            }
            // What came meanwhile, from other threads, does not keep this one from its calls.
            task::yield_now().await;
        }
    }

    /// Leads no longer, if nothing waits.
    fn resigns(&mut self) -> bool {
        let mut queue = lock(&self.shared.queue);
        let line = queue.line(self.line);
        if line.waiting.is_empty() {
            (line.led, self.leads) = (false, false);
        }
        !self.leads
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.leads {
            lock(&self.shared.queue).leave(|name| name == self.line);
        }
    }
}

/// What writes.
struct Writing {
    disk: Disk,
    durability: Durability,
}

impl Writing {
    /// Writes the changes of a group, and the clocks where asked or needed.
    fn write_group(&self, group: &mut [Waiting], clocks: bool, memory: &Memory) {
        let changes = group.iter().map(|waiting| waiting.submission.writes.len()).sum();
        let mut writes = Vec::with_capacity(changes);
        group.iter_mut().for_each(|waiting| writes.append(&mut waiting.submission.writes));
        // While nothing else happens the clocks need no fsync.
        let durability = if changes == 0 { Durability::Process } else { self.durability };
        if clocks || (changes > 0 && memory.take_outage()) {
            writes.extend(memory.clock_writes());
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
    use referee::{Now, Stamp};
    use store::ScriptedClock;

    use super::*;
    use crate::disk::Space;

    fn memory() -> Arc<Memory> {
        let now = Now { stamp: Stamp::from_ms(1), outage_ms: 0 };
        Arc::new(Memory::new(Arc::new(ScriptedClock::at_ms(1)), &[now]))
    }

    fn runtime() -> runtime::Runtime {
        runtime::Builder::new_current_thread().build().unwrap()
    }

    #[test]
    fn a_removal_never_overtakes_an_entry_that_another_runtime_writes_after_it() {
        for durability in [Durability::Process, Durability::Power] {
            let directory = tempfile::tempdir().unwrap();
            let disk = Disk::open(directory.path()).unwrap();
            let writer = Writer::new(disk.clone(), durability, memory());
            let (first, second) = (runtime(), runtime());
            first.block_on(async {
                writer.submit_unwatched(vec![Write::remove(Space::Requests, "key")]).unwrap();
            });
            let (shown, mut is_shown) = tokio::sync::oneshot::channel();
            let writes = vec![Write::put(Space::Requests, "key", b"new".to_vec())];
            let done = Box::new(move |_: &Memory| shown.send(()).unwrap());
            second.block_on(async { writer.submit(Submission { writes, done }).unwrap() });
            // The later one has its turn first.
            while is_shown.try_recv().is_err() {
                second.block_on(task::yield_now());
                first.block_on(task::yield_now());
            }
            drop(writer);
            assert_eq!(disk.get(Space::Requests, b"key").unwrap().as_deref(), Some(&b"new"[..]));
        }
    }

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
