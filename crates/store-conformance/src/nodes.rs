//! Nodes: who is there, what he told last, and who is to drain.

use std::sync::Arc;

use referee::Stamp;
use store::{NodeId, NodeReport, PoolName, PoolReport, SeenNode, StoreError};

use crate::world::World;

const ONE: NodeId = NodeId(1);
const TWO: NodeId = NodeId(u64::MAX);

/// What a node tells.
fn report(node: NodeId, name: &str, streams: u64) -> NodeReport {
    let pool = |name: &str, waiting, oldest_wait_ms| {
        let pool = PoolName::new(name).expect("a pool's name");
        PoolReport { pool, waiting, oldest_wait_ms }
    };
    NodeReport {
        node,
        name: name.to_owned(),
        version: "1.2.3".to_owned(),
        started: Stamp::from_ms(1_790_000_000_123),
        draining: streams == 0,
        streams,
        pools: vec![pool("eu", 0, None), pool("us.ranked", streams, Some(streams))],
    }
}

/// Says that a node is there, through the store as it sees it.
async fn meet(world: &World, report: &NodeReport) -> (Vec<NodeId>, bool) {
    let at = usize::from(report.node == TWO);
    let mut met = world.nodes()[at].meet(report).await.expect("a node can say that it is there");
    met.nodes.sort_unstable();
    assert!(met.nodes.contains(&report.node), "whoever says so is there");
    (met.nodes, met.drain)
}

/// The nodes, which every node sees alike.
async fn seen(world: &World) -> Vec<SeenNode> {
    let [one, other] = world.nodes();
    let seen = one.nodes().await.expect("nodes can be read");
    assert_eq!(other.nodes().await.as_ref(), Ok(&seen));
    seen
}

/// By name, with all that it told last.
pub async fn nodes_are_told_of_with_what_they_told_last(world: Arc<World>) {
    assert_eq!(seen(&world).await, []);
    meet(&world, &report(ONE, "b", 7)).await;
    meet(&world, &report(TWO, "a", 3)).await;
    meet(&world, &report(ONE, "b", 0)).await;
    let seen = seen(&world).await;
    let told: Vec<_> = seen.iter().map(|node| node.report.clone()).collect();
    assert_eq!(told, [report(TWO, "a", 3), report(ONE, "b", 0)]);
    assert!(seen.iter().all(|node| node.is_alive));
}

/// So that whoever looks which one it was still sees it.
pub async fn a_node_that_falls_silent_is_told_of_as_dead_for_a_while(world: Arc<World>) {
    meet(&world, &report(ONE, "one", 1)).await;
    let heard = seen(&world).await[0].heard;
    world.leap_ms(NodeId::SILENCE_MAX_MS).await;
    assert!(seen(&world).await[0].is_alive);
    world.leap_ms(1).await;
    let dead = SeenNode { report: report(ONE, "one", 1), heard, is_alive: false };
    assert_eq!(seen(&world).await, std::slice::from_ref(&dead));
    let mut silent_ms = NodeId::SILENCE_MAX_MS + 1;
    while silent_ms + NodeId::HEARTBEAT_MS <= NodeId::DEAD_KEPT_MS {
        world.leap_ms(NodeId::HEARTBEAT_MS).await;
        silent_ms += NodeId::HEARTBEAT_MS;
    }
    // Also while another one goes on.
    meet(&world, &report(TWO, "two", 2)).await;
    assert_eq!(seen(&world).await[0], dead);
    world.leap_ms(NodeId::HEARTBEAT_MS).await;
    meet(&world, &report(TWO, "two", 2)).await;
    let told: Vec<_> = seen(&world).await.into_iter().map(|node| node.report.node).collect();
    assert_eq!(told, [TWO]);
}

/// One that dies at each start fills no list.
pub async fn of_many_dead_nodes_the_latest_are_told_of(world: Arc<World>) {
    const OLDER: u64 = 5;
    let lives = OLDER + NodeId::DEAD_MAX as u64;
    for life in 1..=lives {
        meet(&world, &report(NodeId(life), "same", 1)).await;
        if life == OLDER {
            world.leap_ms(1).await;
        }
    }
    world.leap_ms(NodeId::SILENCE_MAX_MS + 1).await;
    meet(&world, &report(TWO, "two", 2)).await;
    let told: Vec<_> = seen(&world).await.into_iter().map(|node| node.report.node).collect();
    let latest = (OLDER + 1..=lives).map(NodeId);
    assert_eq!(told, latest.chain([TWO]).collect::<Vec<_>>());
}

/// It is not dead, it has gone.
pub async fn a_node_that_parts_is_told_of_no_more(world: Arc<World>) {
    meet(&world, &report(ONE, "one", 1)).await;
    meet(&world, &report(TWO, "two", 2)).await;
    world.store.part(ONE).await.expect("a node may go");
    let told: Vec<_> = seen(&world).await.into_iter().map(|node| node.report.node).collect();
    assert_eq!(told, [TWO]);
}

/// Each time, until it has gone; and one of the same name that comes after it is not.
pub async fn a_node_that_is_asked_to_drain_learns_it_and_no_other_does(world: Arc<World>) {
    assert_eq!(world.store.ask_to_drain(ONE).await, Err(StoreError::NotFound), "it is not there yet");
    let is_told = async |node: NodeId| meet(&world, &report(node, "same", 1)).await.1;
    assert!(!is_told(ONE).await && !is_told(TWO).await);
    for _ in 0..2 {
        assert_eq!(world.other.ask_to_drain(ONE).await, Ok(()));
        assert!(is_told(ONE).await && is_told(ONE).await && !is_told(TWO).await);
    }
    world.store.part(ONE).await.expect("a node may go");
    assert_eq!(world.store.ask_to_drain(ONE).await, Err(StoreError::NotFound));
    assert!(!is_told(TWO).await && !is_told(ONE).await, "it is another one now");
    world.leap_ms(NodeId::SILENCE_MAX_MS + 1).await;
    assert_eq!(world.store.ask_to_drain(TWO).await, Err(StoreError::NotFound), "it is dead");
}

/// Those that live, and those that still cause something elsewhere.
pub async fn matches_that_wait_are_counted(world: Arc<World>) {
    let count = async || world.other.waiting_matches().await.expect("they can be counted");
    assert_eq!(count().await, 0);
    let (first, _second) = (world.start().await, world.start().await);
    assert_eq!(count().await, 2);
    world.act(first, crate::world::resign(rules::Seat::Black)).await;
    world.settle_all(first).await;
    assert_eq!(count().await, 1);
}
