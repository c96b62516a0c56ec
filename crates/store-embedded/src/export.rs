//! Everything that a store holds, for another store to take over.

use std::path::Path;

use referee::{Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::codec::{CodecError, Keyring};
use store::{
    Access, Indexed, Invite, PlayerRecord, RequestKey, RequestRecord, Reservation, Shard, Speed, Stored,
};

use crate::board::Score;
use crate::directory::Directory;
use crate::disk::{Space, View};
use crate::error::OpenError;
use crate::key;
use crate::memory::SHARDS;
use crate::reading_copy::ReadingCopy;
use crate::record::{self, ReadAccess};

/// A store that no process has open, to be read from its beginning to its end: matches, lists, invites,
/// requests, records, leaderboards, bans and which match holds whom. Its feed is not in it: whoever follows one begins
/// a new one. Nor are tickets, and who is held by one: whoever waits queues again. While this exists nobody else can
/// open the store; the directory stays as it is, since what is read is a copy of the journal in the system's
/// place for temporary files.
pub struct Export {
    view: View,
    keyring: Keyring,
    _copy: ReadingCopy,
    _directory: Directory,
}

/// A match as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportedMatch {
    /// Its head.
    pub stored: Stored,
    /// All its resolved turns.
    pub turns: Vec<TurnRecord>,
    /// The last time that its shard's clock has heard of anybody, and the outage sum then: what has passed
    /// since is an outage too.
    pub last_alive: Now,
}

/// A line of a leaderboard, as [`store::RecordStore::rank`] takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportedRank {
    /// Whose leaderboard.
    pub speed: Speed,
    /// The player.
    pub player: String,
    /// His rating, millionths of a point.
    pub points_micro: u64,
    /// How many rated matches he has it after.
    pub matches: u64,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").finish_non_exhaustive()
    }
}

/// Opens a store for its export.
///
/// # Errors
/// There is none, a process has it open, or it cannot be read.
pub fn export(directory: &Path, keyring: &Keyring) -> Result<Export, OpenError> {
    let directory = Directory::open(directory)?;
    let copy = ReadingCopy::of(&directory)?;
    let view = copy.open()?.view();
    Ok(Export { view, keyring: keyring.clone(), _copy: copy, _directory: directory })
}

