//! Tickets: asking for an opponent, and stopping to.

use std::sync::Arc;

use matchmaker::TicketId;
use referee::{Stamp, TimeControl};
use sealing::{MatchId, Party};
use store::{
    BotFallback, PlayerRecord, PoolName, Reservation, SeenTicket, Store, StoreError, Ticket, TicketName,
    TicketState, Wish,
};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::convert::time::duration_ms;
use crate::convert::{errors, match_name, request, settings, ticket, ticket_name};
use crate::holding::{self, Holding, Judged};
use crate::node::Node;
use crate::pools::{Pool, speed_class};
use crate::{idempotency, making, standing};

/// Time controls that a player may name: as many as a pool is good for.
const TIME_CONTROLS_MAX: usize = 8;

/// Players that a player may exclude: each costs pairing a look.
const EXCLUDED_MAX: usize = 64;

/// When a bot may come at the earliest and at the latest, ms: after that nobody waits any more.
const BOT_AFTER_MIN_MS: u64 = 1_000;
const BOT_AFTER_MAX_MS: u64 = 600_000;

/// The highest rating that a back end may set, points.
const RATING_MAX_POINTS: f64 = 5_000.0;

/// The deviation of a rating that a back end set, points: it says how strong the player is, so that it counts
/// as settled.
const SET_DEVIATION_POINTS: u32 = 50;

/// What is remembered where a player who cancels has no ticket: the id of none.
const NO_TICKET: MatchId = MatchId::from_bytes([0; 16]);

/// Tickets over one node.
#[derive(Clone)]
pub(crate) struct Tickets {
    pub(crate) node: Arc<Node>,
}

impl Tickets {
    /// Lets a player wait, or finds the ticket that he has.
    pub(crate) async fn create(
        &self,
        caller: &Caller,
        request: v1::CreateTicketRequest,
    ) -> Result<v1::Ticket, ApiError> {
        let player = caller.acting(&request.player)?;
        caller.meets_strangers()?;
        self.node.may_play(&player)?;
        let ticket = self.enqueue(caller, player.clone(), request).await?;
        // Who is banned meanwhile has his ticket cancelled when this node hears of it: before now, or after it.
        if let Err(banned) = self.node.may_play(&player) {
            take_out(self.node.store.as_ref(), &player).await.map_err(errors::store)?;
            return Err(banned);
        }
        Ok(ticket)
    }

    async fn enqueue(
        &self,
        caller: &Caller,
        player: String,
        mut request: v1::CreateTicketRequest,
    ) -> Result<v1::Ticket, ApiError> {
        let request_id = request::request_id(&request.request_id)?;
        let pool = self.pool(&request.pool)?;
        let draft = draft(caller, pool, &request)?;
        let fresh = self.node.new_id();
        request.request_id.clear();
        request.player.clear();
        let store = self.node.store.as_ref();
        let record = self.node.keys.record(&request, fresh);
        let next = Reservation::Ticket(named(pool, fresh));
        let entry = store.enter(idempotency::key(&player, &request_id), record, &next).await;
        let entry = entry.map_err(errors::store)?;
        let id = idempotency::created(entry.remembered, record)?;
        let name = named(pool, id);
        if id != fresh {
            match store.ticket(&name).await {
                Ok(seen) => return self.shown(seen).await,
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(errors::store(error)),
            }
        }
        let by_ticket = Reservation::Ticket(name.clone());
        if entry.held_by.as_ref() != Some(&by_ticket) {
            match holding::hold(store, &player, &by_ticket).await.map_err(errors::store)? {
                None => {}
                Some(Holding::Ticket(seen)) => return self.shown(*seen).await,
                Some(Holding::Match(id)) => return Err(already_in_match(&player, Some(id))),
            }
        }
        let wish = wish(draft, player.clone(), entry.record);
        match store.create_ticket(&name, Arc::new(wish)).await {
            Ok(seen) if seen.ticket.is_waiting() => self.shown(seen).await,
            // Another call of his has taken the reservation away meanwhile, or cancelled by player.
            Ok(seen) => match self.held_ticket(&player).await? {
                Some(other) => self.shown(other).await,
                None => self.shown(seen).await,
            },
            Err(StoreError::NotFound) => {
                // The call has come too late: its ticket has been and gone.
                store.reserve(&player, Some(&by_ticket), None).await.map_err(errors::store)?;
                Err(not_open(&name, None))
            }
            Err(error) => Err(errors::store(error)),
        }
    }

