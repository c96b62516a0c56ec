//! B1: a store that has lost what players were told of is found out. The match is void, nothing is decided a
//! second time, and one player alone cannot bring that about.

use std::sync::Arc;

use referee::Stamp;
use rules::Seat;
use service_tests::{Cluster, Duel, ReplicatedStore, START_MS, Setup, Watching, cell, reason, soon};
use store::keys::Keys;
use store::{Clock, ScriptedClock, Store};
use tonic::Status;
use whattheshell::{Client, MatchHandle, Update};
use wire::v1::{self, EndReason, ErrorReason, MatchResult};

use super::rust_client;

/// Two nodes over a store that can fail over, and a match of three turns: its replica has two of them, and
/// then takes over.
struct Loss {
    cluster: Cluster,
    store: Arc<ReplicatedStore>,
    duel: Duel,
    /// h of turns 0 to 3.
    hashes: Vec<Vec<u8>>,
}

impl Loss {
    async fn prepare() -> Self {
        let clock = Arc::new(ScriptedClock::at_ms(START_MS));
        let time: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Arc::new(ReplicatedStore::new(&time));
        let stores = (0..2).map(|_| Arc::clone(&store) as Arc<dyn Store>).collect();
        let keys = Keys::generate(Stamp::from_ms(START_MS));
        let cluster = Cluster::on(Setup::default(), clock, &keys, stores).await;
        let duel = cluster.duel(Default::default()).await;
        let mut hashes = vec![duel.seen_by(Seat::Black).await.hash];
        for (turn, black, white) in [(1, "A1", "I9"), (2, "B1", "H9")] {
            duel.play(turn, black, white).await;
            hashes.push(duel.seen_by(Seat::Black).await.hash);
        }
        Self { cluster, store, duel, hashes }
    }

    /// The third turn is played and lost.
    async fn of_a_turn() -> Self {
        let mut loss = Self::prepare().await;
        loss.store.cut_off();
        loss.duel.play(3, "C1", "G9").await;
        loss.hashes.push(loss.duel.seen_by(Seat::Black).await.hash);
        loss.store.fail_over();
        loss
    }

    /// A move of the third turn is sealed and lost. Returns its receipt.
    async fn of_a_seal() -> (Self, v1::SealReceipt) {
        let loss = Self::prepare().await;
        loss.store.cut_off();
        let sealed = v1::SealMoveRequest { sign_receipt: true, ..loss.seal(Seat::Black, 3, "C1") };
        let receipt = loss.duel.send_seal(Seat::Black, sealed).await.unwrap();
        loss.store.fail_over();
        (loss, receipt)
    }

    /// A seal that names what it stands on.
    fn seal(&self, seat: Seat, turn: u32, name: &str) -> v1::SealMoveRequest {
        let previous_hash = self.hashes.get(turn as usize - 1).cloned().unwrap_or_default();
        let sealed = self.duel.seal_request(seat, turn, cell(name));
        v1::SealMoveRequest { request_id: format!("{seat}-{turn}-{name}"), previous_hash, ..sealed }
    }

    /// A seat's client comes back with all that it has.
    async fn comes_back(
        &self,
        seat: Seat,
        turn: u32,
        last_receipt: Option<v1::SealReceipt>,
    ) -> Result<Watching, Status> {
        let request = v1::WatchMatchRequest {
            name: self.duel.name.clone(),
            after_turn: Some(turn),
            after_hash: self.hashes[turn as usize].clone(),
            last_receipt,
            ..Default::default()
        };
        self.duel.player(seat).watch_with(request).await
    }

    async fn refused(&self, seat: Seat, turn: u32) {
        let refused = self.comes_back(seat, turn, None).await.unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::HistoryRegressed);
    }

    async fn assert_void(&self) {
        let game = self.cluster.agreed_view(&self.duel.name).await.unwrap();
        let finish = game.finish.expect("it is over");
        assert_eq!((finish.result(), finish.reason()), (MatchResult::Void, EndReason::LostHistory));
        assert_eq!(game.turn, 2);
    }

    async fn assert_live(&self) {
        let game = self.cluster.agreed_view(&self.duel.name).await.unwrap();
        assert_eq!((game.finish, game.turn), (None, 2));
    }

    fn remember(&self) {
        self.cluster.nodes.iter().for_each(|node| node.faults.remember_heads());
    }
}

