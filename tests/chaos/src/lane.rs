//! Two players who play one match after the other, with somebody who watches and somebody who forges.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::Barrier;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};
use whattheshell::prost_types::Duration as Span;
use whattheshell::v1::match_settings::TimeControl;
use whattheshell::v1::matchmaking_service_client::MatchmakingServiceClient;
use whattheshell::{ApiError, Error, MatchHandle, Player, v1};

use crate::account::{Break, Terms};
use crate::arena::{Arena, CALL_MAX, PAUSE, Phase};
use crate::fleet::NODES;
use crate::forger::Forger;
use crate::seat::SeatPlay;
use crate::secrets::Who;
use crate::spectator::{Spectator, with_token};

/// Time to reveal: longer than any outage here, so that nobody loses by it.
const REVEAL_TIME_S: i64 = 60;

/// How long it may take until a call is answered, however often it is repeated: longer than any outage here.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// How late the end of a match may come to somebody who watches.
const END_LATE_MAX: Duration = Duration::from_secs(20);

/// Two players and their spectator.
pub(crate) struct Lane {
    arena: Arc<Arena>,
    number: usize,
    players: [Player; 2],
    /// The same players through other nodes.
    elsewhere: [Player; 2],
    tokens: [String; 2],
    spectator: String,
    random: StdRng,
}

impl Lane {
    /// Who its black, its white and its spectator are.
    const WHOS: usize = 3;

    fn who(&self, part: usize) -> Who {
        self.number * Self::WHOS + part
    }

    /// Two players who know how to be let in.
    pub(crate) async fn meet(arena: &Arc<Arena>, number: usize, seed: u64) -> Result<Self, Error> {
        let first = number * Self::WHOS;
        let side = async |part: usize, id: &str| {
            let (node, id) = (number + part, format!("{id}-{number}"));
            let (player, token) = arena.player(node % NODES, first + part, &id).await?;
            let elsewhere = arena.client((node + 1) % NODES, first + part).player(&token)?;
            Ok::<_, Error>((player, elsewhere, token))
        };
        let (black, white, watcher) =
            (side(0, "black").await?, side(1, "white").await?, side(2, "watch").await?);
        arena.account.plays(first);
        arena.account.plays(first + 1);
        Ok(Self {
            arena: Arc::clone(arena),
            number,
            players: [black.0, white.0],
            elsewhere: [black.1, white.1],
            tokens: [black.2, white.2],
            spectator: watcher.2,
            random: StdRng::seed_from_u64(seed),
        })
    }

