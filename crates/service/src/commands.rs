//! What players do in a match: each call as a command, driven until it is committed.

use std::sync::Arc;

use referee::{
    Answer, Command, DrawCommand, HistoryClaim, Match, Mode, Phase, Refusal, RevealCommand, SealCommand,
    TurnRecord,
};
use sealing::{Digest, MatchId, Receipt};
use store::{Reservation, Store, TicketState};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::convert::{errors, match_name, request, seat, view};
use crate::drive::{Driven, drive};
use crate::holding::{self, Holding};
use crate::lost_history;
use crate::node::Node;
use crate::tickets::already_in_match;

/// The commands of one node.
pub(crate) struct Commands<'a> {
    pub(crate) node: &'a Node,
}

impl Commands<'_> {
    /// Takes the caller's seat.
    pub(crate) async fn join(
        &self,
        caller: &Caller,
        request: &v1::JoinMatchRequest,
    ) -> Result<v1::Match, ApiError> {
        let id = request::match_id("name", &request.name)?;
        request::request_id(&request.request_id)?;
        self.node.may_play(&caller.acting(&request.player)?)?;
        self.take_up(caller, &request.player, id).await?;
        let driven = drive(self.store(), id, caller.deadline(), |game| {
            let seat = caller.seat(&request.player, game)?;
            Ok(Command::Join { seat })
        })
        .await?;
        self.node.bots.ask(&driven.stored.head);
        done(caller, &request.player, &driven)
    }

    /// Makes sure that a ranked match which waits holds the player who joins it, and nothing else does: here it
    /// is decided that nobody plays two of them at a time, whatever was lost or late before.
    async fn take_up(&self, caller: &Caller, player: &str, id: MatchId) -> Result<(), ApiError> {
        let loaded = self.store().load(id).await.map_err(|error| errors::store_on(&match_name(id), error))?;
        let game = &loaded.stored.head;
        let waits = matches!(game.phase, Phase::Waiting { .. });
        if !waits || game.settings.mode != Mode::Ranked {
            return Ok(());
        }
        let seat = caller.seat(player, game)?;
        let player = &game.parties[seat].player;
        let held =
            holding::hold(self.store(), player, &Reservation::Match(id)).await.map_err(errors::store)?;
        let other = match held {
            None => return Ok(()),
            // His own ticket, whose place the match takes now.
            Some(Holding::Ticket(seen)) => match seen.ticket.state {
                TicketState::Matched { match_id, .. } if match_id == id => {
                    let by_ticket = Reservation::Ticket(seen.ticket.name);
                    let next = Reservation::Match(id);
                    let held = self.store().reserve(player, Some(&by_ticket), Some(&next)).await;
                    return match held.map_err(errors::store)? {
                        Some(held) if held == next => Ok(()),
                        _ => Err(errors::contended()),
                    };
                }
                TicketState::Matched { match_id, .. } => Some(match_id),
                _ => None,
            },
            Some(Holding::Match(other)) if other == id => return Ok(()),
            Some(Holding::Match(other)) => Some(other),
        };
        Err(already_in_match(player, other))
    }

    /// Seals a move. A turn that has resolved meanwhile is looked up: its sealer gets his receipt again.
    pub(crate) async fn seal(
        &self,
        caller: &Caller,
        request: &v1::SealMoveRequest,
    ) -> Result<Receipt, ApiError> {
        let id = request::match_id("name", &request.name)?;
        let request_id = request::request_id(&request.request_id)?;
        let turn = request::turn(request.turn)?;
        let sealed = request::sealed_move(request.r#move.as_ref())?;
        let previous = request::digest("previous_hash", &request.previous_hash)?;
        let signature = request::signature("player_signature", &request.player_signature)?;
        let last_receipt = request::receipt("last_receipt", request.last_receipt.as_ref())?;
        // What few calls need lies apart: the future of every call is copied as it is made.
        if let Some(receipt) = last_receipt {
            Box::pin(lost_history::weigh(self.node, id, receipt)).await?;
        }
        let command = |game: &Match| -> Result<SealCommand, ApiError> {
            Ok(SealCommand {
                seat: caller.seat(&request.player, game)?,
                turn,
                sealed: sealed.clone(),
                previous,
                signature,
                key_id: self.node.signer.key_id().shared(),
                request_id: request_id.clone(),
            })
        };
        let driven =
            drive(self.store(), id, caller.deadline(), |game| command(game).map(Command::Seal)).await?;
        self.node.bots.ask(&driven.stored.head);
        let receipt = match driven.answer {
            Ok(Answer::Sealed(receipt)) => Ok(receipt),
            Ok(Answer::Done) => return Err(errors::fault("a seal was answered without a receipt", id)),
            Err(Refusal::TurnClosed { .. }) => {
                let seal = command(&driven.stored.head)?;
                let (record, previous) = Box::pin(self.past(&driven.stored.head, turn)).await?;
                record.repeat(&driven.stored.head, &previous, &seal)
            }
            Err(refusal) => Err(refusal),
        };
        if let (Err(Refusal::HistoryRegressed), Some(hash)) = (&receipt, previous) {
            let claim = HistoryClaim { turn: turn.saturating_sub(1), hash };
            Box::pin(lost_history::claim(self.node, (caller, &request.player), &driven.stored.head, claim))
                .await?;
        }
        if receipt.is_ok() {
            self.node.config.instruments.seal_acknowledged("player");
        }
        receipt.map_err(|refusal| errors::refusal_in_turn(refusal, &driven.stored.head, turn))
    }

    /// Opens the caller's commitment.
    pub(crate) async fn reveal(
        &self,
        caller: &Caller,
        request: &v1::RevealMoveRequest,
    ) -> Result<(), ApiError> {
        let id = request::match_id("name", &request.name)?;
        let request_id = request::request_id(&request.request_id)?;
        let turn = request::turn(request.turn)?;
        let opening = request::revealed(request.open.as_ref())?;
        let command = |game: &Match| -> Result<RevealCommand, ApiError> {
            let seat = caller.seat(&request.player, game)?;
            Ok(RevealCommand { seat, turn, opening: opening.clone(), request_id: request_id.clone() })
        };
        let driven =
            drive(self.store(), id, caller.deadline(), |game| command(game).map(Command::Reveal)).await?;
        self.node.bots.ask(&driven.stored.head);
        match driven.answer {
            Err(Refusal::TurnClosed { .. }) => {
                let reveal = command(&driven.stored.head)?;
                let (record, _) = self.past(&driven.stored.head, turn).await?;
                let repeated = record.repeat_reveal(&reveal);
                repeated.map_err(|refusal| errors::refusal_in_turn(refusal, &driven.stored.head, turn))
            }
            Err(refusal) => Err(errors::refusal_in_turn(refusal, &driven.stored.head, turn)),
            Ok(_) => Ok(()),
        }
    }

    /// Gives up.
    pub(crate) async fn resign(
        &self,
        caller: &Caller,
        request: &v1::ResignRequest,
    ) -> Result<v1::Match, ApiError> {
        let id = request::match_id("name", &request.name)?;
        let request_id = request::request_id(&request.request_id)?;
        let driven = drive(self.store(), id, caller.deadline(), |game| {
            let seat = caller.seat(&request.player, game)?;
            Ok(Command::Resign { seat, request_id: request_id.clone() })
        })
        .await?;
        done(caller, &request.player, &driven)
    }

    /// Offers a draw.
    pub(crate) async fn offer_draw(
        &self,
        caller: &Caller,
        request: &v1::OfferDrawRequest,
    ) -> Result<v1::Match, ApiError> {
        let draft = DrawDraft {
            name: &request.name,
            player: &request.player,
            request_id: &request.request_id,
            turn: request.turn,
            accept: None,
            offerer: None,
        };
        self.draw(caller, &draft).await
    }

    /// Answers the opponent's offer.
    pub(crate) async fn answer_draw(
        &self,
        caller: &Caller,
        request: &v1::AnswerDrawRequest,
    ) -> Result<v1::Match, ApiError> {
        let offerer = request::seat("seat", request.seat)?.ok_or_else(|| ApiError::required("seat"))?;
        let draft = DrawDraft {
            name: &request.name,
            player: &request.player,
            request_id: &request.request_id,
            turn: request.turn,
            accept: Some(request.accept),
            offerer: Some(offerer),
        };
        self.draw(caller, &draft).await
    }

    async fn draw(&self, caller: &Caller, draft: &DrawDraft<'_>) -> Result<v1::Match, ApiError> {
        let id = request::match_id("name", draft.name)?;
        let request_id = request::request_id(draft.request_id)?;
        let turn = request::turn(draft.turn)?;
        let command = |game: &Match| -> Result<DrawCommand, ApiError> {
            let own = caller.seat(draft.player, game)?;
            if draft.offerer == Some(own) {
                let what = format!("the offer to answer is the opponent's, {:?}", seat(own.opponent()));
                return Err(ApiError::field(ErrorReason::FieldInvalid, "seat", &what));
            }
            Ok(DrawCommand { seat: own, turn, accept: draft.accept, request_id: request_id.clone() })
        };
        let driven =
            drive(self.store(), id, caller.deadline(), |game| command(game).map(Command::Draw)).await?;
        match driven.answer {
            Err(Refusal::TurnClosed { .. }) => {
                let (record, _) = self.past(&driven.stored.head, turn).await?;
                let repeated = record.repeat_draw(&command(&driven.stored.head)?);
                repeated.map_err(|refusal| errors::refusal_in_turn(refusal, &driven.stored.head, turn))?;
            }
            Err(refusal) => return Err(errors::refusal_in_turn(refusal, &driven.stored.head, turn)),
            Ok(_) => {}
        }
        let viewer = caller.viewer(draft.player, &driven.stored.head)?;
        Ok(view::game(&driven.stored.head, driven.now, viewer))
    }

    /// A resolved turn, and the h of the turn before it.
    async fn past(&self, game: &Match, turn: u32) -> Result<(Arc<TurnRecord>, Digest), ApiError> {
        let from = turn.saturating_sub(1).max(1);
        let mut records = self.store().turns(game.id, from, 2).await.map_err(errors::store)?.into_iter();
        let missing = || errors::fault("a resolved turn is missing", game.id);
        let previous = match turn {
            0 | 1 => game.first_hash(),
            _ => records.next().ok_or_else(missing)?.hash,
        };
        Ok((records.next().ok_or_else(missing)?, previous))
    }

    fn store(&self) -> &dyn Store {
        self.node.store.as_ref()
    }
}

/// What offers and answers of draws have in common.
struct DrawDraft<'a> {
    name: &'a str,
    player: &'a str,
    request_id: &'a str,
    turn: u32,
    accept: Option<bool>,
    offerer: Option<rules::Seat>,
}

/// The match after a command that was not refused.
fn done(caller: &Caller, player: &str, driven: &Driven) -> Result<v1::Match, ApiError> {
    driven.answer.as_ref().map_err(|refusal| errors::refusal(*refusal, driven.stored.head.id))?;
    let viewer = caller.viewer(player, &driven.stored.head)?;
    Ok(view::game(&driven.stored.head, driven.now, viewer))
}
