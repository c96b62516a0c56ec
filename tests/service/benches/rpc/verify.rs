//! What it costs a client to verify a match.

use std::hint::black_box;
use std::time::Instant;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use middleware::API_KEY_HEADER;
use rules::{PerSeat, Position};
use sha2::{Digest as _, Sha256};
use whattheshell::sealing::ServerKey;
use whattheshell::{Transcript, VerifiedMatch, server_keys};

use crate::client::{self, Lane};
use crate::figure::Figure;
use crate::lobby::Lobby;
use crate::server::{API_KEY, Role, ServerProcess};
use crate::side::SEAL_MOVE;
use crate::workload::{self, Script};

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 21;

/// Matches that are played at once.
const AT_ONCE: usize = 16;

/// The time to verify a turn, and a match with the server's signature.
pub(crate) async fn time_each() -> anyhow::Result<Vec<Figure>> {
    let server = ServerProcess::start(Role::Volatile).await?;
    let (transcripts, keys) = played(&server).await?;
    server.stop().await?;
    let matches = transcripts.len();
    let verified: Vec<VerifiedMatch> =
        transcripts.iter().map(|transcript| transcript.verify_signed(&keys)).collect::<Result<_, _>>()?;
    let turns: usize = verified.iter().map(|verified| verified.turns.len()).sum();
    let preimages: Vec<Preimages> = transcripts.iter().zip(&verified).map(Preimages::new).collect();

    let (mut verifying, mut signed, mut hashing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        hashing.push(us(|| preimages.iter().for_each(|preimages| preimages.hash())));
        verifying.push(us(|| transcripts.iter().for_each(|transcript| drop(black_box(transcript.verify())))));
        signed.push(us(|| {
            transcripts.iter().for_each(|transcript| drop(black_box(transcript.verify_signed(&keys))));
        }));
    }
    let each = |times: &[f64], count: usize| -> Vec<f64> {
        // The first round warms everything up.
        times[1..].iter().map(|time| time / count as f64).collect()
    };
    let conditions = format!(
        "{matches} transcripts as a server gave them, {turns} turns of games.jsonl; floor: SHA-256 of what the \
         turns hash; one thread; median of {ROUNDS} interleaved rounds; ratio = value / floor, lower is better"
    );
    let a_match = format!("with the server's Ed25519 signature; {conditions}");
    Ok(vec![
        Figure::new("us", &each(&verifying, turns), &each(&hashing, turns), conditions),
        Figure::new("us", &each(&signed, matches), &each(&hashing, matches), a_match),
    ])
}

/// The transcripts of the vectors' games, played on a server, and its keys.
async fn played(server: &ServerProcess) -> anyhow::Result<(Vec<Transcript>, Vec<ServerKey>)> {
    let lobby = Lobby::open(&server.address).await?;
    let lane = Lane::connect(&server.address).await?;
    let games = workload::games()?;
    let players = PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() };
    let names = lobby.matches(&vec![players.clone(); games.len()]).await?;
    let play = games.iter().zip(&names).map(async |(game, name)| {
        let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
        let mut lane = lane.clone();
        for turn in Script::new(game, name, &players, false)?.into_turns() {
            lane.call(&head, turn.black).await?;
            lane.call(&head, turn.white).await?;
        }
        Ok(Transcript::from(lobby.transcript(name).await?))
    });
    let transcripts: anyhow::Result<Vec<Transcript>> =
        stream::iter(play).buffered(AT_ONCE).try_collect().await;
    Ok((transcripts?, server_keys(&lobby.server_info().await?)))
}

fn us(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64() * 1e6
}

/// Bytes of the lengths that turns hash: the work of SHA-256 does not depend on what they are.
struct Preimages(Vec<Vec<u8>>);

impl Preimages {
    fn new((transcript, verified): (&Transcript, &VerifiedMatch)) -> Self {
        let message = transcript.message();
        let player =
            |seat: &Option<whattheshell::v1::MatchSeat>| seat.as_ref().map_or(0, |seat| seat.player.len());
        let seal = |seat| fields(&["whattheshell.v1.seal".len(), 16, 4, 1, player(seat), 32, 1, 32]);
        let mut position = Position::initial();
        let mut hashed = Vec::with_capacity(3 * verified.turns.len());
        for turn in &verified.turns {
            // Moves of a verified match are legal.
            let _ = position.advance(turn.cells.black, turn.cells.white);
            let text = position.canonical_line().len();
            hashed.push(seal(&message.black));
            hashed.push(seal(&message.white));
            hashed.push(fields(&["whattheshell.v1.turn".len(), 32, 32, 32, 33, 33, 32, 0, 0, text]));
        }
        Self(hashed.into_iter().map(|length| vec![0x5a; length]).collect())
    }

    fn hash(&self) {
        for bytes in &self.0 {
            black_box(Sha256::digest(black_box(bytes)));
        }
    }
}

/// Bytes of fields with their lengths before them.
fn fields(lengths: &[usize]) -> usize {
    const LENGTH_BYTES: usize = 2;
    lengths.iter().map(|length| LENGTH_BYTES + length).sum()
}
