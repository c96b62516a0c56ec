//! D12: a server that knows a second version of the rules plays, stores, replays and verifies every match
//! under its own.
//!
//! `cargo test -p service-tests --features second-version two_rules`

use rules::{RulesVersion, Seat};
use service_tests::{Caller, Cluster, Duel, Keeping, Setup, cell};
use whattheshell::sealing::Claim as Chain;
use whattheshell::{Claim, Error, Transcript};
use wire::v1;

const FIRST: &str = RulesVersion::Wts2026_1.name();

/// A collision lays no egg in it.
const SECOND: &str = RulesVersion::Rehearsal.name();

/// A collision on I9; black closes a pincer, and where there is an egg it hatches; a move after that.
const MOVES: [(&str, &str); 5] = [("I9", "I9"), ("A1", "B1"), ("E5", "C1"), ("D1", "G7"), ("B1", "G5")];

/// The turn whose move comes after a restart.
const RESTART_BEFORE: usize = 4;

async fn begin(cluster: &Cluster, rules_version: &str) -> Duel {
    let settings = v1::MatchSettings { rules_version: rules_version.to_owned(), ..Default::default() };
    cluster.duel(settings).await
}

/// Plays these turns, counted from 0.
async fn play(duel: &Duel, turns: std::ops::Range<usize>) {
    for turn in turns {
        let (black, white) = MOVES[turn];
        duel.play(turn as u32 + 1, black, white).await;
    }
}

/// What is on I9 after each turn, as the text of a position says it.
fn corner(transcript: &v1::Transcript) -> String {
    let i9 = cell("I9") as usize - 1;
    let on = |turn: &v1::ResolvedTurn| char::from(turn.position.as_ref().unwrap().cells.as_bytes()[i9]);
    transcript.turns.iter().map(on).collect()
}

#[tokio::test]
async fn matches_of_two_versions_go_on_side_by_side_each_under_its_own() {
    let setup = Setup { keeping: Keeping::Directory, ..Setup::default() };
    let mut cluster = Cluster::start(setup).await;
    let known = cluster.stranger(0).await.players().get_server_info(v1::GetServerInfoRequest {}).await;
    assert_eq!(known.unwrap().into_inner().rules_versions, [FIRST, SECOND]);

    let (mut older, mut newer) = (begin(&cluster, FIRST).await, begin(&cluster, "").await);
    for duel in [&older, &newer] {
        play(duel, 0..RESTART_BEFORE).await;
    }
    cluster.restart().await;
    (older, newer) = (older.reconnected(&cluster).await, newer.reconnected(&cluster).await);
    for duel in [&older, &newer] {
        play(duel, RESTART_BEFORE..MOVES.len()).await;
        duel.resign(Seat::White).await.unwrap();
    }
    // Now from what is stored alone.
    cluster.restart().await;
    (older, newer) = (older.reconnected(&cluster).await, newer.reconnected(&cluster).await);
    for (duel, version, on_i9) in [(&older, FIRST, "eeebb"), (&newer, SECOND, ".....")] {
        let transcript = duel.white.transcript(&duel.name).await.unwrap();
        assert_eq!(transcript.settings.as_ref().unwrap().rules_version, version);
        assert_eq!(corner(&transcript), on_i9, "{version}");
        let verified = Transcript::from(transcript.clone()).verify().expect("its rules are known");
        assert_eq!(verified.turns.len(), MOVES.len());
        replays(&duel.black, &transcript).await;
        is_verified_by_no_other(transcript);
    }
}

/// A stream of the match from its beginning is the transcript.
async fn replays(caller: &Caller, transcript: &v1::Transcript) {
    let mut stream = caller.watch_after(&transcript.r#match, 0, &transcript.first_hash).await.unwrap();
    for turn in &transcript.turns {
        assert_eq!(stream.turn().await, *turn);
    }
    assert_eq!(Some(stream.finished().await), transcript.finish);
}

/// Under the other version the match's first hash is another one.
fn is_verified_by_no_other(mut transcript: v1::Transcript) {
    let settings = transcript.settings.as_mut().unwrap();
    settings.rules_version = if settings.rules_version == FIRST { SECOND } else { FIRST }.to_owned();
    match Transcript::from(transcript).verify().expect_err("it was not played by them") {
        Error::Verification(violation) => {
            assert_eq!(violation.claim, Claim::Transcript(Chain::FirstHash));
        }
        other => panic!("{other}"),
    }
}
