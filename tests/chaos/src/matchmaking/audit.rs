//! The end of a run: what the service says of every ticket and every match, against what players were told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::time::sleep;
use whattheshell::prost_types::Timestamp;
use whattheshell::{Error, Player, v1};

use super::ledger::{Breach, Idle, Ledger, Told};
use super::{LEASE, LOOK_EVERY, name};
use crate::arena::CALL_MAX;

/// Calls of the audit at the same time.
const AT_ONCE: usize = 32;

/// How long it may take until a finished match is counted.
const COUNTED_MAX: Duration = Duration::from_secs(20);

/// How long a ticket lives that nobody renews, ms.
const LEASE_MS: u64 = LEASE.as_millis() as u64;

/// How long a call may take, ms.
const CALL_MAX_MS: u64 = CALL_MAX.as_millis() as u64;

/// How far the moments may be off that a client takes, ms: what it lets go of is not gone at once.
const SLACK_MS: u64 = 1_000;

/// How many matches there were.
pub(super) struct Found {
    pub(super) matches: usize,
    /// Those that ended with a result.
    pub(super) rated: usize,
}

/// A match as the service has it.
struct Game {
    name: String,
    /// Both players, as numbers.
    players: [usize; 2],
    has_joined: [bool; 2],
    is_ranked: bool,
    /// When it was decided that these two play, ms since the epoch: its id begins with that.
    claimed: u64,
    created: u64,
    started: Option<u64>,
    /// The ready check, ms.
    ready_check: u64,
    finished: Option<u64>,
    result: v1::MatchResult,
    reason: v1::EndReason,
}

/// What the service says of one player.
#[derive(Default)]
struct Said {
    tickets: Vec<v1::Ticket>,
    /// The names of his matches.
    matches: BTreeSet<String>,
    /// How many matches count for him.
    counted: u64,
}

/// Audits every ticket and every match.
pub(super) async fn audit(ledger: &Ledger, players: &[Player]) -> anyhow::Result<Found> {
    let told = ledger.clients();
    let until = Instant::now() + COUNTED_MAX;
    // What follows from a match is done a moment after it, and dead players' matches end when they end.
    let (said, games) = loop {
        let said = ask_of_players(players, &told).await.context("asking for what became of players")?;
        let names = told.iter().zip(&said).enumerate().flat_map(|(who, (told, said))| {
            let told = told.tickets.values().flat_map(|ticket| ticket.matches.iter().chain(&ticket.aborted));
            told.chain(&said.matches).map(move |game| (game.clone(), who))
        });
        let games = ask_of_games(players, names.collect()).await.context("asking for matches")?;
        let is_counted = (0..players.len()).all(|who| said[who].counted == due(&games, who));
        if is_counted || Instant::now() > until {
            break (said, games);
        }
        sleep(LOOK_EVERY).await;
    };
    for (who, (told, said)) in told.iter().zip(&said).enumerate() {
        let own: Vec<&Game> = games.values().filter(|game| game.players.contains(&who)).collect();
        let audit = Audit { who, told, said, own, games: &games };
        for (how, what) in audit.broken() {
            ledger.complain(how, format!("{}: {what}", name(who)));
        }
    }
    for game in games.values() {
        for (how, what) in game.broken() {
            ledger.complain(how, format!("{}: {what}", game.name));
        }
    }
    let rated = games.values().filter(|game| game.counts()).count();
    let counted: u64 = said.iter().map(|said| said.counted).sum();
    if counted != 2 * rated as u64 {
        let what = format!("{rated} matches with a result are counted {counted} times");
        ledger.complain(Breach::Misjudged, what);
    }
    Ok(Found { matches: games.len(), rated })
}

/// How many matches of a player are to count for him.
fn due(games: &BTreeMap<String, Game>, who: usize) -> u64 {
    games.values().filter(|game| game.players.contains(&who) && game.counts()).count() as u64
}

