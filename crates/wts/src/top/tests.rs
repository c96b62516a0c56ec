//! What the screen and the table show of what servers say.

use expect_test::expect;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use whattheshell::prost_types::{Duration, Timestamp};
use wire::admin::v1::{LatencyBucket, Node, NodeState, NodeStats, PoolState, StoreStats};

use super::paint::paint;
use super::poll::{Polled, Shared};
use super::state::State;
use crate::screen::Palette;

const DAY_S: i64 = 86_400;

fn node(name: &str, state: NodeState, started_s: i64, streams: u64) -> Node {
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    Node {
        name: format!("nodes/{name}"),
        state: state.into(),
        server_version: "1.2.3".to_owned(),
        start_time: at(started_s),
        heartbeat_time: at(10 * DAY_S),
        streams,
    }
}

/// Counters after so many seconds of so many calls each.
fn stats(name: &str, seconds: i64, a_second: u64) -> NodeStats {
    let count = a_second * seconds.unsigned_abs();
    let bucket = |max_ms: Option<i32>, count| LatencyBucket {
        max: max_ms.map(|ms| Duration { seconds: 0, nanos: ms * 1_000_000 }),
        count,
    };
    NodeStats {
        node: format!("nodes/{name}"),
        time: Some(Timestamp { seconds: 10 * DAY_S + seconds, nanos: 0 }),
        calls: count,
        errors: count / 10,
        seals: count / 2,
        conflicts: count / 100,
        latencies: vec![
            bucket(Some(1), count * 9 / 10),
            bucket(Some(24), count * 95 / 1_000),
            bucket(None, count * 5 / 1_000),
        ],
        ..NodeStats::default()
    }
}

fn shared() -> Shared {
    let pool = |name: &str, waiting, oldest_s: Option<i64>| PoolState {
        pool: name.to_owned(),
        waiting,
        oldest_wait: oldest_s.map(|seconds| Duration { seconds, nanos: 400_000_000 }),
        owner: "nodes/eu-1".to_owned(),
    };
    Shared {
        nodes: vec![
            node("eu-1", NodeState::Serving, 8 * DAY_S, 1_200),
            node("eu-2", NodeState::Draining, 10 * DAY_S - 4_000, 7),
            node("eu-3", NodeState::Dead, 10 * DAY_S - 59, 0),
        ],
        pools: vec![
            pool("casual", Some(0), None),
            pool("ranked", Some(312), Some(75)),
            pool("new", None, None),
        ],
        store: StoreStats { live_matches: 5_321, shards: 256 },
    }
}

/// After two looks at two nodes, and none at the third.
fn seen() -> State {
    let mut state = State::default();
    for seconds in [100, 102] {
        let servers = vec![
            ("http://one".to_owned(), Ok(stats("eu-1", seconds, 1_000))),
            ("http://two".to_owned(), Ok(stats("eu-2", seconds, 200))),
            ("http://three".to_owned(), Err("the operators' listener does not answer".to_owned())),
        ];
        state.take(Polled { servers, shared: Some(shared()) });
    }
    state
}

fn drawn(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| paint(frame, state, Palette::Plain)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

#[test]
fn the_screen_shows_nodes_pools_and_what_is_wrong() {
    expect![[r#"
        What the Shell
        5321 live matches, 1 of 3 nodes serve, 1207 streams, 600 seals/s, 1200 calls/s, p50 1.0ms, p99 24ms
        http://three: the operators' listener does not answer

        NODE  STATE     VERSION  AGE   STREAMS  CALLS/S  ERRORS/S  SEALS/S  P50    P99   CONFLICTS/S
        eu-1  serving   1.2.3    2d    1200     1000     100       500      1.0ms  24ms  10
        eu-2  draining  1.2.3    1h6m  7        200      20        100      1.0ms  24ms  2
        eu-3  dead      1.2.3    59s   0        -        -         -        -      -     -

        POOL    WAITING  OLDEST WAIT  PAIRED BY
        casual  0        -            eu-1
        ranked  312      1m15s        eu-1
        new     ?        -            eu-1


        q leaves
    "#]]
    .assert_eq(&drawn(&seen(), 120, 16));
}

#[test]
fn the_table_says_the_same() {
    expect![[r#"
        5321 live matches, 1 of 3 nodes serve, 1207 streams, 600 seals/s, 1200 calls/s, p50 1.0ms, p99 24ms

        NODE  STATE     VERSION  AGE   STREAMS  CALLS/S  ERRORS/S  SEALS/S  P50    P99   CONFLICTS/S
        eu-1  serving   1.2.3    2d    1200     1000     100       500      1.0ms  24ms  10
        eu-2  draining  1.2.3    1h6m  7        200      20        100      1.0ms  24ms  2
        eu-3  dead      1.2.3    59s   0        -        -         -        -      -     -

        POOL    WAITING  OLDEST WAIT  PAIRED BY
        casual  0        -            eu-1
        ranked  312      1m15s        eu-1
        new     ?        -            eu-1

        http://three: the operators' listener does not answer
    "#]]
    .assert_eq(&seen().text());
}

#[test]
fn a_small_screen_shows_what_fits() {
    for (width, height) in [(1, 1), (20, 5), (44, 16)] {
        let drawn = drawn(&seen(), width, height);
        assert_eq!(drawn.lines().count(), usize::from(height));
    }
}

#[test]
fn before_anybody_has_answered_it_says_so() {
    let state = State::default();
    assert!(!state.is_seen());
    assert!(drawn(&state, 60, 8).contains("nobody has answered yet"));
}

#[test]
fn one_look_tells_no_rates_and_neither_does_a_node_that_has_started_again() {
    let first = |seconds, a_second| Polled {
        servers: vec![("http://one".to_owned(), Ok(stats("eu-1", seconds, a_second)))],
        shared: Some(shared()),
    };
    let mut state = State::default();
    state.take(first(100, 1_000));
    assert_eq!(state.nodes()[0][5..], ["-"; 6]);
    // Its counters begin anew.
    state.take(first(101, 1));
    assert_eq!(state.nodes()[0][5..], ["-"; 6]);
    state.take(first(102, 1));
    assert_eq!(state.nodes()[0][5], "1");
}
