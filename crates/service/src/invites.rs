//! Invites: making them, ending them, and the match that comes of one.

use std::sync::Arc;

use referee::{Mode, NewMatch, Origin, RequestId, Settings, Stamp};
use rules::{PerSeat, Seat};
use sealing::{MatchId, Party, PublicKey};
use sha2::{Digest as _, Sha256};
use store::{Closing, Invite, InviteEnd, Reservation};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::bots::seat_by_id;
use crate::convert::time::duration_ms;
use crate::convert::{errors, invite, invite_name, request, settings};
use crate::node::Node;
use crate::pool_keeper::ratings;
use crate::tickets::already_in_match;
use crate::{holding, making};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// How long an invite can be accepted, ms: at least long enough to answer it, at most as long as the
/// match that it may be a rematch of can be read.
const TTL_MIN_MS: u64 = MINUTE_MS;
const TTL_DEFAULT_MS: u64 = DAY_MS;
const TTL_MAX_MS: u64 = 7 * DAY_MS;

/// Invites that one player may have open at once: more than anybody waits for, and nobody fills the store.
const OPEN_MAX: usize = 100;

/// Invites over one node.
#[derive(Clone)]
pub(crate) struct Invites {
    pub(crate) node: Arc<Node>,
}

/// What an invite is made from: a request, checked.
struct Draft {
    inviter: String,
    inviter_key: Option<PublicKey>,
    invitee: Option<String>,
    settings: Settings,
    inviter_seat: Option<Seat>,
    rematch_of: Option<MatchId>,
    ttl_ms: u64,
}

impl Invites {
    /// Makes an invite, or finds the one that the same request made.
    pub(crate) async fn create(
        &self,
        caller: &Caller,
        mut request: v1::CreateInviteRequest,
    ) -> Result<v1::CreateInviteResponse, ApiError> {
        let request_id = request::request_id(&request.request_id)?;
        let draft = self.draft(caller, &request).await?;
        for player in [Some(&draft.inviter), draft.invitee.as_ref()].into_iter().flatten() {
            self.node.may_play(player)?;
        }
        let fresh = self.node.new_id();
        request.request_id.clear();
        request.player.clear();
        let keys = &self.node.keys;
        let store = self.node.store.as_ref();
        let id = keys.created_id(store, &draft.inviter, &request_id, &request, fresh).await?;
        self.check_room(&draft.inviter, id).await?;
        let open = draft.invitee.is_none();
        let join_secret = if open { keys.join_secret(id) } else { String::new() };
        let now = store.now(id).await.map_err(errors::store)?.stamp;
        let made = Invite {
            id,
            inviter: draft.inviter,
            inviter_key: draft.inviter_key,
            invitee: draft.invitee,
            secret_hash: open.then(|| secret_hash(&join_secret)),
            settings: draft.settings,
            inviter_seat: draft.inviter_seat,
            rematch_of: draft.rematch_of,
            created: now,
            expires: now.plus_ms(draft.ttl_ms),
            closing: None,
        };
        let stored = store.create_invite(made).await.map_err(errors::store)?;
        caller.acts_on(|| invite_name(stored.id));
        Ok(v1::CreateInviteResponse { invite: Some(invite::to_wire(&stored, now)), join_secret })
    }

    /// An invite, for those who may see it. A match that is owed is made first.
    pub(crate) async fn get(
        &self,
        caller: &Caller,
        request: &v1::GetInviteRequest,
    ) -> Result<v1::Invite, ApiError> {
        let player = caller.acting_or_backend(&request.player)?;
        let (invite, now) = self.load(caller, &request.name).await?;
        let involved = player.as_ref().is_none_or(|player| is_involved(&invite, player));
        if !involved && !opens(&invite, &request.join_secret) {
            return Err(ApiError::not_found(&request.name));
        }
        self.ensure_match(&invite).await?;
        Ok(invite::to_wire(&invite, now))
    }

