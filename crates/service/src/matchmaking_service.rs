//! `MatchmakingService`: how players come to a match.

use std::sync::Arc;

use futures::stream::BoxStream;
use tonic::{Request, Response, Status};
use wire::v1;
use wire::v1::matchmaking_service_server::MatchmakingService;

use crate::access::Caller;
use crate::invites::Invites;
use crate::node::Node;
use crate::tickets::Tickets;
use crate::{bot_match, ticket_watch};

/// The service over one node.
pub(crate) struct Matchmaking {
    node: Arc<Node>,
    invites: Invites,
    tickets: Tickets,
}

impl Matchmaking {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self {
            invites: Invites { node: Arc::clone(&node) },
            tickets: Tickets { node: Arc::clone(&node) },
            node,
        }
    }
}

#[tonic::async_trait]
impl MatchmakingService for Matchmaking {
    type WatchTicketStream = BoxStream<'static, Result<v1::WatchTicketResponse, Status>>;

    async fn create_ticket(
        &self,
        request: Request<v1::CreateTicketRequest>,
    ) -> Result<Response<v1::CreateTicketResponse>, Status> {
        let caller = Caller::of(&request);
        let ticket = self.tickets.create(&caller, request.into_inner()).await?;
        caller.acts_on(|| ticket.name.clone());
        Ok(Response::new(v1::CreateTicketResponse { ticket: Some(ticket) }))
    }

    async fn get_ticket(
        &self,
        request: Request<v1::GetTicketRequest>,
    ) -> Result<Response<v1::GetTicketResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let ticket = self.tickets.get(&caller, &request.name, &request.player).await?;
        Ok(Response::new(v1::GetTicketResponse { ticket: Some(ticket) }))
    }

    async fn renew_ticket(
        &self,
        request: Request<v1::RenewTicketRequest>,
    ) -> Result<Response<v1::RenewTicketResponse>, Status> {
        let caller = Caller::of(&request);
        let ticket = self.tickets.renew(&caller, request.get_ref()).await?;
        caller.acts_on(|| ticket.name.clone());
        Ok(Response::new(v1::RenewTicketResponse { ticket: Some(ticket) }))
    }

    async fn watch_ticket(
        &self,
        request: Request<v1::WatchTicketRequest>,
    ) -> Result<Response<Self::WatchTicketStream>, Status> {
        let caller = Caller::of(&request);
        let stream = ticket_watch::open(Arc::clone(&self.node), &caller, request.into_inner()).await?;
        Ok(Response::new(stream))
    }

    async fn cancel_ticket(
        &self,
        request: Request<v1::CancelTicketRequest>,
    ) -> Result<Response<v1::CancelTicketResponse>, Status> {
        let caller = Caller::of(&request);
        let ticket = self.tickets.cancel(&caller, request.get_ref()).await?;
        ticket.iter().for_each(|ticket| caller.acts_on(|| ticket.name.clone()));
        Ok(Response::new(v1::CancelTicketResponse { ticket }))
    }

    async fn create_invite(
        &self,
        request: Request<v1::CreateInviteRequest>,
    ) -> Result<Response<v1::CreateInviteResponse>, Status> {
        let caller = Caller::of(&request);
        Ok(Response::new(self.invites.create(&caller, request.into_inner()).await?))
    }

    async fn get_invite(
        &self,
        request: Request<v1::GetInviteRequest>,
    ) -> Result<Response<v1::GetInviteResponse>, Status> {
        let caller = Caller::of(&request);
        let invite = self.invites.get(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::GetInviteResponse { invite: Some(invite) }))
    }

    async fn accept_invite(
        &self,
        request: Request<v1::AcceptInviteRequest>,
    ) -> Result<Response<v1::AcceptInviteResponse>, Status> {
        let caller = Caller::of(&request);
        let invite = self.invites.accept(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::AcceptInviteResponse { invite: Some(invite) }))
    }

    async fn decline_invite(
        &self,
        request: Request<v1::DeclineInviteRequest>,
    ) -> Result<Response<v1::DeclineInviteResponse>, Status> {
        let caller = Caller::of(&request);
        let invite = self.invites.decline(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::DeclineInviteResponse { invite: Some(invite) }))
    }

    async fn revoke_invite(
        &self,
        request: Request<v1::RevokeInviteRequest>,
    ) -> Result<Response<v1::RevokeInviteResponse>, Status> {
        let caller = Caller::of(&request);
        let invite = self.invites.revoke(&caller, request.get_ref()).await?;
        Ok(Response::new(v1::RevokeInviteResponse { invite: Some(invite) }))
    }

    async fn create_bot_match(
        &self,
        request: Request<v1::CreateBotMatchRequest>,
    ) -> Result<Response<v1::CreateBotMatchResponse>, Status> {
        let caller = Caller::of(&request);
        let game = bot_match::create(&self.node, &caller, request.into_inner()).await?;
        Ok(Response::new(v1::CreateBotMatchResponse { r#match: Some(game) }))
    }
}
