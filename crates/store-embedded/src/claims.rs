//! Whose change is on its way to the disk.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use tokio::sync::oneshot;

/// Ends when the change that was waited for is over. Whoever waited looks again.
pub(crate) type Turnstile = oneshot::Receiver<()>;

/// Objects with a change in flight: at most one each, so that every change is judged on a state that is
/// durable. Bounded by the calls in progress.
pub(crate) struct Claims<K, S = RandomState> {
    waiting: HashMap<K, Vec<oneshot::Sender<()>>, S>,
}

impl<K, S: Default> Default for Claims<K, S> {
    fn default() -> Self {
        Self { waiting: HashMap::default() }
    }
}

impl<K: Eq + Hash, S: BuildHasher> Claims<K, S> {
    /// What to wait for before the object may change, if anything.
    pub(crate) fn queue(&mut self, key: &K) -> Option<Turnstile> {
        let waiting = self.waiting.get_mut(key)?;
        let (sender, turnstile) = oneshot::channel();
        waiting.push(sender);
        Some(turnstile)
    }

    /// Claims an object that nobody has claimed.
    pub(crate) fn claim(&mut self, key: K) {
        self.waiting.entry(key).or_default();
    }

    /// The change is over, made or not: whoever waited may go on.
    pub(crate) fn release(&mut self, key: &K) {
        // Dropping the senders ends the waits.
        self.waiting.remove(key);
    }

    pub(crate) fn holds(&self, key: &K) -> bool {
        self.waiting.contains_key(key)
    }
}