impl Export {
    /// Every match, live and finished, one in memory at a time.
    pub fn matches(&self) -> impl Iterator<Item = Result<ExportedMatch, OpenError>> + '_ {
        let spaces = [Space::Live, Space::Rest];
        let entries = spaces.into_iter().flat_map(|space| self.view.all(space));
        entries.map(|entry| {
            let (key, head) = entry?;
            let id = MatchId::try_from(&key[..]).map_err(|_| damaged("a match", CodecError::Malformed))?;
            let stored = record::read_head(id, &head, &self.keyring);
            let stored = stored.map_err(|error| damaged("a match", error))?;
            Ok(ExportedMatch { turns: self.turns(&stored)?, last_alive: self.last_alive(&stored)?, stored })
        })
    }

    fn turns(&self, stored: &Stored) -> Result<Vec<TurnRecord>, OpenError> {
        let id = stored.head.id;
        let entries = self.view.range(Space::Turns, &key::turn(id, 0), &key::turn(id, u32::MAX));
        let read = |(number, entry): (u32, Result<_, fjall::Error>)| {
            let (_, turn): (Vec<u8>, Vec<u8>) = entry?;
            record::read_turn(number, &turn).map_err(|error| damaged("a turn", error))
        };
        let turns = (1..).zip(entries).map(read).collect::<Result<Vec<_>, OpenError>>()?;
        if turns.len() == stored.head.resolved as usize {
            Ok(turns)
        } else {
            Err(OpenError::Damaged(format!("match {id} lacks a turn")))
        }
    }

    fn last_alive(&self, stored: &Stored) -> Result<Now, OpenError> {
        let Shard(shard) = Shard::of(stored.head.id, SHARDS);
        match self.view.get(Space::Clocks, &shard.to_be_bytes())? {
            Some(clock) => record::read_clock(&clock).map_err(|error| damaged("a clock", error)),
            None => Ok(Now { stamp: stored.stamp, outage_ms: stored.head.outage_ms }),
        }
    }

    /// Every entry of every player's lists, player by player.
    pub fn listed(&self) -> impl Iterator<Item = Result<(String, Indexed), OpenError>> + '_ {
        self.view.all(Space::Lists).map(|entry| {
            let (key, _) = entry?;
            let (player, entry) =
                key::read_listed(&key).ok_or_else(|| damaged("a list", CodecError::Malformed))?;
            Ok((player.to_owned(), entry))
        })
    }

    /// Every invite, and until when it can be read.
    pub fn invites(&self) -> impl Iterator<Item = Result<(Invite, Stamp), OpenError>> + '_ {
        self.view.all(Space::Invites).map(|entry| {
            let (key, invite) = entry?;
            let id = MatchId::try_from(&key[..]).map_err(|_| damaged("an invite", CodecError::Malformed))?;
            let kept = record::read_invite(id, &invite).map_err(|error| damaged("an invite", error))?;
            Ok((kept.value, kept.until))
        })
    }

    /// Every request that is remembered.
    pub fn requests(&self) -> impl Iterator<Item = Result<(RequestKey, RequestRecord), OpenError>> + '_ {
        self.view.all(Space::Requests).map(|entry| {
            let (key, request) = entry?;
            let name = key::read_request(&key).ok_or_else(|| damaged("a request", CodecError::Malformed))?;
            let kept = record::read_request(&request).map_err(|error| damaged("a request", error))?;
            Ok((name, kept.value))
        })
    }

    /// Every player whom a match holds.
    pub fn held(&self) -> impl Iterator<Item = Result<(String, MatchId), OpenError>> + '_ {
        let entries = self.view.all(Space::Reservations).map(|entry| {
            let (key, value) = entry?;
            let held = record::read_reservation(&value).map_err(|error| damaged("a reservation", error))?;
            let Reservation::Match(id) = held.0 else { return Ok(None) };
            Ok(Some((player(&key)?, id)))
        });
        entries.filter_map(Result::transpose)
    }

    /// Every player's record.
    pub fn records(&self) -> impl Iterator<Item = Result<(String, PlayerRecord), OpenError>> + '_ {
        self.view.all(Space::Records).map(|entry| {
            let (key, value) = entry?;
            let (record, _) = record::read_player(&value).map_err(|error| damaged("a record", error))?;
            Ok((player(&key)?, record))
        })
    }

    /// Every player with a ban, or whose tokens were revoked lately.
    pub fn accesses(&self) -> impl Iterator<Item = Result<(String, Access), OpenError>> + '_ {
        let entries = self.view.all(Space::Access).map(|entry| {
            let (key, value) = entry?;
            match record::read_access(&key, &value).map_err(|error| damaged("a player's access", error))? {
                ReadAccess::LastChange(_) => Ok(None),
                ReadAccess::Player(player, _, access) => Ok(Some((player, access))),
            }
        });
        entries.filter_map(Result::transpose)
    }

    /// Every line of every leaderboard.
    pub fn ranked(&self) -> impl Iterator<Item = Result<ExportedRank, OpenError>> + '_ {
        self.view.all(Space::Boards).map(|entry| {
            let (key, value) = entry?;
            let line = record::read_score(&key, &value);
            let (speed, player, score) = line.map_err(|error| damaged("a line of a leaderboard", error))?;
            let Score { points_micro, matches } = score;
            Ok(ExportedRank { speed, player, points_micro, matches })
        })
    }
}

fn player(key: &[u8]) -> Result<String, OpenError> {
    let player =
        key::read_player(key).ok_or_else(|| damaged("the name of a player", CodecError::Malformed))?;
    Ok(player.to_owned())
}

fn damaged(what: &str, error: CodecError) -> OpenError {
    OpenError::Damaged(format!("{what}: {error}"))
}
