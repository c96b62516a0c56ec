//! `PlayerService`: players, their tokens, their data, and what the server is.

use std::sync::Arc;

use futures::stream::BoxStream;
use middleware::{AgeMark, MintError, NewToken, Scope};
use referee::{RulesVersion, Settings, Stamp};
use store::Ticket;
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::v1::player_service_server::PlayerService;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::admission::Restriction;
use crate::convert::time::{duration, duration_ms, timestamp};
use crate::convert::{errors, player, request, view};
use crate::front::REQUEST_BYTES_MAX;
use crate::node::Node;
use crate::transport::{HEADER_BYTES_MAX, STREAMS_PER_CONNECTION_MAX};
use crate::{admission, bans, leaderboard, page, player_deletion, player_export, player_watch};

/// The service over one node.
pub(crate) struct Players {
    pub(crate) node: Arc<Node>,
}

#[tonic::async_trait]
impl PlayerService for Players {
    type WatchPlayerStream = BoxStream<'static, Result<v1::WatchPlayerResponse, Status>>;

    async fn get_player(
        &self,
        request: Request<v1::GetPlayerRequest>,
    ) -> Result<Response<v1::GetPlayerResponse>, Status> {
        let caller = Caller::of(&request);
        let name = match request.get_ref().name.as_str() {
            "" => caller.own_name().ok_or_else(|| ApiError::required("name"))?,
            name => request::player("name", name)?.to_owned(),
        };
        let (record, _) = self.node.store.record(&name).await.map_err(errors::store)?;
        Ok(Response::new(v1::GetPlayerResponse { player: Some(player::to_wire(name, &record)) }))
    }

    async fn watch_player(
        &self,
        request: Request<v1::WatchPlayerRequest>,
    ) -> Result<Response<Self::WatchPlayerStream>, Status> {
        let caller = Caller::of(&request);
        let stream = player_watch::open(Arc::clone(&self.node), &caller, request.into_inner()).await?;
        Ok(Response::new(stream))
    }

    async fn list_leaderboard(
        &self,
        request: Request<v1::ListLeaderboardRequest>,
    ) -> Result<Response<v1::ListLeaderboardResponse>, Status> {
        Ok(Response::new(leaderboard::list(&self.node, request.get_ref()).await?))
    }

    async fn mint_player_token(
        &self,
        request: Request<v1::MintPlayerTokenRequest>,
    ) -> Result<Response<v1::MintPlayerTokenResponse>, Status> {
        let caller = Caller::of(&request);
        let mut new = new_token(request.get_ref())?;
        let restriction = self.restriction(&new.player).await;
        if restriction.is_banned(self.node.clock.now_ms()) {
            return Err(admission::banned(&new.player).into());
        }
        new.issued_from_ms = Some(restriction.tokens_from_ms);
        let minted = self.node.issuer.mint(&new, self.node.clock.now_ms());
        let (token, expires_ms) = minted.map_err(not_minted)?;
        caller.acts_on(|| new.player.clone());
        let expire_time = Some(timestamp(Stamp::from_ms(expires_ms)));
        Ok(Response::new(v1::MintPlayerTokenResponse { token, expire_time }))
    }

    async fn ban_player(
        &self,
        request: Request<v1::BanPlayerRequest>,
    ) -> Result<Response<v1::BanPlayerResponse>, Status> {
        Ok(Response::new(bans::ban(&self.node, request.into_inner()).await?))
    }

    async fn unban_player(
        &self,
        request: Request<v1::UnbanPlayerRequest>,
    ) -> Result<Response<v1::UnbanPlayerResponse>, Status> {
        Ok(Response::new(bans::unban(&self.node, request.into_inner()).await?))
    }

    async fn revoke_player_tokens(
        &self,
        request: Request<v1::RevokePlayerTokensRequest>,
    ) -> Result<Response<v1::RevokePlayerTokensResponse>, Status> {
        Ok(Response::new(bans::revoke_tokens(&self.node, request.into_inner()).await?))
    }

    async fn export_player(
        &self,
        request: Request<v1::ExportPlayerRequest>,
    ) -> Result<Response<v1::ExportPlayerResponse>, Status> {
        Ok(Response::new(player_export::export(&self.node, request.get_ref()).await?))
    }

