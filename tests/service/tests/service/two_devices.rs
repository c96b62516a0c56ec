//! E8: a player's devices do not get into each other's way: both see the match, either may seal, and the
//! other one is told.

use rules::Seat;
use service_tests::Cluster;
use whattheshell::{Client, Error, Update, v1};
use wire::v1::ErrorReason;

use super::rust_client::{at, cell, status, turn, update};

#[tokio::test]
async fn either_device_seals_and_the_other_one_is_told() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let [near, far] = [0, 1].map(|node| cluster.nodes[node].address);
    let phone = at(&cluster, &duel, &duel.black, near, &Client::builder()).await;
    let tablet = at(&cluster, &duel, &duel.black, far, &Client::builder()).await;
    let (mut on_phone, mut on_tablet) = (phone.watch(), tablet.watch());
    let open = status(&mut on_phone, |status| status.turn == 1).await;
    assert!(phone.is_due(&open) && tablet.is_due(&status(&mut on_tablet, |status| status.turn == 1).await));

    let receipt = phone.seal(1, cell("A1")).await.unwrap();
    let told = status(&mut on_tablet, |status| status.own_seal.is_some()).await;
    assert_eq!(told.own_seal.as_ref().unwrap().commitment, receipt.commitment);
    assert!(!tablet.is_due(&told), "the player has sealed, on whichever device");
    let refused = tablet.seal(1, cell("B2")).await.expect_err("a seal is final");
    assert_eq!(refused.reason(), Some(ErrorReason::AlreadySealed));
    duel.seal(Seat::White, 1, 81).await.unwrap();
    assert_eq!(turn(&mut on_phone).await, turn(&mut on_tablet).await);

    let receipt = tablet.seal(2, cell("C1")).await.unwrap();
    let told = status(&mut on_phone, |status| status.own_seal.is_some()).await;
    assert_eq!(told.own_seal.as_ref().unwrap().commitment, receipt.commitment);
    assert!(!phone.is_due(&told));
    duel.seal(Seat::White, 2, 80).await.unwrap();
    assert_eq!(turn(&mut on_phone).await, turn(&mut on_tablet).await);

    // Both streams live, and each is the only one at its node.
    assert!(on_phone.is_connected() && on_tablet.is_connected());
    for node in &cluster.nodes {
        node.subscriptions.become_exactly(1).await;
    }
    tablet.resign().await.unwrap();
    for stream in [&mut on_phone, &mut on_tablet] {
        while !matches!(update(stream).await, Update::Finished(_)) {}
    }
}

#[tokio::test]
async fn two_devices_that_seal_at_once_get_one_seal() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let [near, far] = [0, 1].map(|node| cluster.nodes[node].address);
    let phone = at(&cluster, &duel, &duel.black, near, &Client::builder()).await;
    let tablet = at(&cluster, &duel, &duel.black, far, &Client::builder()).await;
    let mut white = duel.white.watch_after(&duel.name, 0, &[]).await.unwrap();
    for (number, (here, there)) in (1..).zip([("A1", "A2"), ("C1", "C2"), ("E1", "E2"), ("G1", "G2")]) {
        let (one, other) = tokio::join!(phone.seal(number, cell(here)), tablet.seal(number, cell(there)));
        let (receipt, refused) = match (one, other) {
            (Ok(receipt), Err(refused)) | (Err(refused), Ok(receipt)) => (receipt, refused),
            both => panic!("one of two seals is taken: {both:?}"),
        };
        assert!(matches!(&refused, Error::Api(error) if error.reason() == ErrorReason::AlreadySealed));
        duel.seal(Seat::White, number, 82 - number).await.unwrap();
        assert_eq!(white.turn().await.black.unwrap().commitment, receipt.commitment);
    }
}
