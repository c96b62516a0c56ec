//! Tickets.
//!
//! All of a pool lies in one slot, and every step on it is one script, which goes by the time of the pool's primary.
//! Whoever looks after a pool reads its changes by their numbers. A place in them names the history that they were
//! counted in as well: a server that takes over without the last changes counts their numbers again.

use std::sync::Arc;

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{NewMatch, Stamp};
use sealing::MatchId;
use store::codec::{self, CodecError};
use store::{
    Claim, PoolCursor, PoolName, PoolPage, SeenTicket, StoreError, Ticket, TicketName, TicketStore, Wish,
};

use crate::call::Call;
use crate::redis_store::RedisStore;
use crate::reply::{Reply, unexpected, unreadable, unwritable};
use crate::scripts::{OWING_MAX, Script};
use crate::stored_ticket::{self, id_text};

/// Bits of a place in the changes of a pool that are their number: at a million a second, for 12 days; at a
/// thousand, for 34 years. Those above name the history.
const NUMBER_BITS: u32 = 40;

/// The largest number of a change.
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;

impl RedisStore {
    /// A call on a pool.
    fn on_pool(&self, script: &Arc<Script>, pool: &PoolName) -> Call {
        let place = self.names.pool(pool);
        let keys = self.names.pool_keys(&place);
        Call::new(script, place, keys)
    }

    /// A call on a ticket, whose id is the first argument.
    fn on_ticket(&self, script: &Arc<Script>, name: &TicketName) -> Call {
        self.on_pool(script, &name.pool).argument(id_text(name.id))
    }

    async fn read_or_renew(&self, name: &TicketName, renew: bool) -> Result<SeenTicket, StoreError> {
        let call = self.on_ticket(&self.scripts.ticket, name).number(u8::from(renew));
        read_seen(name, &self.caller.run(call).await?)
    }
}

/// Reads what a script answers about a ticket.
fn read_seen(name: &TicketName, reply: &Reply) -> Result<SeenTicket, StoreError> {
    let stored = reply.optional_bytes(1)?.ok_or(StoreError::NotFound)?;
    let last = Stamp::from_ms(reply.number(2)?);
    let ticket = stored_ticket::read(name.clone(), stored, last).map_err(|error| unreadable(&error))?;
    let owed = reply.optional_bytes(3)?.map(codec::decode_new_match).transpose();
    Ok(SeenTicket {
        ticket,
        now: Stamp::from_ms(reply.number(0)?),
        owed: owed.map_err(|error| unreadable(&error))?,
        usual_wait_ms: reply.optional_number(4)?,
    })
}

/// Reads entries of a page. One that cannot be read, as a newer node wrote it, is left out: whoever looks after the
/// pool serves all others.
fn read_all<T>(entries: impl Iterator<Item = Result<T, CodecError>>) -> Vec<T> {
    let read = |entry: Result<T, CodecError>| {
        entry.map_err(|error| tracing::error!(%error, "an entry of a pool cannot be read")).ok()
    };
    entries.filter_map(read).collect()
}

/// Reads the tickets of a page.
fn read_tickets(pool: &PoolName, entries: &[&[u8]]) -> Result<Vec<Ticket>, StoreError> {
    let (entries, rest) = entries.as_chunks();
    if !rest.is_empty() {
        return Err(unexpected());
    }
    Ok(read_all(entries.iter().map(|[id, stored, last]| {
        let last = std::str::from_utf8(last).ok().and_then(|last| last.parse().ok());
        let last = last.map(Stamp::from_ms).ok_or(CodecError::Malformed)?;
        stored_ticket::read(stored_ticket::read_name(pool, id)?, stored, last)
    })))
}

#[async_trait]
impl TicketStore for RedisStore {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        let wish = codec::encode_wish(&wish).map_err(|error| unwritable(&error))?;
        let call = self.on_ticket(&self.scripts.create_ticket, name).argument(wish);
        let reply = self.caller.run(call).await?;
        match (reply.optional_bytes(1)?, reply.optional_number(2)?) {
            (None, Some(_)) => Err(StoreError::Full { limit: Ticket::POOL_MAX, what: "tickets a pool" }),
            _ => read_seen(name, &reply),
        }
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.read_or_renew(name, false).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.read_or_renew(name, true).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        let call = self.on_ticket(&self.scripts.leave_ticket, name);
        read_seen(name, &self.caller.run(call).await?)
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        if tickets.is_empty() {
            return Ok(Claim::Gone(Vec::new()));
        }
        let record = codec::encode_new_match(game).map_err(|error| unwritable(&error))?;
        let call = self
            .on_pool(&self.scripts.claim, pool)
            .argument(game.id.as_bytes())
            .argument(record)
            .list(tickets.iter().map(|id| id_text(*id).into_bytes()).collect());
        let reply = self.caller.run(call).await?;
        let gone =
            reply.list(0)?.into_iter().map(|id| stored_ticket::read_name(pool, id).map(|name| name.id));
        let gone: Vec<TicketId> = gone.collect::<Result<_, _>>().map_err(|error| unreadable(&error))?;
        match reply.optional_number(1)? {
            Some(_) => Err(StoreError::Full { limit: OWING_MAX, what: "claimed matches a pool" }),
            None if gone.is_empty() => Ok(Claim::Claimed),
            None => Ok(Claim::Gone(gone)),
        }
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        let call = self.on_pool(&self.scripts.made, pool).argument(match_id.as_bytes());
        self.caller.run(call).await.map(drop)
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        let call = self.on_ticket(&self.scripts.requeue_ticket, name).argument(aborted.as_bytes());
        read_seen(name, &self.caller.run(call).await?)
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        let call = self
            .on_pool(&self.scripts.pool, pool)
            .number(after.0 & NUMBER_MAX)
            .argument(format!("{:06x}", after.0 >> NUMBER_BITS));
        let reply = self.caller.run(call).await?;
        let history = std::str::from_utf8(reply.bytes(1)?).ok();
        let history = history.and_then(|history| u64::from_str_radix(history, 16).ok());
        let number = reply.number(2)?;
        Ok(PoolPage {
            changed: read_tickets(pool, &reply.list(5)?)?,
            next: PoolCursor(history.ok_or_else(unexpected)? << NUMBER_BITS | number),
            more: reply.number(3)? > 0,
            restarted: reply.number(4)? > 0,
            owed: read_all(reply.list(6)?.into_iter().map(codec::decode_new_match)),
            now: Stamp::from_ms(reply.number(0)?),
        })
    }
}