    /// A ticket, for its player and for back ends.
    pub(crate) async fn get(
        &self,
        caller: &Caller,
        name: &str,
        player: &str,
    ) -> Result<v1::Ticket, ApiError> {
        let (_, seen) = self.load(caller, name, player).await?;
        self.shown(seen).await
    }

    /// Renews a lease.
    pub(crate) async fn renew(
        &self,
        caller: &Caller,
        request: &v1::RenewTicketRequest,
    ) -> Result<v1::Ticket, ApiError> {
        request::request_id(&request.request_id)?;
        let (name, seen) = self.load(caller, &request.name, &request.player).await?;
        if let Some(wish) = &seen.ticket.wish {
            self.node.may_play(&wish.party.player)?;
        }
        let seen = self.node.store.renew_ticket(&name).await;
        let seen = self.made(seen.map_err(|error| errors::store_on(&request.name, error))?).await?;
        match seen.ticket.state {
            TicketState::Waiting { .. } => self.shown(seen).await,
            state => Err(not_open(&name, Some(state))),
        }
    }

    /// Stops looking for an opponent.
    pub(crate) async fn cancel(
        &self,
        caller: &Caller,
        request: &v1::CancelTicketRequest,
    ) -> Result<Option<v1::Ticket>, ApiError> {
        let request_id = request::request_id(&request.request_id)?;
        if !request.name.is_empty() {
            let (name, seen) = self.load(caller, &request.name, &request.player).await?;
            let player = seen.ticket.wish.as_ref().map(|wish| wish.party.player.clone()).unwrap_or_default();
            return self.leave(&name, &player).await.map(Some);
        }
        let player = caller.acting(&request.player)?;
        let own = self.own_ticket(&player).await?;
        // The same request again is about the same ticket, whatever he has asked for since.
        let content = v1::CancelTicketRequest::default();
        let id = own.as_ref().map_or(NO_TICKET, |name| MatchId::from_bytes(*name.id.as_bytes()));
        let (store, keys) = (self.node.store.as_ref(), &self.node.keys);
        let first = keys.created_id(store, &player, &request_id, &content, id).await?;
        let name = if first == id { own } else { self.find(first).await? };
        match name {
            None => Ok(None),
            Some(name) => self.leave(&name, &player).await.map(Some),
        }
    }

    /// The ticket that a player has, or is about to have: one that is still on its way is closed as well.
    async fn own_ticket(&self, player: &str) -> Result<Option<TicketName>, ApiError> {
        let held = self.node.store.reservation(player).await.map_err(errors::store)?;
        match held.map(|held| held.by) {
            None => Ok(None),
            Some(Reservation::Ticket(name)) => Ok(Some(name)),
            Some(Reservation::Match(_)) => Ok(self.held_ticket(player).await?.map(|seen| seen.ticket.name)),
        }
    }

    /// The ticket of this id, in whichever pool it is.
    async fn find(&self, id: MatchId) -> Result<Option<TicketName>, ApiError> {
        for pool in self.node.config.pools.iter().filter(|_| id != NO_TICKET) {
            let name = named(pool, id);
            match self.node.store.ticket(&name).await {
                Ok(_) => return Ok(Some(name)),
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(errors::store(error)),
            }
        }
        Ok(None)
    }

    /// Leaves a ticket for good, and frees its player from it.
    async fn leave(&self, name: &TicketName, player: &str) -> Result<v1::Ticket, ApiError> {
        let store = self.node.store.as_ref();
        let left = self.made(store.leave_ticket(name).await.map_err(errors::store)?).await?;
        if let TicketState::Matched { .. } = left.ticket.state {
            return Err(not_open(name, Some(left.ticket.state)));
        }
        let by_ticket = Reservation::Ticket(name.clone());
        store.reserve(player, Some(&by_ticket), None).await.map_err(errors::store)?;
        self.shown(left).await
    }

    /// The ticket that holds a player, if one does.
    pub(crate) async fn held_ticket(&self, player: &str) -> Result<Option<SeenTicket>, ApiError> {
        let held = holding::of(self.node.store.as_ref(), player).await.map_err(errors::store)?;
        Ok(held.and_then(|(_, judged)| match judged {
            Judged::Holds(Holding::Ticket(seen)) => Some(*seen),
            Judged::Holds(Holding::Match(_)) | Judged::Over(_) => None,
        }))
    }