async fn ask_of_players(players: &[Player], told: &[Told]) -> Result<Vec<Said>, Error> {
    let asked = players.iter().zip(told).map(async |(player, told)| {
        let mut said = Said::default();
        for ticket in told.tickets.keys() {
            match player.get_ticket(ticket).await {
                Ok(ticket) => said.tickets.push(ticket),
                // It was closed before it came, and belongs to nobody.
                Err(error) if error.reason() == Some(v1::ErrorReason::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        let summaries: Vec<v1::MatchSummary> = player.matches(None).try_collect().await?;
        said.matches = summaries.into_iter().map(|game| game.name).collect();
        let standings = player.get_player(player.name()).await?.standings;
        let ranked = standings.iter().filter(|standing| standing.mode() == v1::MatchMode::Ranked);
        said.counted = ranked.map(|standing| standing.wins + standing.losses + standing.draws).sum();
        Ok(said)
    });
    stream::iter(asked).buffered(AT_ONCE).try_collect().await
}

/// Each match once, asked for by somebody who was told of it.
async fn ask_of_games(
    players: &[Player],
    names: BTreeMap<String, usize>,
) -> anyhow::Result<BTreeMap<String, Game>> {
    let asked = names.into_iter().map(async |(name, who)| {
        let game = players[who].get_match(&name).await.with_context(|| name.clone())?;
        anyhow::Ok((name, Game::read(&game).context("a match of others")?))
    });
    stream::iter(asked).buffer_unordered(AT_ONCE).try_collect().await
}

impl Game {
    fn read(game: &v1::Match) -> Option<Self> {
        let seats = [game.black.as_ref()?, game.white.as_ref()?];
        let number = |seat: &v1::MatchSeat| seat.player.rsplit('-').next()?.parse().ok();
        let settings = game.settings.as_ref()?;
        let digits: String = game.name.strip_prefix("matches/")?.replace('-', "").chars().take(12).collect();
        let finish = game.finish.clone().unwrap_or_default();
        let ready_check = settings.start_time.unwrap_or_default();
        Some(Self {
            name: game.name.clone(),
            players: [number(seats[0])?, number(seats[1])?],
            has_joined: seats.map(|seat| seat.joined),
            is_ranked: settings.mode() == v1::MatchMode::Ranked,
            claimed: u64::from_str_radix(&digits, 16).ok()?,
            created: ms(game.create_time.as_ref())?,
            started: ms(game.start_time.as_ref()),
            ready_check: ms(Some(&Timestamp { seconds: ready_check.seconds, nanos: ready_check.nanos }))?,
            finished: ms(finish.finish_time.as_ref()),
            result: finish.result(),
            reason: finish.reason(),
        })
    }

    /// Whether it ended with a result.
    fn counts(&self) -> bool {
        use v1::MatchResult::{BlackWins, Draw, WhiteWins};
        self.is_ranked && matches!(self.result, BlackWins | WhiteWins | Draw)
    }

    fn is_aborted(&self) -> bool {
        self.result == v1::MatchResult::Aborted
    }

    /// Whether a match is in the way of another one: until it is over.
    fn is_over_by(&self, moment: u64) -> bool {
        self.finished.is_some_and(|finished| finished <= moment)
    }

    fn broken(&self) -> Vec<(Breach, String)> {
        let mut broken = Vec::new();
        if self.players[0] == self.players[1] {
            broken.push((Breach::Double, "somebody meets himself".to_owned()));
        }
        let due = self.created + self.ready_check;
        if self.reason == v1::EndReason::NoShow {
            if self.finished != Some(due) {
                let what =
                    format!("its ready check ended at {due}, and it was aborted at {:?}", self.finished);
                broken.push((Breach::Misjudged, what));
            }
            if self.has_joined == [true; 2] || self.started.is_some() {
                broken.push((Breach::Misjudged, "both were there, and it was aborted".to_owned()));
            }
        }
        broken
    }
}

/// One player: what he was told, and what the service says of him.
struct Audit<'a> {
    who: usize,
    told: &'a Told,
    said: &'a Said,
    /// His matches.
    own: Vec<&'a Game>,
    games: &'a BTreeMap<String, Game>,
}

impl Audit<'_> {
    fn broken(&self) -> Vec<(Breach, String)> {
        let mut broken = Vec::new();
        self.tickets(&mut broken);
        self.origins(&mut broken);
        self.one_at_a_time(&mut broken);
        let due = due(self.games, self.who);
        if self.said.counted != due {
            let what = format!("{due} matches are to count, and {} do", self.said.counted);
            broken.push((Breach::Misjudged, what));
        }
        broken
    }

    /// Of a ticket comes one match at most, and none if it was cancelled; who was let down waits again.
    fn tickets(&self, broken: &mut Vec<(Breach, String)>) {
        let mut waiting = 0;
        for ticket in &self.said.tickets {
            let told = self.told.tickets.get(&ticket.name).cloned().unwrap_or_default();
            let matches: BTreeSet<&String> =
                told.matches.iter().chain(Some(&ticket.r#match).filter(|game| !game.is_empty())).collect();
            let kept =
                matches.iter().filter(|game| self.games.get(**game).is_none_or(|game| !game.is_aborted()));
            let kept: Vec<_> = kept.collect();
            if kept.len() > 1 {
                broken.push((Breach::Double, format!("{} led to {kept:?}", ticket.name)));
            }
            if told.cancelled.is_some() && (!kept.is_empty() || ticket.state() != v1::TicketState::Cancelled)
            {
                let what = format!("{} was cancelled, and is {:?}; {kept:?}", ticket.name, ticket.state());
                broken.push((Breach::Ghost, what));
            }
            waiting +=
                usize::from(matches!(ticket.state(), v1::TicketState::Waiting | v1::TicketState::Requeued));
            if let Some(game) = self.games.get(&ticket.r#match)
                && self.was_let_down(game)
            {
                broken.push((Breach::Stuck, format!("{} stayed with {}, aborted", ticket.name, game.name)));
            }
        }
        if waiting > 1 {
            broken.push((Breach::Double, format!("he waits by {waiting} tickets")));
        }
    }

    /// Whether a match was aborted that he had joined and the other one had not, while he was alive and had not
    /// asked to be let out.
    fn was_let_down(&self, game: &Game) -> bool {
        let seat = usize::from(game.players[1] == self.who);
        let alone = game.has_joined[seat] && !game.has_joined[1 - seat];
        // A call has its effect some time after it was made.
        let asks_during = |asked: &u64| *asked + CALL_MAX_MS >= game.claimed && !game.is_over_by(*asked);
        let has_left = self.told.cancels.iter().any(asks_during);
        game.reason == v1::EndReason::NoShow && alone && self.told.gone.is_none() && !has_left
    }

    /// Every match comes of a wish that he had then.
    fn origins(&self, broken: &mut Vec<(Breach, String)>) {
        let mut known: BTreeSet<&String> = self.told.joined.keys().collect();
        known.extend(self.told.tickets.values().flat_map(|told| told.matches.iter().chain(&told.aborted)));
        known.extend(self.said.tickets.iter().flat_map(|ticket| [&ticket.r#match, &ticket.aborted_match]));
        for game in &self.own {
            let name = &game.name;
            // One that was aborted before he looked leaves no trace in a ticket that went on.
            let is_surprise = !known.contains(name) && !game.is_aborted();
            if is_surprise && !self.told.is_unsure && self.told.gone.is_none() {
                broken.push((Breach::Ghost, format!("{name} comes of none of his tickets")));
            }
            let is_during = |idle: &&Idle| (idle.since..idle.until).contains(&game.claimed);
            if let Some(idle) = self.told.idle.iter().find(is_during) {
                let of: Vec<_> = self.said.tickets.iter().filter(|ticket| ticket.r#match == *name).collect();
                let what =
                    format!("{name} was found at {} by {of:?}, and he wanted none: {idle:?}", game.claimed);
                broken.push((Breach::Ghost, what));
            }
            if self.gone_by(game.claimed).is_some_and(|gone| game.claimed > gone + SLACK_MS) {
                broken.push((Breach::Ghost, format!("{name} was found after his lease had run out")));
            }
        }
    }

    /// When the last lease was over that he had until a moment, if he is dead. One who is let down gets another.
    fn gone_by(&self, moment: u64) -> Option<u64> {
        let again = self.own.iter().filter_map(|game| {
            let seat = usize::from(game.players[1] == self.who);
            let is_let_down = match game.reason {
                v1::EndReason::NoShow => game.has_joined[seat],
                _ => game.is_aborted(),
            };
            game.finished
                .filter(|finished| is_let_down && *finished <= moment)
                .map(|finished| finished + LEASE_MS)
        });
        Some(again.fold(self.told.gone?, u64::max))
    }

    /// From the moment that he has joined a match until it ends he joins no other.
    fn one_at_a_time(&self, broken: &mut Vec<(Breach, String)>) {
        let since =
            |game: &Game| self.told.joined.get(&game.name).copied().into_iter().chain(game.started).min();
        let mut joined: Vec<(u64, &Game)> =
            self.own.iter().filter_map(|game| Some((since(game)?, *game))).collect();
        joined.sort_by_key(|(since, _)| *since);
        for pair in joined.windows(2) {
            let ((_, one), (since, other)) = (pair[0], pair[1]);
            if !one.is_over_by(since) {
                broken.push((Breach::Double, format!("he plays {} and {}", one.name, other.name)));
            }
        }
    }
}

/// Milliseconds since the epoch.
fn ms(stamp: Option<&Timestamp>) -> Option<u64> {
    let stamp = stamp?;
    Some(u64::try_from(stamp.seconds).ok()? * 1_000 + u64::try_from(stamp.nanos).ok()? / 1_000_000)
}
