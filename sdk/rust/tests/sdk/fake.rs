//! A server that says what it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use whattheshell::v1::match_service_server::{MatchService, MatchServiceServer};
use whattheshell::v1::watch_match_response::Update;
use whattheshell::v1::{self, MatchSnapshot};
use whattheshell::{Client, ClientBuilder, MatchHandle, Player};

use crate::history::{History, MATCH, token};

/// What happens next on a stream.
pub(crate) enum Step {
    Send(Box<Update>),
    /// An update of a kind that the client does not know.
    SendUnknown,
    Fail(Status),
    /// Nothing, for ever.
    Hang,
}

impl From<MatchSnapshot> for Step {
    fn from(snapshot: MatchSnapshot) -> Self {
        Self::Send(Box::new(Update::Snapshot(snapshot)))
    }
}

impl From<v1::ResolvedTurn> for Step {
    fn from(turn: v1::ResolvedTurn) -> Self {
        Self::Send(Box::new(Update::Turn(turn)))
    }
}

impl From<v1::MatchStatus> for Step {
    fn from(status: v1::MatchStatus) -> Self {
        Self::Send(Box::new(Update::Status(status)))
    }
}

impl From<v1::MatchFinished> for Step {
    fn from(finish: v1::MatchFinished) -> Self {
        Self::Send(Box::new(Update::Finished(finish)))
    }
}

impl From<v1::Heartbeat> for Step {
    fn from(heartbeat: v1::Heartbeat) -> Self {
        Self::Send(Box::new(Update::Heartbeat(heartbeat)))
    }
}

/// The answer to the n-th seal, from 0. None: no answer, ever.
pub(crate) type OnSeal =
    Box<dyn Fn(usize, &v1::SealMoveRequest) -> Option<Result<v1::SealReceipt, Status>> + Send + Sync>;

/// The answer to the n-th reveal, from 0.
pub(crate) type OnReveal = Box<dyn Fn(usize, &v1::RevealMoveRequest) -> Result<(), Status> + Send + Sync>;

/// The answer to the n-th page, from 0.
pub(crate) type OnList =
    Box<dyn Fn(usize, &v1::ListMatchesRequest) -> Result<v1::ListMatchesResponse, Status> + Send + Sync>;

/// The n-th stream, from 0; after its steps it ends with OK.
pub(crate) type OnWatch = Box<dyn Fn(&Fake, usize, &v1::WatchMatchRequest) -> Vec<Step> + Send + Sync>;

/// All that was asked of a server.
#[derive(Default)]
pub(crate) struct Asked {
    seals: Mutex<Vec<v1::SealMoveRequest>>,
    watches: Mutex<Vec<v1::WatchMatchRequest>>,
    reveals: Mutex<Vec<v1::RevealMoveRequest>>,
    offers: Mutex<Vec<v1::OfferDrawRequest>>,
    answers: Mutex<Vec<v1::AnswerDrawRequest>>,
    lists: Mutex<Vec<v1::ListMatchesRequest>>,
}

/// The server, and all that was asked of it.
pub(crate) struct Fake {
    pub(crate) game: v1::Match,
    pub(crate) on_seal: OnSeal,
    pub(crate) on_reveal: OnReveal,
    pub(crate) on_watch: OnWatch,
    pub(crate) on_list: OnList,
    pub(crate) asked: Asked,
}

impl Fake {
    /// A server with this match, which says nothing else yet.
    pub(crate) fn new(history: &History) -> Self {
        Self {
            game: history.game(),
            on_seal: Box::new(|_, _| None),
            on_reveal: Box::new(|_, _| Ok(())),
            on_watch: Box::new(|_, _, _| vec![Step::Hang]),
            on_list: Box::new(|_, _| Ok(v1::ListMatchesResponse::default())),
            asked: Asked::default(),
        }
    }

    pub(crate) fn seals(&self) -> Vec<v1::SealMoveRequest> {
        self.asked.seals.lock().unwrap().clone()
    }

