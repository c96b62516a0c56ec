//! Brings two players into a match, outside of the measured time.

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use prost_types::Duration;
use rules::PerSeat;
use tonic::Request;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;
use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;
use wire::v1::player_service_client::PlayerServiceClient;

use crate::server::API_KEY;

/// The time a turn has, s: a match that rests between two rounds must not run out of it.
const TURN_TIME_S: i64 = 60 * 60;

/// Matches that are made at once.
const AT_ONCE: usize = 16;

/// A back end at a server's door.
#[derive(Clone)]
pub(crate) struct Lobby {
    channel: Channel,
}

impl Lobby {
    pub(crate) async fn open(address: &str) -> anyhow::Result<Self> {
        Ok(Self { channel: Endpoint::new(format!("http://{address}"))?.connect().await? })
    }

    /// A token of a player.
    pub(crate) async fn token(&self, player: &str) -> anyhow::Result<String> {
        let request = v1::MintPlayerTokenRequest { player: player.to_owned(), ..Default::default() };
        let minted = PlayerServiceClient::new(self.channel.clone()).mint_player_token(keyed(request)).await?;
        Ok(minted.into_inner().token)
    }

    /// A match for each pair, both seats taken: their names (`matches/{match}`), in order.
    pub(crate) async fn matches(&self, pairs: &[PerSeat<String>]) -> anyhow::Result<Vec<String>> {
        stream::iter(pairs).map(|pair| self.one_match(pair)).buffered(AT_ONCE).try_collect().await
    }

    async fn one_match(&self, players: &PerSeat<String>) -> anyhow::Result<String> {
        let mut matchmaking = MatchmakingServiceClient::new(self.channel.clone());
        let mut matches = MatchServiceClient::new(self.channel.clone());
        let turn_time = Duration { seconds: TURN_TIME_S, nanos: 0 };
        let time_control = v1::match_settings::TimeControl::TurnTime(turn_time);
        let invite = v1::CreateInviteRequest {
            player: players.black.clone(),
            request_id: request_id(),
            invitee: players.white.clone(),
            settings: Some(v1::MatchSettings { time_control: Some(time_control), ..Default::default() }),
            inviter_seat: v1::Seat::Black.into(),
            ..Default::default()
        };
        let created = matchmaking.create_invite(keyed(invite)).await?.into_inner();
        let accept = v1::AcceptInviteRequest {
            name: created.invite.context("no invite was created")?.name,
            player: players.white.clone(),
            request_id: request_id(),
            ..Default::default()
        };
        let accepted = matchmaking.accept_invite(keyed(accept)).await?.into_inner();
        let name = accepted.invite.context("no invite was accepted")?.r#match;
        for player in [&players.black, &players.white] {
            let (name, player) = (name.clone(), player.clone());
            let join = v1::JoinMatchRequest { name, player, request_id: request_id() };
            matches.join_match(keyed(join)).await?;
        }
        Ok(name)
    }
}

impl Lobby {
    /// Ends matches: of each, its name and the player who resigns.
    pub(crate) async fn resign<'a>(
        &self,
        matches: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<()> {
        let resigned = stream::iter(matches).map(async |(name, player)| {
            let (name, player) = (name.to_owned(), player.to_owned());
            let request = v1::ResignRequest { name, player, request_id: request_id() };
            MatchServiceClient::new(self.channel.clone()).resign(keyed(request)).await.map(drop)
        });
        Ok(resigned.buffered(AT_ONCE).try_collect().await?)
    }

    /// All of a match, as the server tells it.
    pub(crate) async fn transcript(&self, name: &str) -> anyhow::Result<v1::Transcript> {
        let request = v1::GetTranscriptRequest { name: name.to_owned(), ..Default::default() };
        let told = MatchServiceClient::new(self.channel.clone()).get_transcript(keyed(request)).await?;
        told.into_inner().transcript.context("a match without a transcript")
    }

    /// What the server says of itself, its keys above all.
    pub(crate) async fn server_info(&self) -> anyhow::Result<v1::GetServerInfoResponse> {
        let request = keyed(v1::GetServerInfoRequest::default());
        let told = PlayerServiceClient::new(self.channel.clone()).get_server_info(request).await?;
        Ok(told.into_inner())
    }
}

/// A name for a request, of the form that clients are told to use.
pub(crate) fn request_id() -> String {
    Uuid::from_bytes(rand::random()).to_string()
}

fn keyed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("x-api-key", MetadataValue::from_static(API_KEY));
    request
}
