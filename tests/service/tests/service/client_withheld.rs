//! D14 through the Rust client: who does not reveal in time loses; if neither does, nobody wins.

use rules::Seat;
use sealing::{EndReason, MatchResult};
use service_tests::Cluster;
use whattheshell::{Client, MatchHandle, Update, v1};

use super::reveals;
use super::rust_client::{at, cell, status, update};

/// Past the time to reveal, ms.
const REVEAL_IS_OVER_MS: u64 = 10_001;

/// Both at their match with a move sealed, and nothing revealed: no stream is polled.
async fn sealed(cluster: &Cluster) -> (String, [MatchHandle; 2]) {
    let duel = cluster.duel(reveals::settings()).await;
    let [near, far] = [0, 1].map(|node| cluster.nodes[node].address);
    let black = at(cluster, &duel, &duel.black, near, &Client::builder()).await;
    let white = at(cluster, &duel, &duel.white, far, &Client::builder()).await;
    black.seal(1, cell("A1")).await.unwrap();
    white.seal(1, cell("I9")).await.unwrap();
    (duel.name, [black, white])
}

/// How both are told that it ended.
async fn ends(cluster: &Cluster, name: &str, games: &[MatchHandle; 2]) -> MatchResult {
    cluster.advance_ms(REVEAL_IS_OVER_MS).await;
    cluster.ended(name).await;
    let transcript = games[0].transcript().await.unwrap();
    let verified = games[0].verify_signed(&transcript).await.unwrap();
    assert_eq!((verified.turns.len(), verified.reason()), (0, Some(EndReason::FailedReveal)));
    for game in games {
        let mut stream = game.watch();
        let finish = loop {
            if let Update::Finished(finish) = update(&mut stream).await {
                break finish;
            }
        };
        assert_eq!(Some(&finish), verified.finish.as_ref());
    }
    verified.result().unwrap()
}

fn has_revealed(status: &v1::MatchStatus, seat: Seat) -> bool {
    let side = match seat {
        Seat::Black => &status.black,
        Seat::White => &status.white,
    };
    side.as_ref().and_then(|side| side.revealed) == Some(true)
}

#[tokio::test]
async fn who_withholds_his_reveal_loses() {
    for (seat, result) in [(Seat::Black, MatchResult::BlackWins), (Seat::White, MatchResult::WhiteWins)] {
        let cluster = Cluster::of_two().await;
        let (name, games) = sealed(&cluster).await;
        // Only his stream is polled, so only his move is revealed.
        let revealing = match seat {
            Seat::Black => &games[0],
            Seat::White => &games[1],
        };
        status(&mut revealing.watch(), |status| has_revealed(status, seat)).await;
        assert_eq!(ends(&cluster, &name, &games).await, result);
    }
}

#[tokio::test]
async fn two_withheld_reveals_are_a_draw() {
    let cluster = Cluster::of_two().await;
    let (name, games) = sealed(&cluster).await;
    assert_eq!(ends(&cluster, &name, &games).await, MatchResult::Draw);
}
