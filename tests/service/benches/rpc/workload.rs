//! What is played: the vectors' games, many at once, each turn sealed by both seats.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::try_join_all;
use http::Request;
use rules::PerSeat;
use wire::v1::{self, seal_move_request::Move};

use crate::client::{self, Lane};
use crate::lobby::request_id;

/// How hard a server is worked.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Calls under way at once.
    pub(crate) in_flight: usize,
    /// Connections that share them.
    pub(crate) connections: usize,
    /// Matches under way at once: enough that there is always a seat whose turn it is.
    pub(crate) matches: usize,
    /// The calls of a round: long enough that the last ones, with fewer in flight, do not count.
    pub(crate) round_calls: usize,
    /// A round ends early after this: the whole is to be bounded on a slow machine, too.
    pub(crate) round_time: Duration,
    /// Whether receipts are signed.
    pub(crate) signed: bool,
}

impl Load {
    /// What rates are measured at.
    pub(crate) const USUAL: Self = Self {
        in_flight: 64,
        connections: 4,
        matches: 128,
        round_calls: 60_000,
        round_time: Duration::from_millis(3_000),
        signed: false,
    };
}

/// A turn of a game: what each seat chooses.
pub(crate) type Turn = PerSeat<rules::Cell>;

/// The games of the vectors.
pub(crate) fn games() -> anyhow::Result<Vec<Vec<Turn>>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/games.jsonl");
    let games: Result<_, _> = fs::read_to_string(file)?.lines().map(vectors::game_turns).collect();
    Ok(games?)
}

/// The seals of a match turn by turn, ready to be sent.
pub(crate) struct Script(Vec<PerSeat<Bytes>>);

impl Script {
    /// A game as the match `name` plays it. `players` are whom the calls act for; empty where the
    /// caller himself plays.
    pub(crate) fn new(
        game: &[Turn],
        name: &str,
        players: &PerSeat<String>,
        signed: bool,
    ) -> anyhow::Result<Self> {
        let seal = |turn, cell: rules::Cell, player: &str| {
            client::frame(&v1::SealMoveRequest {
                name: name.to_owned(),
                player: player.to_owned(),
                request_id: request_id(),
                turn,
                r#move: Some(Move::Open(v1::OpenMove {
                    cell: u32::from(cell.number()),
                    salt: rand::random::<[u8; 32]>().to_vec(),
                })),
                sign_receipt: signed,
                ..Default::default()
            })
        };
        let turns = (1..).zip(game).map(|(turn, choices)| {
            anyhow::Ok(PerSeat {
                black: seal(turn, choices.black, &players.black)?,
                white: seal(turn, choices.white, &players.white)?,
            })
        });
        Ok(Self(turns.collect::<Result<_, _>>()?))
    }

    pub(crate) fn calls(&self) -> usize {
        2 * self.0.len()
    }

    /// The seals, turn by turn.
    pub(crate) fn into_turns(self) -> Vec<PerSeat<Bytes>> {
        self.0
    }
}

/// A match under way.
struct Playing {
    turns: std::vec::IntoIter<PerSeat<Bytes>>,
    /// Seats that have not sealed the open turn yet.
    unsealed: u8,
}

/// A seal that its match waits for.
struct Seal {
    playing: usize,
    head: Request<()>,
    frame: Bytes,
}

/// Matches under way and those that follow when they are over.
pub(crate) struct Workload {
    load: Load,
    /// How each seat calls.
    heads: PerSeat<Request<()>>,
    playing: Vec<Playing>,
    waiting: VecDeque<Script>,
    waiting_calls: usize,
    /// The seals of the open turns, in the order of their opening: both seats of a match in a row, so
    /// that they are on their way together.
    open: VecDeque<Seal>,
}

impl Workload {
    pub(crate) fn new(load: Load, heads: PerSeat<Request<()>>) -> Self {
        let (playing, open) = (Vec::with_capacity(load.matches), VecDeque::with_capacity(2 * load.matches));
        Self { load, heads, playing, waiting: VecDeque::new(), waiting_calls: 0, open }
    }

    /// Whether the matches that wait are enough for a round.
    pub(crate) fn is_ready(&self) -> bool {
        self.waiting_calls >= self.load.round_calls
    }

    /// Adds a match that waits until another is over.
    pub(crate) fn add(&mut self, script: Script) {
        if self.playing.len() < self.load.matches {
            self.playing.push(Playing { turns: script.0.into_iter(), unsealed: 0 });
            self.open_turn(self.playing.len() - 1);
        } else {
            self.waiting_calls += script.calls();
            self.waiting.push_back(script);
        }
    }

    /// Puts the seals of a match's next turn on the list; of the next match's first, if it is over.
    fn open_turn(&mut self, index: usize) {
        let Some(playing) = self.playing.get_mut(index) else { return };
        if playing.turns.len() == 0 {
            let Some(script) = self.waiting.pop_front() else { return };
            self.waiting_calls -= script.calls();
            playing.turns = script.0.into_iter();
        }
        if let Some(PerSeat { black, white }) = playing.turns.next() {
            playing.unsealed = 2;
            let seal = |head: &Request<()>, frame| Seal { playing: index, head: head.clone(), frame };
            self.open.extend([seal(&self.heads.black, black), seal(&self.heads.white, white)]);
        }
    }

    fn sealed(&mut self, index: usize) {
        let Some(playing) = self.playing.get_mut(index) else { return };
        playing.unsealed -= 1;
        if playing.unsealed == 0 {
            self.open_turn(index);
        }
    }

    /// Plays a round with one call in flight on each lane, and returns the calls made and the time taken.
    ///
    /// # Errors
    /// A call fails.
    pub(crate) async fn play(&mut self, lanes: &mut [Lane]) -> anyhow::Result<Round> {
        let load = self.load;
        let workload = RefCell::new(self);
        let (calls, answer_bytes) = (Cell::new(0), Cell::new(0));
        let started = Instant::now();
        let seal_on = async |lane: &mut Lane| {
            while calls.get() < load.round_calls && started.elapsed() < load.round_time {
                let Some(seal) = workload.borrow_mut().open.pop_front() else { break };
                calls.set(calls.get() + 1);
                answer_bytes.set(lane.call(&seal.head, seal.frame).await?);
                workload.borrow_mut().sealed(seal.playing);
            }
            anyhow::Ok(())
        };
        try_join_all(lanes.iter_mut().map(seal_on)).await?;
        Ok(Round { calls: calls.get(), took: started.elapsed(), answer_bytes: answer_bytes.get() })
    }
}

/// What a round came to.
pub(crate) struct Round {
    pub(crate) calls: usize,
    pub(crate) took: Duration,
    /// Bytes of the last answer's message; all have about the same.
    pub(crate) answer_bytes: usize,
}
