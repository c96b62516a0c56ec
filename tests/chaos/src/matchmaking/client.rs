//! One player: queues, often twice, cancels, dies, joins or stays away, resigns, and queues again.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::time::{sleep, timeout};
use whattheshell::v1::{ErrorReason, MatchState, TicketState};
use whattheshell::{Error, Player, v1};

use super::ledger::{Breach, Ledger};
use super::{Hall, LOOK_EVERY, PLACED_MAX, POOL, Stage};
use crate::arena::PAUSE;

/// How long a player who leaves may take until nothing holds him.
const LEAVE_MAX: Duration = Duration::from_secs(60);

/// What a player asks for, and how he is.
#[derive(Clone, Default)]
pub(super) struct Wish {
    pub(super) time_controls: Vec<v1::TimeControl>,
    pub(super) excluded: Vec<String>,
    /// He queues once and is never heard of again.
    pub(super) dies_at_once: bool,
    /// How long he waits before he begins.
    pub(super) after: Duration,
}

/// A player.
pub(super) struct Client {
    hall: Rc<Hall>,
    who: usize,
    /// Over two nodes.
    pub(super) sessions: [Player; 2],
    wish: Wish,
    random: StdRng,
    /// The match that he does not join.
    shunned: Option<String>,
}

/// Where a player is told to be.
enum Place {
    Ticket(Box<v1::Ticket>),
    Match(String),
    /// There was no answer.
    Nowhere,
}

/// Dead or alive.
type Life = ControlFlow<()>;

const ALIVE: Life = ControlFlow::Continue(());
const DEAD: Life = ControlFlow::Break(());

impl Client {
    pub(super) fn new(hall: Rc<Hall>, who: usize, sessions: [Player; 2], wish: Wish, random: StdRng) -> Self {
        Self { hall, who, sessions, wish, random, shunned: None }
    }

    fn ledger(&self) -> &Ledger {
        &self.hall.ledger
    }

    fn any(&mut self) -> Player {
        self.sessions[self.random.random_range(0..2)].clone()
    }

    async fn pause(&mut self, ms: std::ops::Range<u64>) {
        sleep(Duration::from_millis(self.random.random_range(ms))).await;
    }

    fn is_trouble(&self) -> bool {
        self.hall.stage() == Stage::Trouble
    }

    /// Plays until nothing goes wrong any more, and finds a place then. None: he has died.
    pub(super) async fn live(mut self) -> Option<Self> {
        sleep(self.wish.after).await;
        if self.wish.dies_at_once {
            while matches!(self.queue().await, Place::Nowhere) {}
            self.ledger().died(self.who);
            return None;
        }
        // Not all at the same moment.
        self.pause(0..2_000).await;
        while self.is_trouble() {
            if self.round().await == DEAD {
                self.ledger().died(self.who);
                return None;
            }
            self.pause(200..2_000).await;
        }
        if let Stage::Calm(since) = self.hall.stage() {
            self.find_place(since).await;
        }
        Some(self)
    }

    /// One search, and what comes of it.
    async fn round(&mut self) -> Life {
        let place = if self.random.random_ratio(1, 8) { self.waver().await } else { self.queue().await };
        match place {
            Place::Ticket(ticket) => self.wait(*ticket).await,
            Place::Match(game) => self.play(&game).await,
            Place::Nowhere => ALIVE,
        }
    }

    /// Asks for an opponent, often twice at the same time through two nodes.
    async fn queue(&mut self) -> Place {
        let request = v1::CreateTicketRequest {
            pool: POOL.to_owned(),
            time_controls: self.wish.time_controls.clone(),
            excluded_players: self.wish.excluded.clone(),
            ..v1::CreateTicketRequest::default()
        };
        self.ledger().asks(self.who);
        let asked = Instant::now();
        let is_twice = self.random.random_ratio(1, 3);
        let (own, [home, elsewhere]) = (&*self, &self.sessions);
        let ask = async |player: &Player| own.place(asked, player.create_ticket(request.clone()).await);
        if !is_twice {
            return ask(home).await;
        }
        match tokio::join!(ask(home), ask(elsewhere)) {
            (Place::Ticket(one), Place::Ticket(other)) if one.name != other.name => {
                self.own_of([&one.name, &other.name]).await
            }
            (Place::Nowhere, place) | (place, _) => place,
        }
    }

    fn place(&self, asked: Instant, answer: Result<v1::Ticket, Error>) -> Place {
        self.ledger().call();
        match answer {
            Ok(ticket) => {
                self.ledger().told(self.who, asked, &ticket);
                Place::Ticket(Box::new(ticket))
            }
            Err(error) if error.reason() == Some(ErrorReason::AlreadyInMatch) => match match_of(&error) {
                Some(game) => Place::Match(game),
                None => Place::Nowhere,
            },
            Err(error) => {
                // One whose ticket has ended before its call was answered is told that it is not open.
                if error.reason() != Some(ErrorReason::TicketNotOpen) {
                    if !error.is_uncertain() {
                        self.ledger().complain(Breach::Stuck, format!("{} cannot queue: {error}", self.who));
                    }
                    self.ledger().unsure(self.who);
                }
                Place::Nowhere
            }
        }
    }

