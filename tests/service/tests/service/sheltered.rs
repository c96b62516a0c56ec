//! Where the server asks for an age mark, a player whose token has none is kept from strangers.

use middleware::{AgeMark, NewToken};
use rules::Seat;
use service_tests::{Caller, Cluster, START_MS, Setup, cell, reason, soon};
use wire::v1::{self, BotLevel, ErrorReason, Spectators};

use super::queue::{create, wish};

async fn player(cluster: &Cluster, id: &str, age: Option<AgeMark>) -> Caller {
    let name = format!("players/{id}");
    let token = cluster.token(&NewToken { age, ..NewToken::for_player(&name) }, START_MS);
    cluster.caller(0, &name, token).await
}

async fn sheltering(shelters: bool) -> Cluster {
    Cluster::start(Setup { shelters, ..Setup::default() }).await
}

#[tokio::test]
async fn without_an_age_mark_nobody_looks_for_opponents_in_a_pool() {
    let cluster = sheltering(true).await;
    let child = player(&cluster, "child", None).await;
    let refused = create(&child, wish("casual", "one")).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::GuardianRequired);
    let unknown_pool = create(&child, wish("nowhere", "two")).await.unwrap_err();
    assert_eq!(reason(&unknown_pool), ErrorReason::GuardianRequired, "whatever else is wrong");
    for (id, age) in [("adult", AgeMark::Adult), ("guarded", AgeMark::Guardian)] {
        create(&player(&cluster, id, Some(age)).await, wish("casual", "one")).await.unwrap();
    }
    // Its back end knows the child, and answers for it.
    let backend = cluster.backend(0).await;
    let by_backend = v1::CreateTicketRequest { player: child.name.clone(), ..wish("casual", "three") };
    create(&backend, by_backend).await.unwrap();

    let open = sheltering(false).await;
    create(&player(&open, "child", None).await, wish("casual", "one")).await.unwrap();
}

#[tokio::test]
async fn without_an_age_mark_nobody_watches_a_match_of_others() {
    let cluster = sheltering(true).await;
    let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
    // Friends play each other by invite.
    let duel = cluster.duel(settings).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    duel.seen_by(Seat::White).await;
    let child = player(&cluster, "child", None).await;
    assert_eq!(reason(&child.get(&duel.name).await.unwrap_err()), ErrorReason::GuardianRequired);
    let mut watching = child.watch(&duel.name).await;
    let refused = match &mut watching {
        Ok(watching) => watching.next().await.unwrap_err(),
        Err(status) => status.clone(),
    };
    assert_eq!(reason(&refused), ErrorReason::GuardianRequired);
    player(&cluster, "adult", Some(AgeMark::Adult)).await.get(&duel.name).await.unwrap();
}

#[tokio::test]
async fn without_an_age_mark_there_are_still_bots() {
    let cluster = sheltering(true).await;
    let child = player(&cluster, "child", None).await;
    let request = v1::CreateBotMatchRequest {
        request_id: "bot".to_owned(),
        level: BotLevel::BotLevel0.into(),
        settings: Some(v1::MatchSettings::default()),
        ..Default::default()
    };
    soon("CreateBotMatch", child.matchmaking().create_bot_match(request)).await.unwrap();
}