    /// A ticket that the caller may see.
    pub(crate) async fn load(
        &self,
        caller: &Caller,
        name: &str,
        player: &str,
    ) -> Result<(TicketName, SeenTicket), ApiError> {
        let player = caller.acting_or_backend(player)?;
        let parsed = request::ticket_name("name", name)?;
        let seen = self.node.store.ticket(&parsed).await.map_err(|error| errors::store_on(name, error))?;
        let owner = seen.ticket.wish.as_ref().map(|wish| wish.party.player.as_str());
        let is_his = player.is_none_or(|player| owner == Some(&player));
        if is_his && owner.is_some() { Ok((parsed, seen)) } else { Err(ApiError::not_found(name)) }
    }

    /// A ticket whose match, if it has one, is there.
    pub(crate) async fn made(&self, seen: SeenTicket) -> Result<SeenTicket, ApiError> {
        if let Some(owed) = &seen.owed {
            let made = making::make(self.node.store.as_ref(), &seen.ticket.name.pool, owed).await;
            made.map_err(errors::store)?;
        }
        Ok(SeenTicket { owed: None, ..seen })
    }

    async fn shown(&self, seen: SeenTicket) -> Result<v1::Ticket, ApiError> {
        Ok(ticket::to_wire(&self.made(seen).await?))
    }

    fn pool(&self, name: &str) -> Result<&Pool, ApiError> {
        if name.is_empty() {
            return Err(ApiError::required("pool"));
        }
        let pool = PoolName::new(name).ok().and_then(|name| self.node.config.pools.named(&name));
        pool.ok_or_else(|| {
            let what = "this server has no such pool; GetServerInfo lists them";
            ApiError::field(ErrorReason::FieldInvalid, "pool", what)
        })
    }
}

/// Takes a player out of the pool, whatever ticket he has or is about to have. One that has been matched stays so, and
/// never waits again.
pub(crate) async fn take_out(store: &dyn Store, player: &str) -> Result<(), StoreError> {
    let held = store.reservation(player).await?;
    let name = match held.map(|held| held.by) {
        None => return Ok(()),
        Some(Reservation::Ticket(name)) => name,
        Some(Reservation::Match(_)) => match holding::of(store, player).await? {
            Some((_, Judged::Holds(Holding::Ticket(seen)))) => seen.ticket.name,
            _ => return Ok(()),
        },
    };
    let left = store.leave_ticket(&name).await?;
    match (left.owed, left.ticket.state) {
        (Some(owed), _) => making::make(store, &name.pool, &owed).await,
        (None, TicketState::Matched { .. }) => Ok(()),
        (None, _) => store.reserve(player, Some(&Reservation::Ticket(name)), None).await.map(drop),
    }
}

/// The ticket of this id in a pool.
fn named(pool: &Pool, id: MatchId) -> TicketName {
    TicketName { pool: pool.name.clone(), id: TicketId::from_bytes(*id.as_bytes()) }
}

/// What a player asks for, with what the server knows of him.
fn wish(draft: Draft, player: String, record: PlayerRecord) -> Wish {
    let speed = draft.time_controls.first().map(|time| speed_class(*time));
    let known = speed.map(|speed| standing::rating(&record, speed)).unwrap_or_default();
    let (rating_milli, deviation_points) = match draft.rating_milli {
        Some(rating_milli) => (rating_milli, SET_DEVIATION_POINTS),
        None => (known.points_micro() / 1_000, known.rounded_deviation_points()),
    };
    Wish {
        party: Party { player, public_key: draft.public_key },
        time_controls: draft.time_controls,
        rating_milli,
        deviation_points,
        excluded: draft.excluded,
        recent: record.recent,
        bot_fallback: draft.bot_fallback,
    }
}

/// A request, checked.
struct Draft {
    public_key: Option<sealing::PublicKey>,
    time_controls: Vec<TimeControl>,
    rating_milli: Option<u64>,
    excluded: Vec<String>,
    bot_fallback: Option<BotFallback>,
}

