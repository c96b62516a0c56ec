//! The ready check: both come, or whoever was there waits again as long as he has.

use rules::Seat;
use service_tests::{Cluster, Fault, Operation, reason};
use store::Clock as _;
use wire::v1::{self, ErrorReason, TicketState};

use super::queue::{cancel, get, matched, paired, queue, until, watch};

/// C4, C5: an aborted launch.
#[tokio::test]
async fn who_was_there_waits_again_at_his_age_and_who_was_not_does_not() {
    let cluster = Cluster::of_two().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(1, "eve").await);
    let first = queue(&ada, "ranked").await;
    cluster.advance_ms(3_000).await;
    let second = queue(&eve, "ranked").await;
    let found = matched(&cluster, &ada, &first).await;
    let game = ada.get(&found.r#match).await.unwrap();
    let seat = if game.black.unwrap().player == ada.name { Seat::Black } else { Seat::White };
    let duel = service_tests::Duel {
        name: found.r#match.clone(),
        black: if seat == Seat::Black { ada.clone() } else { eve.clone() },
        white: if seat == Seat::Black { eve.clone() } else { ada.clone() },
    };
    duel.join_as(seat).await.unwrap();
    cluster.ended(&duel.name).await;
    let again = until(&cluster, &ada, &first.name, |ticket| ticket.state() == TicketState::Requeued).await;
    assert_eq!((&again.aborted_match, again.create_time), (&duel.name, first.create_time));
    assert_eq!(queue(&ada, "ranked").await.name, first.name, "it is his ticket");
    let missed = get(&eve, &second.name).await.unwrap();
    assert_eq!((missed.state(), &missed.r#match), (TicketState::Matched, &duel.name));
    let anew = queue(&eve, "ranked").await;
    assert_ne!(anew.name, second.name);
    // They met last, but never played: they may be paired at once.
    let once_more = matched(&cluster, &ada, &first).await;
    assert_ne!(once_more.r#match, duel.name);
    assert_eq!(once_more.r#match, matched(&cluster, &eve, &anew).await.r#match);
}

#[tokio::test]
async fn who_asks_before_the_node_has_tidied_up_waits_again_all_the_same() {
    let cluster = Cluster::of_one().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
    let duel = paired(&cluster, "casual", &ada, &eve).await;
    duel.join_as(Seat::Black).await.unwrap();
    let black = duel.black.clone();
    let ticket = queue(&black, "casual").await;
    assert_eq!(ticket.state(), TicketState::Matched);
    // Nothing the clockwork does comes about.
    cluster.nodes[0].faults.always(Operation::Due, Fault::Refused);
    cluster.advance_ms(20_001).await;
    let asked = queue(&black, "casual").await;
    assert_eq!((&asked.name, asked.create_time), (&ticket.name, ticket.create_time));
}

#[tokio::test]
async fn who_gives_up_before_the_start_lets_the_other_wait_again() {
    let cluster = Cluster::of_one().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
    let duel = paired(&cluster, "ranked", &ada, &eve).await;
    let ticket = queue(&duel.white, "ranked").await;
    duel.resign(Seat::Black).await.unwrap();
    let again =
        until(&cluster, &duel.white, &ticket.name, |ticket| ticket.state() == TicketState::Requeued).await;
    assert_eq!(again.aborted_match, duel.name);
    assert_eq!(cancel(&duel.black, "").await.unwrap(), None, "who gave up does not wait");
}

#[tokio::test]
async fn who_is_matched_again_at_once_is_held_by_that_match_however_late_the_abort_is_settled_twice() {
    let cluster = Cluster::of_one().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
    let duel = paired(&cluster, "ranked", &ada, &eve).await;
    let (white, faults) = (duel.white.clone(), &cluster.nodes[0].faults);
    let ticket = queue(&white, "ranked").await;
    // Only who asks settles what follows from the abort, and the first one is late.
    faults.always(Operation::Due, Fault::Refused);
    let late = faults.hold(Operation::Requeue);
    duel.resign(Seat::Black).await.unwrap();
    let first = tokio::spawn({
        let white = white.clone();
        async move { queue(&white, "ranked").await }
    });
    late.reached().await;
    assert_eq!(queue(&white, "ranked").await.state(), TicketState::Requeued);
    // The next match is decided, and not made yet.
    let unmade = faults.hold(Operation::Create);
    queue(&cluster.player(0, "max").await, "ranked").await;
    let ticking = async {
        loop {
            cluster.advance_ms(100).await;
        }
    };
    tokio::select! { () = unmade.reached() => {}, () = ticking => {} }
    late.open();
    let told = first.await.unwrap();
    unmade.open();
    assert_eq!((&told.name, told.state()), (&ticket.name, TicketState::Matched));
    assert_ne!(told.r#match, duel.name);
    let refusal = cancel(&white, "").await.unwrap_err();
    assert_eq!(reason(&refusal), ErrorReason::TicketNotOpen, "the match holds him");
    assert_eq!(queue(&white, "ranked").await.name, ticket.name);
}

#[tokio::test]
async fn who_wanted_out_does_not_wait_again() {
    let cluster = Cluster::of_one().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
    let duel = paired(&cluster, "ranked", &ada, &eve).await;
    let ticket = queue(&duel.white, "ranked").await;
    let refusal = cancel(&duel.white, &ticket.name).await.unwrap_err();
    assert_eq!(reason(&refusal), ErrorReason::TicketNotOpen, "he has a match");
    duel.resign(Seat::Black).await.unwrap();
    cluster.settled(&duel.name).await;
    assert_eq!(get(&duel.white, &ticket.name).await.unwrap().state(), TicketState::Matched);
    assert_eq!(cancel(&duel.white, "").await.unwrap(), None);
    assert_ne!(queue(&duel.white, "ranked").await.name, ticket.name);
}

#[tokio::test]
async fn a_stream_tells_of_a_match_that_is_there_and_renews_the_lease() {
    let cluster = Cluster::of_two().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(1, "eve").await);
    let ticket = queue(&ada, "ranked").await;
    let mut stream = watch(&ada, &ticket.name).await.unwrap();
    let first = super::queue::next(&mut stream).await.unwrap().unwrap();
    assert_eq!((&first.name, first.state()), (&ticket.name, TicketState::Waiting));
    for _ in 0..10 {
        cluster.advance_ms(6_000).await;
        let renewed = |ticket: &v1::Ticket| {
            let lease = ticket.lease_expire_time.as_ref().unwrap();
            lease.seconds * 1_000 > i64::try_from(cluster.clock.now_ms()).unwrap() + 10_000
        };
        until(&cluster, &ada, &ticket.name, renewed).await;
    }
    let other = queue(&eve, "ranked").await;
    let found = matched(&cluster, &eve, &other).await;
    let told = super::queue::next(&mut stream).await.unwrap().unwrap();
    assert_eq!((told.state(), &told.r#match), (TicketState::Matched, &found.r#match));
    assert!(ada.get(&told.r#match).await.is_ok(), "the match is there");
    assert_eq!(super::queue::next(&mut stream).await.unwrap(), None, "it ends with OK");
}

#[tokio::test]
async fn a_stream_ends_with_a_ticket_that_is_cancelled() {
    let cluster = Cluster::of_two().await;
    let ada = cluster.player(0, "ada").await;
    let ticket = queue(&ada, "ranked").await;
    let mut stream = watch(&ada, &ticket.name).await.unwrap();
    super::queue::next(&mut stream).await.unwrap();
    cancel(&ada.through(cluster.nodes[1].address).await, "").await.unwrap();
    let told = super::queue::next(&mut stream).await.unwrap().unwrap();
    assert_eq!(told.state(), TicketState::Cancelled);
    assert_eq!(super::queue::next(&mut stream).await.unwrap(), None);
}

#[tokio::test]
async fn a_players_home_shows_his_ticket_while_he_waits() {
    let cluster = Cluster::of_two().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(1, "eve").await);
    let mut home = ada.watch_home().await.unwrap();
    let ticket = queue(&ada, "ranked").await;
    let shown = home.state(|state| state.ticket.is_some()).await.ticket.unwrap();
    assert_eq!((&shown.name, shown.state()), (&ticket.name, TicketState::Waiting));
    let other = queue(&eve, "ranked").await;
    let found = matched(&cluster, &eve, &other).await;
    let shows_match = |state: &v1::PlayerState| {
        let names: Vec<_> = state.matches.iter().filter_map(|game| game.r#match.as_ref()).collect();
        names.iter().any(|game| game.name == found.r#match)
    };
    let waiting = async {
        home.state(|state| state.ticket.is_none() && shows_match(state)).await;
    };
    let ticking = async {
        loop {
            cluster.advance_ms(100).await;
        }
    };
    tokio::select! { () = waiting => {}, () = ticking => {} }
}
