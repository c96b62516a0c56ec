//! A3 through the Rust client: a node that goes down is not held up by open streams, and they go on at
//! another one without a gap.

use futures::StreamExt as _;
use service_tests::{Cluster, soon};
use tonic::transport::channel::Change;
use tonic::transport::{Channel, Endpoint};
use whattheshell::{Client, Update, v1};

use super::rust_client::{cell, of, token, turn, update};

#[tokio::test]
async fn a_node_ends_with_streams_open_and_they_resume_at_another_one() {
    let mut cluster = Cluster::of_two().await;
    let settings = v1::MatchSettings { spectators: v1::Spectators::Live.into(), ..Default::default() };
    let mut duel = cluster.duel(settings).await;
    let endpoint =
        |node: usize| Endpoint::from_shared(format!("http://{}", cluster.nodes[node].address)).unwrap();
    let (first, second) = (endpoint(0), endpoint(1));
    let eve = token(&cluster, "players/eve").await;
    let (channel, balancer) = Channel::balance_channel(4);
    balancer.send(Change::Insert(0, first)).await.unwrap();
    let client = Client::builder().over(channel);
    let black = of(&cluster, &duel, &duel.black, &client).await;
    let player = client.player(&eve).unwrap();
    let (mut own, mut watched, mut states) = (black.watch(), player.watch(&duel.name), player.watch_player());
    soon("a state", states.next()).await.unwrap().unwrap();
    duel.play(1, "A1", "I9").await;
    for stream in [&mut own, &mut watched] {
        assert_eq!(turn(stream).await.turn, 1);
    }

    balancer.send(Change::Insert(1, second)).await.unwrap();
    cluster.nodes[0].stop();
    balancer.send(Change::Remove(0)).await.unwrap();
    // Nobody polls the streams meanwhile, and the node ends all the same.
    cluster.nodes[0].stopped().await.unwrap();
    duel.black = duel.black.through(cluster.nodes[1].address).await;
    duel.play(2, "C1", "G9").await;
    for stream in [&mut own, &mut watched] {
        assert_eq!(turn(stream).await.turn, 2);
    }
    cluster.nodes[1].subscriptions.become_exactly(2).await;

    let request = v1::CreateInviteRequest {
        request_id: "invite-eve".to_owned(),
        invitee: player.name().to_owned(),
        ..Default::default()
    };
    duel.white.matchmaking().create_invite(request).await.unwrap();
    let told = soon("a state", states.next()).await.unwrap().unwrap();
    assert_eq!(told.invites.len(), 1, "the player's stream has resumed, too");
    black.seal(3, cell("E1")).await.expect("calls go there as well");
    black.resign().await.unwrap();
    for stream in [&mut own, &mut watched] {
        while !matches!(update(stream).await, Update::Finished(_)) {}
    }
}
