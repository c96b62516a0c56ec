//! `WatchPlayer`: all that waits for a player, whole and current.
//!
//! Like a stream of a match it is pulled: whatever changed while the client did not read comes as one
//! state. Nothing in it depends on what an opponent has sealed.

use std::sync::Arc;

use futures::future::{self, FutureExt as _};
use futures::stream::{self, BoxStream};
use referee::{Match, Now, OpenTurn, Phase, Revealing, Stamp};
use rules::Seat;
use store::{Hints, PlayerHints, StoreError};
use tonic::Status;
use wire::ApiError;
use wire::v1;
use wire::v1::watch_player_response::Update;

use crate::access::Caller;
use crate::convert::time::timestamp;
use crate::convert::{errors, invite, seat, ticket, view};
use crate::guard::guarded;
use crate::node::Node;
use crate::tickets::{self, Tickets};
use crate::vigil::Vigil;

type PlayerStream = BoxStream<'static, Result<v1::WatchPlayerResponse, Status>>;

/// The live matches and the open invites that a state shows: more than a home screen does.
const SHOWN_MAX: usize = 100;

/// Opens a stream, or refuses it.
pub(crate) async fn open(
    node: Arc<Node>,
    caller: &Caller,
    request: v1::WatchPlayerRequest,
) -> Result<PlayerStream, ApiError> {
    let player = caller.acting(&request.player)?;
    // Hints first, then the state: a change between the two is hinted at.
    let hints = node.store.watch_player(&player).await.map_err(errors::store)?;
    let open = node.stats.stream();
    let watch = WatchPlayer {
        vigil: Vigil::new(&node, caller),
        node,
        player,
        hints,
        matches: Vec::new(),
        sent: None,
        wake_ms: u64::MAX,
        ended: false,
    };
    let updates = stream::unfold(watch, |mut watch| async move {
        let update = watch.next().await?;
        let message = |update| v1::WatchPlayerResponse { update: Some(update) };
        Some((update.map(message).map_err(Status::from), watch))
    });
    // Who he is stays out of the log.
    Ok(guarded(updates, "a player's stream".to_owned(), open))
}

/// One open stream.
struct WatchPlayer {
    node: Arc<Node>,
    player: String,
    hints: PlayerHints,
    /// Hints for each match that the last state shows.
    matches: Vec<Hints>,
    vigil: Vigil,
    sent: Option<v1::PlayerState>,
    /// When the state changes by time alone: the next invite expires, or the ticket.
    wake_ms: u64,
    ended: bool,
}

impl WatchPlayer {
    /// The next update; none when the stream is over.
    async fn next(&mut self) -> Option<Result<Update, ApiError>> {
        if self.ended {
            return None;
        }
        let update = self.produce().await;
        self.ended = update.is_err();
        self.vigil.sends();
        Some(update)
    }

    async fn produce(&mut self) -> Result<Update, ApiError> {
        loop {
            self.vigil.check_token()?;
            let state = self.state().await?;
            if self.sent.as_ref() != Some(&state) {
                self.sent = Some(state.clone());
                return Ok(Update::State(state));
            }
            if self.wait().await? {
                return Ok(Update::Heartbeat(self.vigil.heartbeat()));
            }
        }
    }

    /// Waits until something may have changed. True: nothing was sent for a heartbeat's time.
    async fn wait(&mut self) -> Result<bool, ApiError> {
        let any_match = match self.matches.is_empty() {
            true => future::pending().boxed(),
            false => future::select_all(self.matches.iter_mut().map(|hints| hints.changed().boxed())).boxed(),
        };
        let of_player = self.hints.changed();
        let changed = async {
            tokio::select! {
                biased;
                hint = of_player => {
                    hint.map_err(|_| errors::store(StoreError::Unavailable("it is gone".to_owned())))
                }
                // Whether a match changed or is no longer stored: the lists tell.
                _ = any_match => Ok(()),
            }
        };
        self.vigil.wait(changed, self.wake_ms).await
    }

