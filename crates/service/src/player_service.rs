//! `PlayerService`: players, their tokens, and what the server is.

use std::sync::Arc;

use futures::stream::BoxStream;
use middleware::{AgeMark, MintError, NewToken, Scope};
use referee::{RulesVersion, Settings, Stamp};
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::v1::player_service_server::PlayerService;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::convert::time::{duration, duration_ms, timestamp};
use crate::convert::{errors, request, view};
use crate::front::REQUEST_BYTES_MAX;
use crate::node::Node;
use crate::page;
use crate::player_watch;

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
        // Nobody rates or counts yet, and what could be counted here ends with the matches' retention.
        let player = Some(v1::Player { name, standings: Vec::new() });
        Ok(Response::new(v1::GetPlayerResponse { player }))
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
        check_leaderboard(request.get_ref())?;
        // Nobody is rated yet.
        Ok(Response::new(v1::ListLeaderboardResponse::default()))
    }

    async fn mint_player_token(
        &self,
        request: Request<v1::MintPlayerTokenRequest>,
    ) -> Result<Response<v1::MintPlayerTokenResponse>, Status> {
        let new = new_token(request.get_ref())?;
        let minted = self.node.issuer.mint(&new, self.node.clock.now_ms());
        let (token, expires_ms) = minted.map_err(not_minted)?;
        let expire_time = Some(timestamp(Stamp::from_ms(expires_ms)));
        Ok(Response::new(v1::MintPlayerTokenResponse { token, expire_time }))
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
            pools: Vec::new(),
        }))
    }
}

impl Players {
    fn limits(&self) -> v1::ServerLimits {
        v1::ServerLimits {
            request_bytes_max: REQUEST_BYTES_MAX as u64,
            page_size_max: page::SIZE_MAX as u32,
            turn_time_min: Some(duration(Settings::TURN_MIN_MS)),
            turn_time_max: Some(duration(Settings::TURN_MAX_MS)),
            turn_limit_max: Settings::TURN_LIMIT_MAX,
            heartbeat_interval: Some(duration(self.node.heartbeat_ms())),
            ticket_lease: None,
            match_retention: Some(duration(self.node.match_retention_ms())),
            token_ttl_max: Some(duration(middleware::TOKEN_TTL_MAX_MS)),
        }
    }
}

/// Whether there can be such a list. It has no second page, so no token is one of its own.
fn check_leaderboard(wire: &v1::ListLeaderboardRequest) -> Result<(), ApiError> {
    match v1::SpeedClass::try_from(wire.speed) {
        Ok(v1::SpeedClass::Unspecified) => return Err(ApiError::required("speed")),
        Ok(v1::SpeedClass::Blitz | v1::SpeedClass::Rapid | v1::SpeedClass::Correspondence) => {}
        Err(_) => {
            let what = "this server does not know the class";
            return Err(ApiError::field(ErrorReason::FieldInvalid, "speed", what));
        }
    }
    if !wire.around_player.is_empty() {
        request::player("around_player", &wire.around_player)?;
    }
    if wire.page_token.is_empty() { Ok(()) } else { Err(page::token_invalid()) }
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