    pub(crate) fn watches(&self) -> Vec<v1::WatchMatchRequest> {
        self.asked.watches.lock().unwrap().clone()
    }

    pub(crate) fn reveals(&self) -> Vec<v1::RevealMoveRequest> {
        self.asked.reveals.lock().unwrap().clone()
    }

    pub(crate) fn offers(&self) -> Vec<v1::OfferDrawRequest> {
        self.asked.offers.lock().unwrap().clone()
    }

    pub(crate) fn lists(&self) -> Vec<v1::ListMatchesRequest> {
        self.asked.lists.lock().unwrap().clone()
    }

    pub(crate) fn answers(&self) -> Vec<v1::AnswerDrawRequest> {
        self.asked.answers.lock().unwrap().clone()
    }

    /// Serves on a port of its own.
    async fn listen(self: Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tonic::transport::Server::builder().add_service(MatchServiceServer::from_arc(self));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        address
    }
}

/// Black at his match, on this server.
pub(crate) async fn black(fake: Fake) -> (Arc<Fake>, MatchHandle) {
    black_by(fake, &Client::builder()).await
}

/// The same, by a client with these options.
pub(crate) async fn black_by(fake: Fake, client: &ClientBuilder) -> (Arc<Fake>, MatchHandle) {
    let fake = Arc::new(fake);
    let address = Arc::clone(&fake).listen().await;
    (fake, join(address, client).await)
}

/// Black without a match at hand, on this server.
pub(crate) async fn ann(fake: Fake) -> (Arc<Fake>, Player) {
    let fake = Arc::new(fake);
    let address = Arc::clone(&fake).listen().await;
    let client = Client::connect(&format!("http://{address}")).await.unwrap();
    (fake, client.player(&token("ann")).unwrap())
}

/// Black at the same match again, as after a restart.
pub(crate) async fn black_again(fake: &Arc<Fake>) -> MatchHandle {
    join(Arc::clone(fake).listen().await, &Client::builder()).await
}

async fn join(address: SocketAddr, client: &ClientBuilder) -> MatchHandle {
    let client = client.connect(&format!("http://{address}")).await.unwrap();
    client.player(&token("ann")).unwrap().join(MATCH).await.unwrap()
}

/// How a line fails.
#[derive(Clone, Copy)]
enum Fault {
    None,
    /// Its connections break.
    Cut,
    /// Its connections stay, and nothing comes through: a phone in a tunnel.
    Dead,
}

/// A line to a server that can fail.
pub(crate) struct Cable {
    fault: watch::Sender<Fault>,
}

impl Cable {
    /// Black at his match, on the other end of a cable.
    pub(crate) async fn to(fake: Fake, client: &ClientBuilder) -> (Self, Arc<Fake>, MatchHandle) {
        let fake = Arc::new(fake);
        let server = Arc::clone(&fake).listen().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (fault, faults) = watch::channel(Fault::None);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, server, faults.clone()));
            }
        });
        (Self { fault }, fake, join(address, client).await)
    }

    /// Breaks every connection that is open now.
    pub(crate) fn cut(&self) {
        self.fault.send_replace(Fault::Cut);
    }

    /// Lets nothing more through the connections that are open now.
    pub(crate) fn fall_dead(&self) {
        self.fault.send_replace(Fault::Dead);
    }
}

/// Carries one connection until the line fails under it.
async fn carry(mut near: TcpStream, server: SocketAddr, mut faults: watch::Receiver<Fault>) {
    faults.mark_unchanged();
    let mut far = TcpStream::connect(server).await.unwrap();
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = faults.changed() => {
            let fault = *faults.borrow();
            if matches!(fault, Fault::Dead) {
                std::future::pending::<()>().await;
            }
        }
    }
}

fn unimplemented<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("the fake"))
}

