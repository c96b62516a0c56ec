//! Reads every record of a store and checks that they agree.

use std::collections::HashSet;
use std::path::Path;

use referee::Match;
use rules::{PerSeat, Seat};
use sealing::{Ending, MatchId, Transcript};
use store::codec::Keyring;
use store::{PageKey, Stored, TicketName};

use crate::directory::Directory;
use crate::disk::{Space, View};
use crate::error::OpenError;
use crate::key::{self, List};
use crate::pool_on_disk::{self, Read};
use crate::reading_copy::ReadingCopy;
use crate::record::{self, ReadAccess};
use crate::shard;

/// Problems told one by one; more are only counted.
const PROBLEMS_MAX: usize = 1_000;

/// What a check has found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// Matches that go on.
    pub live: u64,
    /// Matches that are over.
    pub finished: u64,
    /// Resolved turns, each replayed and hashed.
    pub turns: u64,
    /// Entries of players' lists.
    pub listed: u64,
    /// Invites.
    pub invites: u64,
    /// Remembered requests.
    pub requests: u64,
    /// Tickets, ended ones that can still be read among them.
    pub tickets: u64,
    /// Claimed matches that may not have been made.
    pub owed: u64,
    /// Players whom a ticket or a match holds.
    pub reservations: u64,
    /// Players' records.
    pub records: u64,
    /// Lines of leaderboards.
    pub ranked: u64,
    /// Players with a ban, or whose tokens were revoked lately.
    pub restricted: u64,
    /// How often a finished match is not in the list of one of its players: his data were deleted.
    pub unlisted: u64,
    /// What is wrong, a line each; the first thousand.
    pub problems: Vec<String>,
    /// How many there are.
    pub problem_count: u64,
}

/// Checks the store in a directory that no process has open: every record can be read, every match
/// replays from its turns to its head with every hash of its chain, and lists, retentions and matches
/// agree. The directory stays as it is: what is read is a copy, in the system's place for temporary files,
/// which takes as much room as the journal (some 200 MB at most).
///
/// # Errors
/// If the store cannot be opened or its journal is damaged. What is wrong with single records is in the
/// answer.
pub fn check(directory: &Path, keyring: &Keyring) -> Result<Checked, OpenError> {
    let directory = Directory::open(directory)?;
    let copy = ReadingCopy::of(&directory)?;
    let disk = copy.open()?;
    let view = disk.view();
    let mut check = Check { expiring: expiring(&view)?, view, keyring, found: Checked::default() };
    check.matches(Space::Live)?;
    check.matches(Space::Rest)?;
    check.stray_turns()?;
    check.lists()?;
    check.expiry()?;
    check.clocks()?;
    check.ledger()?;
    check.feed()?;
    check.pools()?;
    check.players()?;
    Ok(check.found)
}

/// The matches that have a time at which they are forgotten, whatever the retention was when they ended.
fn expiring(view: &View) -> Result<HashSet<MatchId>, fjall::Error> {
    let entries = view.all(Space::Expiry).map(|entry| Ok(key::read_expiry(&entry?.0).map(|(_, id)| id)));
    entries.filter_map(Result::transpose).collect()
}

struct Check<'a> {
    view: View,
    /// The matches that are forgotten at some time.
    expiring: HashSet<MatchId>,
    keyring: &'a Keyring,
    found: Checked,
}

