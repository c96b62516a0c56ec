//! What waits for a player, through the Rust client: it goes on by itself where the network does not, and
//! it is the player's own.

use std::net::SocketAddr;

use futures::{StreamExt as _, TryStreamExt as _};
use prost::Message as _;
use rules::Seat;
use service_tests::{Cluster, Cut, seconds, soon};
use whattheshell::{Claim, Client, Error, Player, PlayerStream, v1};
use wire::v1::ErrorReason;
use wire::v1::watch_player_response::Update;

use super::newer::NewerServer;
use super::rust_client::token;

/// Past the shortest life of a token and the leeway that clocks are given, ms.
const LONG_AFTER_MS: u64 = 70_000;

async fn player(cluster: &Cluster, name: &str, address: SocketAddr) -> Player {
    let client = Client::connect(&format!("http://{address}")).await.unwrap();
    client.player(&token(cluster, name).await).unwrap()
}

async fn state(stream: &mut PlayerStream) -> v1::PlayerState {
    soon("a state", stream.next()).await.expect("the stream goes on").expect("it holds")
}

async fn error(stream: &mut PlayerStream) -> Error {
    loop {
        if let Err(error) = soon("an error", stream.next()).await.expect("an error comes before the end") {
            assert!(stream.next().await.is_none(), "nothing comes after it");
            return error;
        }
    }
}

#[tokio::test]
async fn a_player_is_told_what_waits_for_him_also_after_the_line_broke() {
    let cluster = Cluster::of_one().await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let ada = player(&cluster, "players/ada", line.address).await;
    let bo = player(&cluster, "players/bo", cluster.nodes[0].address).await;
    let mut states = ada.watch_player();
    assert!(!states.is_connected());
    let first = state(&mut states).await;
    assert_eq!((first.player.as_str(), first.invites.len()), ("players/ada", 0));
    assert!(states.is_connected());

    for invites in 1..=3 {
        line.cut();
        // Made while the line is broken; what the player has already does not come again.
        let request = v1::CreateInviteRequest { invitee: ada.name().to_owned(), ..Default::default() };
        bo.invite(request).await.unwrap();
        assert_eq!(state(&mut states).await.invites.len(), invites);
    }

    let invite = ada.watch_player().next().await.unwrap().unwrap().invites[0].name.clone();
    let accepted = ada.accept_invite(&invite, None).await.unwrap();
    cluster.settled(&accepted.r#match).await;
    let shown = loop {
        let shown = state(&mut states).await;
        if !shown.matches.is_empty() {
            break shown;
        }
    };
    assert!(shown.matches[0].move_due, "he is to join");
}

#[tokio::test]
async fn a_players_stream_ends_with_his_token() {
    let cluster = Cluster::of_one().await;
    let request = v1::MintPlayerTokenRequest {
        player: "players/ada".to_owned(),
        ttl: Some(seconds(60)),
        ..Default::default()
    };
    let minted = cluster.backend(0).await.players().mint_player_token(request).await.unwrap();
    let client = Client::connect(&format!("http://{}", cluster.nodes[0].address)).await.unwrap();
    let mut states = client.player(&minted.into_inner().token).unwrap().watch_player();
    state(&mut states).await;
    cluster.advance_ms(LONG_AFTER_MS).await;
    assert_eq!(error(&mut states).await.reason(), Some(ErrorReason::TokenExpired));
}

#[tokio::test]
async fn a_state_of_somebody_else_is_refused() {
    let cluster = Cluster::of_one().await;
    let proxy = NewerServer::in_front_of(cluster.nodes[0].address, |method, message| {
        let mut message = message.to_vec();
        if method == "WatchPlayer" {
            let mut answer = v1::WatchPlayerResponse::decode(&message[..]).unwrap();
            if let Some(Update::State(state)) = &mut answer.update {
                state.player = "players/bo".to_owned();
            }
            message = answer.encode_to_vec();
        }
        vec![message]
    })
    .await;
    let mut states = player(&cluster, "players/ada", proxy.address).await.watch_player();
    let refused = error(&mut states).await;
    assert!(matches!(refused, Error::Verification(violation) if violation.claim == Claim::Field("player")));
}

#[tokio::test]
async fn a_player_lists_all_his_matches_over_every_page() {
    // More than the 20 of a page.
    const MATCHES: usize = 23;
    let cluster = Cluster::of_one().await;
    let mut names = Vec::new();
    for number in 0..MATCHES {
        let duel = cluster.duel(v1::MatchSettings::default()).await;
        if number % 5 == 0 {
            duel.resign(Seat::White).await.unwrap();
        }
        cluster.settled(&duel.name).await;
        names.push(duel.name);
    }
    let ada = player(&cluster, "players/ada", cluster.nodes[0].address).await;
    let all: Vec<_> = soon("the list", ada.matches(None).try_collect::<Vec<_>>()).await.unwrap();
    let mut listed: Vec<_> = all.iter().map(|game| game.name.clone()).collect();
    listed.sort_unstable();
    names.sort_unstable();
    assert_eq!(listed, names, "each once");
    let finished: Vec<_> = ada.matches(Some(true)).try_collect().await.unwrap();
    assert_eq!(finished.len(), MATCHES.div_ceil(5));
    assert!(finished.iter().all(|game| game.result() == v1::MatchResult::BlackWins));

    let request = v1::ListMatchesRequest { page_size: 2, ..Default::default() };
    let page = ada.list_matches(request.clone()).await.unwrap();
    assert_eq!(page.matches, all[..2]);
    let next = v1::ListMatchesRequest { page_token: page.next_page_token.clone(), ..request };
    assert_eq!(ada.list_matches(next).await.unwrap().matches, all[2..4]);
    let other = v1::ListMatchesRequest {
        page_token: page.next_page_token,
        finished: Some(true),
        ..Default::default()
    };
    assert_eq!(ada.list_matches(other).await.unwrap_err().reason(), Some(ErrorReason::PageTokenInvalid));
}

#[tokio::test]
async fn whoever_closes_an_invite_again_after_a_lost_answer_has_the_answer() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, again] = ["players/ada", "players/bo", "players/bo"]
        .map(async |name| player(&cluster, name, cluster.nodes[0].address).await);
    let (ada, bo, again) = (ada.await, bo.await, again.await);
    let invite = async || {
        let request = v1::CreateInviteRequest { invitee: bo.name().to_owned(), ..Default::default() };
        ada.invite(request).await.unwrap().invite.unwrap().name
    };
    let name = invite().await;
    let accepted = bo.accept_invite(&name, None).await.unwrap();
    assert!(!accepted.r#match.is_empty());
    assert_eq!(again.accept_invite(&name, None).await.unwrap(), accepted);
    let name = invite().await;
    let declined = bo.decline_invite(&name).await.unwrap();
    assert_eq!(again.decline_invite(&name).await.unwrap(), declined);
    let name = invite().await;
    let revoked = ada.revoke_invite(&name).await.unwrap();
    assert_eq!(ada.revoke_invite(&name).await.unwrap(), revoked);
    assert!(matches!(bo.accept_invite(&name, None).await, Err(Error::Api(_))));
}
