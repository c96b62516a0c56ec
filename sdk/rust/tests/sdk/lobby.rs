//! A server of tickets that says what it is told to.

use std::sync::{Arc, Mutex};

use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use whattheshell::v1::matchmaking_service_server::{MatchmakingService, MatchmakingServiceServer};
use whattheshell::v1::watch_ticket_response::Update;
use whattheshell::{Client, Player, v1};

use crate::history::token;

/// What happens next on a stream.
pub(crate) enum Step {
    Ticket(Box<v1::Ticket>),
    Heartbeat,
    /// An update of a kind that the client does not know.
    Unknown,
    Fail(Status),
}

/// How the n-th call that creates or cancels a ticket goes, from 0.
pub(crate) type OnCall = Box<dyn Fn(usize) -> Result<Option<v1::Ticket>, Status> + Send + Sync>;

/// The n-th stream, from 0; after its steps it ends with OK.
pub(crate) type OnWatch = Box<dyn Fn(usize) -> Vec<Step> + Send + Sync>;

/// The server, and all that was asked of it.
pub(crate) struct Lobby {
    pub(crate) on_call: OnCall,
    pub(crate) on_watch: OnWatch,
    /// What each call that changes something carried: its kind, the ticket it names, its request id.
    pub(crate) asked: Mutex<Vec<(&'static str, String, String)>>,
    pub(crate) watched: Mutex<Vec<String>>,
}

impl Default for Lobby {
    fn default() -> Self {
        Self {
            on_call: Box::new(|_| Ok(None)),
            on_watch: Box::new(|_| Vec::new()),
            asked: Mutex::default(),
            watched: Mutex::default(),
        }
    }
}

impl Lobby {
    pub(crate) fn asked(&self) -> Vec<(&'static str, String, String)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn watched(&self) -> Vec<String> {
        self.watched.lock().unwrap().clone()
    }

    fn call(
        &self,
        kind: &'static str,
        name: String,
        request_id: String,
    ) -> Result<Option<v1::Ticket>, Status> {
        let mut asked = self.asked.lock().unwrap();
        asked.push((kind, name, request_id));
        (self.on_call)(asked.len() - 1)
    }
}

/// Ann at this server.
pub(crate) async fn ann(lobby: Lobby) -> (Arc<Lobby>, Player) {
    let lobby = Arc::new(lobby);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = MatchmakingServiceServer::from_arc(Arc::clone(&lobby));
    let server = tonic::transport::Server::builder().add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let client = Client::connect(&format!("http://{address}")).await.unwrap();
    (lobby, client.player(&token("ann")).unwrap())
}

fn unimplemented<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("the fake"))
}

#[tonic::async_trait]
impl MatchmakingService for Lobby {
    type WatchTicketStream = BoxStream<'static, Result<v1::WatchTicketResponse, Status>>;

    async fn create_ticket(
        &self,
        request: Request<v1::CreateTicketRequest>,
    ) -> Result<Response<v1::CreateTicketResponse>, Status> {
        let request = request.into_inner();
        let ticket = self.call("create", request.pool, request.request_id)?;
        Ok(Response::new(v1::CreateTicketResponse { ticket }))
    }

    async fn get_ticket(
        &self,
        _: Request<v1::GetTicketRequest>,
    ) -> Result<Response<v1::GetTicketResponse>, Status> {
        unimplemented()
    }

    async fn renew_ticket(
        &self,
        request: Request<v1::RenewTicketRequest>,
    ) -> Result<Response<v1::RenewTicketResponse>, Status> {
        let request = request.into_inner();
        let ticket = self.call("renew", request.name, request.request_id)?;
        Ok(Response::new(v1::RenewTicketResponse { ticket }))
    }

    async fn watch_ticket(
        &self,
        request: Request<v1::WatchTicketRequest>,
    ) -> Result<Response<Self::WatchTicketStream>, Status> {
        let nth = {
            let mut watched = self.watched.lock().unwrap();
            watched.push(request.into_inner().name);
            watched.len() - 1
        };
        let message = |update| Ok(v1::WatchTicketResponse { update });
        let steps = stream::iter((self.on_watch)(nth)).map(move |step| match step {
            Step::Ticket(ticket) => message(Some(Update::Ticket(*ticket))),
            Step::Heartbeat => message(Some(Update::Heartbeat(v1::Heartbeat::default()))),
            Step::Unknown => message(None),
            Step::Fail(status) => Err(status),
        });
        Ok(Response::new(steps.boxed()))
    }

    async fn cancel_ticket(
        &self,
        request: Request<v1::CancelTicketRequest>,
    ) -> Result<Response<v1::CancelTicketResponse>, Status> {
        let request = request.into_inner();
        let ticket = self.call("cancel", request.name, request.request_id)?;
        Ok(Response::new(v1::CancelTicketResponse { ticket }))
    }

    async fn create_bot_match(
        &self,
        request: Request<v1::CreateBotMatchRequest>,
    ) -> Result<Response<v1::CreateBotMatchResponse>, Status> {
        let request = request.into_inner();
        self.call("bot", request.level.to_string(), request.request_id)?;
        Ok(Response::new(v1::CreateBotMatchResponse { r#match: Some(v1::Match::default()) }))
    }

    async fn create_invite(
        &self,
        _: Request<v1::CreateInviteRequest>,
    ) -> Result<Response<v1::CreateInviteResponse>, Status> {
        unimplemented()
    }

    async fn get_invite(
        &self,
        _: Request<v1::GetInviteRequest>,
    ) -> Result<Response<v1::GetInviteResponse>, Status> {
        unimplemented()
    }

    async fn accept_invite(
        &self,
        _: Request<v1::AcceptInviteRequest>,
    ) -> Result<Response<v1::AcceptInviteResponse>, Status> {
        unimplemented()
    }

    async fn decline_invite(
        &self,
        _: Request<v1::DeclineInviteRequest>,
    ) -> Result<Response<v1::DeclineInviteResponse>, Status> {
        unimplemented()
    }

    async fn revoke_invite(
        &self,
        _: Request<v1::RevokeInviteRequest>,
    ) -> Result<Response<v1::RevokeInviteResponse>, Status> {
        unimplemented()
    }
}
