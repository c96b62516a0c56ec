//! How keys are written: so that what is read together lies together, in the order it is read in.

use matchmaker::TicketId;
use referee::Stamp;
use sealing::MatchId;
use store::{Indexed, PageKey, RequestKey, Speed};

/// Bytes of a match's id.
const ID_BYTES: usize = 16;

/// Ends a name in a key: no name holds it.
const END: u8 = 0;

/// `shard`: a shard's clock.
pub(crate) fn clock(shard: u16) -> [u8; 2] {
    shard.to_be_bytes()
}

/// Whether a key of any space is that of a clock: all others are longer.
pub(crate) fn is_clock(key: &[u8]) -> bool {
    key.len() == size_of::<u16>()
}

/// Which of a player's two lists an entry is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum List {
    Live = 0,
    Finished = 1,
}

/// `match ‖ turn`: a match's turns in order.
pub(crate) fn turn(id: MatchId, turn: u32) -> [u8; ID_BYTES + size_of::<u32>()] {
    let mut key = [0; _];
    key[..ID_BYTES].copy_from_slice(id.as_bytes());
    key[ID_BYTES..].copy_from_slice(&turn.to_be_bytes());
    key
}

/// The turn of such a key.
pub(crate) fn read_turn(key: &[u8]) -> Option<(MatchId, u32)> {
    let (id, turn) = key.split_at_checked(ID_BYTES)?;
    Some((MatchId::try_from(id).ok()?, u32::from_be_bytes(turn.try_into().ok()?)))
}

/// `time ‖ match`: what is forgotten first comes first.
pub(crate) fn expiry(at: Stamp, id: MatchId) -> Vec<u8> {
    [&at.as_ms().to_be_bytes()[..], id.as_bytes()].concat()
}

/// The time and the match of such a key.
pub(crate) fn read_expiry(key: &[u8]) -> Option<(Stamp, MatchId)> {
    let (at, id) = key.split_at_checked(size_of::<u64>())?;
    Some((Stamp::from_ms(u64::from_be_bytes(at.try_into().ok()?)), MatchId::try_from(id).ok()?))
}

/// `player ‖ 0 ‖ list`: where a list begins.
pub(crate) fn list(player: &str, list: List) -> Vec<u8> {
    [player.as_bytes(), &[END, list as u8]].concat()
}

/// Where a list ends, exclusive.
pub(crate) fn list_end(player: &str, list: List) -> Vec<u8> {
    [player.as_bytes(), &[END, list as u8 + 1]].concat()
}

/// `player ‖ 0 ‖ list ‖ time, inverted ‖ match`: a list newest first, ties by match.
pub(crate) fn listed(player: &str, of: List, place: PageKey) -> Vec<u8> {
    let mut key = list(player, of);
    key.extend_from_slice(&(!place.created.as_ms()).to_be_bytes());
    key.extend_from_slice(place.match_id.as_bytes());
    key
}

/// The player and the entry of such a key.
pub(crate) fn read_listed(key: &[u8]) -> Option<(&str, Indexed)> {
    let end = key.iter().position(|byte| *byte == END)?;
    let (player, rest) = (key.get(..end)?, key.get(end + 1..)?);
    let (list, rest) = rest.split_first()?;
    let (created, id) = rest.split_at_checked(size_of::<u64>())?;
    let created = Stamp::from_ms(!u64::from_be_bytes(created.try_into().ok()?));
    let finished = *list == List::Finished as u8;
    let entry = Indexed { match_id: MatchId::try_from(id).ok()?, finished, created };
    Some((std::str::from_utf8(player).ok()?, entry))
}

/// `shard ‖ time ‖ number`: a shard's feed in order.
pub(crate) fn feed(shard: u16, (at_ms, number): (u64, u64)) -> Vec<u8> {
    [&shard.to_be_bytes()[..], &at_ms.to_be_bytes(), &number.to_be_bytes()].concat()
}

/// The shard, the time and the number of such a key.
pub(crate) fn read_feed(key: &[u8]) -> Option<(u16, (u64, u64))> {
    let (shard, rest) = key.split_first_chunk()?;
    let (at_ms, number) = rest.split_first_chunk()?;
    let order = (u64::from_be_bytes(*at_ms), u64::from_be_bytes(number.try_into().ok()?));
    Some((u16::from_be_bytes(*shard), order))
}

/// `shard ‖ 0`: what was trimmed of a shard's feed. Before all its entries.
pub(crate) fn feed_trimmed(shard: u16) -> Vec<u8> {
    [&shard.to_be_bytes()[..], &[END]].concat()
}

/// `actor ‖ 0 ‖ request`.
pub(crate) fn request(key: &RequestKey) -> Vec<u8> {
    [key.actor.as_bytes(), &[END], key.request_id.as_bytes()].concat()
}

/// The request of such a key.
pub(crate) fn read_request(key: &[u8]) -> Option<RequestKey> {
    let end = key.iter().position(|byte| *byte == END)?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    Some(RequestKey { actor: text(key.get(..end)?)?, request_id: text(key.get(end + 1..)?)? })
}

/// What a key of a pool is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pooled {
    /// The pool itself.
    Pool,
    Ticket(TicketId),
    /// A match that is owed.
    Owed(MatchId),
}

/// `pool ‖ 0 ‖ kind ‖ id`; a pool itself has no id.
pub(crate) fn pooled(pool: &str, of: Pooled) -> Vec<u8> {
    let (kind, id): (u8, &[u8]) = match &of {
        Pooled::Pool => (0, &[]),
        Pooled::Ticket(id) => (1, id.as_bytes()),
        Pooled::Owed(id) => (2, id.as_bytes()),
    };
    [pool.as_bytes(), &[END, kind], id].concat()
}

/// The pool of such a key, and what it is of.
pub(crate) fn read_pooled(key: &[u8]) -> Option<(&str, Pooled)> {
    let end = key.iter().position(|byte| *byte == END)?;
    let (pool, rest) = (key.get(..end)?, key.get(end + 1..)?);
    let of = match rest.split_first()? {
        (0, []) => Pooled::Pool,
        (1, id) => Pooled::Ticket(TicketId::from_bytes(id.try_into().ok()?)),
        (2, id) => Pooled::Owed(MatchId::try_from(id).ok()?),
        _ => return None,
    };
    Some((std::str::from_utf8(pool).ok()?, of))
}

/// `player`: his reservation, or his record.
pub(crate) fn player(player: &str) -> Vec<u8> {
    player.as_bytes().to_vec()
}

/// The player of such a key.
pub(crate) fn read_player(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()
}

/// `0`: the number of the last change of anybody's access. Before all players.
pub(crate) const LAST_ACCESS_CHANGE: [u8; 1] = [END];

/// `speed ‖ player`: a line of a leaderboard.
pub(crate) fn ranked(speed: Speed, player: &str) -> Vec<u8> {
    [&[speed.0], player.as_bytes()].concat()
}

/// The speed and the player of such a key.
pub(crate) fn read_ranked(key: &[u8]) -> Option<(Speed, &str)> {
    let (speed, player) = key.split_first()?;
    Some((Speed(*speed), std::str::from_utf8(player).ok()?))
}