#[tokio::test]
async fn a_claim_of_one_seat_is_refused_and_changes_nothing() {
    let loss = Loss::of_a_turn().await;
    loss.refused(Seat::Black, 3).await;
    loss.refused(Seat::Black, 3).await;
    let sealed = loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 4, "D1")).await.unwrap_err();
    assert_eq!(reason(&sealed), ErrorReason::HistoryRegressed);
    loss.assert_live().await;
    // Both can go on from what is there.
    loss.comes_back(Seat::Black, 2, None).await.unwrap();
    loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 3, "C1")).await.unwrap();
    loss.assert_live().await;
}

#[tokio::test]
async fn both_seats_who_know_the_same_turn_are_believed() {
    let loss = Loss::of_a_turn().await;
    loss.refused(Seat::Black, 3).await;
    loss.assert_live().await;
    // White seals on it.
    let sealed = loss.duel.send_seal(Seat::White, loss.seal(Seat::White, 4, "F9")).await.unwrap_err();
    assert_eq!(reason(&sealed), ErrorReason::HistoryRegressed);
    loss.assert_void().await;
    let mut end = loss.comes_back(Seat::White, 2, None).await.unwrap();
    assert_eq!(end.finished().await.reason(), EndReason::LostHistory);
}

#[tokio::test]
async fn claims_that_are_not_the_same_void_nothing() {
    let mut loss = Loss::of_a_turn().await;
    loss.refused(Seat::Black, 3).await;
    loss.hashes[3][0] ^= 1;
    loss.refused(Seat::White, 3).await;
    // A back end claims for whom it acts for, a spectator for nobody.
    let other = v1::WatchMatchRequest {
        name: loss.duel.name.clone(),
        after_turn: Some(3),
        after_hash: loss.hashes[3].clone(),
        ..Default::default()
    };
    let refused = loss.cluster.backend(0).await.watch_with(other).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::HistoryRegressed);
    loss.assert_live().await;
}

#[tokio::test]
async fn a_receipt_for_a_seal_that_is_gone_is_enough() {
    let (loss, receipt) = Loss::of_a_seal().await;
    // Nothing else tells: the turn was open, and still is.
    let mut end = loss.comes_back(Seat::Black, 2, Some(receipt.clone())).await.unwrap();
    assert_eq!(end.finished().await.reason(), EndReason::LostHistory);
    loss.assert_void().await;
    // Later it changes nothing any more.
    let mut end = loss.comes_back(Seat::Black, 2, Some(receipt)).await.unwrap();
    assert_eq!(end.finished().await.reason(), EndReason::LostHistory);
}

#[tokio::test]
async fn a_receipt_for_a_move_that_was_decided_otherwise_is_enough() {
    let (loss, receipt) = Loss::of_a_seal().await;
    // Other clients of the players, which know nothing, play the turn.
    loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 3, "D4")).await.unwrap();
    loss.duel.send_seal(Seat::White, loss.seal(Seat::White, 3, "G9")).await.unwrap();
    let late = v1::SealMoveRequest { last_receipt: Some(receipt), ..loss.seal(Seat::Black, 3, "C1") };
    loss.duel.send_seal(Seat::Black, late).await.unwrap_err();
    let finish = loss.duel.seen_by(Seat::White).await.finish.expect("it is over");
    assert_eq!(finish.reason(), EndReason::LostHistory);
}

#[tokio::test]
async fn a_receipt_that_is_forged_or_kept_proves_nothing() {
    let (loss, receipt) = Loss::of_a_seal().await;
    let mut forged = Vec::new();
    for byte in [0, 31] {
        let mut other = receipt.clone();
        other.commitment[byte] ^= 1;
        forged.push(other);
    }
    let mut unsigned = receipt.clone();
    unsigned.signature.clear();
    forged.push(unsigned);
    forged.push(v1::SealReceipt { turn: 2, ..receipt.clone() });
    forged.push(v1::SealReceipt { seat: v1::Seat::White.into(), ..receipt.clone() });
    forged.push(v1::SealReceipt { key_id: "another".to_owned(), ..receipt.clone() });
    for forged in forged {
        loss.comes_back(Seat::Black, 2, Some(forged)).await.unwrap();
        loss.assert_live().await;
    }
    // One of another match.
    let other = loss.cluster.duel(Default::default()).await;
    let sealed = v1::SealMoveRequest { sign_receipt: true, ..other.seal_request(Seat::Black, 1, cell("A1")) };
    let of_other = other.send_seal(Seat::Black, sealed).await.unwrap();
    loss.comes_back(Seat::Black, 2, Some(of_other)).await.unwrap();
    loss.assert_live().await;
    // One that holds, in the open turn and after it.
    let sealed = v1::SealMoveRequest { sign_receipt: true, ..loss.seal(Seat::White, 3, "G9") };
    let held = loss.duel.send_seal(Seat::White, sealed).await.unwrap();
    loss.comes_back(Seat::White, 2, Some(held.clone())).await.unwrap();
    loss.assert_live().await;
    loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 3, "D4")).await.unwrap();
    loss.comes_back(Seat::White, 2, Some(held)).await.unwrap();
    assert_eq!(loss.duel.seen_by(Seat::White).await.finish, None);
}