    /// Accepts an invite; the match exists when this returns.
    pub(crate) async fn accept(
        &self,
        caller: &Caller,
        request: &v1::AcceptInviteRequest,
    ) -> Result<v1::Invite, ApiError> {
        let player = caller.acting(&request.player)?;
        self.node.may_play(&player)?;
        let request_id = request::request_id(&request.request_id)?;
        let public_key = caller.key(&request.public_key)?;
        let (invite, _) = self.load(caller, &request.name).await?;
        if invite.inviter == player {
            let what = "an inviter cannot accept his own invite";
            let error = ApiError::new(ErrorReason::NotAParticipant).with_message(what);
            return Err(error.with_metadata("resource", &request.name));
        }
        if !is_invitee(&invite, &player, &request.join_secret) {
            return Err(ApiError::not_found(&request.name));
        }
        self.node.may_play(&invite.inviter)?;
        let match_id = self.node.new_id();
        let reserves = invite.closing.is_none() && invite.settings.mode == Mode::Ranked;
        if reserves {
            self.reserve_both([&invite.inviter, &player], match_id).await?;
        }
        let end = InviteEnd::Accepted { match_id };
        let closed = self.close(&invite, end, player.clone(), request_id, public_key).await;
        if reserves && !closed.as_ref().is_ok_and(|closed| is_accepted_as(closed, match_id)) {
            self.free(&[&invite.inviter, &player], match_id).await?;
        }
        let closed = closed?;
        self.ensure_match(&closed).await?;
        Ok(invite::to_wire(&closed, closed.created))
    }

    /// Declines an invite, by its invitee.
    pub(crate) async fn decline(
        &self,
        caller: &Caller,
        request: &v1::DeclineInviteRequest,
    ) -> Result<v1::Invite, ApiError> {
        let player = caller.acting(&request.player)?;
        let request_id = request::request_id(&request.request_id)?;
        let (invite, _) = self.load(caller, &request.name).await?;
        if invite.invitee.as_ref() != Some(&player) {
            return Err(ApiError::not_found(&request.name));
        }
        let closed = self.close(&invite, InviteEnd::Declined, player, request_id, None).await?;
        Ok(invite::to_wire(&closed, closed.created))
    }

    /// Takes an invite back, by its inviter.
    pub(crate) async fn revoke(
        &self,
        caller: &Caller,
        request: &v1::RevokeInviteRequest,
    ) -> Result<v1::Invite, ApiError> {
        let player = caller.acting(&request.player)?;
        let request_id = request::request_id(&request.request_id)?;
        let (invite, _) = self.load(caller, &request.name).await?;
        if invite.inviter != player {
            return Err(ApiError::not_found(&request.name));
        }
        let closed = self.close(&invite, InviteEnd::Revoked, player, request_id, None).await?;
        Ok(invite::to_wire(&closed, closed.created))
    }

