//! Records, ratings and leaderboards: what a finished match changes, once.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Operation, reason, soon};
use wire::v1::{self, ErrorReason, MatchMode, SpeedClass};

use super::queue::{create, matched, paired, turns_of, wish};

async fn standings(caller: &Caller, name: &str) -> Vec<v1::Standing> {
    let request = v1::GetPlayerRequest { name: name.to_owned() };
    let player = soon("GetPlayer", caller.players().get_player(request)).await.unwrap().into_inner();
    player.player.unwrap().standings
}

async fn board(caller: &Caller, request: v1::ListLeaderboardRequest) -> v1::ListLeaderboardResponse {
    let request = v1::ListLeaderboardRequest { speed: SpeedClass::Rapid.into(), ..request };
    soon("ListLeaderboard", caller.players().list_leaderboard(request)).await.unwrap().into_inner()
}

async fn won_by_black(cluster: &Cluster, duel: &Duel) {
    duel.join().await;
    duel.resign(Seat::White).await.unwrap();
    cluster.settled(&duel.name).await;
}

#[tokio::test]
async fn a_ranked_match_moves_both_ratings_once_and_is_pinned_in_the_match() {
    let cluster = Cluster::of_two().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(1, "eve").await);
    let duel = paired(&cluster, "ranked", &ada, &eve).await;
    let game = duel.seen_by(Seat::Black).await;
    assert_eq!((game.black.unwrap().rating, game.white.unwrap().rating), (Some(1500.0), Some(1500.0)));
    won_by_black(&cluster, &duel).await;
    let (winner, loser) = (&duel.black.name, &duel.white.name);
    let of_winner = standings(&eve, winner).await;
    let of_loser = standings(&ada, loser).await;
    let [winner_now, loser_now] = [&of_winner, &of_loser].map(|all| &all[..]);
    let ([won], [lost]) = (winner_now, loser_now) else {
        panic!("one kind of match: {of_winner:?} {of_loser:?}")
    };
    assert_eq!((won.mode(), won.speed()), (MatchMode::Ranked, SpeedClass::Rapid));
    assert_eq!((won.wins, won.losses, won.draws), (1, 0, 0));
    assert_eq!((lost.wins, lost.losses, lost.draws), (0, 1, 0));
    let (up, down) = (won.rating.unwrap(), lost.rating.unwrap());
    // Glickman's formulae for two new players.
    assert!((up.value - 1662.31).abs() < 0.01 && (down.value - 1337.69).abs() < 0.01, "{up:?} {down:?}");
    assert!(up.deviation < 350.0);
    cluster.advance_ms(3_000).await;
    assert_eq!(standings(&ada, winner).await, of_winner, "and once");

    let again = paired(&cluster, "ranked", &ada, &eve).await;
    let game = again.seen_by(Seat::Black).await;
    let rated = |seat: &v1::MatchSeat| if &seat.player == winner { up.value } else { down.value };
    let (black, white) = (game.black.unwrap(), game.white.unwrap());
    assert_eq!((black.rating, white.rating), (Some(rated(&black)), Some(rated(&white))));
    assert_eq!(black.player, *loser, "colours even out");
}

