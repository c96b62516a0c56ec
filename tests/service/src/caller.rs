//! Who calls.

use std::net::SocketAddr;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_health::pb::health_client::HealthClient;
use wire::ApiError;
use wire::admin::v1::admin_service_client::AdminServiceClient;
use wire::v1::feed_service_client::FeedServiceClient;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;
use wire::v1::player_service_client::PlayerServiceClient;
use wire::v1::{self, ErrorReason};

use crate::{PlayerWatching, Watching, soon};

/// Why a call was refused.
///
/// # Panics
/// If the refusal is not one of the API's.
#[must_use]
pub fn reason(status: &Status) -> ErrorReason {
    ApiError::from_status(status).expect("every error of the API has a reason").reason()
}

/// What a caller shows of himself.
#[derive(Clone, Debug, Default)]
pub struct Credential(Option<(&'static str, MetadataValue<Ascii>)>);

impl Credential {
    /// Nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// A player's token.
    #[must_use]
    pub fn token(token: &str) -> Self {
        Self(Some(("authorization", ascii(&format!("Bearer {token}")))))
    }

    /// The key of a back end or an operator.
    #[must_use]
    pub fn api_key(key: &str) -> Self {
        Self(Some(("x-api-key", ascii(key))))
    }
}

fn ascii(text: &str) -> MetadataValue<Ascii> {
    text.parse().expect("credentials are ASCII")
}

impl Interceptor for Credential {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some((name, value)) = &self.0 {
            request.metadata_mut().insert(*name, value.clone());
        }
        Ok(request)
    }
}

/// A connection that shows a credential with every call.
pub type Line = InterceptedService<Channel, Credential>;

/// A connection of its own to this address.
///
/// # Panics
/// If nobody listens there.
pub async fn connect(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address makes a URI");
    soon("a connection", endpoint.connect()).await.expect("the server listens")
}

/// Somebody who calls through one connection. Clones share it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// `players/{player}`; empty for back ends and strangers.
    pub name: String,
    /// What he shows.
    pub credential: Credential,
    channel: Channel,
}

impl Caller {
    /// A caller over this connection.
    #[must_use]
    pub fn new(name: &str, credential: Credential, channel: Channel) -> Self {
        Self { name: name.to_owned(), credential, channel }
    }

    /// The same caller over a connection of its own to another address: a node, or a [`crate::Tap`].
    pub async fn through(&self, address: SocketAddr) -> Self {
        Self { channel: connect(address).await, ..self.clone() }
    }

    /// His connection with his credential, for any generated client.
    #[must_use]
    pub fn line(&self) -> Line {
        InterceptedService::new(self.channel.clone(), self.credential.clone())
    }

    /// A client of `MatchService`.
    #[must_use]
    pub fn matches(&self) -> MatchServiceClient<Line> {
        MatchServiceClient::new(self.line())
    }

    /// A client of `MatchmakingService`.
    #[must_use]
    pub fn matchmaking(&self) -> MatchmakingServiceClient<Line> {
        MatchmakingServiceClient::new(self.line())
    }

    /// A client of `PlayerService`.
    #[must_use]
    pub fn players(&self) -> PlayerServiceClient<Line> {
        PlayerServiceClient::new(self.line())
    }

    /// A client of `FeedService`.
    #[must_use]
    pub fn feed(&self) -> FeedServiceClient<Line> {
        FeedServiceClient::new(self.line())
    }

    /// A client of `AdminService`.
    #[must_use]
    pub fn admin(&self) -> AdminServiceClient<Line> {
        AdminServiceClient::new(self.line())
    }

    /// A client of `grpc.health.v1.Health`.
    #[must_use]
    pub fn health(&self) -> HealthClient<Line> {
        HealthClient::new(self.line())
    }

    /// The match as he sees it.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn get(&self, name: &str) -> Result<v1::Match, Status> {
        let request = v1::GetMatchRequest { name: name.to_owned(), player: String::new() };
        let response = soon("GetMatch", self.matches().get_match(request)).await?.into_inner();
        Ok(response.r#match.expect("a response has its match"))
    }

    /// The match's transcript.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn transcript(&self, name: &str) -> Result<v1::Transcript, Status> {
        let request = v1::GetTranscriptRequest { name: name.to_owned(), player: String::new() };
        let response = soon("GetTranscript", self.matches().get_transcript(request)).await?.into_inner();
        Ok(response.transcript.expect("a response has its transcript"))
    }

    /// A stream of the match from its last resolved turn on.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn watch(&self, name: &str) -> Result<Watching, Status> {
        self.watch_with(v1::WatchMatchRequest { name: name.to_owned(), ..Default::default() }).await
    }

    /// A stream of the match with every turn after this one.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn watch_after(&self, name: &str, turn: u32, hash: &[u8]) -> Result<Watching, Status> {
        self.watch_with(v1::WatchMatchRequest {
            name: name.to_owned(),
            after_turn: Some(turn),
            after_hash: hash.to_vec(),
            ..Default::default()
        })
        .await
    }

    /// The stream that this request opens.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn watch_with(
        &self,
        request: impl tonic::IntoRequest<v1::WatchMatchRequest>,
    ) -> Result<Watching, Status> {
        let stream = soon("WatchMatch", self.matches().watch_match(request)).await?.into_inner();
        Ok(Watching::new(stream))
    }

    /// A stream of what waits for himself.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn watch_home(&self) -> Result<PlayerWatching, Status> {
        self.watch_home_with(v1::WatchPlayerRequest::default()).await
    }

    /// The player's stream that this request opens.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn watch_home_with(
        &self,
        request: impl tonic::IntoRequest<v1::WatchPlayerRequest>,
    ) -> Result<PlayerWatching, Status> {
        let stream = soon("WatchPlayer", self.players().watch_player(request)).await?.into_inner();
        Ok(PlayerWatching::new(stream))
    }
}
