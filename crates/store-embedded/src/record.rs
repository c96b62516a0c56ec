//! Which records a change writes, and where.

use referee::{Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::codec::{self, CodecError, Keyring, ShardClock};
use store::{
    Access, FeedEntry, FeedPosition, Invite, InviteId, PlayerRecord, RequestRecord, Reservation, Speed,
    Stored, Version,
};

use rules::PerSeat;

use crate::board::Score;
use crate::disk::{Space, Write};
use crate::key;
use crate::ledger::Kept;
use crate::shard::{self, Prepared};

/// What stores a change of a match.
pub(crate) fn put_match(
    prepared: &Prepared,
    keyring: &Keyring,
    retention_ms: u64,
) -> Result<Vec<Write>, CodecError> {
    let stored = &prepared.stored;
    let id = stored.head.id;
    // Drawn for this record alone.
    let nonces = PerSeat { black: rand::random(), white: rand::random() };
    let head = codec::encode_head(stored, keyring, &nonces)?;
    let mut writes = Vec::with_capacity(4);
    let until = shard::kept_until(&stored.head, retention_ms);
    if let (true, Some(until)) = (shard::rests(stored), until) {
        writes.push(Write::put(Space::Rest, *id.as_bytes(), head));
        writes.push(Write::remove(Space::Live, *id.as_bytes()));
        writes.push(Write::put(Space::Expiry, key::expiry(until, id), Vec::new()));
    } else {
        writes.push(Write::put(Space::Live, *id.as_bytes(), head));
    }
    if let Some(turn) = &prepared.turn {
        writes.push(Write::put(Space::Turns, key::turn(id, turn.turn), codec::encode_turn(turn)?));
    }
    if let Some(told) = &prepared.told {
        let key = key::feed(told.shard, told.position.order());
        writes.push(Write::put(Space::Feed, key, codec::encode_feed_entry(&told.entry)?));
    }
    Ok(writes)
}

/// Reads a head that is stored under this id.
pub(crate) fn read_head(id: MatchId, bytes: &[u8], keyring: &Keyring) -> Result<Stored, CodecError> {
    let stored = codec::decode_head(bytes, keyring)?;
    if stored.head.id == id { Ok(stored) } else { Err(CodecError::Field { field: "Head.match_id" }) }
}

/// Reads a turn that is stored under this number.
pub(crate) fn read_turn(turn: u32, bytes: &[u8]) -> Result<TurnRecord, CodecError> {
    let record = codec::decode_turn(bytes)?;
    if record.turn == turn { Ok(record) } else { Err(CodecError::Field { field: "Turn.turn" }) }
}

/// What stores a shard's clock.
pub(crate) fn put_clock(shard: usize, now: Now) -> Write {
    let clock = ShardClock { alive: now.stamp, outage_ms: now.outage_ms };
    // A clock is a few bytes, never too long, and there are at most as many shards as a `u16` counts.
    let record = codec::encode_shard_clock(&clock).unwrap_or_default();
    Write::put(Space::Clocks, key::clock(shard as u16), record)
}

/// Reads a shard's clock.
pub(crate) fn read_clock(bytes: &[u8]) -> Result<Now, CodecError> {
    let clock = codec::decode_shard_clock(bytes)?;
    Ok(Now { stamp: clock.alive, outage_ms: clock.outage_ms })
}

/// Reads an entry of a feed and its place.
pub(crate) fn read_feed(key: &[u8], bytes: &[u8]) -> Result<(FeedPosition, FeedEntry), CodecError> {
    let (_, (at_ms, number)) = key::read_feed(key).ok_or(CodecError::Malformed)?;
    let entry = codec::decode_feed_entry(bytes)?;
    Ok((FeedPosition { at: Stamp::from_ms(at_ms), number, mark: entry.mark }, entry))
}

/// `until ‖ record`: what is forgotten after a time.
fn kept(until: Stamp, record: &[u8]) -> Vec<u8> {
    [&until.as_ms().to_be_bytes()[..], record].concat()
}

fn read_kept<V>(bytes: &[u8], read: impl Fn(&[u8]) -> Result<V, CodecError>) -> Result<Kept<V>, CodecError> {
    let (until, record) = bytes.split_first_chunk().ok_or(CodecError::Malformed)?;
    Ok(Kept { value: read(record)?, until: Stamp::from_ms(u64::from_be_bytes(*until)) })
}

/// What stores an invite.
pub(crate) fn put_invite(invite: &Kept<Invite>) -> Result<Write, CodecError> {
    let record = codec::encode_invite(&invite.value)?;
    Ok(Write::put(Space::Invites, *invite.value.id.as_bytes(), kept(invite.until, &record)))
}

/// Reads an invite that is stored under this id.
pub(crate) fn read_invite(id: InviteId, bytes: &[u8]) -> Result<Kept<Invite>, CodecError> {
    let invite = read_kept(bytes, codec::decode_invite)?;
    if invite.value.id == id { Ok(invite) } else { Err(CodecError::Field { field: "Invite.id" }) }
}

/// What stores a request.
pub(crate) fn put_request(key: &[u8], request: &Kept<RequestRecord>) -> Result<Write, CodecError> {
    let record = codec::encode_request(&request.value)?;
    Ok(Write::put(Space::Requests, key, kept(request.until, &record)))
}

/// Reads a request.
pub(crate) fn read_request(bytes: &[u8]) -> Result<Kept<RequestRecord>, CodecError> {
    read_kept(bytes, codec::decode_request)
}

/// What stores what holds a player since `since`: `since ‖ record`.
pub(crate) fn put_reservation(key: Vec<u8>, by: &Reservation, since: Stamp) -> Result<Write, CodecError> {
    Ok(Write::put(Space::Reservations, key, kept(since, &codec::encode_reservation(by)?)))
}

/// Reads what holds a player, and since when.
pub(crate) fn read_reservation(bytes: &[u8]) -> Result<(Reservation, Stamp), CodecError> {
    let since = read_kept(bytes, codec::decode_reservation)?;
    Ok((since.value, since.until))
}

/// What stores a player's record: `counter of the version ‖ its nonce ‖ record`.
pub(crate) fn put_player(key: Vec<u8>, player: &PlayerRecord, version: Version) -> Result<Write, CodecError> {
    let record = codec::encode_player_record(player)?;
    let value = [&version.counter.to_be_bytes()[..], &version.nonce, &record].concat();
    Ok(Write::put(Space::Records, key, value))
}

/// Reads a player's record and its version.
pub(crate) fn read_player(bytes: &[u8]) -> Result<(PlayerRecord, Version), CodecError> {
    let (counter, rest) = bytes.split_first_chunk().ok_or(CodecError::Malformed)?;
    let (nonce, record) = rest.split_first_chunk().ok_or(CodecError::Malformed)?;
    let version = Version { counter: u64::from_be_bytes(*counter), nonce: *nonce };
    Ok((codec::decode_player_record(record)?, version))
}

/// What stores whether a player may play: `number of the change ‖ record`, and the number by itself.
pub(crate) fn put_access(player: &str, access: &Access, number: u64) -> Result<Vec<Write>, CodecError> {
    let number = number.to_be_bytes();
    let value = [&number[..], &codec::encode_access(access)?].concat();
    Ok(vec![
        Write::put(Space::Access, key::LAST_ACCESS_CHANGE, number.to_vec()),
        Write::put(Space::Access, key::player(player), value),
    ])
}

/// What stands in the space of players' access.
pub(crate) enum ReadAccess {
    /// The number of the last change of all.
    LastChange(u64),
    /// A player, the number of his last change, and what is kept of him.
    Player(String, u64, Access),
}

/// Reads an entry of that space.
pub(crate) fn read_access(key: &[u8], bytes: &[u8]) -> Result<ReadAccess, CodecError> {
    let (number, record) = bytes.split_first_chunk().ok_or(CodecError::Malformed)?;
    let number = u64::from_be_bytes(*number);
    if key == key::LAST_ACCESS_CHANGE {
        return Ok(ReadAccess::LastChange(number));
    }
    let player = key::read_player(key).ok_or(CodecError::Malformed)?.to_owned();
    Ok(ReadAccess::Player(player, number, codec::decode_access(record)?))
}

/// What stores a line of a leaderboard: `points, millionths ‖ rated matches`.
pub(crate) fn put_score(speed: Speed, player: &str, score: Score) -> Write {
    let value = [score.points_micro.to_be_bytes(), score.matches.to_be_bytes()].concat();
    Write::put(Space::Boards, key::ranked(speed, player), value)
}

/// Reads a line of a leaderboard.
pub(crate) fn read_score(key: &[u8], bytes: &[u8]) -> Result<(Speed, String, Score), CodecError> {
    let (speed, player) = key::read_ranked(key).ok_or(CodecError::Malformed)?;
    let (points, rest) = bytes.split_first_chunk().ok_or(CodecError::Malformed)?;
    let matches = rest.try_into().map_err(|_| CodecError::Malformed)?;
    let score = Score { points_micro: u64::from_be_bytes(*points), matches: u64::from_be_bytes(matches) };
    Ok((speed, player.to_owned(), score))
}
