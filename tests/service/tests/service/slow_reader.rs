//! A2: who does not read loses no turn, and costs nobody else anything.

use rules::{PerSeat, Seat};
use service_tests::{Caller, Cluster, Duel, Operation, Watching, soon};
use tonic::transport::Endpoint;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, EndReason, Spectators};

/// The HTTP/2 window of the streams that nobody reads, bytes: a handful of messages fills it.
const WINDOW_BYTES: u32 = 2_048;

/// What may be made for a stream that is not read: what fills its window, and what waits behind it in the
/// transport. A few messages, however long the match.
const MADE_AHEAD_MAX: usize = 16;

/// A game of 206 turns in which both players repeat themselves before black wins.
pub(crate) fn long_game() -> Vec<PerSeat<rules::Cell>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/games.jsonl");
    let games = std::fs::read_to_string(file).expect("the vectors are in the repository");
    let game = vectors::game_turns(games.lines().next().expect("it has games")).expect("a game");
    assert!(game.len() >= 100);
    game
}

/// The same caller over a connection whose streams have a small window.
async fn with_small_window(cluster: &Cluster, caller: &Caller) -> Caller {
    let endpoint = Endpoint::from_shared(format!("http://{}", cluster.nodes[0].address)).unwrap();
    let endpoint = endpoint.initial_stream_window_size(WINDOW_BYTES);
    let channel = soon("a connection", endpoint.connect()).await.unwrap();
    Caller::new(&caller.name, caller.credential.clone(), channel)
}

async fn play(duel: &Duel, turn: u32, cells: PerSeat<rules::Cell>) {
    for seat in Seat::BOTH {
        duel.seal(seat, turn, cells[seat].number().into()).await.unwrap();
    }
}

/// A match that its players play through the second node, and the callers who watch through the first.
async fn watched_match(cluster: &Cluster) -> (Duel, Vec<Caller>) {
    let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
    let mut duel = cluster.duel(settings).await;
    let watchers = [duel.black.clone(), duel.white.clone(), cluster.player(0, "spectator").await];
    duel.black = duel.black.through(cluster.nodes[1].address).await;
    let mut slow = Vec::new();
    for watcher in &watchers {
        slow.push(with_small_window(cluster, watcher).await);
    }
    (duel, slow)
}

/// Reads a stream to its end: every turn of the match once and in order, then the finish, then OK.
/// Returns how many statuses were among them.
fn assert_is_whole(updates: &[Update], transcript: &v1::Transcript) -> usize {
    let Some((Update::Snapshot(first), rest)) = updates.split_first() else {
        panic!("a snapshot comes first")
    };
    assert_eq!(first.turn, 0);
    let Some((Update::Finished(finish), rest)) = rest.split_last() else { panic!("the finish comes last") };
    assert_eq!(Some(finish), transcript.finish.as_ref());
    let turns: Vec<_> = rest
        .iter()
        .filter_map(|update| if let Update::Turn(turn) = update { Some(turn) } else { None })
        .collect();
    assert_eq!(turns, transcript.turns.iter().collect::<Vec<_>>());
    rest.iter().filter(|update| matches!(update, Update::Status(_))).count()
}

async fn drained(mut stream: Watching) -> Vec<Update> {
    let (updates, end) = stream.rest().await;
    end.expect("a finished match ends its stream with OK");
    updates
}

#[tokio::test]
async fn who_reads_late_gets_every_turn_once_and_in_order() {
    let cluster = Cluster::of_two().await;
    let (duel, slow) = watched_match(&cluster).await;
    let mut unread = Vec::new();
    for watcher in &slow {
        unread.push(watcher.watch_after(&duel.name, 0, &[]).await.unwrap());
    }
    let game = long_game();
    for (turn, cells) in (1..).zip(game.clone()) {
        play(&duel, turn, cells).await;
        if turn % 20 == 0 {
            // On the very connections of the streams that are not read.
            for watcher in &slow {
                assert_eq!(watcher.get(&duel.name).await.unwrap().turn, turn);
            }
        }
    }
    let transcript = duel.white.transcript(&duel.name).await.unwrap();
    assert_eq!(transcript.turns.len(), game.len());
    assert_eq!(transcript.finish.as_ref().map(v1::MatchFinished::reason), Some(EndReason::Row));
    for stream in unread {
        let statuses = assert_is_whole(&drained(stream).await, &transcript);
        // The match has had two for each of its turns.
        assert!(statuses <= MADE_AHEAD_MAX, "{statuses} statuses were kept for a reader who did not read");
    }
}