/// A follow-up that fails at any step is done again, and counts once.
#[tokio::test]
async fn a_match_counts_once_whatever_fails() {
    for operation in [Operation::PutRecord, Operation::Rank, Operation::Reserve, Operation::Settle] {
        for fault in [Fault::Refused, Fault::AnswerLost] {
            let cluster = Cluster::of_one().await;
            let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
            let duel = paired(&cluster, "ranked", &ada, &eve).await;
            duel.join().await;
            cluster.settled(&duel.name).await;
            for nth in 1..=2 {
                cluster.nodes[0].faults.at(operation, nth, fault.clone());
            }
            duel.resign(Seat::White).await.unwrap();
            cluster.settled(&duel.name).await;
            for (name, wins) in [(&duel.black.name, 1), (&duel.white.name, 0)] {
                let all = standings(&ada, name).await;
                let counts: Vec<_> = all.iter().map(|one| (one.wins, one.losses)).collect();
                assert_eq!(counts, [(wins, 1 - wins)], "{operation:?} {fault:?}");
            }
            let lines = board(&ada, v1::ListLeaderboardRequest::default()).await.entries;
            assert_eq!(lines.len(), 2, "{operation:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn casual_matches_are_counted_and_not_rated_and_what_never_began_is_neither() {
    let cluster = Cluster::of_one().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
    let casual = paired(&cluster, "casual", &ada, &eve).await;
    won_by_black(&cluster, &casual).await;
    let invited = cluster.duel(v1::MatchSettings::default()).await;
    invited.resign(Seat::Black).await.unwrap();
    cluster.settled(&invited.name).await;
    let never = cluster.agreed(v1::MatchSettings::default()).await;
    never.resign(Seat::Black).await.unwrap();
    cluster.settled(&never.name).await;
    let all = standings(&eve, "players/ada").await;
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.mode(), one.rating), (MatchMode::Casual, None));
    assert_eq!(one.wins + one.losses, 2);
    assert!(board(&ada, v1::ListLeaderboardRequest::default()).await.entries.is_empty());
}

#[tokio::test]
async fn each_speed_has_a_rating_of_its_own() {
    let cluster = Cluster::of_one().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(0, "eve").await);
    won_by_black(&cluster, &paired(&cluster, "ranked", &ada, &eve).await).await;
    let fast = |id: &str| v1::CreateTicketRequest { time_controls: vec![turns_of(10)], ..wish("ranked", id) };
    let first = create(&ada, fast("fast-ada")).await.unwrap();
    assert_eq!(first.rating, 1500.0, "his rating at this speed");
    let second = create(&eve, fast("fast-eve")).await.unwrap();
    let found = matched(&cluster, &ada, &first).await;
    assert_eq!(matched(&cluster, &eve, &second).await.r#match, found.r#match);
    let game = ada.get(&found.r#match).await.unwrap();
    assert_eq!((game.black.unwrap().rating, game.white.unwrap().rating), (Some(1500.0), Some(1500.0)));
}

#[tokio::test]
async fn a_leaderboard_shows_the_best_first_by_pages_and_those_around_a_player() {
    let cluster = Cluster::of_one().await;
    // Each wins against a player of his own, so that all have one rating or the other.
    let mut winners = Vec::new();
    for number in 0..5 {
        let one = cluster.player(0, &format!("one-{number}")).await;
        let other = cluster.player(0, &format!("other-{number}")).await;
        let duel = paired(&cluster, "ranked", &one, &other).await;
        won_by_black(&cluster, &duel).await;
        winners.push(duel.black.name.clone());
    }
    let ada = cluster.player(0, "ada").await;
    let page = |page_size, page_token: &str| v1::ListLeaderboardRequest {
        page_size,
        page_token: page_token.to_owned(),
        ..Default::default()
    };
    let whole = board(&ada, page(100, "")).await;
    let ranks: Vec<_> = whole.entries.iter().map(|entry| entry.rank).collect();
    assert_eq!(ranks, [1, 1, 1, 1, 1, 6, 6, 6, 6, 6], "equal ratings share a rank");
    assert!(whole.entries[..5].iter().all(|entry| winners.contains(&entry.player)));
    assert!(whole.entries.iter().all(|entry| entry.rating.unwrap().deviation < 350.0));
    let (mut pages, mut token) = (Vec::new(), String::new());
    loop {
        let next = board(&ada, page(3, &token)).await;
        pages.extend(next.entries);
        token = next.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(pages, whole.entries);

    let last = whole.entries.last().unwrap().player.clone();
    let around =
        |player: &str| v1::ListLeaderboardRequest { around_player: player.to_owned(), ..page(4, "") };
    let near = board(&ada, around(&last)).await;
    assert_eq!(near.entries, whole.entries[7..].to_vec());
    assert!(board(&ada, around("players/ada")).await.entries.is_empty(), "she is not on it");
    let other_list = v1::ListLeaderboardRequest {
        page_token: board(&ada, page(3, "")).await.next_page_token,
        ..around(&last)
    };
    let request = v1::ListLeaderboardRequest { speed: SpeedClass::Rapid.into(), ..other_list };
    let refused = ada.players().list_leaderboard(request).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::PageTokenInvalid);
}