    /// Plays until it is time to finish.
    pub(crate) async fn play(mut self) {
        while self.arena.phase() != Phase::Finish {
            match self.begin().await {
                Ok((handles, terms)) => self.play_one(handles, &terms).await,
                Err(error) => {
                    self.unmade(&error);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// A new match, by an invite.
    async fn begin(&mut self) -> Result<([MatchHandle; 2], Terms), Error> {
        let manner = self.arena.manner;
        let (is_hidden, is_commit_reveal) = (self.random.random_ratio(1, 2), self.random.random_ratio(1, 3));
        let settings = v1::MatchSettings {
            time_control: Some(TimeControl::TurnTime(span(manner.turn_time))),
            seal_mode: if is_commit_reveal { v1::SealMode::CommitReveal } else { v1::SealMode::ServerSealed }
                .into(),
            reveal_time: is_commit_reveal.then_some(Span { seconds: REVEAL_TIME_S, nanos: 0 }),
            spectators: v1::Spectators::Live.into(),
            seal_status: if is_hidden { v1::SealStatus::Hidden } else { v1::SealStatus::Visible }.into(),
            turn_limit: manner.turn_limit,
            ..v1::MatchSettings::default()
        };
        let terms = Terms {
            token: self.tokens[0].clone(),
            is_hidden,
            is_commit_reveal,
            turn_time: manner.turn_time,
            is_abandoned: false,
        };
        let table = Table {
            arena: &self.arena,
            players: &self.players,
            guest: self.who(1),
            guest_token: &self.tokens[1],
        };
        let handles = table.agree(settings, terms.clone()).await?;
        Ok((handles, terms))
    }

    /// No match came of it. Without an answer that is no wonder, nor where a store forgets.
    fn unmade(&self, error: &Error) {
        let account = &self.arena.account;
        if account.is_lossless() && !error.is_uncertain() {
            account.complain(Break::Misjudged, format!("a match was not made: {error}"));
        }
    }

    async fn play_one(&mut self, handles: [MatchHandle; 2], terms: &Terms) {
        let game = handles[0].name().to_owned();
        let spectator = self.spectate(&game);
        let forger = self.forge(&handles[0], terms);
        let in_step = self.arena.manner.is_in_step.then(|| Arc::new(Barrier::new(2)));
        let mut seats = Vec::new();
        for (part, handle) in handles.iter().enumerate() {
            // The match is there; whoever gets no answer plays without a second session.
            let elsewhere = self.elsewhere[part].open(&game).await.unwrap_or_else(|_| handle.clone());
            let random = StdRng::seed_from_u64(self.random.random());
            let both = [handle.clone(), elsewhere];
            seats.push(SeatPlay::new(&self.arena, self.who(part), both, random, in_step.clone()).play());
        }
        futures::future::join_all(seats).await;
        forger.abort();
        self.resign(&handles[0]).await;
        if timeout(END_LATE_MAX, spectator).await.is_err() {
            let what = format!("{game}: its end does not come to its spectator");
            self.arena.account.complain(Break::Stuck, what);
        }
    }

    /// A match that its players have left ends by that.
    async fn resign(&self, handle: &MatchHandle) {
        let resigned = async {
            while handle.resign().await.is_err_and(|error| error.is_uncertain()) {
                sleep(PAUSE).await;
            }
        };
        if timeout(END_LATE_MAX, resigned).await.is_err() {
            let what = format!("{}: nobody can resign", handle.name());
            self.arena.account.complain(Break::Stuck, what);
        }
    }

    fn spectate(&self, game: &str) -> JoinHandle<()> {
        let who = self.who(2);
        let spectator = Spectator {
            arena: Arc::clone(&self.arena),
            who,
            channel: self.arena.channel((self.number + 2) % NODES, who),
            token: self.spectator.clone(),
            game: game.to_owned(),
            turn: 0,
            hash: Vec::new(),
        };
        spawn_local(spectator.watch())
    }

    fn forge(&mut self, handle: &MatchHandle, terms: &Terms) -> JoinHandle<()> {
        let who = self.who(0);
        let forger = Forger {
            arena: Arc::clone(&self.arena),
            who,
            channel: self.arena.channel(self.number % NODES, who),
            token: terms.token.clone(),
            handle: handle.clone(),
            is_commit_reveal: terms.is_commit_reveal,
            random: StdRng::seed_from_u64(self.random.random()),
        };
        spawn_local(forger.forge())
    }
}

/// Who makes a match, and how the one who is invited answers.
pub(crate) struct Table<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) players: &'a [Player; 2],
    pub(crate) guest: Who,
    pub(crate) guest_token: &'a str,
}

impl Table<'_> {
    /// A match between the two, by an invite; both have joined.
    pub(crate) async fn agree(
        &self,
        settings: v1::MatchSettings,
        terms: Terms,
    ) -> Result<[MatchHandle; 2], Error> {
        let (arena, [black, white]) = (self.arena, self.players);
        let request = v1::CreateInviteRequest {
            invitee: white.name().to_owned(),
            inviter_seat: v1::Seat::Black.into(),
            settings: Some(settings),
            ..v1::CreateInviteRequest::default()
        };
        let invite = answered(arena, async || black.invite(request.clone()).await).await?;
        let invite = invite.invite.unwrap_or_default().name;
        // One intent, so one request, whichever node it comes to.
        let accept = v1::AcceptInviteRequest {
            name: invite.clone(),
            request_id: format!("{:032x}", rand::random::<u128>()),
            ..v1::AcceptInviteRequest::default()
        };
        let name = until(arena, async || self.accept(0, &accept).await).await?;
        arena.account.made(&name, terms);
        let again = until(arena, async || self.accept(1, &accept).await).await?;
        if again != name {
            arena.account.complain(Break::Duplicated, format!("{invite} led to {name} and to {again}"));
        }
        let black = answered(arena, async || black.join(&name).await).await?;
        let white = answered(arena, async || white.join(&name).await).await?;
        let game = answered(arena, async || white.refresh().await).await?;
        arena.account.opened(&name, game.start_time);
        Ok([black, white])
    }

    /// Accepts an invite. The Rust client draws a request of its own for each call, so it cannot repeat one
    /// that got no answer.
    async fn accept(&self, node: usize, request: &v1::AcceptInviteRequest) -> Result<String, Error> {
        let mut client = MatchmakingServiceClient::new(self.arena.channel(node, self.guest));
        let mut request = with_token(request.clone(), self.guest_token);
        request.set_timeout(CALL_MAX);
        let answer = client.accept_invite(request).await;
        let answer = answer.map_err(|status| match ApiError::from_status(&status) {
            Some(error) => Error::Api(error),
            None => Error::Transport(status),
        })?;
        Ok(answer.into_inner().invite.unwrap_or_default().r#match)
    }
}

/// The same for a call of the Rust client, which repeats it by itself: where that does not help, it has failed.
async fn answered<T>(arena: &Arena, call: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
    until(arena, async || {
        let answer = call().await;
        if let Err(error) = &answer
            && error.is_uncertain()
        {
            arena.account.failed(|| format!("a call before a match: {error:?}"));
        }
        answer
    })
    .await
}

/// Repeats a call that is safe to repeat until it is answered.
async fn until<T>(arena: &Arena, call: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        arena.account.call();
        match call().await {
            Err(error) if error.is_uncertain() && begun.elapsed() < ANSWER_MAX => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

pub(crate) fn span(duration: Duration) -> Span {
    Span {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: duration.subsec_nanos() as i32,
    }
}
