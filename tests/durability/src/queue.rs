//! Players who look for each other on a server that is killed right after the Nth thing it has stored, N swept.
//!
//! Each time some players who have never met queue, join what they get and resign it, until the server dies. What
//! is stored then is exactly the first N writes: the power is cut, too. After the restart each must be matched or
//! queued in time, and creates again only what he has lost; then all leave, and their matches are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use rand::rngs::StdRng;
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use whattheshell::v1::time_control::Control;
use whattheshell::v1::{ErrorReason, MatchMode, MatchResult, MatchState, TicketState};
use whattheshell::{Client, Error, Player, prost_types, v1};

use crate::server::Server;
use crate::{CALL_MAX, Report};

/// Players of each time: two pairs, so that one is at another step than the other.
const PLAYERS: usize = 4;

/// After how many writes of a process it is killed at the latest: some more than two pairs need for a match each.
const WRITES_MAX: u32 = 64;

/// The step by which that number is swept: odd, and the most is a power of two, so that all numbers come.
const STEP: u32 = 27;

/// How long players may take after a restart to be matched or queued.
const PLACED_MAX: Duration = Duration::from_secs(30);

/// How long it may take until all that follows from a match is done.
const SETTLED_MAX: Duration = Duration::from_secs(15);

/// The pause before a player looks again, or tries again.
const PAUSE: Duration = Duration::from_millis(5);

/// Kills the server as often as it is told.
pub(crate) async fn run(kills: u32, server: &mut Server, random: &mut StdRng) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for kill in 0..kills {
        let (calm, calmed) = watch::channel(None);
        let mut players = Vec::new();
        for number in 0..PLAYERS {
            let name = format!("players/queuer-{kill}-{number}");
            let url = server.url().to_owned();
            players.push(spawn_local(Queuer::live(url, name, calmed.clone())));
        }
        server.start_and_die(1 + (kill * STEP) % WRITES_MAX, random).await?;
        report.kills += 1;
        server.start().await?;
        calm.send_replace(Some(Instant::now()));
        for player in players {
            let mut player = player.await?;
            report.stuck += usize::from(!player.is_placed) + player.leave().await;
            report.acknowledged += player.acknowledged;
            report.duplicated += player.audit().await?;
            report.lost += player.lost;
        }
        server.kill(random).await?;
    }
    Ok(report)
}

/// A player who wants to play.
struct Queuer {
    player: Player,
    /// The ticket that he was told of last, while it may bring him something.
    ticket: Option<String>,
    /// All that he was told of, each with the matches that came of it.
    tickets: BTreeMap<String, BTreeSet<String>>,
    acknowledged: usize,
    lost: usize,
    is_placed: bool,
}

/// Where a player is told to be.
enum Place {
    Waiting,
    Match(String),
    Nowhere,
}

impl Queuer {
    /// Plays until the server is back for good, and finds a place then.
    async fn live(url: String, name: String, calm: watch::Receiver<Option<Instant>>) -> Self {
        let mut own = Self {
            player: meet(&url, &name).await,
            ticket: None,
            tickets: BTreeMap::new(),
            acknowledged: 0,
            lost: 0,
            is_placed: false,
        };
        let calm = || *calm.borrow();
        while calm().is_none() {
            match own.ask().await {
                Ok(Place::Match(game)) if own.play(&game).await.is_ok() => own.ticket = None,
                _ => sleep(PAUSE).await,
            }
        }
        while !own.is_placed && calm().is_some_and(|since| since.elapsed() < PLACED_MAX) {
            own.is_placed = match own.ask().await {
                Ok(Place::Waiting) => true,
                Ok(Place::Match(game)) => match own.player.join(&game).await {
                    // He had resigned it, or the other one has.
                    Err(error) if error.reason() == Some(ErrorReason::MatchFinished) => {
                        own.ticket = None;
                        false
                    }
                    joined => joined.is_ok(),
                },
                Ok(Place::Nowhere) | Err(_) => false,
            };
            sleep(PAUSE).await;
        }
        own
    }

