//! Players' lists, and requests.

use async_trait::async_trait;
use referee::Stamp;
use store::{
    Indexed, Invite, PageKey, PlayerHints, PlayerStore, RequestKey, RequestRecord, RequestStore, StoreError,
    Stored, codec,
};

use crate::call::Call;
use crate::invites::read_score;
use crate::matches::read_id;
use crate::redis_store::RedisStore;
use crate::reply::{Reply, unexpected, unreadable, unwritable};

/// Entries of a page at most, some 60 bytes each.
const PAGE_MAX: usize = 1_000;

/// The place of a match in a list: the newest first.
fn place_of(created: Stamp) -> String {
    match created.as_ms() {
        0 => "0".to_owned(),
        ms => format!("-{ms}"),
    }
}

/// Reads one list of a page.
fn read_page(reply: &Reply, at: usize, finished: bool) -> Result<Vec<Indexed>, StoreError> {
    let entries = reply.list(at)?;
    let (pairs, rest) = entries.as_chunks();
    if !rest.is_empty() {
        return Err(unexpected());
    }
    let read = |[id, place]: &[&[u8]; 2]| {
        let created = Stamp::from_ms(read_score(place.strip_prefix(b"-").unwrap_or(place))?);
        Ok(Indexed { match_id: read_id(id)?, finished, created })
    };
    pairs.iter().map(read).collect()
}

#[async_trait]
impl PlayerStore for RedisStore {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        let place = self.names.player(player);
        let keys = self.names.lists(&place);
        let channel = self.names.player_channel(&place);
        let call = Call::new(&self.scripts.index, place, keys)
            .number(entry.match_id)
            .argument(place_of(entry.created))
            .number(u8::from(entry.finished))
            .number(Stored::RETENTION_DEFAULT_MS)
            .telling(channel);
        self.caller.run(call).await.map(drop)
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        let place = self.names.player(player);
        let keys = self.names.lists(&place);
        let limit = limit.min(PAGE_MAX);
        let call = Call::new(&self.scripts.page, place, keys)
            .argument(after.map_or(String::new(), |after| place_of(after.created)))
            .argument(after.map_or(String::new(), |after| after.match_id.to_string()))
            .number(limit)
            .number(u8::from(finished != Some(true)))
            .number(u8::from(finished != Some(false)));
        let reply = self.caller.run(call).await?;
        let mut page = read_page(&reply, 0, false)?;
        page.extend(read_page(&reply, 1, true)?);
        page.sort_by_key(|entry| (std::cmp::Reverse(entry.created), entry.match_id));
        page.truncate(limit);
        Ok(page)
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        let place = self.names.player(player);
        let keys = self.names.lists(&place);
        let channel = self.names.player_channel(&place);
        let call = Call::new(&self.scripts.forget_lists, place, keys).telling(channel);
        self.caller.run(call).await.map(drop)
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.listed_invites(player, limit).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        self.hints_for_player(player).await
    }
}

#[async_trait]
impl RequestStore for RedisStore {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        let record = codec::encode_request(&record).map_err(|error| unwritable(&error))?;
        let (name, place) = self.names.request(&key);
        let fence = self.names.fence(&place);
        let call = Call::new(&self.scripts.remember, place, vec![name, fence])
            .argument(record)
            .number(RequestRecord::RETENTION_MS);
        let reply = self.caller.run(call).await?;
        codec::decode_request(reply.bytes(0)?).map_err(|error| unreadable(&error))
    }
}
