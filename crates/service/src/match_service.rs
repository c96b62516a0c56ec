//! `MatchService`: playing and watching.

use std::sync::Arc;

use futures::stream::BoxStream;
use referee::{Command, Match};
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::v1;
use wire::v1::match_service_server::MatchService;

use crate::access::Caller;
use crate::commands::Commands;
use crate::convert::view;
use crate::convert::{match_name, request};
use crate::drive::{Driven, drive};
use crate::node::Node;
use crate::page::Page;
use crate::{match_list, watch};

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
        let driven = self.look(&caller, &request.name, &request.player).await?;
        let viewer = caller.viewer(&request.player, &driven.stored.head)?;
        Ok(Response::new(v1::GetMatchResponse {
            r#match: Some(view::game(&driven.stored.head, driven.now, viewer)),
        }))
    }

    async fn list_matches(
        &self,
        request: Request<v1::ListMatchesRequest>,
    ) -> Result<Response<v1::ListMatchesResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let player = caller.acting(&request.player)?;
        let page = Page::of(request.page_size, &request.page_token, &player, request.finished)?;
        let (matches, next_page_token) =
            match_list::page(self.node.store.as_ref(), &player, request.finished, &page).await?;
        Ok(Response::new(v1::ListMatchesResponse { matches, next_page_token }))
    }

    async fn join_match(
        &self,
        request: Request<v1::JoinMatchRequest>,
    ) -> Result<Response<v1::JoinMatchResponse>, Status> {
        let caller = Caller::of(&request);
        let game = self.commands().join(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::JoinMatchResponse { r#match: Some(game) }))
    }

    async fn seal_move(
        &self,
        request: Request<v1::SealMoveRequest>,
    ) -> Result<Response<v1::SealMoveResponse>, Status> {
        let caller = Caller::of(&request);
        let receipt = self.commands().seal(&caller, request.get_ref()).await?;
        let signature =
            if request.get_ref().sign_receipt { self.node.signer.sign_receipt(&receipt) } else { None };
        let receipt = Some(view::receipt(&receipt, signature));
        Ok(Response::new(v1::SealMoveResponse { receipt }))
    }

    async fn reveal_move(
        &self,
        request: Request<v1::RevealMoveRequest>,
    ) -> Result<Response<v1::RevealMoveResponse>, Status> {
        let caller = Caller::of(&request);
        self.commands().reveal(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::RevealMoveResponse {}))
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
        let game = self.commands().resign(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::ResignResponse { r#match: Some(game) }))
    }

    async fn offer_draw(
        &self,
        request: Request<v1::OfferDrawRequest>,
    ) -> Result<Response<v1::OfferDrawResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let game = self.commands().offer_draw(&caller, &request).await?;
        Ok(Response::new(v1::OfferDrawResponse { r#match: Some(game) }))
    }

    async fn answer_draw(
        &self,
        request: Request<v1::AnswerDrawRequest>,
    ) -> Result<Response<v1::AnswerDrawResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let game = self.commands().answer_draw(&caller, &request).await?;
        Ok(Response::new(v1::AnswerDrawResponse { r#match: Some(game) }))
    }

    async fn get_transcript(
        &self,
        request: Request<v1::GetTranscriptRequest>,
    ) -> Result<Response<v1::GetTranscriptResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let driven = self.look(&caller, &request.name, &request.player).await?;
        let transcript = self.transcript(&driven.stored.head).await?;
        Ok(Response::new(v1::GetTranscriptResponse { transcript: Some(transcript) }))
    }
}

impl Matches {
    fn store(&self) -> &dyn store::Store {
        self.node.store.as_ref()
    }

    /// A match as it is now, for whoever may see it. A deadline that has passed decides before anything
    /// that depends on it is answered.
    async fn look(&self, caller: &Caller, name: &str, player: &str) -> Result<Driven, ApiError> {
        let id = request::match_id("name", name)?;
        drive(self.store(), id, caller.deadline(), |game| {
            caller.viewer(player, game)?;
            Ok(Command::Tick)
        })
        .await
    }

    fn commands(&self) -> Commands<'_> {
        Commands { node: &self.node }
    }

    async fn transcript(&self, game: &Match) -> Result<v1::Transcript, ApiError> {
        let history = self.node.histories.of(game);
        let turns = history.all(self.store(), game).await?;
        let signed = game.finish().map(|finish| self.node.signer.sign_end(&finish.end_hash));
        Ok(v1::Transcript {
            r#match: match_name(game.id),
            settings: Some(crate::convert::settings::to_wire(&game.settings)),
            black: Some(view::seat(game, rules::Seat::Black)),
            white: Some(view::seat(game, rules::Seat::White)),
            first_hash: game.first_hash().as_bytes().to_vec(),
            turns: turns.iter().map(|played| played.wire.clone()).collect(),
            finish: view::finished(game),
            key_id: signed.as_ref().map(|signed| signed.key_id.clone()).unwrap_or_default(),
            signature: signed.map(|signed| signed.signature.as_bytes().to_vec()).unwrap_or_default(),
        })
    }
}
