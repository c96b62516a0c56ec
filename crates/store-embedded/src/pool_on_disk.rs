//! Pools on the disk: the count of their changes, their tickets, and what is owed.
//!
//! A key is the pool's name, [`key::pooled`] and what follows; numbers are big-endian. A lease is not written:
//! it is renewed every few seconds, and is a new one after a start.
//!
//! ```text
//! pool    number of the last change (u64) ‖ usual wait, ms (u64), if there is one
//! ticket  number of its last change (u64) ‖ created (u64) ‖ state (u8) ‖ match (16), if the state has one ‖
//!         ended (u64), if it has ‖ wish, if it has one
//! owed    claimed (u64) ‖ match to be made
//! ```

use std::sync::Arc;

use matchmaker::TicketId;
use referee::Stamp;
use sealing::MatchId;
use store::codec::{self, CodecError};
use store::{PoolName, TicketState};

use crate::disk::{Space, View, Write};
use crate::durable::damaged;
use crate::error::OpenError;
use crate::key::{self, Pooled};
use crate::memory::{Memory, lock};
use crate::pool::{Entry, Owed, Update};

/// How states are written; never changes.
const WAITING: u8 = 1;
const WAITING_AGAIN: u8 = 2;
const MATCHED: u8 = 3;
const MATCHED_AND_LEFT: u8 = 4;
const CANCELLED: u8 = 5;
const EXPIRED: u8 = 6;

/// What stores an update of a pool.
pub(crate) fn put_update(pool: &PoolName, update: &Update) -> Result<Vec<Write>, CodecError> {
    let key = |of: Pooled| key::pooled(pool.as_str(), of);
    let mut writes = Vec::with_capacity(2 + update.tickets.len() + update.forgotten.len());
    for (id, entry) in &update.tickets {
        writes.push(Write::put(Space::Pools, key(Pooled::Ticket(*id)), write_ticket(entry)?));
    }
    for id in &update.forgotten {
        writes.push(Write::remove(Space::Pools, key(Pooled::Ticket(*id))));
    }
    for owed in &update.owed {
        let game = codec::encode_new_match(&owed.game)?;
        let value = [&number(owed.since.as_ms())[..], &game].concat();
        writes.push(Write::put(Space::Pools, key(Pooled::Owed(owed.game.id)), value));
    }
    for made in &update.made {
        writes.push(Write::remove(Space::Pools, key(Pooled::Owed(*made))));
    }
    let mut counts = number(update.last_change).to_vec();
    counts.extend(update.usual_wait_ms.into_iter().flat_map(number));
    writes.push(Write::put(Space::Pools, key(Pooled::Pool), counts));
    Ok(writes)
}

const fn number(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn write_ticket(entry: &Entry) -> Result<Vec<u8>, CodecError> {
    let (state, match_id) = match entry.state {
        TicketState::Waiting { aborted: None, .. } => (WAITING, None),
        TicketState::Waiting { aborted: Some(aborted), .. } => (WAITING_AGAIN, Some(aborted)),
        TicketState::Matched { match_id, left: false } => (MATCHED, Some(match_id)),
        TicketState::Matched { match_id, left: true } => (MATCHED_AND_LEFT, Some(match_id)),
        TicketState::Cancelled => (CANCELLED, None),
        TicketState::Expired => (EXPIRED, None),
    };
    let mut value = [&number(entry.change)[..], &number(entry.created.as_ms()), &[state]].concat();
    value.extend(match_id.iter().flat_map(MatchId::as_bytes));
    value.extend(entry.ended.into_iter().flat_map(|ended| number(ended.as_ms())));
    if let Some(wish) = &entry.wish {
        value.extend(codec::encode_wish(wish)?);
    }
    Ok(value)
}

/// What stands under a key of a pool.
pub(crate) enum Read {
    Pool { last_change: u64, usual_wait_ms: Option<u64> },
    Ticket(TicketId, Entry),
    Owed(Box<Owed>),
}

/// Reads an entry of a pool.
pub(crate) fn read(key: &[u8], value: &[u8]) -> Result<(PoolName, Read), CodecError> {
    let (pool, of) = key::read_pooled(key).ok_or(CodecError::Malformed)?;
    let pool = PoolName::new(pool).map_err(|_| CodecError::Malformed)?;
    let mut rest = Bytes(value);
    let read = match of {
        Pooled::Pool => {
            let last_change = rest.number()?;
            let usual_wait_ms = if rest.0.is_empty() { None } else { Some(rest.number()?) };
            Read::Pool { last_change, usual_wait_ms }
        }
        Pooled::Ticket(id) => Read::Ticket(id, read_ticket(rest)?),
        Pooled::Owed(id) => {
            let owed = Owed { since: rest.stamp()?, game: codec::decode_new_match(rest.0)? };
            if owed.game.id != id {
                return Err(CodecError::Field { field: "NewMatch.match_id" });
            }
            Read::Owed(Box::new(owed))
        }
    };
    Ok((pool, read))
}

fn read_ticket(mut rest: Bytes<'_>) -> Result<Entry, CodecError> {
    let (change, created) = (rest.number()?, rest.stamp()?);
    // The lease that a ticket is restored with comes later.
    let lease_until = created;
    let [state] = rest.take()?;
    let state = match state {
        WAITING => TicketState::Waiting { lease_until, aborted: None },
        WAITING_AGAIN => TicketState::Waiting { lease_until, aborted: Some(rest.match_id()?) },
        MATCHED => TicketState::Matched { match_id: rest.match_id()?, left: false },
        MATCHED_AND_LEFT => TicketState::Matched { match_id: rest.match_id()?, left: true },
        CANCELLED => TicketState::Cancelled,
        EXPIRED => TicketState::Expired,
        _ => return Err(CodecError::Malformed),
    };
    let waits = matches!(state, TicketState::Waiting { .. });
    let ended = if waits { None } else { Some(rest.stamp()?) };
    let wish = if rest.0.is_empty() { None } else { Some(Arc::new(codec::decode_wish(rest.0)?)) };
    Ok(Entry { wish, created, state, ended, change })
}

/// Takes in the pools that an earlier process left.
pub(crate) fn restore(view: &View, memory: &Memory) -> Result<(), OpenError> {
    let now = memory.stamp();
    for entry in view.all(Space::Pools) {
        let (key, value) = entry?;
        let (pool, read) = read(&key, &value).map_err(|error| damaged("a pool", &error))?;
        let place = memory.pools.restore(&pool);
        let mut pool = lock(&place.pool);
        match read {
            Read::Pool { last_change, usual_wait_ms } => pool.count_from(last_change, usual_wait_ms),
            Read::Ticket(id, entry) => pool.restore(id, entry, now),
            Read::Owed(owed) => pool.owe(*owed),
        }
    }
    Ok(())
}

/// What is still to be read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CodecError::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u64, CodecError> {
        self.take().map(u64::from_be_bytes)
    }

    fn stamp(&mut self) -> Result<Stamp, CodecError> {
        self.number().map(Stamp::from_ms)
    }

    fn match_id(&mut self) -> Result<MatchId, CodecError> {
        self.take().map(MatchId::from_bytes)
    }
}
