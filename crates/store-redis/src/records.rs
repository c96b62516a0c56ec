//! Players' records and leaderboards.
//!
//! A record lies with its player, behind its version. A leaderboard has a slot of its own for each speed: a sorted
//! set, the best first and of equals the first name first, as its scores are the points with a minus before them.

use async_trait::async_trait;
use store::{PlayerRecord, Ranked, RecordStore, Speed, StoreError, Version, codec};

use crate::call::Call;
use crate::envelope;
use crate::invites::read_score;
use crate::redis_store::RedisStore;
use crate::reply::{unexpected, unreadable, unwritable};
use crate::scripts::RANKED_MAX;

/// Lines of a leaderboard in one answer at most, some 60 bytes each.
const LINES_MAX: usize = 1_000;

/// The largest index of a line: what a server takes.
const INDEX_MAX: u64 = i64::MAX as u64;

/// Reads lines of a leaderboard: names and places by turns. `skipped` are before them, `better` better than the
/// first of them.
fn read_lines(entries: &[&[u8]], skipped: u64, better: u64) -> Result<Vec<Ranked>, StoreError> {
    let (entries, rest) = entries.as_chunks();
    if !rest.is_empty() {
        return Err(unexpected());
    }
    let mut lines: Vec<Ranked> = Vec::with_capacity(entries.len());
    for ([player, place], index) in entries.iter().zip(skipped..) {
        let points_micro = read_score(place.strip_prefix(b"-").unwrap_or(place))?;
        let rank = match lines.last() {
            None => better + 1,
            Some(last) if last.points_micro == points_micro => last.rank,
            Some(_) => index + 1,
        };
        let player = String::from_utf8(player.to_vec()).map_err(|_| unexpected())?;
        lines.push(Ranked { rank, player, points_micro });
    }
    Ok(lines)
}

/// Reads a record behind its version, or that there is none.
pub(crate) fn read_record(stored: Option<&[u8]>) -> Result<(PlayerRecord, Option<Version>), StoreError> {
    let Some(stored) = stored else { return Ok((PlayerRecord::default(), None)) };
    let (version, record) = envelope::read_version(stored).map_err(|error| unreadable(&error))?;
    let record = codec::decode_player_record(record).map_err(|error| unreadable(&error))?;
    Ok((record, Some(version)))
}

#[async_trait]
impl RecordStore for RedisStore {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.record(&place), self.names.fence(&place)];
        let reply = self.caller.run(Call::new(&self.scripts.record, place, keys)).await?;
        read_record(reply.optional_bytes(0)?)
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.record(&place), self.names.fence(&place)];
        let next = expected.map_or_else(|| Version::first(nonce), |version| version.next(nonce));
        let call = Call::new(&self.scripts.put_record, place, keys)
            .argument(expected.map(envelope::version_bytes).unwrap_or_default())
            .argument(envelope::version_bytes(next))
            .argument(codec::encode_player_record(record).map_err(|error| unwritable(&error))?);
        Ok(self.caller.run(call).await?.number(0)? > 0)
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.record(&place), self.names.fence(&place)];
        self.caller.run(Call::new(&self.scripts.remove_record, place, keys)).await.map(drop)
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        let place = self.names.board(speed);
        let keys = vec![self.names.points(&place), self.names.rated(&place), self.names.fence(&place)];
        let call = Call::new(&self.scripts.rank, place, keys)
            .argument(player)
            .argument(format!("-{points_micro}"))
            .number(matches);
        match self.caller.run(call).await?.number(0)? {
            0 => Ok(()),
            _ => Err(StoreError::Full { limit: RANKED_MAX, what: "players a leaderboard" }),
        }
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        let place = self.names.board(speed);
        let keys = vec![self.names.points(&place), self.names.rated(&place), self.names.fence(&place)];
        let call = Call::new(&self.scripts.unrank, place, keys).argument(player);
        self.caller.run(call).await.map(drop)
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        let skip = skip.min(INDEX_MAX);
        // An index of -1 would be the last line.
        let Some(more) = limit.min(LINES_MAX).checked_sub(1) else { return Ok(Vec::new()) };
        let place = self.names.board(speed);
        let keys = vec![self.names.points(&place), self.names.fence(&place)];
        let call = Call::new(&self.scripts.leaderboard, place, keys)
            .number(skip)
            .number(skip.saturating_add(more as u64).min(INDEX_MAX));
        let reply = self.caller.run(call).await?;
        read_lines(&reply.list(1)?, skip, reply.number(0)?)
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        let place = self.names.board(speed);
        let keys = vec![self.names.points(&place), self.names.fence(&place)];
        let call = Call::new(&self.scripts.leaderboard_place, place, keys).argument(player);
        self.caller.run(call).await?.optional_number(0)
    }
}