    async fn delete_player(
        &self,
        request: Request<v1::DeletePlayerRequest>,
    ) -> Result<Response<v1::DeletePlayerResponse>, Status> {
        Ok(Response::new(player_deletion::delete(&self.node, request.into_inner()).await?))
    }

    async fn get_server_info(
        &self,
        _request: Request<v1::GetServerInfoRequest>,
    ) -> Result<Response<v1::GetServerInfoResponse>, Status> {
        let now = Stamp::from_ms(self.node.clock.now_ms());
        Ok(Response::new(v1::GetServerInfoResponse {
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            rules_versions: RulesVersion::ALL.iter().map(|version| version.name().to_owned()).collect(),
            limits: Some(self.limits()),
            server_time: Some(timestamp(now)),
            public_keys: view::server_keys(self.node.signer.published()),
            dev_mode: self.node.config.dev,
            pools: self.node.config.pools.iter().map(player::pool).collect(),
        }))
    }
}

impl Players {
    /// Whether a player is banned, and which of his tokens are called back, by the store's word: whoever is refused
    /// a call on another node is refused a token here at once. While the store does not answer, as far as it is
    /// known.
    async fn restriction(&self, player: &str) -> Restriction {
        match self.node.store.access(player).await {
            Ok(access) => access.as_ref().map(Restriction::of).unwrap_or_default(),
            Err(_) => self.node.admissions.of(player),
        }
    }

    fn limits(&self) -> v1::ServerLimits {
        let player = self.node.config.allowances.player;
        v1::ServerLimits {
            request_bytes_max: REQUEST_BYTES_MAX as u64,
            page_size_max: page::SIZE_MAX as u32,
            turn_time_min: Some(duration(Settings::TURN_MIN_MS)),
            turn_time_max: Some(duration(Settings::TURN_MAX_MS)),
            turn_limit_max: Settings::TURN_LIMIT_MAX,
            heartbeat_interval: Some(duration(self.node.heartbeat_ms())),
            ticket_lease: Some(duration(Ticket::LEASE_MS)),
            match_retention: Some(duration(self.node.match_retention_ms())),
            token_ttl_max: Some(duration(middleware::TOKEN_TTL_MAX_MS)),
            header_bytes_max: u64::from(HEADER_BYTES_MAX),
            streams_per_connection_max: STREAMS_PER_CONNECTION_MAX,
            player_streams_max: player.streams_max,
            player_calls_per_second: player.calls_per_s,
            player_calls_max: player.calls_max,
        }
    }
}

fn new_token(wire: &v1::MintPlayerTokenRequest) -> Result<NewToken, ApiError> {
    if wire.player.is_empty() {
        return Err(ApiError::required("player"));
    }
    let ttl_ms =
        wire.ttl.as_ref().map(|ttl| duration_ms("ttl", ErrorReason::FieldInvalid, ttl)).transpose()?;
    let scopes = wire.scopes.iter().map(|scope| scope_named(scope)).collect::<Result<Vec<_>, _>>()?;
    let public_key = request::public_key("public_key", &wire.public_key)?.map(|key| *key.as_bytes());
    let age = match v1::AgeMark::try_from(wire.age_mark) {
        Ok(v1::AgeMark::Unspecified) => None,
        Ok(v1::AgeMark::Adult) => Some(AgeMark::Adult),
        Ok(v1::AgeMark::Guardian) => Some(AgeMark::Guardian),
        Err(_) => {
            let what = "this server does not know the mark";
            return Err(ApiError::field(ErrorReason::FieldInvalid, "age_mark", what));
        }
    };
    Ok(NewToken {
        player: request::player("player", &wire.player)?.to_owned(),
        ttl_ms,
        scopes,
        public_key,
        age,
        issued_from_ms: None,
    })
}

/// What was wrong with a token's request.
fn not_minted(error: MintError) -> ApiError {
    let field = match error {
        MintError::PlayerInvalid | MintError::PlayerIsBot => "player",
        MintError::TtlOutOfRange => "ttl",
        MintError::Signing => return errors::incident("a token cannot be signed"),
    };
    ApiError::field(ErrorReason::FieldInvalid, field, &error.to_string())
}

fn scope_named(name: &str) -> Result<Scope, ApiError> {
    Scope::parse(name).ok_or_else(|| {
        ApiError::field(ErrorReason::FieldInvalid, "scopes", "a scope is `play`, `matchmake` or `watch`")
    })
}
