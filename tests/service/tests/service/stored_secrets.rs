//! F1 and D1, at rest: until a turn resolves, its salts are in no file, in no form; and if it never does,
//! not afterwards either.

use rules::Seat;
use service_tests::{Cluster, Duel, Keeping, Setup, cell};
use wire::v1;

use super::marked::{self, Values};
use super::reveals;

async fn cluster() -> Cluster {
    Cluster::start(Setup { keeping: Keeping::Directory, ..Setup::default() }).await
}

/// Where the marked salt is, and in what form.
fn found(cluster: &Cluster) -> Vec<(std::path::PathBuf, &'static str)> {
    let files = cluster.files();
    assert!(files.iter().any(|(_, bytes)| bytes.len() > 1_000), "the store is somewhere else");
    let found = files.into_iter().filter_map(|(path, bytes)| Some((path, marked::salt_in(&bytes)?)));
    found.collect()
}

/// Looks while the store is open, while it is closed, and after it was opened once more.
async fn assert_in_no_file(cluster: &mut Cluster) {
    assert_eq!(found(cluster), []);
    cluster.stop().await;
    assert_eq!(found(cluster), [], "the store is closed");
    cluster.resume().await;
    assert_eq!(found(cluster), [], "the store was opened again");
}

/// Black's marked move is sealed in turn 1.
async fn sealed(cluster: &Cluster) -> Duel {
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut request = duel.seal_request(Seat::Black, 1, marked::CELL);
    request.r#move = Some(v1::seal_move_request::Move::Open(marked::open()));
    duel.send_seal(Seat::Black, request.clone()).await.unwrap();
    let another = v1::SealMoveRequest { request_id: "another".to_owned(), ..request };
    duel.send_seal(Seat::Black, another).await.expect_err("a seal is final");
    duel
}

#[tokio::test]
async fn a_sealed_move_is_in_no_file_until_its_turn_resolves() {
    let mut cluster = cluster().await;
    let duel = sealed(&cluster).await;
    assert_in_no_file(&mut cluster).await;

    // What was read back from the files is as secret.
    let duel = duel.reconnected(&cluster).await;
    let seen = prost::Message::encode_to_vec(&duel.seen_by(Seat::White).await);
    assert_eq!(marked::salt_in(&seen), None);
    assert!(!Values::of("whattheshell.v1.Match", &seen).have_cell());

    // The same search finds it once it is public.
    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    assert_eq!(duel.seen_by(Seat::White).await.turn, 1);
    assert!(found(&cluster).iter().any(|(_, form)| *form == "raw"));
}

#[tokio::test]
async fn a_first_reveal_is_in_no_file_until_the_second() {
    let mut cluster = cluster().await;
    let duel = cluster.duel(reveals::settings()).await;
    let white = v1::OpenMove { cell: cell("A1"), salt: vec![1; 32] };
    reveals::commit(&duel, Seat::Black, &marked::open()).await;
    reveals::commit(&duel, Seat::White, &white).await;
    reveals::reveal(&duel, Seat::Black, &marked::open()).await.unwrap();
    assert_in_no_file(&mut cluster).await;

    let duel = duel.reconnected(&cluster).await;
    reveals::reveal(&duel, Seat::White, &white).await.unwrap();
    assert_eq!(duel.seen_by(Seat::White).await.turn, 1);
    assert!(found(&cluster).iter().any(|(_, form)| *form == "raw"));
}

#[tokio::test]
async fn a_seal_that_never_resolves_is_in_no_file_afterwards() {
    let mut cluster = cluster().await;
    let duel = sealed(&cluster).await;
    cluster.ended(&duel.name).await;
    cluster.settled(&duel.name).await;
    assert_in_no_file(&mut cluster).await;
}
