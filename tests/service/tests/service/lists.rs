//! `ListMatches`: every match of a player once, newest first, page by page.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, reason};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason, MatchState};

async fn list(caller: &Caller, request: v1::ListMatchesRequest) -> Result<v1::ListMatchesResponse, Status> {
    Ok(caller.matches().list_matches(request).await?.into_inner())
}

/// Five matches of ada, the oldest first: two of one moment, one of them finished.
async fn five_matches(cluster: &Cluster) -> Vec<Duel> {
    let mut duels = Vec::new();
    for pause_ms in [0, 1_000, 0, 1_000, 1_000] {
        cluster.advance_ms(pause_ms).await;
        duels.push(cluster.duel(Default::default()).await);
    }
    duels[2].resign(Seat::White).await.unwrap();
    for duel in &duels {
        cluster.settled(&duel.name).await;
    }
    duels
}

async fn all_pages(caller: &Caller, first: v1::ListMatchesRequest) -> Vec<v1::MatchSummary> {
    let (mut request, mut matches) = (first, Vec::new());
    loop {
        let page = list(caller, request.clone()).await.unwrap();
        assert!(page.matches.len() <= request.page_size as usize);
        matches.extend(page.matches);
        assert!(matches.len() < 50, "the pages do not come to an end");
        if page.next_page_token.is_empty() {
            return matches;
        }
        request.page_token = page.next_page_token;
    }
}

fn names(matches: &[v1::MatchSummary]) -> Vec<&str> {
    matches.iter().map(|game| game.name.as_str()).collect()
}

#[tokio::test]
async fn the_pages_together_have_every_match_once_newest_first() {
    let cluster = Cluster::of_two().await;
    let duels = five_matches(&cluster).await;
    let ada = &duels[0].black;
    for page_size in 1..=6 {
        let listed = all_pages(ada, v1::ListMatchesRequest { page_size, ..Default::default() }).await;
        let mut expected: Vec<_> = duels.iter().map(|duel| duel.name.as_str()).collect();
        expected.sort_unstable();
        let mut found = names(&listed);
        found.sort_unstable();
        assert_eq!(found, expected, "pages of {page_size}");
        let times: Vec<_> = listed.iter().map(|game| game.create_time.unwrap().seconds).collect();
        assert!(times.is_sorted_by(|newer, older| newer >= older), "pages of {page_size}: {times:?}");
    }
    let others = list(&cluster.player(1, "eve").await, v1::ListMatchesRequest::default()).await.unwrap();
    assert_eq!(others, v1::ListMatchesResponse::default());
}

#[tokio::test]
async fn finished_and_live_matches_can_be_listed_apart() {
    let cluster = Cluster::of_two().await;
    let duels = five_matches(&cluster).await;
    for player in [&duels[0].black, &duels[0].white] {
        let of = |finished| v1::ListMatchesRequest { page_size: 2, finished, ..Default::default() };
        let finished = all_pages(player, of(Some(true))).await;
        assert_eq!(names(&finished), [&duels[2].name]);
        assert_eq!(finished[0].state(), MatchState::Finished);
        assert_eq!(finished[0].result(), v1::MatchResult::BlackWins);
        let live = all_pages(player, of(Some(false))).await;
        assert_eq!(live.len(), 4);
        assert!(live.iter().all(|game| game.state() == MatchState::Open && game.finish_time.is_none()));
    }
}

#[tokio::test]
async fn a_page_token_is_good_for_its_own_list_only() {
    let cluster = Cluster::of_two().await;
    let duels = five_matches(&cluster).await;
    let (ada, bo) = (&duels[0].black, &duels[0].white);
    let first = list(ada, v1::ListMatchesRequest { page_size: 2, ..Default::default() }).await.unwrap();
    let token = first.next_page_token;
    let with =
        |page_token: &str| v1::ListMatchesRequest { page_token: page_token.to_owned(), ..Default::default() };
    let other_filter = v1::ListMatchesRequest { finished: Some(false), ..with(&token) };
    for refused in [
        list(bo, with(&token)).await.unwrap_err(),
        list(ada, other_filter).await.unwrap_err(),
        list(ada, with("nonsense")).await.unwrap_err(),
        list(ada, with(&format!("{token}.0"))).await.unwrap_err(),
    ] {
        assert_eq!(reason(&refused), ErrorReason::PageTokenInvalid);
        assert_eq!(ApiError::from_status(&refused).unwrap().fields()[0].field, "page_token");
    }
    assert!(list(ada, with(&token)).await.is_ok());
}

#[tokio::test]
async fn a_list_is_its_player_s_and_his_back_end_s() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    cluster.settled(&duel.name).await;
    let of_ada = v1::ListMatchesRequest { player: duel.black.name.clone(), ..Default::default() };
    assert_eq!(reason(&list(&duel.white, of_ada.clone()).await.unwrap_err()), ErrorReason::ScopeMissing);
    let backend = cluster.backend(0).await;
    assert_eq!(names(&list(&backend, of_ada).await.unwrap().matches), [&duel.name]);
    let of_nobody = list(&backend, v1::ListMatchesRequest::default()).await.unwrap_err();
    assert_eq!(reason(&of_nobody), ErrorReason::FieldRequired);
}
