//! Bots' moves: made at once, by any node, from the public position only, on threads of their own.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use futures::future::join_all;
use referee::{Answer, Command, Match, RequestId, SealCommand, SealedMove};
use rules::{PerSeat, Seat};
use sealing::{Digest, MatchId, Opening, Party, Salt};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::Instant;
use tracing::warn;

use crate::convert::errors;
use crate::drive::drive;
use crate::guard::caught;
use crate::node::Node;

/// Moves that wait for a thread: some seconds of the strongest bot's work. What comes above is found again by
/// the clockwork.
const WAITING_MAX: usize = 256;

/// The number on the wire of a bot's level: levels count from 0, the wire from 1, as 0 is none.
const WIRE_LEVEL_MIN: u8 = 1;

/// The name of a bot, which no player can have.
pub(crate) fn name(wire_level: u8) -> String {
    format!("players/bot-{}", wire_level.saturating_sub(WIRE_LEVEL_MIN))
}

/// The bot of a level's number on the wire.
pub(crate) fn level(wire_level: u8) -> Option<bot::Level> {
    wire_level.checked_sub(WIRE_LEVEL_MIN).and_then(bot::Level::from_number)
}

/// The seat of somebody where nobody chose: even over many matches, the same for whoever makes the match.
pub(crate) fn seat_by_id(id: MatchId) -> Seat {
    if id.as_bytes()[15] & 1 == 0 { Seat::Black } else { Seat::White }
}

/// Whoever sits in `own`, and a bot.
pub(crate) fn against(party: Party, own: Seat, wire_level: u8) -> PerSeat<Party> {
    let bot = Party { player: name(wire_level), public_key: None };
    match own {
        Seat::Black => PerSeat { black: party, white: bot },
        Seat::White => PerSeat { black: bot, white: party },
    }
}

/// The moves that are to be made on one node.
pub(crate) struct Bots {
    asked: mpsc::Sender<MatchId>,
    /// Taken by whoever runs the bots.
    asks: AsyncMutex<mpsc::Receiver<MatchId>>,
    /// Matches that wait: none is in the line twice.
    known: Mutex<HashSet<MatchId>>,
}

impl Default for Bots {
    fn default() -> Self {
        let (asked, asks) = mpsc::channel(WAITING_MAX);
        Self { asked, asks: AsyncMutex::new(asks), known: Mutex::default() }
    }
}

impl Bots {
    /// Asks for a move if the match waits for one. With too many in line already nothing is lost: the clockwork
    /// asks again.
    pub(crate) fn ask(&self, game: &Match) {
        if game.bot_due().is_some() && self.known().insert(game.id) && self.asked.try_send(game.id).is_err() {
            self.known().remove(&game.id);
        }
    }

    /// Makes moves until it is dropped, half as many at once as there are cores.
    pub(crate) async fn run(&self, node: &Node) {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        join_all((0..cores.div_ceil(2)).map(|_| self.work(node))).await;
    }

    async fn work(&self, node: &Node) {
        loop {
            let Some(id) = self.asks.lock().await.recv().await else { return };
            // Before the match is read: whoever changes it from now on asks again.
            self.known().remove(&id);
            let moved = caught(make_move(node, id)).await;
            if let Err(error) = moved.unwrap_or_else(|| Err(errors::fault("a bot's move panicked", id))) {
                warn!(%id, reason = error.reason().as_str_name(), "a bot's move must wait");
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<MatchId>> {
        // No operation leaves half of its work behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the move that a match waits for, if it does.
async fn make_move(node: &Node, id: MatchId) -> Result<(), wire::ApiError> {
    let store = node.store.as_ref();
    let loaded = store.load(id).await.map_err(errors::store)?;
    let game = loaded.stored.head;
    let (Some(seat), Some(bot)) = (game.bot_due(), game.settings.bot) else { return Ok(()) };
    let level = level(bot.level).ok_or_else(|| errors::fault("there is no bot of this level", id))?;
    let began = Instant::now();
    let opening = choose(&game, seat, level).await?;
    node.config.instruments.bot_thought(level.number(), began.elapsed());
    let request_id = RequestId::new("bot").map_err(|_| errors::fault("a bot's request has no name", id))?;
    let made_for: Digest = game.hash;
    let command = |game: &Match| {
        // Somebody else may have made the move, and the turn resolved.
        if game.bot_due() != Some(seat) || game.hash != made_for {
            return Ok(Command::Tick);
        }
        Ok(Command::Seal(SealCommand {
            seat,
            turn: game.resolved + 1,
            sealed: SealedMove::Opening(opening.clone()),
            previous: Some(made_for),
            signature: None,
            key_id: node.signer.key_id().shared(),
            request_id: request_id.clone(),
        }))
    };
    let driven = drive(store, id, None, command).await?;
    let answer = driven.answer.map_err(|refusal| errors::refusal(refusal, id))?;
    if matches!(answer, Answer::Sealed(_)) {
        node.config.instruments.seal_acknowledged("bot");
    }
    Ok(())
}

/// What the bot chooses, and a salt. Both are drawn from the system's secure source, by nothing that a player
/// could know.
async fn choose(game: &Match, seat: Seat, level: bot::Level) -> Result<Opening, wire::ApiError> {
    let (id, position) = (game.id, game.position);
    let chosen =
        tokio::task::spawn_blocking(move || bot::choose(&position, seat, level, rand::random())).await;
    match chosen {
        Ok(Ok(cell)) => Ok(Opening { cell, salt: Salt::from_bytes(rand::random()) }),
        Ok(Err(_)) | Err(_) => Err(errors::fault("a bot found no move", id)),
    }
}
