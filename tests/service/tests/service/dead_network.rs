//! E2: a network that is gone says nothing. The client notices by its pings, connects again by itself, and
//! goes on after the last turn.

use std::time::Duration;

use service_tests::{Cluster, Cut};
use whattheshell::{Client, v1};

use super::rust_client::{at, cell, turn};

/// How often the client pings here, and how long it waits for the answer. On a busy machine a ping may
/// well be late: then the client connects once more, and nothing else changes.
const PING: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_stream_over_a_dead_network_resumes_over_another_connection() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let black =
        at(&cluster, &duel, &duel.black, line.address, &Client::builder().keep_alive(PING, PING)).await;
    let mut stream = black.watch();
    duel.play(1, "A1", "I9").await;
    assert_eq!(turn(&mut stream).await.turn, 1);

    for (number, black, white) in [(2, "C1", "G9"), (4, "G1", "C9")] {
        let before = line.connections();
        line.swallow();
        // The opponent and the player's other device play on.
        duel.play(number, black, white).await;
        duel.play(number + 1, &black.replace('1', "3"), &white.replace('9', "7")).await;
        assert_eq!([turn(&mut stream).await.turn, turn(&mut stream).await.turn], [number, number + 1]);
        assert!(line.connections() > before, "the turns came over another connection");
    }
    let receipt = black.seal(6, cell("E5")).await.expect("the new connection is as good for calls");
    assert_eq!(receipt.turn, 6);
}

#[tokio::test]
async fn a_seal_into_a_dead_network_ends_by_its_deadline_and_its_repetition_has_one_effect() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let builder = Client::builder().keep_alive(PING, PING).deadline(3 * PING);
    let black = at(&cluster, &duel, &duel.black, line.address, &builder).await;
    line.swallow();
    // It may succeed already, over another connection that was made in time.
    let sealed = black.seal(1, cell("A1")).await;
    let receipt = match sealed {
        Ok(receipt) => receipt,
        Err(error) => {
            assert!(error.is_uncertain(), "{error}");
            let patient = async {
                loop {
                    match black.seal(1, cell("A1")).await {
                        Err(error) if error.is_uncertain() => {}
                        sealed => return sealed.unwrap(),
                    }
                }
            };
            service_tests::soon("the receipt", patient).await
        }
    };
    let own = duel.seen_by(rules::Seat::Black).await.status.unwrap().own_seal.unwrap();
    assert_eq!((own.commitment, own.seal_time), (receipt.commitment, receipt.seal_time));
}
