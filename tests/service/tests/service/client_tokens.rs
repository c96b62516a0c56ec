//! E7 through the Rust client: a session outlives its tokens. Calls are repeated with another token, streams
//! go on without a gap, and a move that is sealed under one is revealed under another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use service_tests::{Cluster, Duel, Setup, seconds, soon};
use whattheshell::{Client, Error, MatchHandle, Player, Update, v1};
use wire::v1::ErrorReason;
use wire::v1::match_settings::TimeControl;

use super::reveals;
use super::rust_client::{cell, status, turn, update};

/// The shortest life of a token.
const TTL: prost_types::Duration = seconds(60);

/// Past it and the leeway that clocks are given, ms.
const LONG_AFTER_MS: u64 = 70_000;

/// Nodes that mint for everyone, and a client of the first one.
async fn minting() -> (Cluster, Client) {
    let cluster = Cluster::start(Setup { nodes: 2, dev: true, ..Setup::default() }).await;
    let client = Client::connect(&format!("http://{}", cluster.nodes[0].address)).await.unwrap();
    (cluster, client)
}

/// A session with one short-lived token after the other, and how many it has asked for.
async fn session(client: &Client, player: &str) -> (Player, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let (minting, player, counted) = (client.clone(), player.to_owned(), Arc::clone(&asked));
    let source = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let (minting, player) = (minting.clone(), player.clone());
        let request = v1::MintPlayerTokenRequest { player, ttl: Some(TTL), ..Default::default() };
        async move { minting.mint_token_with(request).await.map(|minted| minted.token) }
    };
    (soon("a token", client.player_with(source)).await.unwrap(), asked)
}

/// Turns that last longer than a token.
fn slow(settings: v1::MatchSettings) -> v1::MatchSettings {
    v1::MatchSettings { time_control: Some(TimeControl::TurnTime(seconds(600))), ..settings }
}

/// The players at their match, each in a session that outlives its tokens.
async fn handles(duel: &Duel, client: &Client) -> [MatchHandle; 2] {
    let (black, _) = session(client, &duel.black.name).await;
    let (white, _) = session(client, &duel.white.name).await;
    [black.open(&duel.name).await.unwrap(), white.open(&duel.name).await.unwrap()]
}

#[tokio::test]
async fn a_stream_and_calls_go_on_over_many_tokens_without_a_gap() {
    let (cluster, client) = minting().await;
    let duel = cluster.duel(slow(v1::MatchSettings::default())).await;
    let (ada, asked) = session(&client, &duel.black.name).await;
    let game = ada.open(&duel.name).await.unwrap();
    let mut stream = game.watch();
    status(&mut stream, |status| status.turn == 1).await;
    let moves = [("A1", "I9"), ("C1", "G9"), ("E1", "E9"), ("G1", "C9")];
    for (number, (black, white)) in (1..).zip(moves) {
        game.seal(number, cell(black)).await.unwrap();
        cluster.advance_ms(LONG_AFTER_MS).await;
        // The turn resolves while the stream has no token.
        duel.seal(rules::Seat::White, number, cell(white).number().into()).await.unwrap();
        assert_eq!(turn(&mut stream).await.turn, number);
        assert_eq!(asked.load(Ordering::Relaxed), 1 + number as usize, "one for each that expired");
    }
    cluster.advance_ms(LONG_AFTER_MS).await;
    game.resign().await.expect("a call goes on, too");
    while !matches!(update(&mut stream).await, Update::Finished(_)) {}
    assert_eq!(asked.load(Ordering::Relaxed), 2 + moves.len());
}

#[tokio::test]
async fn a_move_sealed_under_one_token_is_revealed_under_another() {
    let (cluster, client) = minting().await;
    let duel = cluster.duel(slow(reveals::settings())).await;
    let [black, white] = handles(&duel, &client).await;
    let (mut of_black, mut of_white) = (black.watch(), white.watch());
    status(&mut of_black, |status| status.turn == 1).await;

    // By the stream, which has lost its token, too.
    black.seal(1, cell("A1")).await.unwrap();
    cluster.advance_ms(LONG_AFTER_MS).await;
    white.seal(1, cell("I9")).await.unwrap();
    let (one, other) = tokio::join!(turn(&mut of_black), turn(&mut of_white));
    assert_eq!((one.turn, &one), (1, &other));

    // By a call.
    black.seal(2, cell("C1")).await.unwrap();
    cluster.advance_ms(LONG_AFTER_MS).await;
    white.seal(2, cell("G9")).await.unwrap();
    black.reveal(2).await.unwrap();
    white.reveal(2).await.unwrap();
    assert_eq!(black.refresh().await.unwrap().turn, 2);
    assert_eq!(turn(&mut of_black).await.turn, 2);
}

#[tokio::test]
async fn what_waits_for_a_player_is_told_beyond_his_token() {
    let (cluster, client) = minting().await;
    let (ada, asked) = session(&client, "players/ada").await;
    let (bo, _) = session(&client, "players/bo").await;
    let mut states = ada.watch_player();
    for invites in 0..3 {
        let state = soon("a state", states.next()).await.unwrap().unwrap();
        assert_eq!((state.invites.len(), asked.load(Ordering::Relaxed)), (invites, 1 + invites));
        cluster.advance_ms(LONG_AFTER_MS).await;
        let request = v1::CreateInviteRequest { invitee: ada.name().to_owned(), ..Default::default() };
        bo.invite(request).await.unwrap();
    }
}