impl Check<'_> {
    fn problem(&mut self, what: impl FnOnce() -> String) {
        self.found.problem_count += 1;
        if self.found.problems.len() < PROBLEMS_MAX {
            self.found.problems.push(what());
        }
    }

    fn matches(&mut self, space: Space) -> Result<(), fjall::Error> {
        for entry in self.view.all(space) {
            let (key, value) = entry?;
            let Ok(id) = MatchId::try_from(&key[..]) else {
                self.problem(|| format!("{}: a key is no match's id", space.name()));
                continue;
            };
            match record::read_head(id, &value, self.keyring) {
                Ok(stored) => self.one_match(space, &stored)?,
                Err(error) => self.problem(|| format!("match {id}: {error}")),
            }
        }
        Ok(())
    }

    fn one_match(&mut self, space: Space, stored: &Stored) -> Result<(), fjall::Error> {
        let (game, id) = (stored.head.as_ref(), stored.head.id);
        let rests = shard::rests(stored);
        if rests == (space == Space::Live) {
            self.problem(|| format!("match {id}: it is kept as if it were {}", space.name()));
        }
        if rests {
            self.found.finished += 1;
            if !self.expiring.contains(&id) {
                self.problem(|| format!("match {id}: it would be kept for ever"));
            }
            self.is_listed(game)?;
        } else {
            self.found.live += 1;
        }
        if space == Space::Live && self.view.get(Space::Rest, id.as_bytes())?.is_some() {
            self.problem(|| format!("match {id}: it is stored twice"));
        }
        self.history(game)
    }

    /// A match whose follow-ups are done is in both players' lists, unless their data were deleted.
    fn is_listed(&mut self, game: &Match) -> Result<(), fjall::Error> {
        let place = PageKey { created: game.created, match_id: game.id };
        for seat in Seat::BOTH {
            let player = &game.parties[seat].player;
            if self.view.get(Space::Lists, &key::listed(player, List::Finished, place))?.is_none() {
                self.found.unlisted += 1;
            }
        }
        Ok(())
    }

    /// Replays a match: its turns lead to its head, and so do their hashes.
    fn history(&mut self, game: &Match) -> Result<(), fjall::Error> {
        let id = game.id;
        let mut transcript = Transcript {
            match_id: id,
            settings: game.settings.fields(),
            parties: PerSeat::clone(&game.parties),
            first_hash: game.first_hash(),
            turns: Vec::new(),
            turn_hashes: Vec::new(),
            ending: ending(game),
            end_hash: game.finish().map(|finish| finish.end_hash),
        };
        let (from, until) = (key::turn(id, 0), key::turn(id, u32::MAX));
        for (number, entry) in (1..).zip(self.view.range(Space::Turns, &from, &until)) {
            let (key, value) = entry?;
            if key::read_turn(&key) != Some((id, number)) {
                self.problem(|| format!("match {id}: turn {number} is missing"));
                return Ok(());
            }
            match record::read_turn(number, &value) {
                Ok(record) => {
                    transcript.turns.push(record.facts);
                    transcript.turn_hashes.push(record.hash);
                }
                Err(error) => {
                    self.problem(|| format!("match {id}: turn {number}: {error}"));
                    return Ok(());
                }
            }
        }
        let turns = transcript.turns.len();
        self.found.turns += turns as u64;
        if turns != game.resolved as usize {
            self.problem(|| format!("match {id}: it has {turns} turns, and its head {}", game.resolved));
            return Ok(());
        }
        match transcript.verify() {
            Err(error) => self.problem(|| format!("match {id}: {error}")),
            Ok(verified) => {
                let last = transcript.end_hash.unwrap_or(game.hash);
                let hash = transcript.turn_hashes.last().copied().unwrap_or(transcript.first_hash);
                if verified.position != game.position || verified.last != last || hash != game.hash {
                    self.problem(|| format!("match {id}: its turns lead to another head"));
                }
            }
        }
        Ok(())
    }

    /// Turns belong to matches.
    fn stray_turns(&mut self) -> Result<(), fjall::Error> {
        let mut last = None;
        for entry in self.view.all(Space::Turns) {
            let (key, _) = entry?;
            let id = key::read_turn(&key).map(|(id, _)| id);
            if id.is_some() && id == last {
                continue;
            }
            last = id;
            match id {
                None => self.problem(|| "turns: a key is no match and turn".to_owned()),
                Some(id) if !self.exists(id)? => {
                    self.problem(|| format!("match {id}: there are turns of it and no head"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn exists(&self, id: MatchId) -> Result<bool, fjall::Error> {
        let live = self.view.get(Space::Live, id.as_bytes())?.is_some();
        Ok(live || self.view.get(Space::Rest, id.as_bytes())?.is_some())
    }

    fn lists(&mut self) -> Result<(), fjall::Error> {
        for entry in self.view.all(Space::Lists) {
            let (key, _) = entry?;
            self.found.listed += 1;
            match key::read_listed(&key) {
                None => self.problem(|| "lists: a key is no entry".to_owned()),
                Some((player, entry)) if !self.exists(entry.match_id)? => {
                    self.problem(|| format!("the list of {player}: match {} is not stored", entry.match_id));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn expiry(&mut self) -> Result<(), fjall::Error> {
        for entry in self.view.all(Space::Expiry) {
            let (key, _) = entry?;
            match key::read_expiry(&key) {
                None => self.problem(|| "expiry: a key is no time and match".to_owned()),
                Some((_, id)) if self.view.get(Space::Rest, id.as_bytes())?.is_none() => {
                    self.problem(|| format!("match {id}: it is to be forgotten and not over"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn clocks(&mut self) -> Result<(), fjall::Error> {
        for entry in self.view.all(Space::Clocks) {
            if let Err(error) = record::read_clock(&entry?.1) {
                self.problem(|| format!("the clock of a shard: {error}"));
            }
        }
        Ok(())
    }

    fn feed(&mut self) -> Result<(), fjall::Error> {
        for entry in self.view.all(Space::Feed) {
            let (key, value) = entry?;
            let read = match key::read_feed(&key) {
                Some(_) => record::read_feed(&key, &value).map(drop),
                None => store::codec::decode_feed_trimmed(&value).map(drop),
            };
            if let Err(error) = read {
                self.problem(|| format!("an entry of the feed: {error}"));
            }
        }
        Ok(())
    }

    /// Tickets and what is owed. No ticket has changed after its pool.
    fn pools(&mut self) -> Result<(), fjall::Error> {
        let mut last = None;
        for entry in self.view.all(Space::Pools) {
            let (key, value) = entry?;
            match pool_on_disk::read(&key, &value) {
                Err(error) => self.problem(|| format!("an entry of a pool: {error}")),
                // It comes before all else of its pool.
                Ok((pool, Read::Pool { last_change, .. })) => last = Some((pool, last_change)),
                Ok((_, Read::Owed(_))) => self.found.owed += 1,
                Ok((pool, Read::Ticket(id, entry))) => {
                    self.found.tickets += 1;
                    let known = last.as_ref().filter(|(known, _)| *known == pool);
                    if known.is_none_or(|(_, last_change)| *last_change < entry.change) {
                        let name = TicketName { pool, id };
                        self.problem(|| format!("ticket {name}: its pool knows nothing of its last change"));
                    }
                }
            }
        }
        Ok(())
    }

    /// What is kept of players.
    fn players(&mut self) -> Result<(), fjall::Error> {
        for entry in self.view.all(Space::Reservations) {
            let (key, value) = entry?;
            self.found.reservations += 1;
            if let Err(error) = record::read_reservation(&value) {
                self.problem(|| format!("the reservation of {}: {error}", String::from_utf8_lossy(&key)));
            }
        }
        for entry in self.view.all(Space::Records) {
            let (key, value) = entry?;
            self.found.records += 1;
            if let Err(error) = record::read_player(&value) {
                self.problem(|| format!("the record of {}: {error}", String::from_utf8_lossy(&key)));
            }
        }
        for entry in self.view.all(Space::Access) {
            let (key, value) = entry?;
            match record::read_access(&key, &value) {
                Ok(ReadAccess::Player(..)) => self.found.restricted += 1,
                Ok(ReadAccess::LastChange(_)) => {}
                Err(error) => {
                    self.problem(|| format!("the access of {}: {error}", String::from_utf8_lossy(&key)))
                }
            }
        }
        for entry in self.view.all(Space::Boards) {
            let (key, value) = entry?;
            self.found.ranked += 1;
            if let Err(error) = record::read_score(&key, &value) {
                self.problem(|| format!("a line of a leaderboard: {error}"));
            }
        }
        Ok(())
    }

    fn ledger(&mut self) -> Result<(), fjall::Error> {
        for entry in self.view.all(Space::Invites) {
            let (key, value) = entry?;
            self.found.invites += 1;
            match MatchId::try_from(&key[..]) {
                Err(_) => self.problem(|| "invites: a key is no invite's id".to_owned()),
                Ok(id) => {
                    if let Err(error) = record::read_invite(id, &value) {
                        self.problem(|| format!("invite {id}: {error}"));
                    }
                }
            }
        }
        for entry in self.view.all(Space::Requests) {
            let (_, value) = entry?;
            self.found.requests += 1;
            if let Err(error) = record::read_request(&value) {
                self.problem(|| format!("a request: {error}"));
            }
        }
        Ok(())
    }
}

/// How a match ended, as h_end takes it.
fn ending(game: &Match) -> Option<Ending> {
    let finish = game.finish()?;
    Some(Ending {
        result: finish.result,
        reason: finish.reason,
        time_ms: finish.at.as_ms(),
        unresolved: PerSeat::from_fn(|seat| finish.unresolved[seat].as_ref().map(|facts| facts.commitment)),
    })
}