    /// A player has so many invites open at once; the one that this very request made is not one more.
    async fn check_room(&self, inviter: &str, id: MatchId) -> Result<(), ApiError> {
        let store = self.node.store.as_ref();
        // Those he was named in count as well here, so twice as many are read.
        let open = store.open_invites_of(inviter, 2 * OPEN_MAX).await.map_err(errors::store)?;
        let now = Stamp::from_ms(self.node.clock.now_ms());
        let own = open.iter().filter(|invite| invite.inviter == inviter && now <= invite.expires);
        if own.clone().count() < OPEN_MAX || own.into_iter().any(|invite| invite.id == id) {
            return Ok(());
        }
        match store.invite(id).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let what = format!("at most {OPEN_MAX} invites of a player are open at once; revoke one");
                Err(ApiError::new(ErrorReason::TicketLimit).with_message(&what))
            }
        }
    }

    async fn draft(&self, caller: &Caller, request: &v1::CreateInviteRequest) -> Result<Draft, ApiError> {
        let inviter = caller.acting(&request.player)?;
        let invitee = match request.invitee.as_str() {
            "" => None,
            name => Some(request::player("invitee", name)?.to_owned()),
        };
        let ttl_ms = ttl_ms(request.ttl.as_ref(), TTL_MAX_MS.min(self.node.match_retention_ms()))?;
        let mut draft = Draft {
            inviter_key: caller.key(&request.public_key)?,
            inviter,
            invitee,
            settings: settings::from_wire("settings", request.settings.as_ref())?,
            inviter_seat: request::seat("inviter_seat", request.inviter_seat)?,
            rematch_of: None,
            ttl_ms,
        };
        if !request.rematch_of.is_empty() {
            self.rematch(&mut draft, caller, request).await?;
        }
        if draft.invitee.as_ref() == Some(&draft.inviter) {
            let what = "a player cannot invite himself";
            return Err(ApiError::field(ErrorReason::FieldInvalid, "invitee", what));
        }
        Ok(draft)
    }

    /// Fills in what a rematch takes from the match before: opponent, settings, the other seat.
    async fn rematch(
        &self,
        draft: &mut Draft,
        caller: &Caller,
        request: &v1::CreateInviteRequest,
    ) -> Result<(), ApiError> {
        let id = request::match_id("rematch_of", &request.rematch_of)?;
        let refused = |error| errors::store_on(&request.rematch_of, error);
        let before = self.node.store.load(id).await.map_err(refused)?.stored.head;
        let seat = caller.seat(&draft.inviter, &before)?;
        if before.finish().is_none() {
            let what = "the match is not finished yet";
            return Err(ApiError::field(ErrorReason::FieldInvalid, "rematch_of", what));
        }
        let opponent = &before.parties[seat.opponent()].player;
        if draft.invitee.as_ref().is_some_and(|invitee| invitee != opponent) {
            let what = "a rematch is offered to the opponent of the match before; leave it empty";
            return Err(ApiError::field(ErrorReason::FieldInvalid, "invitee", what));
        }
        draft.rematch_of = Some(id);
        draft.invitee = Some(opponent.clone());
        draft.inviter_seat = draft.inviter_seat.or(Some(seat.opponent()));
        if request.settings.is_none() {
            draft.settings = before.settings.clone();
        }
        Ok(())
    }

    async fn load(&self, caller: &Caller, name: &str) -> Result<(Invite, Stamp), ApiError> {
        let id = request::invite_id("name", name)?;
        caller.acts_on(|| invite_name(id));
        self.node.store.invite(id).await.map_err(|error| errors::store_on(name, error))
    }

    /// Ends an open invite. The same player's same request finds it ended by itself.
    async fn close(
        &self,
        invite: &Invite,
        end: InviteEnd,
        by: String,
        request_id: RequestId,
        public_key: Option<PublicKey>,
    ) -> Result<Invite, ApiError> {
        let closing = Closing { end, by, request_id, public_key };
        let stored = self.node.store.close_invite(invite.id, closing.clone()).await;
        let stored = stored.map_err(errors::store)?;
        let own = stored
            .closing
            .as_ref()
            .filter(|first| first.by == closing.by && first.request_id == closing.request_id);
        let Some(first) = own else {
            return Err(ApiError::precondition(ErrorReason::InviteNotOpen, &invite_name(invite.id)));
        };
        let same_end = std::mem::discriminant(&first.end) == std::mem::discriminant(&closing.end);
        if same_end && first.public_key == closing.public_key {
            return Ok(stored);
        }
        let what = "it was used to end this invite in another way; draw a new one for a new intent";
        Err(ApiError::field(ErrorReason::RequestIdReused, "request_id", what))
    }

    /// Creates the match of an accepted invite, unless it is there: whoever finds one missing makes it,
    /// so an accept that broke off midway is finished by the next one who looks.
    async fn ensure_match(&self, invite: &Invite) -> Result<(), ApiError> {
        let Some(closing) = &invite.closing else { return Ok(()) };
        let InviteEnd::Accepted { match_id } = closing.end else { return Ok(()) };
        let store = self.node.store.as_ref();
        if store.load(match_id).await.is_ok() {
            return Ok(());
        }
        let inviter = Party { player: invite.inviter.clone(), public_key: invite.inviter_key };
        let invitee = Party { player: closing.by.clone(), public_key: closing.public_key };
        let parties = match invite.inviter_seat.unwrap_or_else(|| seat_by_id(match_id)) {
            Seat::Black => PerSeat { black: inviter, white: invitee },
            Seat::White => PerSeat { black: invitee, white: inviter },
        };
        let origin = match invite.settings.mode {
            Mode::Casual => None,
            Mode::Ranked => {
                let players = parties.as_ref().map(|party| party.player.as_str());
                let ratings = ratings(store, players, invite.settings.time).await.map_err(errors::store)?;
                Some(Origin { ratings: Some(ratings), ..Origin::default() })
            }
        };
        let new = NewMatch {
            id: match_id,
            settings: invite.settings.clone(),
            parties,
            rematch_of: invite.rematch_of,
            origin,
        };
        making::ensure(store, &new).await.map_err(errors::store)?;
        Ok(())
    }

    /// Holds both players for a ranked match, in the order of their names, so that of two matches that want the
    /// same two players one gets both.
    async fn reserve_both(&self, mut players: [&String; 2], id: MatchId) -> Result<(), ApiError> {
        players.sort_unstable();
        for (place, player) in players.into_iter().enumerate() {
            let held = holding::hold(self.node.store.as_ref(), player, &Reservation::Match(id)).await;
            if held.map_err(errors::store)?.is_some() {
                self.free(&players[..place], id).await?;
                return Err(already_in_match(player, None));
            }
        }
        Ok(())
    }

    /// Frees players of a match that does not come about.
    async fn free(&self, players: &[&String], id: MatchId) -> Result<(), ApiError> {
        for player in players {
            let freed = self.node.store.reserve(player, Some(&Reservation::Match(id)), None).await;
            freed.map_err(errors::store)?;
        }
        Ok(())
    }
}

