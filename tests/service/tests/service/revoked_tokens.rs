//! Tokens that are called back: the ones minted before are refused, and the next one is good.

use service_tests::{Caller, Cluster, Duel, START_MS, reason, soon, stamp};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use super::back_end::revoke;

async fn lists(caller: &Caller) -> Result<(), Status> {
    let request = v1::ListMatchesRequest::default();
    soon("ListMatches", caller.matches().list_matches(request)).await.map(drop)
}

#[tokio::test]
async fn revoked_tokens_are_refused_on_all_nodes_and_one_minted_then_is_good_on_all() {
    let cluster = Cluster::of_two().await;
    let (backend, bo) = (cluster.backend(0).await, cluster.player(1, "bo").await);
    let (old, far) = (cluster.player(0, "ada").await, cluster.player(1, "ada").await);
    let told = revoke(&backend, "ada", "revoke").await;
    assert_eq!(told.tokens_from_time, stamp(START_MS + 5_000));
    assert_eq!(reason(&lists(&old).await.unwrap_err()), ErrorReason::TokenExpired);
    // Minted at the same moment, on either node.
    for node in 0..2 {
        let new = cluster.player(node, "ada").await;
        for address in [cluster.nodes[0].address, cluster.nodes[1].address] {
            lists(&new.through(address).await).await.unwrap();
        }
    }
    soon("the list of the other node", async {
        while lists(&far).await.is_ok() {
            cluster.advance_ms(100).await;
        }
    })
    .await;
    assert_eq!(reason(&lists(&far).await.unwrap_err()), ErrorReason::TokenExpired);
    lists(&bo).await.unwrap();
}

#[tokio::test]
async fn streams_of_a_revoked_token_end_and_those_of_a_new_one_go_on() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    let mut game = duel.black.watch(&duel.name).await.unwrap();
    let mut home = duel.black.watch_home().await.unwrap();
    game.status(|_| true).await;
    home.state(|_| true).await;
    revoke(&cluster.backend(0).await, "ada", "revoke").await;
    let end = ApiError::from_status(&game.rest().await.1.unwrap_err()).unwrap();
    assert_eq!((end.reason(), end.after_turn()), (ErrorReason::TokenExpired, Some(0)));
    assert_eq!(reason(&home.rest().await.1), ErrorReason::TokenExpired);
    let new = cluster.player(0, "ada").await;
    let mut game = new.watch(&duel.name).await.unwrap();
    Duel { black: new.clone(), ..duel }.play(1, "A1", "I9").await;
    assert_eq!(game.turn().await.turn, 1);
}

/// Otherwise a call that is sent again would call back what was minted in between.
#[tokio::test]
async fn a_revocation_that_is_asked_for_again_calls_back_nothing_more() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    let first = revoke(&backend, "ada", "revoke").await;
    cluster.advance_ms(60_000).await;
    let ada = cluster.player(0, "ada").await;
    assert_eq!(revoke(&backend, "ada", "revoke").await, first);
    lists(&ada).await.unwrap();
    revoke(&backend, "ada", "another").await;
    assert_eq!(reason(&lists(&ada).await.unwrap_err()), ErrorReason::TokenExpired);
}
