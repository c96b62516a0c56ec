//! `MatchService`: playing and watching.

use std::sync::Arc;

use futures::stream::BoxStream;
use referee::{Answer, Command, Match, Refusal, SealCommand};
use sealing::Receipt;
use store::PageKey;
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::v1::match_service_server::MatchService;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::convert::view::{self, Viewer};
use crate::convert::{errors, match_name, request};
use crate::drive::{Driven, drive};
use crate::node::Node;
use crate::page::{self, Page};
use crate::watch;

/// The service over one node.
pub(crate) struct Matches {
    pub(crate) node: Arc<Node>,
}

#[tonic::async_trait]
impl MatchService for Matches {
    type WatchMatchStream = BoxStream<'static, Result<v1::WatchMatchResponse, Status>>;

    async fn get_match(
        &self,
        request: Request<v1::GetMatchRequest>,
    ) -> Result<Response<v1::GetMatchResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let id = request::match_id("name", &request.name)?;
        // A deadline that has passed decides before anything that depends on it is answered.
        let driven = drive(self.store(), id, |game| {
            caller.viewer(&request.player, game)?;
            Ok(Command::Tick)
        })
        .await?;
        let viewer = caller.viewer(&request.player, &driven.game)?;
        Ok(Response::new(v1::GetMatchResponse { r#match: Some(shown(&driven, viewer)) }))
    }

    async fn list_matches(
        &self,
        request: Request<v1::ListMatchesRequest>,
    ) -> Result<Response<v1::ListMatchesResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let player = caller.acting(&request.player)?;
        let page = Page::of(request.page_size, &request.page_token, &player, request.finished)?;
        let listed = self.store().matches_of(&player, request.finished, page.after, page.size).await;
        let listed = listed.map_err(errors::store)?;
        let full_page = listed.len() == page.size;
        let last = listed.last().filter(|_| full_page);
        let last = last.map(|last| PageKey { created: last.created, match_id: last.match_id });
        let mut matches = Vec::with_capacity(listed.len());
        for entry in &listed {
            match self.store().load(entry.match_id).await {
                Ok(loaded) => matches.push(view::summary(&loaded.stored.head)),
                // Its retention has passed since it was listed.
                Err(store::StoreError::NotFound) => {}
                Err(error) => return Err(errors::store(error).into()),
            }
        }
        let next_page_token = page::token(last, &player, request.finished);
        Ok(Response::new(v1::ListMatchesResponse { matches, next_page_token }))
    }

    async fn join_match(
        &self,
        request: Request<v1::JoinMatchRequest>,
    ) -> Result<Response<v1::JoinMatchResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let id = request::match_id("name", &request.name)?;
        request::request_id(&request.request_id)?;
        let driven = drive(self.store(), id, |game| {
            let seat = caller.seat(&request.player, game)?;
            Ok(Command::Join { seat })
        })
        .await?;
        let game = done(&caller, &request.player, &driven)?;
        Ok(Response::new(v1::JoinMatchResponse { r#match: Some(game) }))
    }

    async fn seal_move(
        &self,
        request: Request<v1::SealMoveRequest>,
    ) -> Result<Response<v1::SealMoveResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let receipt = self.seal(&caller, &request).await?;
        Ok(Response::new(v1::SealMoveResponse { receipt: Some(view::receipt(&receipt)) }))
    }

    async fn reveal_move(
        &self,
        _request: Request<v1::RevealMoveRequest>,
    ) -> Result<Response<v1::RevealMoveResponse>, Status> {
        Err(ApiError::new(ErrorReason::Unimplemented).into())
    }

    async fn watch_match(
        &self,
        request: Request<v1::WatchMatchRequest>,
    ) -> Result<Response<Self::WatchMatchStream>, Status> {
        let caller = Caller::of(&request);
        let stream = watch::open(Arc::clone(&self.node), &caller, request.into_inner()).await?;
        Ok(Response::new(stream))
    }

    async fn resign(
        &self,
        request: Request<v1::ResignRequest>,
    ) -> Result<Response<v1::ResignResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let id = request::match_id("name", &request.name)?;
        let request_id = request::request_id(&request.request_id)?;
        let driven = drive(self.store(), id, |game| {
            let seat = caller.seat(&request.player, game)?;
            Ok(Command::Resign { seat, request_id: request_id.clone() })
        })
        .await?;
        let game = done(&caller, &request.player, &driven)?;
        Ok(Response::new(v1::ResignResponse { r#match: Some(game) }))
    }

    async fn offer_draw(
        &self,
        _request: Request<v1::OfferDrawRequest>,
    ) -> Result<Response<v1::OfferDrawResponse>, Status> {
        Err(ApiError::new(ErrorReason::Unimplemented).into())
    }

    async fn answer_draw(
        &self,
        _request: Request<v1::AnswerDrawRequest>,
    ) -> Result<Response<v1::AnswerDrawResponse>, Status> {
        Err(ApiError::new(ErrorReason::Unimplemented).into())
    }

    async fn get_transcript(
        &self,
        request: Request<v1::GetTranscriptRequest>,
    ) -> Result<Response<v1::GetTranscriptResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let id = request::match_id("name", &request.name)?;
        let driven = drive(self.store(), id, |game| {
            caller.viewer(&request.player, game)?;
            Ok(Command::Tick)
        })
        .await?;
        let transcript = self.transcript(&driven.game).await?;
        Ok(Response::new(v1::GetTranscriptResponse { transcript: Some(transcript) }))
    }
}

impl Matches {
    fn store(&self) -> &dyn store::Store {
        self.node.store.as_ref()
    }

    /// Seals a move. A turn that has resolved meanwhile is looked up: its sealer gets his receipt again.
    async fn seal(&self, caller: &Caller, request: &v1::SealMoveRequest) -> Result<Receipt, ApiError> {
        let id = request::match_id("name", &request.name)?;
        let request_id = request::request_id(&request.request_id)?;
        let turn = request::turn(request.turn)?;
        let sealed = request::sealed_move(request.r#move.as_ref())?;
        let previous = request::digest("previous_hash", &request.previous_hash)?;
        request::unsigned("player_signature", &request.player_signature)?;
        let mut command = None;
        let driven = drive(self.store(), id, |game| {
            let seal = SealCommand {
                seat: caller.seat(&request.player, game)?,
                turn,
                sealed: sealed.clone(),
                previous,
                signature: None,
                key_id: String::new(),
                request_id: request_id.clone(),
            };
            command = Some(seal.clone());
            Ok(Command::Seal(seal))
        })
        .await?;
        match (driven.answer, command) {
            (Ok(Answer::Sealed(receipt)), _) => Ok(receipt),
            (Err(Refusal::TurnClosed { .. }), Some(seal)) => self.repeat(&driven.game, &seal).await,
            (Err(refusal), _) => Err(errors::refusal(refusal, id)),
            (Ok(Answer::Done), _) => Err(errors::fault("a seal was answered without a receipt", id)),
        }
    }

    /// Answers a seal for a resolved turn from the history.
    async fn repeat(&self, game: &Match, seal: &SealCommand) -> Result<Receipt, ApiError> {
        let history = self.node.histories.of(game.id);
        let previous = match seal.turn {
            1 => game.first_hash(),
            turn => history.turn(self.store(), turn - 1).await?.record.hash,
        };
        let played = history.turn(self.store(), seal.turn).await?;
        let repeated = played.record.repeat(game, &previous, seal);
        repeated.map_err(|refusal| errors::refusal(refusal, game.id))
    }

    async fn transcript(&self, game: &Match) -> Result<v1::Transcript, ApiError> {
        let history = self.node.histories.of(game.id);
        let turns = history.all(self.store(), game).await?;
        Ok(v1::Transcript {
            r#match: match_name(game.id),
            settings: Some(crate::convert::settings::to_wire(&game.settings)),
            black: Some(view::seat(game, rules::Seat::Black)),
            white: Some(view::seat(game, rules::Seat::White)),
            first_hash: game.first_hash().as_bytes().to_vec(),
            turns: turns.iter().map(|played| played.wire.clone()).collect(),
            finish: view::finished(game),
            key_id: String::new(),
            signature: Vec::new(),
        })
    }
}

fn shown(driven: &Driven, viewer: Viewer) -> v1::Match {
    view::game(&driven.game, driven.now, viewer)
}

/// The match after a command that was not refused.
fn done(caller: &Caller, player: &str, driven: &Driven) -> Result<v1::Match, ApiError> {
    driven.answer.as_ref().map_err(|refusal| errors::refusal(*refusal, driven.game.id))?;
    Ok(shown(driven, caller.viewer(player, &driven.game)?))
}
