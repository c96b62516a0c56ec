//! Who may not play, as the model keeps it.

use std::collections::BTreeMap;

use referee::Stamp;
use store::{Access, AccessCursor, AccessPage};

/// The list of players' access.
#[derive(Clone, Default)]
pub(crate) struct ModelAccess {
    /// What is kept of each, and the number of its last change.
    players: BTreeMap<String, (Access, u64)>,
    changes: u64,
}

impl ModelAccess {
    pub(crate) fn get(&self, player: &str, now: Stamp) -> Option<Access> {
        let (access, _) = self.players.get(player)?;
        access.kept_until().is_none_or(|until| now <= until).then(|| access.clone())
    }

    pub(crate) fn put(
        &mut self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
        now: Stamp,
    ) -> Option<Access> {
        let there = self.get(player, now);
        if there.as_ref() != expected || there.as_ref() == Some(next) {
            return there;
        }
        self.changes += 1;
        self.players.insert(player.to_owned(), (next.clone(), self.changes));
        Some(next.clone())
    }

    pub(crate) fn page(&mut self, after: AccessCursor, now: Stamp) -> AccessPage {
        self.players.retain(|_, (access, _)| access.kept_until().is_none_or(|until| now <= until));
        let restarted = after.0 > self.changes;
        let after = if restarted { 0 } else { after.0 };
        let mut changed: Vec<_> = self.players.iter().filter(|(_, (_, change))| *change > after).collect();
        changed.sort_by_key(|(_, (_, change))| *change);
        let more = changed.len() > AccessPage::PLAYERS_MAX;
        changed.truncate(AccessPage::PLAYERS_MAX);
        let last = changed.last().filter(|_| more).map_or(self.changes, |(_, (_, change))| *change);
        let changed = changed.into_iter().map(|(player, (access, _))| (player.clone(), access.clone()));
        AccessPage { changed: changed.collect(), next: AccessCursor(last), more, restarted, now }
    }
}