fn draft(caller: &Caller, pool: &Pool, request: &v1::CreateTicketRequest) -> Result<Draft, ApiError> {
    Ok(Draft {
        public_key: caller.key(&request.public_key)?,
        time_controls: time_controls(pool, &request.time_controls)?,
        rating_milli: request.rating.map(|points| rating(caller, points)).transpose()?,
        excluded: excluded(&request.excluded_players)?,
        bot_fallback: request.bot_fallback.as_ref().map(bot_fallback).transpose()?,
    })
}

fn time_controls(pool: &Pool, wished: &[v1::TimeControl]) -> Result<Vec<TimeControl>, ApiError> {
    let refused = |what: &str| ApiError::field(ErrorReason::FieldInvalid, "time_controls", what);
    if wished.is_empty() {
        return Err(ApiError::required("time_controls"));
    }
    if wished.len() > TIME_CONTROLS_MAX {
        return Err(refused(&format!("at most {TIME_CONTROLS_MAX} can be named")));
    }
    let read = |(at, wire): (usize, &v1::TimeControl)| {
        let field = format!("time_controls[{at}]");
        let time = settings::time_control(&field, wire)?;
        if pool.time_controls.contains(&time) {
            Ok(time)
        } else {
            let what = "the pool does not have it; GetServerInfo lists those it has";
            Err(ApiError::field(ErrorReason::FieldInvalid, &field, what))
        }
    };
    let times = wished.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let twice = times.iter().enumerate().any(|(at, time)| times[..at].contains(time));
    if twice { Err(refused("one is named twice")) } else { Ok(times) }
}

fn rating(caller: &Caller, points: f64) -> Result<u64, ApiError> {
    let refused = |what: &str| Err(ApiError::field(ErrorReason::FieldInvalid, "rating", what));
    if caller.own_name().is_some() {
        return refused("a player's rating is the one that the server knows; leave it unset");
    }
    if !(0.0..=RATING_MAX_POINTS).contains(&points) {
        return refused(&format!("it is 0 to {RATING_MAX_POINTS} points"));
    }
    // In range, and not negative.
    Ok((points * 1_000.0).round() as u64)
}

fn excluded(names: &[String]) -> Result<Vec<String>, ApiError> {
    if names.len() > EXCLUDED_MAX {
        let what = format!("at most {EXCLUDED_MAX} can be named");
        return Err(ApiError::field(ErrorReason::FieldInvalid, "excluded_players", &what));
    }
    let read = |(at, name): (usize, &String)| {
        request::player(&format!("excluded_players[{at}]"), name).map(str::to_owned)
    };
    names.iter().enumerate().map(read).collect()
}

fn bot_fallback(wire: &v1::BotFallback) -> Result<BotFallback, ApiError> {
    let field = "bot_fallback.after";
    let after = wire.after.as_ref().ok_or_else(|| ApiError::required(field))?;
    let after_ms = duration_ms(field, ErrorReason::FieldInvalid, after)?;
    if !(BOT_AFTER_MIN_MS..=BOT_AFTER_MAX_MS).contains(&after_ms) {
        return Err(ApiError::field(ErrorReason::FieldInvalid, field, "it is 1 s to 10 minutes"));
    }
    Ok(BotFallback { after_ms, level: request::bot_level("bot_fallback.level", wire.level)? })
}

/// The refusal of one who is reserved for a match.
pub(crate) fn already_in_match(player: &str, id: Option<MatchId>) -> ApiError {
    let error = ApiError::precondition(ErrorReason::AlreadyInMatch, player);
    match id {
        Some(id) => error.with_metadata("match", &match_name(id)),
        None => error,
    }
}

/// The refusal of one whose ticket does not wait.
fn not_open(name: &TicketName, state: Option<TicketState>) -> ApiError {
    let error = ApiError::precondition(ErrorReason::TicketNotOpen, &ticket_name(name));
    match state {
        Some(TicketState::Matched { match_id, .. }) => error.with_metadata("match", &match_name(match_id)),
        _ => error,
    }
}

/// How often whoever waits has his lease renewed, ms: two times may fail.
pub(crate) const RENEWAL_MS: u64 = Ticket::LEASE_MS / 3;

/// When a ticket's state may change by time alone: the moment after its lease.
pub(crate) fn expires(seen: &SeenTicket) -> Option<Stamp> {
    match seen.ticket.state {
        TicketState::Waiting { lease_until, .. } => Some(lease_until.plus_ms(1)),
        TicketState::Matched { .. } | TicketState::Cancelled | TicketState::Expired => None,
    }
}
