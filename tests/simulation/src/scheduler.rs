//! One thread that runs everything: who goes next and how long things take is drawn from a seed, and time
//! passes only when nobody has anything left to do at the moment.
//!
//! A task belongs to an [`Owner`]. Killing the owner drops its tasks wherever they wait: that is how a node
//! crashes between any two steps.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::BoxFuture;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// Who a task belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Owner {
    /// What goes on whatever happens: players, the store, the network.
    World,
    /// A node, by its index, in one of its lives.
    Node(usize, u32),
}

/// Names a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TaskId(u64);

type Ready = Arc<Mutex<BTreeSet<TaskId>>>;

struct Task {
    owner: Owner,
    work: BoxFuture<'static, ()>,
    waker: Waker,
}

struct Bell {
    id: TaskId,
    ready: Ready,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        lock(&self.ready).insert(self.id);
    }
}

enum Order {
    Spawn(TaskId, Owner, BoxFuture<'static, ()>),
    Abort(TaskId),
    Kill(Owner),
}

struct State {
    now_ms: u64,
    random: StdRng,
    /// Wakers by their time; the number keeps equal times apart.
    timers: BTreeMap<(u64, u64), Waker>,
    orders: Vec<Order>,
    drawn: u64,
    steps: u64,
    trace: Option<Vec<String>>,
}

/// What tasks see of the scheduler. Clones are the same.
#[derive(Clone)]
pub(crate) struct Handle {
    state: Arc<Mutex<State>>,
}

/// The scheduler itself.
pub(crate) struct Scheduler {
    handle: Handle,
    ready: Ready,
    tasks: BTreeMap<TaskId, Task>,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// A task took a step.
    Step,
    /// Nobody has anything to do any more.
    Silent,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scheduler {
    /// Nothing to do yet. With `traced`, what is noted is kept.
    pub(crate) fn new(seed: u64, start_ms: u64, traced: bool) -> Self {
        let state = State {
            now_ms: start_ms,
            random: StdRng::seed_from_u64(seed),
            timers: BTreeMap::new(),
            orders: Vec::new(),
            drawn: 0,
            steps: 0,
            trace: traced.then(Vec::new),
        };
        let handle = Handle { state: Arc::new(Mutex::new(state)) };
        Self { handle, ready: Ready::default(), tasks: BTreeMap::new() }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Lets one task, drawn among those that can go on, take one step. Where none can, time passes until one
    /// can.
    pub(crate) fn step(&mut self) -> Progress {
        loop {
            self.obey();
            // Sorted, so that the order of wakes within a step does not matter.
            let next = {
                let mut ready = lock(&self.ready);
                let index = if ready.is_empty() { 0 } else { self.handle.below(ready.len() as u64) as usize };
                let next = ready.iter().nth(index).copied();
                next.inspect(|id| {
                    ready.remove(id);
                })
            };
            match next {
                Some(id) if self.poll(id) => return Progress::Step,
                Some(_) => {}
                None if self.handle.pass_time() => {}
                None => return Progress::Silent,
            }
        }
    }

    /// Polls a task; false if it is gone.
    fn poll(&mut self, id: TaskId) -> bool {
        let Some(task) = self.tasks.get_mut(&id) else { return false };
        lock(&self.handle.state).steps += 1;
        let done = task.work.as_mut().poll(&mut Context::from_waker(&task.waker)).is_ready();
        if done {
            self.tasks.remove(&id);
        }
        true
    }

    /// Does what tasks have asked for since the last step.
    fn obey(&mut self) {
        loop {
            // Dropping a task can lead to new orders, so none is carried out under the lock.
            let orders = std::mem::take(&mut lock(&self.handle.state).orders);
            if orders.is_empty() {
                return;
            }
            for order in orders {
                match order {
                    Order::Spawn(id, owner, work) => {
                        let waker = Waker::from(Arc::new(Bell { id, ready: Arc::clone(&self.ready) }));
                        self.tasks.insert(id, Task { owner, work, waker });
                        lock(&self.ready).insert(id);
                    }
                    Order::Abort(id) => drop(self.tasks.remove(&id)),
                    Order::Kill(owner) => self.tasks.retain(|_, task| task.owner != owner),
                }
            }
        }
    }
}

impl Handle {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The time that has passed for everybody, ms since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.state().now_ms
    }

    /// Steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.state().steps
    }

