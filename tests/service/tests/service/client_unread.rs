//! A2 through the Rust client: streams that nobody reads do not stand in the way of calls on the same
//! connection, and lose no turn.

use futures::StreamExt as _;
use rules::{PerSeat, Seat};
use service_tests::{Cluster, Cut, soon};
use whattheshell::{Client, Update, v1};

use super::rust_client::{of, token, update};

/// The HTTP/2 window of a stream here, bytes: a handful of turns fills it, and a match has 206.
const WINDOW_BYTES: u32 = 2_048;

fn long_game() -> Vec<PerSeat<rules::Cell>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/games.jsonl");
    let games = std::fs::read_to_string(file).expect("the vectors are in the repository");
    vectors::game_turns(games.lines().next().expect("it has games")).expect("a game")
}

#[tokio::test]
async fn seals_and_other_calls_go_through_beside_streams_that_nobody_polls() {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { spectators: v1::Spectators::Live.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let builder = Client::builder().stream_window_bytes(WINDOW_BYTES);
    let client = builder.connect(&format!("http://{}", line.address)).await.unwrap();
    let black = of(&cluster, &duel, &duel.black, &client).await;
    let white = of(&cluster, &duel, &duel.white, &client).await;
    let eve = client.player(&token(&cluster, "players/eve").await).unwrap();
    let mut unread = [black.watch(), white.watch(), eve.watch(&duel.name)];
    for stream in &mut unread {
        assert!(matches!(update(stream).await, Update::Snapshot(_)), "it is open");
    }
    let mut states =
        client.player(&token(&cluster, black.player_in(Seat::Black)).await).unwrap().watch_player();
    soon("a state", states.next()).await.unwrap().unwrap();

    let game = long_game();
    for (number, cells) in (1..).zip(&game) {
        soon("black's receipt", black.seal(number, cells.black)).await.unwrap();
        soon("white's receipt", white.seal(number, cells.white)).await.unwrap();
        if number % 50 == 0 {
            assert_eq!(soon("the match", eve.get_match(&duel.name)).await.unwrap().turn, number);
            assert_eq!(
                soon("the turns", black.transcript()).await.unwrap().message().turns.len(),
                number as usize
            );
        }
    }
    assert_eq!(line.connections(), 1, "all of it went over one connection");

    let transcript = black.transcript().await.unwrap();
    let verified = black.verify_signed(&transcript).await.unwrap();
    for mut stream in unread {
        let mut turns = Vec::new();
        let finish = loop {
            match update(&mut stream).await {
                Update::Turn(turn) => turns.push(turn),
                Update::Finished(finish) => break finish,
                _ => {}
            }
        };
        assert_eq!((turns.len(), &turns), (game.len(), &verified.turns), "each turn once, in order");
        assert_eq!(Some(finish), verified.finish);
        assert!(stream.next().await.is_none());
    }
}