    /// Asks for his ticket; for a new one only if he has none.
    async fn ask(&mut self) -> Result<Place, Error> {
        let answer = match &self.ticket {
            Some(name) => self.player.get_ticket(name).await,
            None => self.player.create_ticket(wish()).await,
        };
        let ticket = match answer {
            Err(error) if error.reason() == Some(ErrorReason::NotFound) => {
                self.lost += 1;
                self.ticket = None;
                return Ok(Place::Nowhere);
            }
            Err(error) => return held_by(&error).map(Place::Match).ok_or(error),
            Ok(ticket) => ticket,
        };
        self.acknowledged += 1;
        let matches = self.tickets.entry(ticket.name.clone()).or_default();
        if !ticket.r#match.is_empty() {
            matches.insert(ticket.r#match.clone());
        }
        let state = ticket.state();
        self.ticket = Some(ticket.name);
        Ok(match state {
            TicketState::Waiting | TicketState::Requeued => Place::Waiting,
            TicketState::Matched => Place::Match(ticket.r#match),
            _ => {
                self.ticket = None;
                Place::Nowhere
            }
        })
    }

    /// Joins a match, and resigns it once the other one is there.
    async fn play(&self, game: &str) -> Result<(), Error> {
        let player = &self.player;
        let over = |error: &Error| error.reason() == Some(ErrorReason::MatchFinished);
        match player.join(game).await {
            Err(error) if over(&error) => return Ok(()),
            joined => drop(joined?),
        }
        loop {
            match player.get_match(game).await?.state() {
                MatchState::Waiting => sleep(PAUSE).await,
                MatchState::Finished => return Ok(()),
                _ => match player.resign(game).await {
                    Err(error) if !over(&error) => return Err(error),
                    _ => return Ok(()),
                },
            }
        }
    }

    /// Cancels, and resigns whatever he plays. Returns 1 if something holds him all the same.
    async fn leave(&self) -> usize {
        let left = async { while !self.is_free().await.unwrap_or_default() {} };
        usize::from(timeout(PLACED_MAX, left).await.is_err())
    }

    async fn is_free(&self) -> Result<bool, Error> {
        let player = &self.player;
        let held = match player.cancel_any_ticket().await {
            Ok(_) => None,
            Err(error) => Some(held_by(&error).ok_or(error)?),
        };
        let live: Vec<v1::MatchSummary> = player.matches(Some(false)).try_collect().await?;
        let games: BTreeSet<String> = live.into_iter().map(|game| game.name).chain(held).collect();
        for game in &games {
            // Where it is over already there is nothing to do.
            drop(player.resign(game).await);
            sleep(PAUSE).await;
        }
        Ok(games.is_empty())
    }

    /// What happened twice: matches of one ticket, matches of none, matches that do not count once. Notes what is
    /// lost.
    async fn audit(&mut self) -> anyhow::Result<usize> {
        let settled = timeout(SETTLED_MAX, async {
            while self.miscounted().await? > 0 {
                sleep(PAUSE).await;
            }
            anyhow::Ok(())
        });
        let miscounted = match settled.await {
            Ok(settled) => settled.map(|()| 0)?,
            Err(_) => self.miscounted().await?,
        };
        let mut known = BTreeSet::new();
        let mut twice = 0;
        for (name, told) in &self.tickets {
            let Some(ticket) = found(self.player.get_ticket(name).await, &mut self.lost)? else { continue };
            let mut kept = 0;
            for game in told.iter().chain(Some(&ticket.r#match)).filter(|game| !game.is_empty()) {
                let is_new = known.insert(game.clone());
                let game = found(self.player.get_match(game).await, &mut self.lost)?;
                let result = game.and_then(|game| game.finish).unwrap_or_default().result();
                kept += usize::from(is_new && result != MatchResult::Aborted);
            }
            known.insert(ticket.aborted_match);
            twice += usize::from(kept > 1);
        }
        let own: Vec<v1::MatchSummary> = self.player.matches(None).try_collect().await?;
        // One that was aborted before he looked leaves no trace in a ticket that went on.
        let is_surprise =
            |game: &&v1::MatchSummary| !known.contains(&game.name) && game.result() != MatchResult::Aborted;
        let unknown = own.iter().filter(is_surprise).count();
        if miscounted + twice + unknown > 0 {
            let name = self.player.name();
            writeln!(
                std::io::stderr(),
                "{name}: {miscounted} matches not counted once, {twice} tickets with two, {unknown} of none"
            )?;
        }
        Ok(miscounted + twice + unknown)
    }

    /// How many matches of his do not count, or count more than once.
    async fn miscounted(&self) -> anyhow::Result<usize> {
        let own: Vec<v1::MatchSummary> = self.player.matches(Some(true)).try_collect().await?;
        let counts = |game: &&v1::MatchSummary| {
            matches!(game.result(), MatchResult::BlackWins | MatchResult::WhiteWins | MatchResult::Draw)
        };
        let due = own.iter().filter(counts).count() as u64;
        let standings = self.player.get_player(self.player.name()).await?.standings;
        let ranked = standings.iter().filter(|standing| standing.mode() == MatchMode::Ranked);
        let counted: u64 = ranked.map(|standing| standing.wins + standing.losses + standing.draws).sum();
        Ok(usize::try_from(counted.abs_diff(due))?)
    }
}

/// What was told before, unless it is lost.
fn found<T>(answer: Result<T, Error>, lost: &mut usize) -> Result<Option<T>, Error> {
    match answer {
        Err(error) if error.reason() == Some(ErrorReason::NotFound) => {
            *lost += 1;
            Ok(None)
        }
        answer => answer.map(Some),
    }
}

/// A session, as soon as the server is there.
async fn meet(url: &str, name: &str) -> Player {
    loop {
        let met = async {
            let client = Client::builder().deadline(CALL_MAX).connect(url).await?;
            let token = client.mint_token(name).await?.token;
            client.player(&token)
        };
        match met.await {
            Ok(player) => return player,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

fn wish() -> v1::CreateTicketRequest {
    let turn_time = Control::TurnTime(prost_types::Duration { seconds: 30, nanos: 0 });
    v1::CreateTicketRequest {
        pool: "ranked".to_owned(),
        time_controls: vec![v1::TimeControl { control: Some(turn_time) }],
        ..v1::CreateTicketRequest::default()
    }
}

/// The match that an error names.
fn held_by(error: &Error) -> Option<String> {
    let Error::Api(error) = error else { return None };
    error.metadata("match").map(str::to_owned)
}