    /// A number below `bound`, which is above zero.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.state().random.random_range(0..bound.max(1))
    }

    /// Whether something happens that happens so often in a thousand times.
    pub(crate) fn happens(&self, permille: u32) -> bool {
        permille > 0 && self.below(1_000) < u64::from(permille)
    }

    /// Waits until a moment.
    pub(crate) fn sleep_until(&self, at_ms: u64) -> Sleep {
        Sleep { handle: self.clone(), at_ms, yielded: false }
    }

    /// Waits so long, and at least until others may have taken a step.
    pub(crate) fn sleep(&self, ms: u64) -> Sleep {
        self.sleep_until(self.now_ms().saturating_add(ms))
    }

    /// The outcome of `work`, if it comes within `ms`; else it is given up.
    pub(crate) async fn within<T>(&self, ms: u64, work: impl Future<Output = T>) -> Option<T> {
        use futures::future::{Either, select};
        let (work, sleep) = (std::pin::pin!(work), self.sleep(ms));
        match select(work, sleep).await {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(((), _)) => None,
        }
    }

    /// Starts a task.
    pub(crate) fn spawn(&self, owner: Owner, work: impl Future<Output = ()> + Send + 'static) -> TaskId {
        let mut state = self.state();
        state.drawn += 1;
        let id = TaskId(state.drawn);
        state.orders.push(Order::Spawn(id, owner, Box::pin(work)));
        id
    }

    /// Drops a task after this step.
    pub(crate) fn abort(&self, id: TaskId) {
        self.state().orders.push(Order::Abort(id));
    }

    /// Drops all tasks of an owner after this step.
    pub(crate) fn kill(&self, owner: Owner) {
        self.state().orders.push(Order::Kill(owner));
    }

    /// Takes a note, where notes are taken. It must not depend on what the product itself draws at random.
    pub(crate) fn note(&self, text: impl FnOnce() -> String) {
        let mut state = self.state();
        let (now_ms, steps) = (state.now_ms, state.steps);
        if let Some(trace) = &mut state.trace {
            trace.push(format!("{:>9} ms {steps:>6}  {}", now_ms - crate::START_MS.min(now_ms), text()));
        }
    }

    /// The notes so far.
    pub(crate) fn take_trace(&self) -> Vec<String> {
        self.state().trace.take().unwrap_or_default()
    }

    /// Moves time on to the next moment that somebody waits for; false if nobody waits.
    fn pass_time(&self) -> bool {
        let due = {
            let mut state = self.state();
            let Some(((at_ms, _), _)) = state.timers.first_key_value() else { return false };
            state.now_ms = state.now_ms.max(*at_ms);
            let now_ms = state.now_ms;
            let later = state.timers.split_off(&(now_ms, u64::MAX));
            std::mem::replace(&mut state.timers, later)
        };
        due.into_values().for_each(Waker::wake);
        true
    }
}

/// A wait. See [`Handle::sleep`].
pub(crate) struct Sleep {
    handle: Handle,
    at_ms: u64,
    yielded: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let handle = self.handle.clone();
        let mut state = handle.state();
        if state.now_ms >= self.at_ms && self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        if state.now_ms >= self.at_ms {
            drop(state);
            cx.waker().wake_by_ref();
        } else {
            state.drawn += 1;
            let key = (self.at_ms, state.drawn);
            state.timers.insert(key, cx.waker().clone());
        }
        Poll::Pending
    }
}