#[tokio::test]
async fn a_node_that_has_seen_what_is_gone_does_not_play_on() {
    let mut loss = Loss::prepare().await;
    loss.remember();
    loss.store.cut_off();
    loss.duel.play(3, "C1", "G9").await;
    loss.hashes.push(loss.duel.seen_by(Seat::Black).await.hash);
    loss.store.fail_over();
    let sealed = loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 4, "D1")).await.unwrap_err();
    assert_eq!(reason(&sealed), ErrorReason::MatchFinished);
    loss.assert_void().await;
}

#[tokio::test]
async fn a_node_that_has_seen_a_seal_that_is_gone_does_not_take_another() {
    let loss = Loss::prepare().await;
    loss.remember();
    loss.store.cut_off();
    loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 3, "C1")).await.unwrap();
    loss.store.fail_over();
    let again = loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 3, "D1")).await.unwrap_err();
    assert_eq!(reason(&again), ErrorReason::MatchFinished);
    loss.assert_void().await;
}

#[tokio::test]
async fn an_open_stream_finds_out_and_ends_the_match() {
    let loss = Loss::prepare().await;
    loss.store.cut_off();
    let mut watching = loss.comes_back(Seat::White, 2, None).await.unwrap();
    loss.duel.play(3, "C1", "G9").await;
    assert_eq!(watching.turn().await.turn, 3);
    loss.store.fail_over();
    // The next heartbeat reads.
    loss.cluster.advance_ms(10_000).await;
    let (_, end) = watching.rest().await;
    assert_eq!(reason(&end.unwrap_err()), ErrorReason::HistoryRegressed);
    loss.assert_void().await;
}

#[tokio::test]
async fn a_stream_whose_turns_are_all_there_tells_the_end_itself() {
    let loss = Loss::prepare().await;
    loss.store.cut_off();
    let mut watching = loss.comes_back(Seat::White, 2, None).await.unwrap();
    loss.duel.send_seal(Seat::Black, loss.seal(Seat::Black, 3, "C1")).await.unwrap();
    watching.status(|status| status.black.as_ref().is_some_and(|black| black.sealed == Some(true))).await;
    loss.store.fail_over();
    loss.cluster.advance_ms(10_000).await;
    assert_eq!(watching.finished().await.reason(), EndReason::LostHistory);
    loss.assert_void().await;
}

/// Black by the Rust client, with signed receipts.
async fn client(loss: &Loss) -> MatchHandle {
    let Loss { cluster, duel, .. } = loss;
    let address = cluster.nodes[0].address;
    let black = rust_client::at(cluster, duel, &duel.black, address, &Client::builder()).await;
    black.with_signed_receipts(true)
}

#[tokio::test]
async fn a_stream_of_the_rust_client_shows_its_receipt() {
    let loss = Loss::prepare().await;
    loss.store.cut_off();
    let black = client(&loss).await;
    soon("the receipt", black.seal(3, rust_client::cell("C1"))).await.unwrap();
    loss.store.fail_over();
    let mut stream = black.watch();
    let reason = loop {
        if let Update::Finished(finish) = rust_client::update(&mut stream).await {
            break finish.message.reason();
        }
    };
    assert_eq!(reason, EndReason::LostHistory);
    loss.assert_void().await;
}

#[tokio::test]
async fn a_seal_of_the_rust_client_shows_its_receipt_where_the_server_knows_another_history() {
    let loss = Loss::prepare().await;
    loss.store.cut_off();
    let black = client(&loss).await;
    soon("the receipt", black.seal(3, rust_client::cell("C1"))).await.unwrap();
    loss.duel.send_seal(Seat::White, loss.seal(Seat::White, 3, "G9")).await.unwrap();
    black.refresh().await.unwrap();
    loss.store.fail_over();
    let refused = soon("an answer", black.seal(4, rust_client::cell("D1"))).await.unwrap_err();
    assert_eq!(refused.reason(), Some(ErrorReason::MatchFinished));
    loss.assert_void().await;
}
