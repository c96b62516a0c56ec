//! A player: he joins, seals, reveals, and does what real ones do: sends things twice, too late or wrong,
//! offers draws, gives up, or leaves.

use std::sync::Arc;

use prost_types::{Duration, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rules::{Cell, Seat};
use sealing::{Digest, MatchId, Opening, Salt, SealContext};
use tokio::sync::watch;
use wire::ApiError;
use wire::v1::{self, seal_move_request};

use crate::caller::{Caller, Clients};
use crate::oracle::Oracle;
use crate::plan::{GamePlan, Habits};
use crate::reader::View;

/// How long a player waits for news before he looks again, ms.
const LOOK_MS: u64 = 1_000;

/// How long before his deadline a player who dallies sends his seal at most, ms: about as long as it takes.
const DALLY_MS: u64 = 40;

/// The salt of everybody's probes: it binds nobody.
const PROBE_SALT: [u8; 32] = [0xa5; 32];

/// A player of one match.
pub(crate) struct Player {
    pub(crate) caller: Caller,
    pub(crate) game: usize,
    pub(crate) plan: GamePlan,
    pub(crate) seat: Seat,
    pub(crate) habits: Habits,
    /// `matches/{match}`.
    pub(crate) name: String,
    pub(crate) id: MatchId,
    pub(crate) view: watch::Receiver<View>,
    pub(crate) random: StdRng,
}

/// A move that a player has sealed.
#[derive(Clone)]
struct Sealed {
    request: v1::SealMoveRequest,
    open: v1::OpenMove,
}

impl Player {
    pub(crate) fn random(plan: &GamePlan, seat: Seat) -> StdRng {
        StdRng::seed_from_u64(plan.seed ^ u64::from(seat.number()))
    }

    /// Plays until the match is over.
    pub(crate) async fn play(mut self) {
        if self.habits.absent {
            return;
        }
        let mut sealed: Option<Sealed> = None;
        self.join().await;
        let mut revealed = 0;
        while !self.view.borrow().finished {
            let view = self.view.borrow().clone();
            let turn = view.status.turn;
            let knows = turn == view.turn + 1 && !view.cells.is_empty();
            if knows && sealed.as_ref().is_some_and(|sealed| sealed.request.turn > turn) {
                // The store has lost that turn, and he has been told.
                (sealed, revealed) = (None, 0);
            }
            let last = sealed.as_ref().map_or(0, |sealed| sealed.request.turn);
            match view.status.state() {
                v1::MatchState::Open if knows && last < turn => {
                    self.think(&view).await;
                    if self.strikes(self.habits.leaves) {
                        return;
                    }
                    self.misbehave(&view, sealed.as_ref()).await;
                    sealed = Some(self.seal(&view).await);
                }
                v1::MatchState::Waiting if !self.status(&view).is_none_or(|own| own.joined) => {
                    self.join().await
                }
                v1::MatchState::Revealing if last == turn && revealed < turn => {
                    revealed = turn;
                    if let Some(sealed) = sealed.clone() {
                        self.reveal(turn, &sealed).await;
                    }
                }
                _ => {
                    let handle = self.caller.network.handle.clone();
                    // Silence is as good as news here.
                    let _ = handle.within(LOOK_MS, self.view.changed()).await;
                }
            }
        }
    }

    /// How his seat stands, as far as he knows.
    fn status<'v>(&self, view: &'v View) -> Option<&'v v1::SeatStatus> {
        match self.seat {
            Seat::Black => view.status.black.as_ref(),
            Seat::White => view.status.white.as_ref(),
        }
    }

    fn oracle(&self) -> Arc<Oracle> {
        Arc::clone(&self.caller.network.oracle)
    }

    /// Thinks for a while, or until about his deadline.
    async fn think(&mut self, view: &View) {
        let think_ms = self.random.random_range(0..=self.habits.think_ms);
        let handle = self.caller.network.handle.clone();
        let deadline_ms = self.status(view).and_then(|own| own.deadline).map(to_ms);
        match deadline_ms.filter(|_| self.strikes(self.habits.dallies)) {
            Some(deadline_ms) => {
                let early_ms = self.random.random_range(0..DALLY_MS);
                handle.sleep_until(deadline_ms.saturating_sub(early_ms)).await;
            }
            None => handle.sleep(think_ms).await,
        }
    }

    fn strikes(&mut self, permille: u32) -> bool {
        self.random.random_ratio(permille.min(1_000), 1_000)
    }

    fn request_id(&mut self, what: &str) -> String {
        format!("{what}-{}-{}", self.seat.number(), self.random.random::<u32>())
    }

    /// Hands a request's outcome to the judge.
    fn judge<T>(&self, request_id: &str, outcome: Option<&Result<T, ApiError>>) {
        match outcome {
            Some(Ok(_)) => self.oracle().done(self.game, request_id),
            Some(Err(error)) => self.oracle().refused(self.game, request_id, error.name()),
            None => {}
        }
    }

    async fn join(&mut self) {
        let request_id = self.request_id("join");
        let request = v1::JoinMatchRequest { name: self.name.clone(), request_id, ..Default::default() };
        let call = |mut clients: Clients, request| async move { clients.matches.join_match(request).await };
        self.caller.ask("join", &request, call).await;
    }

    /// Seals the open turn, and sends the same again now and then.
    async fn seal(&mut self, view: &View) -> Sealed {
        let turn = view.status.turn;
        let empty: Vec<u32> =
            (1..).zip(view.cells.bytes()).filter(|(_, piece)| *piece == b'.').map(|(cell, _)| cell).collect();
        // A small area, so that moves meet.
        let choice = self.random.random_range(0..empty.len().clamp(1, self.plan.area));
        let cell = empty.get(choice).copied().unwrap_or(1);
        let salt: [u8; 32] = self.random.random();
        self.oracle().will_seal(self.game, turn, salt);
        let open = v1::OpenMove { cell, salt: salt.to_vec() };
        let request_id = self.request_id(&format!("seal-{turn}"));
        let request = self.seal_request(view, request_id, self.to_seal(view, &open));
        let sealed = Sealed { request: request.clone(), open };
        let times = if self.strikes(self.habits.repeats) { 2 } else { 1 };
        for _ in 0..times {
            self.send(&request).await;
        }
        sealed
    }

    /// A move as the match wants it: whole, or only bound.
    fn to_seal(&self, view: &View, open: &v1::OpenMove) -> seal_move_request::Move {
        if self.plan.reveal_ms.is_none() {
            return seal_move_request::Move::Open(open.clone());
        }
        let salt = <[u8; 32]>::try_from(open.salt.as_slice()).unwrap_or_default();
        let cell = u8::try_from(open.cell).ok().and_then(Cell::from_number);
        let previous = Digest::try_from(view.hash.as_slice()).ok();
        let (Some(cell), Some(previous)) = (cell, previous) else {
            return seal_move_request::Move::Commitment(Vec::new());
        };
        let context = SealContext {
            match_id: self.id,
            turn: view.status.turn,
            seat: self.seat,
            player: &self.caller.player,
            previous: &previous,
        };
        let commitment = context.commit(&Opening { cell, salt: Salt::from_bytes(salt) });
        seal_move_request::Move::Commitment(commitment.as_bytes().to_vec())
    }

    fn seal_request(
        &self,
        view: &View,
        request_id: String,
        sealed: seal_move_request::Move,
    ) -> v1::SealMoveRequest {
        v1::SealMoveRequest {
            name: self.name.clone(),
            request_id,
            turn: view.status.turn,
            r#move: Some(sealed),
            previous_hash: view.hash.clone(),
            ..Default::default()
        }
    }

    async fn send(&self, request: &v1::SealMoveRequest) {
        let what = format!("seal turn {}", request.turn);
        let call = |mut clients: Clients, request| async move { clients.matches.seal_move(request).await };
        let outcome = self.caller.ask(&what, request, call).await;
        match outcome {
            Some(Ok(v1::SealMoveResponse { receipt: Some(receipt) })) => {
                self.oracle().sealed(self.game, self.seat, request, receipt);
            }
            Some(Ok(_)) => {
                self.oracle().complain(5, format!("match {}: a seal without a receipt", self.game))
            }
            outcome => self.judge(&request.request_id, outcome.as_ref()),
        }
    }

    async fn reveal(&mut self, turn: u32, sealed: &Sealed) {
        if self.strikes(self.habits.withholds) {
            return;
        }
        let request_id = self.request_id("reveal");
        let request = v1::RevealMoveRequest {
            name: self.name.clone(),
            request_id,
            turn,
            open: Some(sealed.open.clone()),
            ..Default::default()
        };
        let what = format!("reveal turn {turn}");
        let call = |mut clients: Clients, request| async move { clients.matches.reveal_move(request).await };
        let outcome = self.caller.ask(&what, &request, call).await;
        self.judge(&request.request_id, outcome.as_ref());
    }

    /// What nobody should do, and what not everybody does.
    async fn misbehave(&mut self, view: &View, last: Option<&Sealed>) {
        if self.strikes(self.habits.probes) {
            self.probe(view).await;
        }
        if let Some(last) = last.filter(|_| self.random.random_ratio(1, 8)) {
            // The receipt must be the first one, however far the match has gone on.
            self.send(&last.request).await;
        }
        if self.strikes(self.habits.offers) {
            self.draw(view.status.turn, None).await;
        }
        if self.strikes(self.habits.accepts) {
            self.draw(view.status.turn, Some(true)).await;
        }
        if self.strikes(self.habits.resigns) {
            let request_id = self.request_id("resign");
            let request = v1::ResignRequest { name: self.name.clone(), request_id, ..Default::default() };
            let call = |mut clients: Clients, request| async move { clients.matches.resign(request).await };
            let outcome = self.caller.ask("resign", &request, call).await;
            self.judge(&request.request_id, outcome.as_ref());
        }
    }

    /// Sends a seal that must be refused and change nothing.
    async fn probe(&mut self, view: &View) {
        let occupied = (1..).zip(view.cells.bytes()).find(|(_, piece)| *piece != b'.').map(|(cell, _)| cell);
        let open =
            |cell, salt: &[u8]| seal_move_request::Move::Open(v1::OpenMove { cell, salt: salt.to_vec() });
        let request_id = self.request_id("probe");
        let sealed = match self.random.random_range(0..4) {
            0 => occupied.map_or(open(82, &PROBE_SALT), |cell| open(cell, &PROBE_SALT)),
            1 => open(82, &PROBE_SALT),
            2 => open(1, &PROBE_SALT[..31]),
            _ => seal_move_request::Move::Commitment(vec![7; 5]),
        };
        // An occupied cell cannot be told from its commitment.
        let request = self.seal_request(view, request_id, sealed);
        let call = |mut clients: Clients, request| async move { clients.matches.seal_move(request).await };
        match self.caller.ask("probe", &request, call).await {
            Some(Ok(_)) => {
                let what =
                    format!("match {}, turn {}: a seal that is wrong was taken", self.game, request.turn);
                self.oracle().complain(9, what);
            }
            Some(Err(_)) => self.oracle().hopeless(self.game, &request.request_id),
            None => {}
        }
    }

    async fn draw(&mut self, turn: u32, accept: Option<bool>) {
        let (name, request_id) = (self.name.clone(), self.request_id("draw"));
        match accept {
            None => {
                let request = v1::OfferDrawRequest { name, request_id, turn, ..Default::default() };
                let call =
                    |mut clients: Clients, request| async move { clients.matches.offer_draw(request).await };
                let outcome = self.caller.ask("offer a draw", &request, call).await;
                self.judge(&request.request_id, outcome.as_ref());
            }
            Some(accept) => {
                let seat = match self.seat {
                    Seat::Black => v1::Seat::White,
                    Seat::White => v1::Seat::Black,
                };
                let seat = seat.into();
                let request =
                    v1::AnswerDrawRequest { name, request_id, turn, seat, accept, ..Default::default() };
                let call =
                    |mut clients: Clients, request| async move { clients.matches.answer_draw(request).await };
                let outcome = self.caller.ask("answer a draw", &request, call).await;
                self.judge(&request.request_id, outcome.as_ref());
            }
        }
    }
}

/// A duration as the API takes it.
pub(crate) fn milliseconds(ms: u64) -> Duration {
    Duration { seconds: (ms / 1_000) as i64, nanos: (ms % 1_000 * 1_000_000) as i32 }
}

/// A time of the API, ms since 1970.
fn to_ms(time: Timestamp) -> u64 {
    time.seconds as u64 * 1_000 + time.nanos as u64 / 1_000_000
}
