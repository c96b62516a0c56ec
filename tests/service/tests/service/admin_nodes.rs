//! What operators see of nodes and pools, and how they take a node out of service.

use std::sync::Arc;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use referee::Stamp;
use service_tests::{Caller, Cluster, Fault, Operation, START_MS, Setup, reason, soon};
use store::keys::Keys;
use store::{ScriptedClock, Store};
use store_redis::{Options, RedisStore};
use tonic::{Code, Status};
use wire::ApiError;
use wire::admin::v1::{
    DrainNodeRequest, ListNodesRequest, ListNodesResponse, ListPoolsRequest, Node, NodeState, PoolState,
};
use wire::v1::ErrorReason;

use super::queue;

async fn list(operator: &Caller) -> Vec<Node> {
    let listed = soon("ListNodes", operator.admin().list_nodes(ListNodesRequest::default())).await;
    listed.unwrap().into_inner().nodes
}

async fn pools(operator: &Caller) -> Vec<PoolState> {
    let listed = soon("ListPools", operator.admin().list_pools(ListPoolsRequest::default())).await;
    listed.unwrap().into_inner().pools
}

async fn drain(operator: &Caller, name: &str) -> Result<Node, Status> {
    drain_as(operator, name, &format!("{:032x}", rand::random::<u128>())).await
}

/// The same by a request of this id.
async fn drain_as(operator: &Caller, name: &str, request_id: &str) -> Result<Node, Status> {
    let request = DrainNodeRequest { name: name.to_owned(), request_id: request_id.to_owned() };
    let drained = soon("DrainNode", operator.admin().drain_node(request)).await?;
    Ok(drained.into_inner().node.unwrap())
}

/// Asks until it is so, while time goes on.
async fn until<T>(cluster: &Cluster, what: &str, mut seen: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(seen) = seen().await {
                return seen;
            }
            // Under system time it has no effect, and the nodes' heart beats by itself.
            cluster.advance_ms(500).await;
        }
    };
    soon(what, looking).await
}

/// Two nodes over a Redis of their own, by its time.
async fn over_redis() -> (Single, Cluster) {
    let redis = Single::start(Flavor::Redis, &ServerOptions::new()).await.unwrap();
    let keys = Keys::generate(Stamp::from_ms(START_MS));
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..2 {
        let options = Options::new(redis.url().parse().unwrap());
        stores.push(Arc::new(RedisStore::open(options, keys.keyring()).await.unwrap()));
    }
    let setup = Setup { system_time: true, ..Setup::default() };
    let cluster = Cluster::on(setup, Arc::new(ScriptedClock::at_ms(START_MS)), &keys, stores).await;
    (redis, cluster)
}

#[tokio::test]
async fn a_node_is_listed_with_its_state_and_its_open_streams() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    let operator = cluster.admin(0).await;
    let streams = async |count: u64| {
        until(&cluster, "the streams", async || {
            let nodes = list(&operator).await;
            nodes.into_iter().find(|node| node.streams == count)
        })
        .await
    };
    let mut watching = duel.black.watch(&duel.name).await.unwrap();
    watching.snapshot().await;
    let home = duel.white.watch_home().await.unwrap();
    let node = streams(2).await;
    assert_eq!(node.state(), NodeState::Serving);
    assert_eq!(node.server_version, env!("CARGO_PKG_VERSION"));
    assert_eq!(node.start_time.unwrap(), service_tests::stamp(START_MS).unwrap());
    drop((watching, home));
    streams(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_over_one_redis_see_each_other_and_one_that_dies() {
    let (_redis, mut cluster) = over_redis().await;
    let operators = [cluster.admin(0).await, cluster.admin(1).await];
    for operator in &operators {
        let nodes = until(&cluster, "both nodes", async || {
            Some(list(operator).await).filter(|nodes| nodes.len() == 2)
        })
        .await;
        assert!(nodes.iter().all(|node| node.state() == NodeState::Serving));
    }
    // Dropped, it dies without a word.
    drop(cluster.nodes.pop());
    let dead = until(&cluster, "a dead node", async || {
        let nodes = list(&operators[0]).await;
        let dead = nodes.iter().filter(|node| node.state() == NodeState::Dead).count();
        (dead == 1).then_some(nodes)
    })
    .await;
    assert_eq!(dead.len(), 2);
}

#[tokio::test]
async fn nodes_and_pools_come_in_pages() {
    let cluster = Cluster::start(Setup { nodes: 3, ..Setup::default() }).await;
    let operator = cluster.admin(0).await;
    until(&cluster, "all nodes", async || (list(&operator).await.len() == 3).then_some(())).await;
    let mut names = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListNodesRequest { page_size: 2, page_token };
        let ListNodesResponse { nodes, next_page_token } =
            operator.admin().list_nodes(request).await.unwrap().into_inner();
        names.extend(nodes.into_iter().map(|node| node.name));
        page_token = next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let all: Vec<_> = list(&operator).await.into_iter().map(|node| node.name).collect();
    assert_eq!((names.len(), names), (3, all));

    let request = ListPoolsRequest { page_size: 1, page_token: String::new() };
    let first = operator.admin().list_pools(request).await.unwrap().into_inner();
    let request = ListPoolsRequest { page_size: 1, page_token: first.next_page_token };
    let second = operator.admin().list_pools(request).await.unwrap().into_inner();
    assert_eq!((&*first.pools[0].pool, &*second.pools[0].pool), ("casual", "ranked"));
    assert_eq!(second.next_page_token, "");
    let request = ListPoolsRequest { page_size: 1, page_token: "no token".to_owned() };
    let refused = operator.admin().list_pools(request).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::PageTokenInvalid);
}

