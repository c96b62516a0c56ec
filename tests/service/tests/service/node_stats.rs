//! What a node counts for operators.

use rules::Seat;
use service_tests::{Caller, Cluster, cell, soon};
use wire::admin::v1::{GetNodeStatsRequest, GetStoreStatsRequest, NodeStats};
use wire::v1::{self, SealStatus};

async fn stats(operator: &Caller) -> NodeStats {
    let read = soon("GetNodeStats", operator.admin().get_node_stats(GetNodeStatsRequest {})).await;
    read.unwrap().into_inner().stats.unwrap()
}

/// Calls by how long they took.
fn timed(stats: &NodeStats) -> u64 {
    stats.latencies.iter().map(|bucket| bucket.count).sum()
}

#[tokio::test]
async fn calls_refusals_seals_and_ends_are_counted_on_the_node_that_served_them() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let operators = [cluster.admin(0).await, cluster.admin(1).await];
    let before = [stats(&operators[0]).await, stats(&operators[1]).await];
    duel.play(1, "A1", "I9").await;
    duel.seal(Seat::Black, 1, cell("B2")).await.unwrap_err();
    duel.resign(Seat::White).await.unwrap();
    let after = [stats(&operators[0]).await, stats(&operators[1]).await];
    let grown = |of: fn(&NodeStats) -> u64| [0, 1].map(|at: usize| of(&after[at]) - of(&before[at]));
    // Black is at the first node, white at the second; operators' own calls are not players'.
    assert_eq!(grown(|stats| stats.calls), [2, 2]);
    assert_eq!(grown(timed), [2, 2]);
    assert_eq!(grown(|stats| stats.errors), [1, 0]);
    assert_eq!(grown(|stats| stats.seals), [0, 2], "by the node that resolved the turn");
    assert_eq!(grown(|stats| stats.finished_matches), [0, 1]);
    let bounds: Vec<_> = after[0].latencies.iter().map(|bucket| bucket.max).collect();
    assert!(bounds.is_sorted_by_key(|max| max.map_or((i64::MAX, 0), |max| (max.seconds, max.nanos))));
    assert!(bounds.iter().rev().skip(1).all(Option::is_some) && bounds.last().unwrap().is_none());
}

/// Otherwise whoever watches the counters would see that somebody has sealed.
#[tokio::test]
async fn a_seal_counts_once_its_turn_has_resolved() {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { seal_status: SealStatus::Hidden.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    let operator = cluster.admin(0).await;
    let before = stats(&operator).await;
    duel.seal(Seat::White, 1, cell("E5")).await.unwrap();
    let sealed = stats(&operator).await;
    // That there was a call of some player is seen, not which one.
    assert_eq!(sealed.calls, before.calls + 1);
    let hidden = |stats: &NodeStats| {
        (stats.seals, stats.errors, stats.finished_matches, stats.conflicts, stats.restamps, stats.streams)
    };
    assert_eq!(hidden(&sealed), hidden(&before));
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    assert_eq!(stats(&operator).await.seals, before.seals + 2);
}

#[tokio::test]
async fn live_matches_are_counted_over_the_whole_store() {
    let cluster = Cluster::of_two().await;
    let operators = [cluster.admin(0).await, cluster.admin(1).await];
    let live = async || {
        let mut seen = Vec::new();
        for operator in &operators {
            let read = operator.admin().get_store_stats(GetStoreStatsRequest {}).await.unwrap();
            seen.push(read.into_inner().stats.unwrap().live_matches);
        }
        assert_eq!(seen[0], seen[1]);
        seen[0]
    };
    assert_eq!(live().await, 0);
    let (first, _second) = (cluster.duel(Default::default()).await, cluster.duel(Default::default()).await);
    assert_eq!(live().await, 2);
    first.resign(Seat::Black).await.unwrap();
    cluster.settled(&first.name).await;
    assert_eq!(live().await, 1);
}
