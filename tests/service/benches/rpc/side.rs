//! The sides that are compared: who calls which server.

use http::header::AUTHORIZATION;
use middleware::API_KEY_HEADER;
use redis_servers::Server as Redis;
use rules::PerSeat;

use crate::client::{self, Lane};
use crate::figure::{Samples, Spent};
use crate::lobby::{self, Lobby};
use crate::server::{API_KEY, ServerProcess, cpu_us};
use crate::workload::{Load, Round, Script, Turn, Workload};

pub(crate) const SEAL_MOVE: &str = "/whattheshell.v1.MatchService/SealMove";

/// Runs of scripts.
const SCRIPTS: [&str; 2] = ["eval", "evalsha"];

/// Other commands that no script of a sealed move calls: whoever is connected has sent them.
const COMMANDS: [&str; 8] =
    ["ping", "wait", "zrange", "hget", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe"];

/// One side: a way to call a server, the matches played that way and what was measured.
pub(crate) struct Side<'a> {
    server: &'a ServerProcess,
    /// The Redis behind the server.
    redis: Option<&'a Redis>,
    games: &'a [Vec<Turn>],
    load: Load,
    lanes: Vec<Lane>,
    workload: Workload,
    caller: Caller,
    /// Where matches are made; the floor needs none.
    lobby: Option<Lobby>,
    /// Matches made so far.
    made: usize,
    pub(crate) samples: Samples,
}

/// Who calls.
#[derive(Clone, Copy)]
pub(crate) enum Caller {
    /// A back end with its API key, which acts for all players.
    BackEnd,
    /// Players with their own tokens. There are two only, who sit in all matches: a connection indexes the
    /// headers of few callers, and a real player has a connection of his own.
    Players,
}

impl<'a> Side<'a> {
    /// The floor, sent what a back end would send.
    pub(crate) async fn floor(
        server: &'a ServerProcess,
        games: &'a [Vec<Turn>],
        load: Load,
    ) -> anyhow::Result<Self> {
        let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
        Ok(Self {
            server,
            redis: None,
            games,
            load,
            lanes: client::lanes(&server.address, load.connections, load.in_flight).await?,
            workload: Workload::new(load, PerSeat { black: head.clone(), white: head }),
            caller: Caller::BackEnd,
            lobby: None,
            made: 0,
            samples: Samples::default(),
        })
    }

    /// The service, called by `caller`.
    pub(crate) async fn service(
        server: &'a ServerProcess,
        games: &'a [Vec<Turn>],
        load: Load,
        caller: Caller,
    ) -> anyhow::Result<Self> {
        let mut side = Self::floor(server, games, load).await?;
        let lobby = Lobby::open(&server.address).await?;
        if let Caller::Players = caller {
            let players = caller.players(0);
            let (black, white) = (lobby.token(&players.black).await?, lobby.token(&players.white).await?);
            let head = |token| client::head(SEAL_MOVE, (AUTHORIZATION, &format!("Bearer {token}")));
            side.workload = Workload::new(load, PerSeat { black: head(black)?, white: head(white)? });
        }
        Ok(Self { caller, lobby: Some(lobby), ..side })
    }

    /// The same, with what the Redis behind the server takes noted too.
    pub(crate) fn over(self, redis: &'a Redis) -> Self {
        Self { redis: Some(redis), ..self }
    }

    /// Makes what a round may need, plays it and notes what it took.
    pub(crate) async fn round(&mut self) -> anyhow::Result<Round> {
        while !self.workload.is_ready() {
            self.make_matches().await?;
        }
        let before = self.spent().await?;
        let round = self.workload.play(&mut self.lanes).await?;
        let after = self.spent().await?;
        let spent = Spent {
            cpu_us: after.cpu_us - before.cpu_us,
            redis_cpu_us: after.redis_cpu_us - before.redis_cpu_us,
            redis_scripts: after.redis_scripts - before.redis_scripts,
            redis_commands: after.redis_commands - before.redis_commands,
        };
        self.samples.add(&round, spent);
        Ok(round)
    }

    /// What has been spent so far.
    async fn spent(&self) -> anyhow::Result<Spent> {
        let mut spent = Spent { cpu_us: self.server.cpu_us()?, ..Spent::default() };
        if let Some((redis, pid)) = self.redis.and_then(|redis| Some((redis, redis.process_id()?))) {
            spent.redis_cpu_us = cpu_us(pid)?;
            let statistics = redis.ask(&["INFO", "commandstats"]).await?;
            let calls = |commands: &[&str]| -> anyhow::Result<f64> {
                let calls = commands.iter().map(|command| {
                    let told = statistics.field(&format!("cmdstat_{command}"));
                    let calls = told.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
                    calls.map_or(Ok(0.0), str::parse)
                });
                Ok(calls.sum::<Result<f64, _>>()?)
            };
            spent.redis_scripts = calls(&SCRIPTS)?;
            spent.redis_commands = spent.redis_scripts + calls(&COMMANDS)?;
        }
        Ok(spent)
    }

    /// Makes as many matches as are played at once, of the games in their order.
    async fn make_matches(&mut self) -> anyhow::Result<()> {
        let pairs: Vec<_> = (0..self.load.matches).map(|number| self.caller.players(number)).collect();
        let names = match &self.lobby {
            Some(lobby) => lobby.matches(&pairs).await?,
            None => pairs.iter().map(|_| format!("matches/{}", lobby::request_id())).collect(),
        };
        for ((name, players), game) in names.iter().zip(&pairs).zip(self.games.iter().cycle().skip(self.made))
        {
            self.workload.add(Script::new(game, name, &self.caller.named(players), self.load.signed)?);
        }
        self.made = (self.made + self.load.matches) % self.games.len();
        Ok(())
    }
}

impl Caller {
    /// Who plays the match with this number.
    fn players(self, number: usize) -> PerSeat<String> {
        match self {
            Self::BackEnd => {
                PerSeat { black: format!("players/black-{number}"), white: format!("players/white-{number}") }
            }
            Self::Players => PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() },
        }
    }

    /// Whom the calls of a match name: only a back end names players.
    fn named(self, players: &PerSeat<String>) -> PerSeat<String> {
        match self {
            Self::BackEnd => players.clone(),
            Self::Players => PerSeat { black: String::new(), white: String::new() },
        }
    }
}
