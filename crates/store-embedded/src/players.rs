//! Players' lists of matches in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use referee::{Match, Stamp};
use rules::Seat;
use sealing::MatchId;
use store::{Indexed, PageKey};

/// A list's order: newest first, ties by id.
type Place = (Reverse<Stamp>, MatchId);

/// The lists of all players. Bounded by the matches that the shards hold.
#[derive(Default)]
pub(crate) struct Players {
    lists: HashMap<String, BTreeMap<Place, bool>>,
}

impl Players {
    pub(crate) fn index(&mut self, player: &str, entry: Indexed) {
        let list = self.lists.entry(player.to_owned()).or_default();
        let finished = list.entry((Reverse(entry.created), entry.match_id)).or_default();
        *finished |= entry.finished;
    }

    pub(crate) fn page(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Vec<Indexed> {
        let after = after.map(|key| (Reverse(key.created), key.match_id));
        let list = self.lists.get(player).into_iter().flatten();
        list.map(|((Reverse(created), match_id), finished)| Indexed {
            match_id: *match_id,
            finished: *finished,
            created: *created,
        })
        .filter(|entry| after.is_none_or(|after| (Reverse(entry.created), entry.match_id) > after))
        .filter(|entry| finished.is_none_or(|finished| finished == entry.finished))
        .take(limit)
        .collect()
    }

    /// Takes all matches off a player's lists.
    pub(crate) fn forget_all(&mut self, player: &str) {
        self.lists.remove(player);
    }

    /// Takes a match that is no longer stored off both lists.
    pub(crate) fn forget(&mut self, game: &Match) {
        for seat in Seat::BOTH {
            let player = &game.parties[seat].player;
            if let Some(list) = self.lists.get_mut(player) {
                list.remove(&(Reverse(game.created), game.id));
                if list.is_empty() {
                    self.lists.remove(player);
                }
            }
        }
    }
}
