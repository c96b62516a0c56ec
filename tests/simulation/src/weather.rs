//! How bad things are at the moment: what is lost, late or doubled, and who reaches whom.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::scheduler::{Handle, lock};

/// How often something goes wrong, in a thousand times. All zero: never.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Rates {
    /// A call of a player, or its answer, is lost.
    pub(crate) lost_calls: u32,
    /// A call of a player arrives twice.
    pub(crate) doubled_calls: u32,
    /// A stream breaks between two messages.
    pub(crate) cut_streams: u32,
    /// A call of a node to the store, or its answer, is lost.
    pub(crate) lost_steps: u32,
    /// A commit arrives twice.
    pub(crate) doubled_commits: u32,
    /// A step takes about as long as a stamp is good for.
    pub(crate) slow_steps: u32,
    /// A hint is lost.
    pub(crate) lost_hints: u32,
    /// A hint comes twice, or late.
    pub(crate) odd_hints: u32,
}

/// Whether the store answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Store {
    Up,
    /// Calls wait until then, ms.
    Stalled(u64),
    /// Calls are refused until then, ms.
    Down(u64),
}

struct State {
    rates: Rates,
    store: Store,
    /// Nodes that do not reach the store.
    cut_off: BTreeSet<usize>,
}

/// Everything that can go wrong at this moment. Shared by all.
pub(crate) struct Weather {
    handle: Handle,
    state: Mutex<State>,
    faults: AtomicU64,
}

impl Weather {
    pub(crate) fn new(handle: Handle, rates: Rates) -> Self {
        let state = State { rates, store: Store::Up, cut_off: BTreeSet::new() };
        Self { handle, state: Mutex::new(state), faults: AtomicU64::new(0) }
    }

    /// From now on nothing goes wrong any more.
    pub(crate) fn calm(&self) {
        let mut state = lock(&self.state);
        *state = State { rates: Rates::default(), store: Store::Up, cut_off: BTreeSet::new() };
    }

    /// Counts something that went wrong.
    pub(crate) fn count(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// What went wrong so far.
    pub(crate) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// Whether something goes wrong this time.
    pub(crate) fn strikes(&self, rate: impl FnOnce(&Rates) -> u32) -> bool {
        let permille = rate(&lock(&self.state).rates);
        let strikes = self.handle.happens(permille);
        if strikes {
            self.count();
        }
        strikes
    }

    /// The store takes calls, and answers none of them for a while.
    pub(crate) fn stall_store(&self, until_ms: u64) {
        self.count();
        lock(&self.state).store = Store::Stalled(until_ms);
    }

    /// The store refuses calls for a while.
    pub(crate) fn stop_store(&self, until_ms: u64) {
        self.count();
        lock(&self.state).store = Store::Down(until_ms);
    }

    /// A node does not reach the store, or does again.
    pub(crate) fn cut_off(&self, node: usize, cut_off: bool) {
        let mut state = lock(&self.state);
        if cut_off {
            self.count();
            state.cut_off.insert(node);
        } else {
            state.cut_off.remove(&node);
        }
    }

    /// Until when calls to the store wait, ms.
    pub(crate) fn stalled_until(&self) -> Option<u64> {
        match lock(&self.state).store {
            Store::Stalled(until_ms) if until_ms > self.handle.now_ms() => Some(until_ms),
            _ => None,
        }
    }

    /// Whether a node's call gets through to the store.
    pub(crate) fn reaches_store(&self, node: usize) -> bool {
        let state = lock(&self.state);
        let down = matches!(state.store, Store::Down(until_ms) if until_ms > self.handle.now_ms());
        !down && !state.cut_off.contains(&node)
    }
}

impl Rates {
    /// What sets each of them to zero.
    pub(crate) const EACH_QUIET: [fn(&mut Self); 8] = [
        |rates| rates.lost_calls = 0,
        |rates| rates.doubled_calls = 0,
        |rates| rates.cut_streams = 0,
        |rates| rates.lost_steps = 0,
        |rates| rates.doubled_commits = 0,
        |rates| rates.slow_steps = 0,
        |rates| rates.lost_hints = 0,
        |rates| rates.odd_hints = 0,
    ];
}