fn is_accepted_as(invite: &Invite, id: MatchId) -> bool {
    let end = invite.closing.as_ref().map(|closing| closing.end);
    end == Some(InviteEnd::Accepted { match_id: id })
}

fn is_involved(invite: &Invite, player: &str) -> bool {
    let closed_by = invite.closing.as_ref().map(|closing| closing.by.as_str());
    invite.inviter == player || invite.invitee.as_deref() == Some(player) || closed_by == Some(player)
}

fn is_invitee(invite: &Invite, player: &str, join_secret: &str) -> bool {
    match &invite.invitee {
        Some(invitee) => invitee == player,
        None => opens(invite, join_secret),
    }
}

/// Whether the secret opens the invite. Hashes are compared, so the time it takes tells nothing.
fn opens(invite: &Invite, join_secret: &str) -> bool {
    invite.secret_hash.is_some_and(|hash| hash == secret_hash(join_secret))
}

fn secret_hash(join_secret: &str) -> [u8; 32] {
    Sha256::digest(join_secret).into()
}

fn ttl_ms(ttl: Option<&prost_types::Duration>, max_ms: u64) -> Result<u64, ApiError> {
    let Some(ttl) = ttl else { return Ok(TTL_DEFAULT_MS.min(max_ms)) };
    let ms = duration_ms("ttl", ErrorReason::FieldInvalid, ttl)?;
    if (TTL_MIN_MS..=max_ms).contains(&ms) {
        Ok(ms)
    } else {
        let what = format!("it is 1 minute to {} days, as long as matches are kept", max_ms / DAY_MS);
        Err(ApiError::field(ErrorReason::FieldInvalid, "ttl", &what))
    }
}
