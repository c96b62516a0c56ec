//! What waits for players: their open invites, and who wants to hear of it.

use std::collections::{BTreeSet, HashMap};

use store::{Invite, InviteId, PlayerHints};
use tokio::sync::watch;

/// Open invites by their players. Bounded by the invites that the ledger holds.
#[derive(Default)]
pub(crate) struct OpenInvites {
    /// Newest last: an id begins with its time.
    of_player: HashMap<String, BTreeSet<InviteId>>,
    players_of: HashMap<InviteId, Vec<String>>,
}

impl OpenInvites {
    /// Takes note of an invite as it is now, and returns whom it concerns.
    pub(crate) fn note(&mut self, invite: &Invite) -> Vec<String> {
        if invite.closing.is_some() {
            return self.forget(invite.id);
        }
        let players: Vec<String> =
            [Some(&invite.inviter), invite.invitee.as_ref()].into_iter().flatten().cloned().collect();
        for player in &players {
            self.of_player.entry(player.clone()).or_default().insert(invite.id);
        }
        self.players_of.insert(invite.id, players.clone());
        players
    }

    /// Forgets an invite, and returns whom it concerned.
    pub(crate) fn forget(&mut self, id: InviteId) -> Vec<String> {
        let players = self.players_of.remove(&id).unwrap_or_default();
        for player in &players {
            if let Some(invites) = self.of_player.get_mut(player) {
                invites.remove(&id);
                if invites.is_empty() {
                    self.of_player.remove(player);
                }
            }
        }
        players
    }

    /// A player's open invites, newest first.
    pub(crate) fn of(&self, player: &str) -> impl Iterator<Item = InviteId> {
        self.of_player.get(player).into_iter().flatten().rev().copied()
    }
}

/// Who wants to hear of players. A player nobody watches costs nothing.
#[derive(Default)]
pub(crate) struct Watchers {
    changes: HashMap<String, watch::Sender<u64>>,
}

impl Watchers {
    /// Hints for one player from now on.
    pub(crate) fn watch(&mut self, player: &str) -> PlayerHints {
        PlayerHints::new(self.changes.entry(player.to_owned()).or_default().subscribe())
    }

    /// Tells whoever watches a player. A channel that nobody listens to any more is dropped.
    pub(crate) fn tell(&mut self, player: &str) {
        let Some(changes) = self.changes.get(player) else { return };
        if changes.receiver_count() == 0 {
            self.changes.remove(player);
        } else {
            changes.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