    /// All that waits for the player now.
    async fn state(&mut self) -> Result<v1::PlayerState, ApiError> {
        let (matches, more_matches) = self.live_matches().await?;
        let invites = self.open_invites().await?;
        let ticket = self.ticket().await?;
        Ok(v1::PlayerState { player: self.player.clone(), matches, more_matches, invites, ticket })
    }

    async fn live_matches(&mut self) -> Result<(Vec<v1::PlayerMatch>, bool), ApiError> {
        let store = self.node.store.as_ref();
        let listed = store.matches_of(&self.player, Some(false), None, SHOWN_MAX + 1).await;
        let listed = listed.map_err(errors::store)?;
        let (mut shown, mut watched) = (Vec::new(), Vec::new());
        for entry in listed.iter().take(SHOWN_MAX) {
            // The hints before the head, as above.
            let hints = match store.watch(entry.match_id).await {
                Ok(hints) => hints,
                Err(StoreError::NotFound) => continue,
                Err(error) => return Err(errors::store(error)),
            };
            let loaded = store.load(entry.match_id).await.map_err(errors::store)?;
            let game = &loaded.stored.head;
            let own = game.seat_of(&self.player).filter(|_| game.finish().is_none());
            if let Some(own) = own {
                shown.push(player_match(game, loaded.now, own));
                watched.push(hints);
            }
        }
        self.matches = watched;
        // The most urgent first; the list is newest first, and the sort keeps that order among equals.
        shown.sort_by_key(|shown| {
            let deadline = shown.deadline.map(|at| (at.seconds, at.nanos));
            (!shown.move_due, deadline.is_none(), deadline)
        });
        Ok((shown, listed.len() > SHOWN_MAX))
    }

    /// The ticket that the player waits with. That its lease was renewed or time went by is no news.
    async fn ticket(&mut self) -> Result<Option<v1::Ticket>, ApiError> {
        let tickets = Tickets { node: Arc::clone(&self.node) };
        let held = tickets.held_ticket(&self.player).await?.filter(|seen| seen.ticket.is_waiting());
        let expires = held.as_ref().and_then(tickets::expires);
        self.wake_ms = self.wake_ms.min(expires.map_or(u64::MAX, Stamp::as_ms));
        Ok(held.map(|seen| v1::Ticket {
            lease_expire_time: None,
            estimated_wait: None,
            ..ticket::to_wire(&seen)
        }))
    }

    async fn open_invites(&mut self) -> Result<Vec<v1::Invite>, ApiError> {
        let invites = self.node.store.open_invites_of(&self.player, SHOWN_MAX).await;
        let now = Stamp::from_ms(self.node.clock.now_ms());
        let open: Vec<_> = invites.map_err(errors::store)?;
        let open: Vec<_> = open.iter().filter(|invite| now <= invite.expires).collect();
        let first_expiry = open.iter().map(|invite| invite.expires.plus_ms(1).as_ms()).min();
        self.wake_ms = first_expiry.unwrap_or(u64::MAX);
        Ok(open.into_iter().map(|invite| invite::to_wire(invite, now)).collect())
    }
}

/// A live match as its player's home screen needs it.
fn player_match(game: &Match, now: Now, own: Seat) -> v1::PlayerMatch {
    let game = game.under_outage(now.outage_ms);
    let (move_due, deadline) = match &game.phase {
        Phase::Waiting { joined, start_by } => (!joined[own], *start_by),
        Phase::Open(OpenTurn { seals, deadlines, .. }) => (seals[own].is_none(), Some(deadlines[own])),
        Phase::Revealing(Revealing { open, reveal_by }) => {
            (open.requests[own].reveal.is_none(), Some(*reveal_by))
        }
        Phase::BotDue { .. } | Phase::Finished(_) => (false, None),
    };
    v1::PlayerMatch {
        r#match: Some(view::summary(&game)),
        seat: seat(own).into(),
        move_due,
        deadline: deadline.filter(|_| move_due).map(timestamp),
    }
}
