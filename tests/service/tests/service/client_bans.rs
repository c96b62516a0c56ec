//! Bans and revoked tokens through the Rust client: a session that asks for its tokens outlives a revocation, and a
//! ban ends what it has, at once and for good.

use futures::StreamExt as _;
use rules::Seat;
use service_tests::{API_KEY, Cluster, soon};
use whattheshell::{Backend, Client, Error, Player, v1};
use wire::v1::ErrorReason;

use super::rust_client::{status, turn};

/// A client of the first node, and a session of its back end.
async fn back_end(cluster: &Cluster) -> (Client, Backend) {
    let client = Client::connect(&format!("http://{}", cluster.nodes[0].address)).await.unwrap();
    let backend = client.backend(API_KEY).unwrap();
    (client, backend)
}

/// A session whose tokens the back end mints.
async fn session(client: &Client, backend: &Backend, player: &str) -> Result<Player, Error> {
    let (backend, player) = (backend.clone(), player.to_owned());
    let source = move || {
        let (backend, player) = (backend.clone(), player.clone());
        let request = v1::MintPlayerTokenRequest { player, ..Default::default() };
        async move { backend.mint_token(request).await.map(|minted| minted.token) }
    };
    soon("a token", client.player_with(source)).await
}

fn refusal(error: &Error) -> Option<ErrorReason> {
    match error {
        Error::Api(error) => Some(error.reason()),
        Error::TokenSource(source) => source.downcast_ref().and_then(refusal),
        _ => None,
    }
}

#[tokio::test]
async fn a_session_goes_on_over_a_revocation_and_ends_with_a_ban() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let (client, backend) = back_end(&cluster).await;
    let ada = session(&client, &backend, &duel.black.name).await.unwrap();
    let game = ada.open(&duel.name).await.unwrap();
    let mut stream = game.watch();
    status(&mut stream, |status| status.turn == 1).await;
    backend.revoke_player_tokens(&duel.black.name).await.unwrap();
    duel.seal(Seat::White, 1, 1).await.unwrap();
    game.seal(1, super::rust_client::cell("I9")).await.unwrap();
    assert_eq!(turn(&mut stream).await.turn, 1, "the stream goes on under another token");

    let ban = backend.ban_player(&duel.black.name, None, "case 4711").await.unwrap().unwrap();
    assert_eq!((ban.reason.as_str(), ban.end_time), ("case 4711", None));
    let end = soon("the end of the stream", async {
        loop {
            match stream.next().await.expect("it ends with an error") {
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    })
    .await;
    assert_eq!(refusal(&end), Some(ErrorReason::PlayerBanned));
    assert_eq!(refusal(&game.resign().await.unwrap_err()), Some(ErrorReason::PlayerBanned));
    let refused = session(&client, &backend, &duel.black.name).await.unwrap_err();
    assert_eq!(refusal(&refused), Some(ErrorReason::PlayerBanned), "nor is there another token");

    backend.unban_player(&duel.black.name).await.unwrap();
    cluster.settled(&duel.name).await;
    let request = v1::ExportPlayerRequest { player: duel.black.name.clone(), ..Default::default() };
    let kept = backend.export_player(request.clone()).await.unwrap();
    assert_eq!((kept.matches.len(), kept.ban), (1, None));
    backend.delete_player(&duel.black.name).await.unwrap();
    assert_eq!(backend.export_player(request).await.unwrap().matches, []);
}
