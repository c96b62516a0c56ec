//! From two tickets to one match, whoever acts, dies or comes too late in between.

use futures::future::join_all;
use service_tests::{Caller, Cluster, Fault, Operation, Setup, soon};
use wire::v1::{self, TicketState};

use super::queue::{cancel, create, get, matched, queue, wish};

/// Every step by which a node comes from two waiting tickets to a match that both know of.
const STEPS: [Operation; 6] = [
    Operation::Pool,
    Operation::Claim,
    Operation::Create,
    Operation::IndexMatch,
    Operation::Settle,
    Operation::Made,
];

async fn two_nodes() -> (Cluster, Caller, Caller) {
    let cluster = Cluster::of_two().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(1, "eve").await);
    (cluster, ada, eve)
}

/// The live matches of a player.
async fn live(caller: &Caller) -> Vec<String> {
    let request = v1::ListMatchesRequest { finished: Some(false), ..Default::default() };
    let listed = soon("ListMatches", caller.matches().list_matches(request)).await.unwrap().into_inner();
    listed.matches.into_iter().map(|game| game.name).collect()
}

/// C6: the process dies at any step.
#[tokio::test]
async fn whichever_step_fails_the_match_comes_about_once() {
    for step in STEPS {
        for fault in [Fault::Refused, Fault::AnswerLost, Fault::Panic] {
            if step == Operation::Pool && matches!(fault, Fault::Panic) {
                continue;
            }
            let (cluster, ada, eve) = two_nodes().await;
            let (first, second) = (queue(&ada, "casual").await, queue(&eve, "casual").await);
            for node in &cluster.nodes {
                node.faults.at(step, 1, fault.clone());
            }
            // Whoever looks meets the fault too.
            let matching = async {
                while get(&ada, &first.name).await.is_ok_and(|seen| seen.state() == TicketState::Waiting) {
                    cluster.advance_ms(50).await;
                }
            };
            soon("the match", matching).await;
            cluster.nodes.iter().for_each(|node| node.faults.clear());
            let found = matched(&cluster, &ada, &first).await;
            assert_eq!(found.r#match, matched(&cluster, &eve, &second).await.r#match, "{step:?} {fault:?}");
            cluster.settled(&found.r#match).await;
            cluster.advance_ms(3_000).await;
            let only = std::slice::from_ref(&found.r#match);
            assert_eq!(live(&ada).await, only, "{step:?} {fault:?}");
            assert_eq!(live(&eve).await, only, "{step:?} {fault:?}");
        }
    }
}

/// C6: whoever looks makes what is owed.
#[tokio::test]
async fn who_reads_a_claimed_ticket_finds_the_match_there() {
    let (cluster, ada, eve) = two_nodes().await;
    let (first, _) = (queue(&ada, "casual").await, queue(&eve, "casual").await);
    for node in &cluster.nodes {
        node.faults.at(Operation::Create, 1, Fault::Refused);
    }
    let finding = async {
        loop {
            cluster.advance_ms(50).await;
            match get(&ada, &first.name).await {
                Ok(seen) if seen.state() == TicketState::Matched => break seen,
                // He meets the fault himself, and asks again.
                _ => {}
            }
        }
    };
    let found = soon("the match", finding).await;
    assert!(ada.get(&found.r#match).await.is_ok());
}

/// C2, C3: two nodes on one pool.
#[tokio::test]
async fn two_nodes_that_keep_one_pool_give_each_ticket_one_match() {
    // Neither hears of the other, so that both keep every pool.
    let cluster = Cluster::start(Setup { nodes: 2, ..Setup::default() }).await;
    let backends = [cluster.backend(0).await, cluster.backend(1).await];
    let mut tickets = Vec::new();
    for number in 0..40 {
        let player = format!("players/p{number}");
        let request = v1::CreateTicketRequest { player, ..wish("casual", &format!("t{number}")) };
        tickets.push(create(&backends[number % 2], request).await.unwrap());
    }
    let found = join_all(tickets.iter().map(|ticket| matched(&cluster, &backends[0], ticket))).await;
    let mut matches: Vec<_> = found.iter().map(|ticket| ticket.r#match.clone()).collect();
    matches.sort_unstable();
    for pair in matches.chunks(2) {
        assert_eq!(pair[0], pair[1], "two tickets a match");
    }
    matches.dedup();
    assert_eq!(matches.len(), 20);
    for ticket in found {
        let game = backends[1].get(&ticket.r#match).await.unwrap();
        let players = [game.black.unwrap().player, game.white.unwrap().player];
        assert!(players.contains(&ticket.player));
    }
}

/// C5: a cancel against the match.
#[tokio::test]
async fn of_a_cancel_and_a_match_at_once_exactly_one_comes_about() {
    let (mut confirmed, mut refused) = (0, 0);
    for round in 0..24 {
        let (cluster, ada, eve) = two_nodes().await;
        let (first, second) = (queue(&ada, "casual").await, queue(&eve, "casual").await);
        for _ in 0..round % 4 {
            tokio::task::yield_now().await;
        }
        let (cancelled, ()) = tokio::join!(cancel(&ada, &first.name), cluster.advance_ms(100));
        let seen = get(&ada, &first.name).await.unwrap();
        if cancelled.is_ok() {
            confirmed += 1;
            assert_eq!(seen.state(), TicketState::Cancelled);
            cluster.advance_ms(2_000).await;
            assert_eq!(live(&ada).await, Vec::<String>::new());
            let other = get(&eve, &second.name).await.unwrap();
            assert_eq!((other.state(), other.create_time), (TicketState::Waiting, second.create_time));
        } else {
            refused += 1;
            assert_eq!(seen.state(), TicketState::Matched);
            assert_eq!(matched(&cluster, &eve, &second).await.r#match, seen.r#match);
        }
    }
    assert_eq!(confirmed + refused, 24);
}

/// C10: a creation that is still on its way.
#[tokio::test]
async fn a_creation_that_comes_after_a_cancel_by_player_makes_no_ticket_that_waits() {
    let (cluster, ada, eve) = two_nodes().await;
    let held = cluster.nodes[0].faults.hold(Operation::CreateTicket);
    let late = tokio::spawn({
        let ada = ada.clone();
        async move { create(&ada, wish("casual", "late")).await }
    });
    held.reached().await;
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    assert_eq!(cancel(&elsewhere, "").await.unwrap().unwrap().state(), TicketState::Cancelled);
    held.open();
    assert_eq!(late.await.unwrap().unwrap().state(), TicketState::Cancelled);
    let other = queue(&eve, "casual").await;
    cluster.advance_ms(1_000).await;
    assert_eq!(get(&eve, &other.name).await.unwrap().state(), TicketState::Waiting);
}

/// C1: the same through another node, while the first call is on its way.
#[tokio::test]
async fn who_queues_again_while_his_first_call_is_on_its_way_waits_once() {
    let (cluster, ada, eve) = two_nodes().await;
    let held = cluster.nodes[0].faults.hold(Operation::CreateTicket);
    let first = tokio::spawn({
        let ada = ada.clone();
        async move { create(&ada, wish("casual", "first")).await }
    });
    held.reached().await;
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    let second = queue(&elsewhere, "casual").await;
    held.open();
    assert_eq!(first.await.unwrap().unwrap().name, second.name, "he is told of the one that waits");
    let other = queue(&eve, "casual").await;
    let found = matched(&cluster, &ada, &second).await;
    assert_eq!(matched(&cluster, &eve, &other).await.r#match, found.r#match);
    cluster.settled(&found.r#match).await;
    cluster.advance_ms(2_000).await;
    assert_eq!(live(&ada).await, [found.r#match]);
}

/// A4 for tickets: the caller gives up midway.
#[tokio::test]
async fn a_creation_that_is_given_up_at_any_step_is_whole_or_nothing() {
    for operation in [Operation::Remember, Operation::Record, Operation::Reserve, Operation::CreateTicket] {
        for answer in [false, true] {
            let (cluster, ada, _) = two_nodes().await;
            let faults = &cluster.nodes[0].faults;
            let gate = if answer { faults.hold_answer(operation) } else { faults.hold(operation) };
            let mut call = ada.matchmaking();
            let giving_up = tokio::spawn(async move { call.create_ticket(wish("casual", "once")).await });
            gate.reached().await;
            giving_up.abort();
            gate.given_up().await;
            gate.open();
            let again = create(&ada.through(cluster.nodes[1].address).await, wish("casual", "once")).await;
            let again = again.unwrap();
            assert_eq!(again.state(), TicketState::Waiting, "{operation:?} {answer}");
            assert_eq!(queue(&ada, "ranked").await.name, again.name);
            assert_eq!(cancel(&ada, "").await.unwrap().unwrap().name, again.name);
        }
    }
}

/// The clients' deadline is not the pool's: nothing waits for a node that hangs.
#[tokio::test]
async fn a_pool_whose_keeper_hangs_is_kept_by_the_other_node() {
    let (mut cluster, ada, eve) = two_nodes().await;
    let (first, second) = (queue(&ada, "casual").await, queue(&eve, "casual").await);
    cluster.nodes[0].stop();
    let stopping = cluster.nodes[0].stopped();
    soon("the end of a node", stopping).await.unwrap();
    let ada = ada.through(cluster.nodes[1].address).await;
    let found = matched(&cluster, &ada, &first).await;
    assert_eq!(found.r#match, matched(&cluster, &eve, &second).await.r#match);
}