#[tokio::test]
async fn a_pool_shows_who_waits_and_for_how_long() {
    let cluster = Cluster::of_one().await;
    let operator = cluster.admin(0).await;
    let casual = async |waiting: u64| {
        until(&cluster, "the pool", async || {
            let [casual, _ranked] = pools(&operator).await.try_into().unwrap();
            (casual.waiting == Some(waiting)).then_some(casual)
        })
        .await
    };
    assert_eq!(casual(0).await.oldest_wait, None);
    let ada = cluster.player(0, "ada").await;
    let ticket = queue::queue(&ada, "casual").await;
    let waits = casual(1).await;
    assert_eq!(waits.owner, list(&operator).await[0].name);
    let first = waits.oldest_wait.unwrap();
    for _ in 0..5 {
        cluster.advance_ms(1_000).await;
        queue::renew(&ada, &ticket.name).await.unwrap();
    }
    until(&cluster, "a longer wait", async || {
        let oldest = pools(&operator).await[0].oldest_wait?;
        (oldest.seconds >= first.seconds + 5).then_some(())
    })
    .await;
    queue::cancel(&ada, &ticket.name).await.unwrap();
    assert_eq!(casual(0).await.oldest_wait, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_over_redis_tells_of_every_pool() {
    let (_redis, cluster) = over_redis().await;
    let operators = [cluster.admin(0).await, cluster.admin(1).await];
    let ada = cluster.player(0, "ada").await;
    queue::queue(&ada, "casual").await;
    for operator in &operators {
        let casual = until(&cluster, "the pool", async || {
            let [casual, _ranked] = pools(operator).await.try_into().unwrap();
            (casual.waiting == Some(1)).then_some(casual)
        })
        .await;
        assert!(list(operator).await.iter().any(|node| node.name == casual.owner));
    }
}

/// Whichever of the two is asked, and while a stream is open on the one that goes.
async fn drains(mut cluster: Cluster, asked: usize) {
    let duel = cluster.duel(Default::default()).await;
    let operator = cluster.admin(asked).await;
    let black = duel.black.through(cluster.nodes[0].address).await;
    let mut watching = black.watch(&duel.name).await.unwrap();
    watching.snapshot().await;
    let nodes = until(&cluster, "both nodes", async || {
        Some(list(&operator).await)
            .filter(|nodes| nodes.len() == 2 && nodes.iter().any(|node| node.streams == 1))
    })
    .await;
    let gone = nodes.iter().find(|node| node.streams == 1).unwrap().name.clone();
    drain(&operator, &gone).await.unwrap();
    let ending = async {
        let (_, ended) = watching.rest().await;
        ended.unwrap_err()
    };
    let ticking = async {
        loop {
            cluster.advance_ms(500).await;
            tokio::task::yield_now().await;
        }
    };
    let status = tokio::select! {
        status = ending => status,
        never = ticking => never,
    };
    let error = ApiError::from_status(&status).unwrap();
    assert_eq!((status.code(), error.reason()), (Code::Unavailable, ErrorReason::ResumeElsewhere));
    // It ends by itself, within its grace.
    cluster.nodes[0].stopped().await.unwrap();
    let elsewhere = duel.black.through(cluster.nodes[1].address).await;
    elsewhere.watch(&duel.name).await.unwrap().snapshot().await;
    let operator = cluster.admin(1).await;
    let left = list(&operator).await;
    assert_eq!((left.len(), left[0].name == gone), (1, false), "it has said that it goes");
    assert_eq!(reason(&drain(&operator, &gone).await.unwrap_err()), ErrorReason::NotFound);
}

#[tokio::test]
async fn a_node_that_is_drained_by_itself_ends_and_its_streams_go_on_elsewhere() {
    drains(Cluster::of_two().await, 0).await;
}

#[tokio::test]
async fn a_node_that_is_drained_through_another_ends_and_its_streams_go_on_elsewhere() {
    drains(Cluster::of_two().await, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_drained_through_redis_ends_and_its_streams_go_on_elsewhere() {
    let (_redis, cluster) = over_redis().await;
    drains(cluster, 1).await;
}

#[tokio::test]
async fn only_a_node_that_is_there_can_be_drained() {
    let cluster = Cluster::of_one().await;
    let operator = cluster.admin(0).await;
    for (name, expected) in [
        ("nodes/nobody", ErrorReason::NotFound),
        ("nobody", ErrorReason::FieldInvalid),
        ("nodes/a b", ErrorReason::FieldInvalid),
    ] {
        let request = DrainNodeRequest { name: name.to_owned(), request_id: "drain".to_owned() };
        let refused = operator.admin().drain_node(request).await.unwrap_err();
        assert_eq!(reason(&refused), expected, "{name}");
        let nameless = DrainNodeRequest { name: name.to_owned(), request_id: String::new() };
        assert!(operator.admin().drain_node(nameless).await.is_err());
    }
    let serving = until(&cluster, "the node", async || list(&operator).await.pop()).await;
    assert_eq!(serving.state(), NodeState::Serving);
}

/// What it has lost may be why it is to go.
#[tokio::test]
async fn a_node_that_has_lost_its_store_is_still_drained_by_itself() {
    let mut cluster = Cluster::of_two().await;
    let operator = cluster.admin(0).await;
    cluster.nodes[0].faults.always(Operation::Remember, Fault::Refused);
    let own = until(&cluster, "the nodes", async || list(&operator).await.pop()).await;
    assert_eq!(reason(&drain(&operator, &own.name).await.unwrap_err()), ErrorReason::StoreUnavailable);
    assert_eq!(drain(&operator, "").await.unwrap().state(), NodeState::Draining);
    cluster.nodes[0].stopped().await.unwrap();
}

/// As after a lost answer, when the node has been deployed meanwhile.
#[tokio::test]
async fn a_repeated_drain_spares_the_node_that_has_the_name_since() {
    let node_name = Some("eu-1".to_owned());
    let mut cluster = Cluster::start(Setup { node_name, ..Setup::default() }).await;
    let there = async |cluster: &Cluster, operator: &Caller| {
        until(cluster, "the node", async || list(operator).await.pop()).await
    };
    let operator = cluster.admin(0).await;
    there(&cluster, &operator).await;
    drain_as(&operator, "nodes/eu-1", "deploy-1").await.unwrap();
    cluster.restart_node(0).await;
    let operator = cluster.admin(0).await;
    there(&cluster, &operator).await;
    let refused = drain_as(&operator, "nodes/eu-1", "deploy-1").await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::NotFound);
    assert_eq!(there(&cluster, &operator).await.state(), NodeState::Serving);
    drain_as(&operator, "nodes/eu-1", "deploy-2").await.unwrap();
    cluster.nodes[0].stopped().await.unwrap();
}

#[tokio::test]
async fn of_two_nodes_with_one_name_neither_is_drained_by_it() {
    let node_name = Some("eu-1".to_owned());
    let cluster = Cluster::start(Setup { nodes: 2, node_name, ..Setup::default() }).await;
    let operator = cluster.admin(0).await;
    until(&cluster, "both nodes", async || (list(&operator).await.len() == 2).then_some(())).await;
    let refused = drain(&operator, "nodes/eu-1").await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::FieldInvalid);
    assert!(list(&operator).await.iter().all(|node| node.state() == NodeState::Serving));
}
