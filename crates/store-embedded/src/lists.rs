//! Players' lists of matches on the disk.
//!
//! A match stands in a player's live list, his finished list, or both: then it is finished. So an entry
//! is written without reading what was there, and the order of the writes does not matter.

use referee::Match;
use rules::Seat;
use store::{Indexed, PageKey};

use crate::disk::{Space, View, Write};
use crate::key::{self, List};

/// What puts a match into a list.
pub(crate) fn index(player: &str, entry: Indexed) -> Vec<Write> {
    let place = PageKey { created: entry.created, match_id: entry.match_id };
    let put = |list| Write::put(Space::Lists, key::listed(player, list, place), Vec::new());
    if entry.finished {
        vec![put(List::Finished), Write::remove(Space::Lists, key::listed(player, List::Live, place))]
    } else {
        vec![put(List::Live)]
    }
}

/// What takes a match off all lists.
pub(crate) fn forget(game: &Match) -> impl Iterator<Item = Write> {
    let place = PageKey { created: game.created, match_id: game.id };
    let players = Seat::BOTH.map(|seat| game.parties[seat].player.clone());
    players.into_iter().flat_map(move |player| {
        [List::Live, List::Finished]
            .map(|list| Write::remove(Space::Lists, key::listed(&player, list, place)))
    })
}

/// What takes all matches off a player's lists.
pub(crate) fn forget_all(view: &View, player: &str) -> Result<Vec<Write>, fjall::Error> {
    let range =
        view.range(Space::Lists, &key::list(player, List::Live), &key::list_end(player, List::Finished));
    range.map(|entry| Ok(Write::remove(Space::Lists, entry?.0))).collect()
}

/// A page of a player's list.
pub(crate) fn page(
    view: &View,
    player: &str,
    finished: Option<bool>,
    after: Option<PageKey>,
    limit: usize,
) -> Result<Vec<Indexed>, fjall::Error> {
    let mut live = Vec::new();
    if finished != Some(true) {
        for entry in entries(view, player, List::Live, after) {
            if live.len() >= limit {
                break;
            }
            let entry = entry?;
            let place = PageKey { created: entry.created, match_id: entry.match_id };
            if view.get(Space::Lists, &key::listed(player, List::Finished, place))?.is_none() {
                live.push(entry);
            }
        }
    }
    let mut page = live;
    if finished != Some(false) {
        for entry in entries(view, player, List::Finished, after).take(limit) {
            page.push(entry?);
        }
    }
    page.sort_by_key(|entry| (std::cmp::Reverse(entry.created), entry.match_id));
    page.truncate(limit);
    Ok(page)
}

fn entries(
    view: &View,
    player: &str,
    list: List,
    after: Option<PageKey>,
) -> impl Iterator<Item = Result<Indexed, fjall::Error>> + use<> {
    let begin = match after {
        None => key::list(player, list),
        Some(place) => {
            let mut last = key::listed(player, list, place);
            // The first key after it.
            last.push(0);
            last
        }
    };
    let range = view.range(Space::Lists, &begin, &key::list_end(player, list));
    range.filter_map(|entry| match entry {
        Ok((key, _)) => key::read_listed(&key).map(|(_, entry)| Ok(entry)),
        Err(error) => Some(Err(error)),
    })
}
