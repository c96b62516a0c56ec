//! Players with the Rust client.

use std::net::SocketAddr;

use futures::StreamExt as _;
use rules::Cell;
use service_tests::{Caller, Cluster, Duel, soon};
use whattheshell::{Client, ClientBuilder, MatchHandle, MatchStream, Update, VerifiedTurn, v1};

/// A new token of a player.
pub(crate) async fn token(cluster: &Cluster, player: &str) -> String {
    let request = v1::MintPlayerTokenRequest { player: player.to_owned(), ..Default::default() };
    let minted = cluster.backend(0).await.players().mint_player_token(request).await.unwrap();
    minted.into_inner().token
}

/// The match as one of its players has it at hand, over a connection of its own to this address.
pub(crate) async fn at(
    cluster: &Cluster,
    duel: &Duel,
    player: &Caller,
    address: SocketAddr,
    builder: &ClientBuilder,
) -> MatchHandle {
    let client = soon("a connection", builder.connect(&format!("http://{address}"))).await.unwrap();
    of(cluster, duel, player, &client).await
}

/// The match as one of its players has it at hand with this client.
pub(crate) async fn of(cluster: &Cluster, duel: &Duel, player: &Caller, client: &Client) -> MatchHandle {
    let player = client.player(&token(cluster, &player.name).await).unwrap();
    soon("the match", player.open(&duel.name)).await.unwrap()
}

pub(crate) async fn update(stream: &mut MatchStream) -> Update {
    soon("an update", stream.next()).await.expect("the stream goes on").expect("it is verified")
}

/// The next turn, past statuses.
pub(crate) async fn turn(stream: &mut MatchStream) -> VerifiedTurn {
    loop {
        match update(stream).await {
            Update::Turn(turn) => return turn,
            Update::Finished(finish) => panic!("a turn was due before the end: {finish:?}"),
            _ => {}
        }
    }
}

/// The next status that is as wanted.
pub(crate) async fn status(
    stream: &mut MatchStream,
    wanted: impl Fn(&v1::MatchStatus) -> bool,
) -> v1::MatchStatus {
    loop {
        match update(stream).await {
            Update::Status(status) if wanted(&status) => return status,
            Update::Finished(finish) => panic!("a status was due before the end: {finish:?}"),
            _ => {}
        }
    }
}

pub(crate) fn cell(name: &str) -> Cell {
    name.parse().unwrap()
}
