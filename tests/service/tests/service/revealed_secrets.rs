//! F1 and D1 of reveals where the seal status is hidden: a first reveal is in nothing that anybody else
//! receives and in no line of the log before the second, and a first commitment is in no status.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Log, Operation, Tap, Watching, cell, salt, seconds};
use wire::v1::watch_match_response::Update;
use wire::v1::{self, MatchState, SealStatus};

use super::marked;
use super::reveals::commit;

/// Longer than a test moves the clock, so that no deadline comes between.
const REVEAL_S: i64 = 300;

fn settings() -> v1::MatchSettings {
    v1::MatchSettings {
        seal_status: SealStatus::Hidden.into(),
        reveal_time: Some(seconds(REVEAL_S)),
        ..super::reveals::settings()
    }
}

fn whites() -> v1::OpenMove {
    v1::OpenMove { cell: cell("A1"), salt: salt(1, Seat::White) }
}

fn request(duel: &Duel, open: v1::OpenMove) -> v1::RevealMoveRequest {
    v1::RevealMoveRequest {
        name: duel.name.clone(),
        request_id: "reveal".to_owned(),
        turn: 1,
        open: Some(open),
        ..Default::default()
    }
}

/// Everybody but black behind a tap, with a stream each.
struct Onlookers {
    cluster: Cluster,
    duel: Duel,
    everybody: Vec<(&'static str, Caller, Tap, Watching)>,
}

impl Onlookers {
    /// A match in which both have committed, black to his marked move.
    async fn gather() -> Self {
        let cluster = Cluster::of_one().await;
        let mut duel = cluster.duel(settings()).await;
        let callers = [
            ("the opponent", duel.white.clone()),
            ("a spectator", cluster.player(0, "spectator").await),
            ("a back end", cluster.backend(0).await),
        ];
        let mut everybody = Vec::new();
        for (who, caller) in callers {
            let tap = Tap::on(cluster.nodes[0].address).await;
            let caller = caller.through(tap.address).await;
            let stream = caller.watch_after(&duel.name, 0, &[]).await.unwrap();
            everybody.push((who, caller, tap, stream));
        }
        duel.white = everybody[0].1.clone();
        commit(&duel, Seat::Black, &marked::open()).await;
        commit(&duel, Seat::White, &whites()).await;
        let mut onlookers = Self { cluster, duel, everybody };
        for (_, _, _, stream) in &mut onlookers.everybody {
            stream.status(|status| status.state() == MatchState::Revealing).await;
        }
        onlookers
    }

    /// Black reveals in every way that there is to go wrong, then for good.
    async fn reveal_marked(&self) {
        let good = request(&self.duel, marked::open());
        let black = self.duel.black.matches();
        let other_turn = v1::RevealMoveRequest { turn: 2, ..good.clone() };
        let no_request_id = v1::RevealMoveRequest { request_id: String::new(), ..good.clone() };
        let other_salt = v1::OpenMove { salt: marked::SALT[..31].to_vec(), ..marked::open() };
        let other_salt = v1::RevealMoveRequest { open: Some(other_salt), ..good.clone() };
        let other_cell = v1::OpenMove { cell: 68, ..marked::open() };
        let other_cell = v1::RevealMoveRequest { open: Some(other_cell), ..good.clone() };
        for refused in [other_turn, no_request_id, other_salt, other_cell] {
            black.clone().reveal_move(refused).await.expect_err("it does not fit");
        }
        let faults = &self.cluster.nodes[0].faults;
        for fault in [Fault::Refused, Fault::Panic, Fault::AnswerLost] {
            faults.at(Operation::Commit, 1, fault);
            black.clone().reveal_move(good.clone()).await.expect_err("the store fails");
        }
        black.clone().reveal_move(good).await.expect("the retry finds its reveal");
    }

    /// Everybody looks at the match and reads his stream up to a heartbeat.
    async fn look(&mut self) {
        self.cluster.advance_ms(10_000).await;
        for (_, caller, _, stream) in &mut self.everybody {
            while !matches!(stream.update().await, Update::Heartbeat(_)) {}
            caller.get(&self.duel.name).await.unwrap();
            caller.transcript(&self.duel.name).await.unwrap();
        }
    }

    fn assert_nothing_leaked(&self, log: &Log) {
        for (who, _, tap, _) in &self.everybody {
            assert_eq!(marked::salt_in(&tap.received()), None, "{who} received the salt");
        }
        let text = log.text();
        assert_eq!(marked::salt_in(&text), None, "the log has the salt");
        assert_eq!(marked::cell_in(&text), None, "the log has the cell");
    }
}

#[tokio::test]
async fn a_first_reveal_stays_secret_though_the_store_fails() {
    let log = Log::capture();
    let mut onlookers = Onlookers::gather().await;
    onlookers.reveal_marked().await;
    onlookers.look().await;
    onlookers.assert_nothing_leaked(&log);
    let own = onlookers.duel.seen_by(Seat::Black).await.status.and_then(|status| status.own_seal);
    assert_eq!(own.unwrap().cell, None, "a server that needs no trust shows no cell, not even to its sealer");

    // The same search finds it once it is public.
    let reveal = request(&onlookers.duel, whites());
    onlookers.duel.white.matches().reveal_move(reveal).await.unwrap();
    for (who, _, tap, stream) in &mut onlookers.everybody {
        stream.turn().await;
        assert_eq!(marked::salt_in(&tap.received()), Some("raw"), "{who} is told the resolved turn");
    }
}

#[tokio::test]
async fn a_reveal_that_is_never_answered_is_never_published() {
    let log = Log::capture();
    let mut onlookers = Onlookers::gather().await;
    onlookers.reveal_marked().await;
    let late_ms = u64::try_from(REVEAL_S).unwrap() * 1_000 + 1_000;
    onlookers.cluster.advance_ms(late_ms).await;
    for (_, caller, _, stream) in &mut onlookers.everybody {
        stream.finished().await;
        caller.transcript(&onlookers.duel.name).await.unwrap();
    }
    onlookers.assert_nothing_leaked(&log);
}

#[tokio::test]
async fn a_hidden_commitment_shows_with_the_second_and_sends_nothing_before() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(settings()).await;
    let mut opponent = duel.white.watch(&duel.name).await.unwrap();
    opponent.status(|status| status.turn == 1).await;
    let before = duel.seen_by(Seat::White).await;

    let first = commit(&duel, Seat::Black, &marked::open()).await.commitment;
    assert_eq!(duel.seen_by(Seat::White).await, before);
    let own = duel.seen_by(Seat::Black).await.status.unwrap();
    assert_eq!(own.own_seal.unwrap().commitment, first, "it is his own to see");
    cluster.advance_ms(10_000).await;
    assert!(matches!(opponent.update().await, Update::Heartbeat(_)), "nothing came before the heartbeat");

    let second = commit(&duel, Seat::White, &whites()).await.commitment;
    let both = opponent.status(|status| status.state() == MatchState::Revealing).await;
    let shown = [both.black.unwrap(), both.white.unwrap()].map(|side| side.commitment);
    assert_eq!(shown, [Some(first), Some(second)], "whoever reveals knows what the other is bound to");
}
