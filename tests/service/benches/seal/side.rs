//! The sides that are compared: who calls which server.

use http::header::AUTHORIZATION;
use middleware::API_KEY_HEADER;
use rules::PerSeat;

use crate::client::{self, Lane};
use crate::figure::Samples;
use crate::lobby::{self, Lobby};
use crate::server::{API_KEY, ServerProcess};
use crate::workload::{MATCHES, ROUND_CALLS, Round, Script, Turn, Workload};

/// Calls under way at once.
pub(crate) const IN_FLIGHT: usize = 64;

/// Connections that share them.
pub(crate) const CONNECTIONS: usize = 4;

const SEAL_MOVE: &str = "/whattheshell.v1.MatchService/SealMove";

/// One side: a way to call a server, the matches played that way and what was measured.
pub(crate) struct Side<'a> {
    server: &'a ServerProcess,
    games: &'a [Vec<Turn>],
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
enum Caller {
    /// A back end for the two players that each of its matches has.
    BackEnd,
    /// Two players, who sit in all matches.
    Players(PerSeat<String>),
}

impl<'a> Side<'a> {
    /// The floor, sent what a back end would send.
    pub(crate) async fn floor(server: &'a ServerProcess, games: &'a [Vec<Turn>]) -> anyhow::Result<Self> {
        let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
        let workload = Workload::new(PerSeat { black: head.clone(), white: head });
        Self::new(server, games, workload, Caller::BackEnd, None).await
    }

    /// A back end that acts for all players.
    pub(crate) async fn back_end(server: &'a ServerProcess, games: &'a [Vec<Turn>]) -> anyhow::Result<Self> {
        let side = Self::floor(server, games).await?;
        Ok(Self { lobby: Some(Lobby::open(&server.address).await?), ..side })
    }

    /// Players who call for themselves. There are two only, as a connection indexes the headers of few;
    /// a player has a connection of his own.
    pub(crate) async fn players(server: &'a ServerProcess, games: &'a [Vec<Turn>]) -> anyhow::Result<Self> {
        let lobby = Lobby::open(&server.address).await?;
        let players = PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() };
        let (black, white) = (lobby.token(&players.black).await?, lobby.token(&players.white).await?);
        let head = |token| client::head(SEAL_MOVE, (AUTHORIZATION, &format!("Bearer {token}")));
        let workload = Workload::new(PerSeat { black: head(black)?, white: head(white)? });
        Self::new(server, games, workload, Caller::Players(players), Some(lobby)).await
    }

    async fn new(
        server: &'a ServerProcess,
        games: &'a [Vec<Turn>],
        workload: Workload,
        caller: Caller,
        lobby: Option<Lobby>,
    ) -> anyhow::Result<Self> {
        let lanes = client::lanes(&server.address, CONNECTIONS, IN_FLIGHT).await?;
        Ok(Self { server, games, lanes, workload, caller, lobby, made: 0, samples: Samples::default() })
    }

    /// Makes what a round may need, plays it and notes what it took.
    pub(crate) async fn round(&mut self) -> anyhow::Result<Round> {
        while self.workload.waiting_calls() < ROUND_CALLS {
            self.make_matches().await?;
        }
        let before_us = self.server.cpu_us()?;
        let round = self.workload.play(&mut self.lanes).await?;
        self.samples.add(&round, self.server.cpu_us()? - before_us);
        Ok(round)
    }

    /// Makes as many matches as are played at once, of the games in their order.
    async fn make_matches(&mut self) -> anyhow::Result<()> {
        let pairs: Vec<_> = (0..MATCHES).map(|number| self.caller.players(number)).collect();
        let names = match &self.lobby {
            Some(lobby) => lobby.matches(&pairs).await?,
            None => pairs.iter().map(|_| format!("matches/{}", lobby::request_id())).collect(),
        };
        for ((name, players), game) in names.iter().zip(&pairs).zip(self.games.iter().cycle().skip(self.made))
        {
            self.workload.add(Script::new(game, name, &self.caller.named(players))?);
        }
        self.made = (self.made + MATCHES) % self.games.len();
        Ok(())
    }
}

impl Caller {
    /// Who plays the match with this number.
    fn players(&self, number: usize) -> PerSeat<String> {
        match self {
            Self::BackEnd => {
                PerSeat { black: format!("players/black-{number}"), white: format!("players/white-{number}") }
            }
            Self::Players(players) => players.clone(),
        }
    }

    /// Whom the calls of a match name: only a back end names players.
    fn named(&self, players: &PerSeat<String>) -> PerSeat<String> {
        match self {
            Self::BackEnd => players.clone(),
            Self::Players(_) => PerSeat { black: String::new(), white: String::new() },
        }
    }
}