#[tokio::test]
async fn calls_that_are_refused_together_ask_for_one_token() {
    let (cluster, client) = minting().await;
    let duel = cluster.duel(slow(v1::MatchSettings::default())).await;
    let (ada, asked) = session(&client, &duel.black.name).await;
    for expired in 1..=2 {
        cluster.advance_ms(LONG_AFTER_MS).await;
        let answers = soon("answers", join_all((0..32).map(|_| ada.get_match(&duel.name)))).await;
        answers.into_iter().for_each(|answer| drop(answer.unwrap()));
        assert_eq!(asked.load(Ordering::Relaxed), 1 + expired);
    }
}

#[tokio::test]
async fn a_source_without_a_better_token_is_asked_once_for_each_refusal() {
    let (cluster, client) = minting().await;
    let duel = cluster.duel(slow(v1::MatchSettings::default())).await;
    let request =
        v1::MintPlayerTokenRequest { player: duel.black.name.clone(), ttl: Some(TTL), ..Default::default() };
    let old = client.mint_token_with(request).await.unwrap().token;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let source = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let old = old.clone();
        async move { Ok::<_, Error>(old) }
    };
    let ada = client.player_with(source).await.unwrap();
    let game = ada.open(&duel.name).await.unwrap();
    let mut stream = game.watch();
    status(&mut stream, |status| status.turn == 1).await;
    cluster.advance_ms(LONG_AFTER_MS).await;
    assert_eq!(game.refresh().await.unwrap_err().reason(), Some(ErrorReason::TokenExpired));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let end = soon("the end", stream.next()).await.unwrap();
    assert_eq!(end.unwrap_err().reason(), Some(ErrorReason::TokenExpired));
    assert!(stream.next().await.is_none());
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

/// How the first token's successor comes.
#[derive(Clone, Copy, Debug)]
enum Next {
    Fails,
    Hangs,
    IsAnothers,
    IsNone,
}

#[tokio::test]
async fn a_source_that_goes_wrong_fails_the_call_and_is_asked_again_by_the_next() {
    let cluster = Cluster::start(Setup { dev: true, ..Setup::default() }).await;
    let duel = cluster.duel(slow(v1::MatchSettings::default())).await;
    let url = format!("http://{}", cluster.nodes[0].address);
    let builder = Client::builder().deadline(Duration::from_secs(4));
    let client = builder.connect(&url).await.unwrap();
    for next in [Next::Fails, Next::Hangs, Next::IsAnothers, Next::IsNone] {
        let asked = Arc::new(AtomicUsize::new(0));
        let (minting, player, counted) = (client.clone(), duel.black.name.clone(), Arc::clone(&asked));
        let source = move || {
            let (minting, mut player) = (minting.clone(), player.clone());
            // The second time, and no other, it goes wrong.
            let trouble = Some(next).filter(|_| counted.fetch_add(1, Ordering::Relaxed) == 1);
            async move {
                match trouble {
                    Some(Next::Fails) => return Err("the back end is down".into()),
                    Some(Next::Hangs) => std::future::pending().await,
                    Some(Next::IsAnothers) => player = "players/eve".to_owned(),
                    Some(Next::IsNone) => return Ok("no token".to_owned()),
                    None => {}
                }
                let request = v1::MintPlayerTokenRequest { player, ttl: Some(TTL), ..Default::default() };
                let minted = minting.mint_token_with(request).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(minted.token)
            }
        };
        let ada = client.player_with(source).await.unwrap();
        let game = ada.open(&duel.name).await.unwrap();
        cluster.advance_ms(LONG_AFTER_MS).await;
        let refused = soon("the end of a call", game.refresh()).await.unwrap_err();
        match next {
            Next::Fails | Next::Hangs => {
                assert!(matches!(&refused, Error::TokenSource(_)), "{next:?}: {refused}");
                assert!(refused.is_uncertain());
            }
            Next::IsAnothers | Next::IsNone => {
                assert!(matches!(&refused, Error::Credential(_)), "{next:?}: {refused}");
            }
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2, "{next:?}");
        // From here the source is well again.
        game.refresh().await.unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 3, "{next:?}");
    }
}

#[tokio::test]
async fn a_stream_outlasts_a_source_that_fails_for_a_while() {
    let (cluster, client) = minting().await;
    let duel = cluster.duel(slow(v1::MatchSettings::default())).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let (minting, player, counted) = (client.clone(), duel.black.name.clone(), Arc::clone(&asked));
    let source = move || {
        let (minting, player) = (minting.clone(), player.clone());
        let is_down = (1..4).contains(&counted.fetch_add(1, Ordering::Relaxed));
        async move {
            if is_down {
                return Err("the back end is down".into());
            }
            let request = v1::MintPlayerTokenRequest { player, ttl: Some(TTL), ..Default::default() };
            let minted = minting.mint_token_with(request).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(minted.token)
        }
    };
    let game = client.player_with(source).await.unwrap().open(&duel.name).await.unwrap();
    let mut stream = game.watch();
    status(&mut stream, |status| status.turn == 1).await;
    cluster.advance_ms(LONG_AFTER_MS).await;
    duel.play(1, "A1", "I9").await;
    assert_eq!(turn(&mut stream).await.turn, 1);
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}
