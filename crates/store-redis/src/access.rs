//! Who may not play, and whose tokens count no more.
//!
//! The whole list lies in one slot: it changes seldom, and every node reads its changes by their numbers, a step a
//! look. As with a pool's, a place in them names the history that they were counted in as well: a server that takes
//! over without the last changes counts their numbers again. A record is compared as it is stored.

use std::sync::Arc;

use async_trait::async_trait;
use referee::Stamp;
use store::{Access, AccessCursor, AccessPage, AccessStore, StoreError, codec};

use crate::call::Call;
use crate::redis_store::RedisStore;
use crate::reply::{unexpected, unreadable, unwritable};
use crate::scripts::Script;

/// Bits of a place in the changes that are their number: at a thousand a second, for 34 years. Those above name the
/// history.
const NUMBER_BITS: u32 = 40;

/// The largest number of a change.
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;

fn read(stored: Option<&[u8]>) -> Result<Option<Access>, StoreError> {
    stored.map(codec::decode_access).transpose().map_err(|error| unreadable(&error))
}

fn written(access: Option<&Access>) -> Result<Vec<u8>, StoreError> {
    let written = access.map_or(Ok(Vec::new()), codec::encode_access);
    written.map_err(|error| unwritable(&error))
}

/// Reads the players of a page. One that cannot be read, as a newer node wrote it, is left out and stays as he was:
/// all others count.
fn read_players(entries: &[&[u8]]) -> Result<Vec<(String, Access)>, StoreError> {
    let (entries, rest) = entries.as_chunks();
    if !rest.is_empty() {
        return Err(unexpected());
    }
    let mut players = Vec::with_capacity(entries.len());
    for [player, stored] in entries {
        let player = String::from_utf8(player.to_vec()).map_err(|_| unexpected())?;
        match codec::decode_access(stored) {
            Ok(access) => players.push((player, access)),
            Err(error) => tracing::error!(%error, "a player's access cannot be read"),
        }
    }
    Ok(players)
}

impl RedisStore {
    /// A call on the list.
    fn on_access(&self, script: &Arc<Script>) -> Call {
        let place = self.names.access();
        let keys = self.names.access_keys(&place);
        Call::new(script, place, keys)
    }
}

#[async_trait]
impl AccessStore for RedisStore {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        let call = self.on_access(&self.scripts.access).argument(player);
        read(self.caller.run(call).await?.optional_bytes(0)?)
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        let call = self
            .on_access(&self.scripts.put_access)
            .argument(player)
            .argument(written(expected)?)
            .argument(written(Some(next))?)
            .number(next.kept_until().map_or(0, Stamp::as_ms));
        let reply = self.caller.run(call).await?;
        match reply.optional_number(1)? {
            None => read(reply.optional_bytes(0)?),
            Some(_) => Err(StoreError::Full { limit: Access::PLAYERS_MAX, what: "players with a ban" }),
        }
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        let call = self
            .on_access(&self.scripts.access_changes)
            .number(after.0 & NUMBER_MAX)
            .argument(format!("{:06x}", after.0 >> NUMBER_BITS));
        let reply = self.caller.run(call).await?;
        let history = std::str::from_utf8(reply.bytes(1)?).ok();
        let history = history.and_then(|history| u64::from_str_radix(history, 16).ok());
        let history = history.ok_or_else(unexpected)?;
        Ok(AccessPage {
            changed: read_players(&reply.list(5)?)?,
            next: AccessCursor(history << NUMBER_BITS | reply.number(2)?),
            more: reply.number(3)? > 0,
            restarted: reply.number(4)? > 0,
            now: Stamp::from_ms(reply.number(0)?),
        })
    }
}