#[tokio::test]
async fn nothing_is_made_for_who_does_not_read() {
    let cluster = Cluster::of_two().await;
    let (duel, slow) = watched_match(&cluster).await;
    let mut unread = Vec::new();
    for watcher in &slow {
        unread.push(watcher.watch_after(&duel.name, 0, &[]).await.unwrap());
    }
    // Nobody else uses the first node.
    let faults = &cluster.nodes[0].faults;
    faults.record();
    for (turn, cells) in (1..).zip(long_game()) {
        play(&duel, turn, cells).await;
    }
    let reads =
        faults.recorded().into_iter().filter(|call| [Operation::Load, Operation::Turns].contains(call));
    assert!(reads.count() <= MADE_AHEAD_MAX * unread.len(), "{:?}", faults.recorded());
    drop(unread);
    cluster.nodes[0].subscriptions.become_exactly(0).await;
}

#[tokio::test]
async fn who_reads_late_with_a_large_window_gets_every_turn_too() {
    let cluster = Cluster::of_two().await;
    let (duel, slow) = watched_match(&cluster).await;
    let watcher = slow[0].through(cluster.nodes[0].address).await;
    let unread = watcher.watch_after(&duel.name, 0, &[]).await.unwrap();
    for (turn, cells) in (1..).zip(long_game()) {
        play(&duel, turn, cells).await;
    }
    let transcript = duel.white.transcript(&duel.name).await.unwrap();
    assert_is_whole(&drained(unread).await, &transcript);
}

#[tokio::test]
async fn a_reader_beside_many_who_do_not_read_gets_every_turn_as_it_is_played() {
    const UNREAD: usize = 200;
    let cluster = Cluster::of_two().await;
    let (duel, slow) = watched_match(&cluster).await;
    // One connection for all of them.
    let watcher = &slow[2];
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        unread.push(watcher.watch_after(&duel.name, 0, &[]).await.unwrap());
    }
    let mut read = watcher.watch_after(&duel.name, 0, &[]).await.unwrap();
    for (turn, cells) in (1..=40).zip(long_game()) {
        play(&duel, turn, cells).await;
        assert_eq!(read.turn().await.turn, turn);
    }
    duel.resign(Seat::White).await.unwrap();
    let transcript = duel.black.transcript(&duel.name).await.unwrap();
    assert_eq!(Some(read.finished().await), transcript.finish);
    for stream in unread {
        assert_is_whole(&drained(stream).await, &transcript);
    }
}

#[tokio::test]
async fn who_reads_what_waits_for_him_late_gets_the_present_state_and_nothing_was_kept_for_him() {
    let cluster = Cluster::of_two().await;
    let (duel, slow) = watched_match(&cluster).await;
    cluster.settled(&duel.name).await;
    let mut unread = slow[0].watch_home().await.unwrap();
    // Nobody else uses the first node.
    let faults = &cluster.nodes[0].faults;
    faults.record();
    let game = long_game();
    let turns = game.len() as u32 - 1;
    for (turn, cells) in (1..=turns).zip(game) {
        play(&duel, turn, cells).await;
    }
    let looks = faults.recorded().into_iter().filter(|call| *call == Operation::OpenInvitesOf).count();
    // Some of the looks find nothing new, and make nothing.
    assert!(looks <= 4 * MADE_AHEAD_MAX, "{looks} states were made for a reader who did not read");
    let (mut read, mut seen) = (0, Vec::new());
    while seen.last() != Some(&turns) {
        let state = unread.state(|_| true).await;
        seen.push(state.matches[0].r#match.as_ref().unwrap().turn);
        read += 1;
    }
    assert!(seen.is_sorted(), "the state never goes back: {seen:?}");
    // More of them than of turns, which are longer, fill the window.
    assert!(read <= 2 * MADE_AHEAD_MAX, "{read} states were kept for a reader who did not read");
    drop(unread);
    cluster.nodes[0].subscriptions.become_exactly(0).await;
}
