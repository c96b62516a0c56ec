//! Requests of a player that must be refused and must change nothing: claims of another history, turns that
//! are over or not open yet, a second move for a turn.

use std::sync::Arc;

use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::time::sleep;
use tonic::transport::Channel;
use whattheshell::MatchHandle;
use whattheshell::v1::match_service_client::MatchServiceClient;
use whattheshell::v1::{self, ErrorReason, seal_move_request::Move};

use crate::account::Break;
use crate::arena::{Arena, Phase};
use crate::secrets::{SALT_BYTES, Who};
use crate::spectator::{reason, with_token};

/// The pause between two forged requests.
const FORGE_EVERY: std::time::Duration = std::time::Duration::from_millis(400);

/// A turn that is not open yet, from the last one on: no match comes so far while a request is under way.
const FAR_AHEAD: u32 = 100;

/// A forger in one match, in a player's name.
pub(crate) struct Forger {
    pub(crate) arena: Arc<Arena>,
    pub(crate) who: Who,
    pub(crate) channel: Channel,
    pub(crate) token: String,
    pub(crate) handle: MatchHandle,
    pub(crate) is_commit_reveal: bool,
    pub(crate) random: StdRng,
}

impl Forger {
    /// Forges until players are to come to an end.
    pub(crate) async fn forge(mut self) {
        while self.arena.phase() != Phase::Finish {
            sleep(FORGE_EVERY).await;
            let turn = self.handle.turn();
            match self.random.random_range(0..4) {
                // The turn that is open, on a history that is not this one.
                0 => {
                    let previous = self.random_bytes::<32>().to_vec();
                    self.seal(turn + 1, previous).await;
                }
                1 => self.seal(turn + FAR_AHEAD, Vec::new()).await,
                // A store that loses history may have this turn open again.
                2 if turn > 0 && self.arena.account.is_lossless() => self.seal(turn, Vec::new()).await,
                _ => self.watch(turn).await,
            }
        }
    }

    fn random_bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes[..]);
        bytes
    }

    /// A seal that must be refused.
    async fn seal(&mut self, turn: u32, previous_hash: Vec<u8>) {
        let salt: [u8; SALT_BYTES] = self.random_bytes();
        let game = self.handle.name().to_owned();
        let account = &self.arena.account;
        account.hopeless(&game, salt);
        self.arena.secrets.drawn(self.who, &game, None, salt);
        let sent = match self.is_commit_reveal {
            true => Move::Commitment(salt.to_vec()),
            false => Move::Open(v1::OpenMove { cell: 41, salt: salt.to_vec() }),
        };
        let request = v1::SealMoveRequest {
            name: game.clone(),
            request_id: format!("{:032x}", self.random.random::<u128>()),
            turn,
            r#move: Some(sent),
            previous_hash,
            ..v1::SealMoveRequest::default()
        };
        account.call();
        let answer =
            MatchServiceClient::new(self.channel.clone()).seal_move(with_token(request, &self.token)).await;
        if answer.is_ok() {
            account.complain(Break::Misjudged, format!("{game}: a forged seal of turn {turn} was taken"));
        }
    }

    /// A claim to know another history: nothing may come of it.
    async fn watch(&mut self, turn: u32) {
        let request = v1::WatchMatchRequest {
            name: self.handle.name().to_owned(),
            after_turn: Some(turn),
            after_hash: self.random_bytes::<32>().to_vec(),
            ..v1::WatchMatchRequest::default()
        };
        self.arena.account.call();
        let mut client = MatchServiceClient::new(self.channel.clone());
        let answer = match client.watch_match(with_token(request, &self.token)).await {
            Ok(stream) => stream.into_inner().message().await,
            Err(status) => Err(status),
        };
        // Any other refusal is for want of an answer.
        if answer.is_ok() {
            let what = format!("{}: a forged claim of turn {turn} was taken", self.handle.name());
            self.arena.account.complain(Break::Misjudged, what);
        }
    }
}

/// Whether somebody who was told this turn is told now that it is gone.
pub(crate) async fn is_refused_claim(
    arena: &Arena,
    token: &str,
    game: &str,
    told: &v1::ResolvedTurn,
) -> bool {
    let request = v1::WatchMatchRequest {
        name: game.to_owned(),
        after_turn: Some(told.turn),
        after_hash: told.hash.clone(),
        ..v1::WatchMatchRequest::default()
    };
    let mut client = MatchServiceClient::new(arena.channel(0, usize::MAX));
    let answer = match client.watch_match(with_token(request, token)).await {
        Ok(stream) => stream.into_inner().message().await,
        Err(status) => Err(status),
    };
    answer.is_err_and(|status| reason(&status) == Some(ErrorReason::HistoryRegressed))
}
