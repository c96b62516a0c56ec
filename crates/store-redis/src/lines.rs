//! The connections to one server over which calls go: one for each runtime that calls.
//!
//! What a call waits for comes on the thread that waits. Over a connection that lives elsewhere every call
//! and every answer is a word to another thread, which sleeps, as a core with all its connections does most of
//! the time: two system calls to wake it, and a switch.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::runtime::{Handle, Id};

use crate::line::{Dialer, Line};
use crate::location::Address;

/// Runtimes with a connection of their own at most; what others call goes over the first. A node has one for
/// each core, and one beside.
const LINES_MAX: usize = 256;

/// Connections to one server. Dropping it ends them.
pub(crate) struct Lines {
    dialer: Dialer,
    address: Address,
    /// On the runtime that the store was opened on.
    first: Arc<Line>,
    /// Begun by the first call from each.
    others: RwLock<Vec<(Id, Arc<Line>)>>,
}

impl Lines {
    /// Begins to connect from where the store was opened.
    pub(crate) fn start(dialer: &Dialer, address: Address) -> Self {
        let first = Arc::new(Line::start(dialer, address.clone()));
        Self { dialer: dialer.clone(), address, first, others: RwLock::default() }
    }

    /// The connection that stays up as long as the store is open.
    pub(crate) const fn first(&self) -> &Arc<Line> {
        &self.first
    }

    /// The connection of the runtime that asks.
    pub(crate) fn here(&self) -> Arc<Line> {
        let Ok(runtime) = Handle::try_current() else { return Arc::clone(&self.first) };
        if self.dialer.is_on(&runtime) {
            return Arc::clone(&self.first);
        }
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let known = others.iter().find(|(id, _)| *id == runtime.id());
        if let Some((_, line)) = known {
            return Arc::clone(line);
        }
        drop(others);
        self.start_on(runtime)
    }

    fn start_on(&self, runtime: Handle) -> Arc<Line> {
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        // Those of runtimes that have ended.
        others.retain(|(_, line)| !line.has_ended());
        if others.len() >= LINES_MAX {
            return Arc::clone(&self.first);
        }
        let id = runtime.id();
        let line = Arc::new(Line::start(&self.dialer.on(runtime), self.address.clone()));
        others.push((id, Arc::clone(&line)));
        line
    }
}
