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

/// Matches under way at once.
pub(crate) const MATCHES: usize = 128;

/// The calls of a round: long enough that the last ones, with fewer in flight, do not count.
pub(crate) const ROUND_CALLS: usize = 20_000;

/// A round ends early after this: the whole is to be bounded on a slow machine, too.
const ROUND_TIME_MAX: Duration = Duration::from_millis(1_500);

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
    pub(crate) fn new(game: &[Turn], name: &str, players: &PerSeat<String>) -> anyhow::Result<Self> {
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
    pub(crate) fn new(heads: PerSeat<Request<()>>) -> Self {
        let (playing, open) = (Vec::with_capacity(MATCHES), VecDeque::with_capacity(2 * MATCHES));
        Self { heads, playing, waiting: VecDeque::new(), waiting_calls: 0, open }
    }

    /// Calls of the matches that wait. [`ROUND_CALLS`] of them are enough for a round.
    pub(crate) fn waiting_calls(&self) -> usize {
        self.waiting_calls
    }

    /// Adds a match that waits until another is over.
    pub(crate) fn add(&mut self, script: Script) {
        if self.playing.len() < MATCHES {
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
        let workload = RefCell::new(self);
        let (calls, answer_bytes) = (Cell::new(0), Cell::new(0));
        let started = Instant::now();
        let seal_on = async |lane: &mut Lane| {
            while calls.get() < ROUND_CALLS && started.elapsed() < ROUND_TIME_MAX {
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