    /// Two answers named two tickets, because he cancelled in between, or what the first one brought is over:
    /// at most one of them waits, and that is his.
    async fn own_of(&self, names: [&str; 2]) -> Place {
        let mut seen = Vec::new();
        for name in names {
            seen.extend(self.look(&self.sessions[0], name, false).await);
        }
        if seen.iter().all(is_waiting) && seen.len() > 1 {
            self.ledger().complain(Breach::Double, format!("{} waits by {names:?}", self.who));
        }
        if seen.len() < names.len() {
            // One that he knows nothing of may wait for him.
            self.ledger().unsure(self.who);
        }
        let has_match = |ticket: &v1::Ticket| !ticket.r#match.is_empty();
        let own = seen.iter().position(is_waiting).or_else(|| seen.iter().position(has_match));
        own.map_or(Place::Nowhere, |at| Place::Ticket(Box::new(seen.swap_remove(at))))
    }

    /// Asks for a ticket, or renews it.
    async fn look(&self, player: &Player, name: &str, renews: bool) -> Option<v1::Ticket> {
        let asked = Instant::now();
        self.ledger().call();
        let answer = if renews { player.renew_ticket(name).await } else { player.get_ticket(name).await };
        let ticket = match answer {
            // It waits no longer: how it stands is told to who asks.
            Err(error) if renews && error.reason() == Some(ErrorReason::TicketNotOpen) => {
                player.get_ticket(name).await.ok()
            }
            answer => answer.ok(),
        };
        ticket.inspect(|ticket| self.ledger().told(self.who, asked, ticket))
    }