#[tonic::async_trait]
impl MatchService for Fake {
    type WatchMatchStream = BoxStream<'static, Result<v1::WatchMatchResponse, Status>>;

    async fn get_match(
        &self,
        _: Request<v1::GetMatchRequest>,
    ) -> Result<Response<v1::GetMatchResponse>, Status> {
        Ok(Response::new(v1::GetMatchResponse { r#match: Some(self.game.clone()) }))
    }

    async fn join_match(
        &self,
        _: Request<v1::JoinMatchRequest>,
    ) -> Result<Response<v1::JoinMatchResponse>, Status> {
        Ok(Response::new(v1::JoinMatchResponse { r#match: Some(self.game.clone()) }))
    }

    async fn seal_move(
        &self,
        request: Request<v1::SealMoveRequest>,
    ) -> Result<Response<v1::SealMoveResponse>, Status> {
        let request = request.into_inner();
        let nth = {
            let mut seals = self.asked.seals.lock().unwrap();
            seals.push(request.clone());
            seals.len() - 1
        };
        match (self.on_seal)(nth, &request) {
            Some(answer) => Ok(Response::new(v1::SealMoveResponse { receipt: Some(answer?) })),
            None => std::future::pending().await,
        }
    }

    async fn watch_match(
        &self,
        request: Request<v1::WatchMatchRequest>,
    ) -> Result<Response<Self::WatchMatchStream>, Status> {
        let request = request.into_inner();
        let nth = {
            let mut watches = self.asked.watches.lock().unwrap();
            watches.push(request.clone());
            watches.len() - 1
        };
        let steps = stream::iter((self.on_watch)(self, nth, &request)).then(|step| async {
            match step {
                Step::Send(update) => Ok(v1::WatchMatchResponse { update: Some(*update) }),
                Step::SendUnknown => Ok(v1::WatchMatchResponse { update: None }),
                Step::Fail(status) => Err(status),
                Step::Hang => std::future::pending().await,
            }
        });
        Ok(Response::new(steps.boxed()))
    }

    async fn list_matches(
        &self,
        request: Request<v1::ListMatchesRequest>,
    ) -> Result<Response<v1::ListMatchesResponse>, Status> {
        let request = request.into_inner();
        let nth = {
            let mut lists = self.asked.lists.lock().unwrap();
            lists.push(request.clone());
            lists.len() - 1
        };
        (self.on_list)(nth, &request).map(Response::new)
    }

    async fn reveal_move(
        &self,
        request: Request<v1::RevealMoveRequest>,
    ) -> Result<Response<v1::RevealMoveResponse>, Status> {
        let request = request.into_inner();
        let nth = {
            let mut reveals = self.asked.reveals.lock().unwrap();
            reveals.push(request.clone());
            reveals.len() - 1
        };
        (self.on_reveal)(nth, &request)?;
        Ok(Response::new(v1::RevealMoveResponse {}))
    }

    async fn resign(&self, _: Request<v1::ResignRequest>) -> Result<Response<v1::ResignResponse>, Status> {
        unimplemented()
    }

    async fn offer_draw(
        &self,
        request: Request<v1::OfferDrawRequest>,
    ) -> Result<Response<v1::OfferDrawResponse>, Status> {
        self.asked.offers.lock().unwrap().push(request.into_inner());
        Ok(Response::new(v1::OfferDrawResponse { r#match: Some(self.game.clone()) }))
    }

    async fn answer_draw(
        &self,
        request: Request<v1::AnswerDrawRequest>,
    ) -> Result<Response<v1::AnswerDrawResponse>, Status> {
        self.asked.answers.lock().unwrap().push(request.into_inner());
        Ok(Response::new(v1::AnswerDrawResponse { r#match: Some(self.game.clone()) }))
    }

    async fn get_transcript(
        &self,
        _: Request<v1::GetTranscriptRequest>,
    ) -> Result<Response<v1::GetTranscriptResponse>, Status> {
        unimplemented()
    }
}
