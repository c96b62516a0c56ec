//! Who listens at the store.

use store::{Hints, PlayerHints};
use tokio::sync::watch;

use crate::{Faults, soon};

/// The subscriptions to matches that are held by a node. Clones count the same ones.
#[derive(Clone, Debug)]
pub struct Subscriptions {
    live: watch::Sender<usize>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self { live: watch::Sender::new(0) }
    }
}

impl Subscriptions {
    /// Waits until there are this many.
    pub async fn become_exactly(&self, count: usize) {
        let mut live = self.live.subscribe();
        let what = format!("{count} subscriptions, instead of {}", *live.borrow());
        let reached = soon(&what, live.wait_for(|live| *live == count)).await;
        reached.expect("the count holds its own sender");
    }

    /// The same hints, as far as none is lost, counted for as long as somebody holds them.
    pub(crate) fn count(&self, mut hints: Hints, faults: Faults) -> Hints {
        let (relay, relayed) = watch::channel(hints.latest().into());
        let live = self.live.clone();
        live.send_modify(|live| *live += 1);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = relay.closed() => break,
                    hint = hints.changed() => match hint {
                        Ok(hint) if faults.hints_arrive() => drop(relay.send_replace(hint)),
                        Ok(_) => {}
                        Err(_) => break,
                    },
                };
            }
            live.send_modify(|live| *live -= 1);
        });
        Hints::new(relayed)
    }

    /// The same hints for a player, as far as none is lost. Nobody counts them.
    pub(crate) fn relay(&self, mut hints: PlayerHints, faults: Faults) -> PlayerHints {
        let (relay, relayed) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = relay.closed() => break,
                    hint = hints.changed() => match hint {
                        Ok(()) if faults.hints_arrive() => relay.send_modify(|hints| *hints += 1),
                        Ok(()) => {}
                        Err(_) => break,
                    },
                };
            }
        });
        PlayerHints::new(relayed)
    }
}
