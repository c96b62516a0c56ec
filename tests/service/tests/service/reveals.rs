//! D14: commit-reveal over the wire. The server knows no move before its reveal, the first reveal is held
//! until the second, and who withholds his loses.

use rules::{Cell, Seat};
use sealing::{Digest, MatchId, Opening, Salt, SealContext};
use service_tests::{Cluster, Duel, START_MS, cell, salt};
use tonic::Status;
use wire::v1::{self, EndReason, MatchFinished, MatchResult, MatchState, SealMode};

use super::{marked, sealed_move};

/// The time to reveal where the settings do not say, ms.
const REVEAL_MS: u64 = 10_000;

pub(crate) fn settings() -> v1::MatchSettings {
    v1::MatchSettings {
        seal_mode: SealMode::CommitReveal.into(),
        spectators: v1::Spectators::Live.into(),
        ..Default::default()
    }
}

fn open(seat: Seat, name: &str) -> v1::OpenMove {
    v1::OpenMove { cell: cell(name), salt: salt(1, seat) }
}

/// A seat commits to an opening for turn 1.
pub(crate) async fn commit(duel: &Duel, seat: Seat, open: &v1::OpenMove) -> v1::SealReceipt {
    commit_in(duel, seat, 1, open).await
}

/// A seat commits to an opening for the turn that is open.
pub(crate) async fn commit_in(duel: &Duel, seat: Seat, turn: u32, open: &v1::OpenMove) -> v1::SealReceipt {
    let game = duel.seen_by(seat).await;
    let id: MatchId = game.name.trim_start_matches("matches/").parse().unwrap();
    let previous = Digest::try_from(game.hash.as_slice()).unwrap();
    let context =
        SealContext { match_id: id, turn, seat, player: &duel.player(seat).name, previous: &previous };
    let opening = Opening {
        cell: Cell::from_number(u8::try_from(open.cell).unwrap()).unwrap(),
        salt: Salt::try_from(open.salt.as_slice()).unwrap(),
    };
    let commitment = context.commit(&opening).as_bytes().to_vec();
    let mut request = duel.seal_request(seat, turn, open.cell);
    request.r#move = Some(v1::seal_move_request::Move::Commitment(commitment));
    duel.send_seal(seat, request).await.unwrap()
}

/// A seat opens its commitment of turn 1.
pub(crate) async fn reveal(duel: &Duel, seat: Seat, open: &v1::OpenMove) -> Result<(), Status> {
    let request = v1::RevealMoveRequest {
        name: duel.name.clone(),
        request_id: "reveal".to_owned(),
        turn: 1,
        open: Some(open.clone()),
        ..Default::default()
    };
    duel.player(seat).matches().reveal_move(request).await.map(drop)
}

/// A match in which both have committed to these openings, black first.
async fn committed(cluster: &Cluster, black: &v1::OpenMove, white: &v1::OpenMove) -> Duel {
    let duel = cluster.duel(settings()).await;
    commit(&duel, Seat::Black, black).await;
    commit(&duel, Seat::White, white).await;
    duel
}

async fn end(cluster: &Cluster, duel: &Duel) -> MatchFinished {
    cluster.stored(&duel.name, |game| game.finish().is_some()).await;
    cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap()
}

#[tokio::test]
async fn a_turn_resolves_when_both_have_revealed() {
    let cluster = Cluster::of_two().await;
    let (black, white) = (open(Seat::Black, "A1"), open(Seat::White, "I9"));
    let duel = committed(&cluster, &black, &white).await;
    let mut watching = duel.white.watch(&duel.name).await.unwrap();
    let status = watching.status(|status| status.state() == MatchState::Revealing).await;
    assert_eq!(status.reveal_deadline.unwrap().seconds, ((START_MS + REVEAL_MS) / 1_000) as i64);
    reveal(&duel, Seat::White, &white).await.unwrap();
    reveal(&duel, Seat::Black, &black).await.unwrap();
    let turn = watching.turn().await;
    let cells = [turn.black.unwrap(), turn.white.unwrap()].map(|opened| opened.cell);
    assert_eq!(cells, [black.cell, white.cell]);
    for (seat, open) in [(Seat::Black, &black), (Seat::White, &white)] {
        reveal(&duel, seat, open).await.expect("a repetition is answered as it first was");
    }
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn the_first_reveal_is_held_back_from_everybody() {
    let cluster = Cluster::of_two().await;
    let duel = committed(&cluster, &marked::open(), &open(Seat::White, "I9")).await;
    reveal(&duel, Seat::Black, &marked::open()).await.unwrap();
    sealed_move::ask_everything(&cluster, &duel).await;
    let status = duel.seen_by(Seat::White).await.status.unwrap();
    assert_eq!(status.black.unwrap().revealed, Some(true), "that he has is no secret");
}

#[tokio::test]
async fn who_does_not_reveal_in_time_loses_and_two_draw() {
    for (revealing, result) in [
        (Some(Seat::Black), MatchResult::BlackWins),
        (Some(Seat::White), MatchResult::WhiteWins),
        (None, MatchResult::Draw),
    ] {
        let cluster = Cluster::of_two().await;
        let opens = [open(Seat::Black, "A1"), open(Seat::White, "I9")];
        let duel = committed(&cluster, &opens[0], &opens[1]).await;
        if let Some(seat) = revealing {
            let index = usize::from(seat == Seat::White);
            reveal(&duel, seat, &opens[index]).await.unwrap();
        }
        cluster.advance_ms(REVEAL_MS + 1_000).await;
        let finish = end(&cluster, &duel).await;
        assert_eq!((finish.result(), finish.reason()), (result, EndReason::FailedReveal));
        assert_eq!(finish.finish_time.unwrap().seconds, ((START_MS + REVEAL_MS) / 1_000) as i64);
        assert!(duel.black.transcript(&duel.name).await.unwrap().turns.is_empty());
    }
}

#[tokio::test]
async fn a_wrong_opening_changes_nothing_and_the_right_one_still_counts() {
    let cluster = Cluster::of_two().await;
    let (black, white) = (open(Seat::Black, "A1"), open(Seat::White, "I9"));
    let duel = committed(&cluster, &black, &white).await;
    let before = duel.seen_by(Seat::Black).await;
    for wrong in [open(Seat::Black, "A2"), v1::OpenMove { salt: vec![3; 32], ..black.clone() }] {
        reveal(&duel, Seat::Black, &wrong).await.unwrap_err();
    }
    assert_eq!(duel.seen_by(Seat::Black).await, before);
    reveal(&duel, Seat::Black, &black).await.unwrap();
    reveal(&duel, Seat::White, &white).await.unwrap();
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}