    /// Waits for an opponent, for as long as he feels like it.
    async fn wait(&mut self, mut ticket: v1::Ticket) -> Life {
        let mood = self.random.random_range(0..100);
        let (cancels, dies) = (mood < 25, mood == 25);
        let patience = match cancels || dies {
            // Half of them at once: that is when a match is most likely to come in between.
            true => Duration::from_millis(self.random.random_range(0_u64..200).saturating_sub(100)),
            false => PLACED_MAX,
        };
        let (until, player) = (Instant::now() + patience, self.any());
        let mut states = self.random.random_ratio(1, 3).then(|| player.watch_ticket(&ticket.name));
        loop {
            if !is_waiting(&ticket) {
                let game = std::mem::take(&mut ticket.r#match);
                return if game.is_empty() { ALIVE } else { self.play(&game).await };
            }
            if !self.is_trouble() {
                return ALIVE;
            }
            if Instant::now() >= until {
                break;
            }
            let asked = Instant::now();
            let polled = match states.as_mut() {
                Some(states) => Some(timeout(LOOK_EVERY, states.next()).await),
                None => None,
            };
            let next = match polled {
                Some(Ok(Some(Ok(ticket)))) => {
                    self.ledger().told(self.who, asked, &ticket);
                    Some(ticket)
                }
                // It has said nothing yet.
                Some(Err(_)) => None,
                Some(Ok(_)) => {
                    states = None;
                    None
                }
                None => {
                    self.pause(50..600).await;
                    let renews = self.random.random_ratio(1, 2);
                    self.look(&player, &ticket.name, renews).await
                }
            };
            ticket = next.unwrap_or(ticket);
        }
        drop(states);
        if dies { DEAD } else { self.cancel(&ticket.name).await }
    }

    /// Stops looking: by the ticket, or by whatever he has.
    async fn cancel(&mut self, ticket: &str) -> Life {
        let by_ticket = self.random.random_ratio(1, 2);
        let player = self.any();
        self.ledger().cancels(self.who);
        self.ledger().call();
        let asked = Instant::now();
        let answer = match by_ticket {
            true => player.cancel_ticket(ticket).await.map(Some),
            false => player.cancel_any_ticket().await,
        };
        match answer {
            Ok(cancelled) => {
                self.confirmed(asked, cancelled.as_ref());
                self.ledger().idles(self.who, cancelled.as_ref());
                ALIVE
            }
            Err(error) => match match_of(&error) {
                Some(game) => self.play(&game).await,
                None => ALIVE,
            },
        }
    }

    /// A cancel is confirmed: of this ticket, unless he had none.
    fn confirmed(&self, asked: Instant, ticket: Option<&v1::Ticket>) {
        let Some(ticket) = ticket else { return };
        self.ledger().told(self.who, asked, ticket);
        // Its lease may have run out before.
        if ticket.state() == TicketState::Cancelled {
            self.ledger().cancelled(self.who, &ticket.name);
        }
    }

    /// Asks for an opponent, and has changed his mind before there is an answer.
    async fn waver(&mut self) -> Place {
        let (player, delay) = (self.any(), Duration::from_millis(self.random.random_range(0..60)));
        self.ledger().cancels(self.who);
        let cancel = async {
            sleep(delay).await;
            (Instant::now(), player.cancel_any_ticket().await)
        };
        let (place, (asked, answer)) = tokio::join!(self.queue(), cancel);
        self.ledger().call();
        if let Ok(cancelled) = answer {
            self.confirmed(asked, cancelled.as_ref());
        }
        place
    }

    /// A match was found for him: he joins it and resigns soon, or leaves it alone.
    async fn play(&mut self, game: &str) -> Life {
        if self.shunned.as_deref() == Some(game) {
            sleep(LOOK_EVERY * 5).await;
            return ALIVE;
        }
        let player = self.any();
        match self.random.random_range(0..100) {
            0..3 => {
                self.shunned = Some(game.to_owned());
                return ALIVE;
            }
            3..20 => {
                self.resign(&player, game).await;
                return ALIVE;
            }
            20 => return DEAD,
            _ => {}
        }
        if !self.join(&player, game).await {
            return ALIVE;
        }
        while self.is_trouble() {
            self.ledger().call();
            match player.get_match(game).await.as_ref().map(v1::Match::state) {
                Ok(MatchState::Open) => {
                    self.pause(0..400).await;
                    if self.random.random_ratio(1, 100) {
                        return DEAD;
                    }
                    self.resign(&player, game).await;
                    return ALIVE;
                }
                Ok(MatchState::Finished) => return ALIVE,
                _ => {}
            }
            // One who plays may ask again, and gets what he has.
            if self.random.random_ratio(1, 8) {
                self.queue().await;
            }
            sleep(LOOK_EVERY).await;
        }
        ALIVE
    }

    async fn join(&self, player: &Player, game: &str) -> bool {
        self.ledger().call();
        let Err(error) = player.join(game).await else {
            self.ledger().joined(self.who, game);
            return true;
        };
        // It may have ended while he asked, and something else may hold him then.
        let is_late = error.reason() == Some(ErrorReason::MatchFinished);
        if is_late || error.is_uncertain() || self.is_over(player, game).await {
            return false;
        }
        let held = match_of(&error);
        let what = format!("{game}: {} cannot join, held by {held:?}: {error}", self.who);
        self.ledger().complain(Breach::Stuck, what);
        false
    }

    /// Whether a match is over, or may be.
    async fn is_over(&self, player: &Player, game: &str) -> bool {
        self.ledger().call();
        player.get_match(game).await.map_or(true, |game| game.finish.is_some())
    }

    async fn resign(&self, player: &Player, game: &str) {
        self.ledger().call();
        // Where there is no answer the match goes on, or is over.
        drop(player.resign(game).await);
    }

    /// Wants to play, and asks until he is queued, or in a match that he can join.
    async fn find_place(&mut self, since: Instant) {
        while since.elapsed() < PLACED_MAX {
            let game = match self.queue().await {
                Place::Ticket(ticket) if is_waiting(&ticket) => return self.ledger().placed(since.elapsed()),
                Place::Ticket(ticket) => ticket.r#match,
                Place::Match(game) => game,
                Place::Nowhere => String::new(),
            };
            if !game.is_empty() && self.join(&self.sessions[0], &game).await {
                return self.ledger().placed(since.elapsed());
            }
            sleep(PAUSE).await;
        }
        self.ledger().complain(Breach::Stuck, format!("{} is neither matched nor queued", self.who));
    }

    /// Cancels, and resigns whatever he plays, until nothing holds him.
    pub(super) async fn leave(self) {
        let left = async {
            while !self.is_free().await {
                sleep(LOOK_EVERY).await;
            }
        };
        if timeout(LEAVE_MAX, left).await.is_err() {
            self.ledger().complain(Breach::Stuck, format!("{} does not get out of it", self.who));
        }
    }

    async fn is_free(&self) -> bool {
        let (player, asked) = (&self.sessions[0], Instant::now());
        self.ledger().cancels(self.who);
        self.ledger().call();
        let is_out = match player.cancel_any_ticket().await {
            Ok(cancelled) => {
                self.confirmed(asked, cancelled.as_ref());
                self.ledger().idles(self.who, cancelled.as_ref());
                true
            }
            Err(error) => {
                if let Some(game) = match_of(&error) {
                    self.resign(player, &game).await;
                }
                false
            }
        };
        self.ledger().call();
        let request = v1::ListMatchesRequest { finished: Some(false), ..v1::ListMatchesRequest::default() };
        let Ok(live) = player.list_matches(request).await else { return false };
        for game in &live.matches {
            self.resign(player, &game.name).await;
        }
        is_out && live.matches.is_empty()
    }
}

fn is_waiting(ticket: &v1::Ticket) -> bool {
    matches!(ticket.state(), TicketState::Waiting | TicketState::Requeued)
}

/// The match that an error names.
fn match_of(error: &Error) -> Option<String> {
    let Error::Api(error) = error else { return None };
    error.metadata("match").map(str::to_owned)
}
