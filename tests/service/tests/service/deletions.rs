//! A player whose data are deleted: nothing that was his alone is left, and what is not stays as it was.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Operation, Setup, cell, reason, seconds, soon};
use wire::v1::{self, EndReason, ErrorReason, InviteState, SpeedClass, match_settings};

use super::back_end::{ban, delete, export, fresh_id};
use super::queue::{self, paired};

async fn standings(caller: &Caller, id: &str) -> Vec<v1::Standing> {
    let request = v1::GetPlayerRequest { name: format!("players/{id}") };
    let player = soon("GetPlayer", caller.players().get_player(request)).await.unwrap().into_inner();
    player.player.unwrap().standings
}

async fn board(caller: &Caller) -> Vec<String> {
    let request = v1::ListLeaderboardRequest { speed: SpeedClass::Rapid.into(), ..Default::default() };
    let board = soon("ListLeaderboard", caller.players().list_leaderboard(request)).await.unwrap();
    board.into_inner().entries.into_iter().map(|line| line.player).collect()
}

async fn listed(backend: &Caller, id: &str) -> usize {
    let request = v1::ListMatchesRequest { player: format!("players/{id}"), ..Default::default() };
    let listed = soon("ListMatches", backend.matches().list_matches(request)).await.unwrap();
    listed.into_inner().matches.len()
}

async fn home(backend: &Caller, id: &str) -> v1::PlayerState {
    let request = v1::WatchPlayerRequest { player: format!("players/{id}") };
    backend.watch_home_with(request).await.unwrap().state(|_| true).await
}

/// Nothing is known of ada.
async fn is_forgotten(backend: &Caller) {
    assert_eq!(standings(backend, "ada").await, []);
    assert!(!board(backend).await.contains(&"players/ada".to_owned()));
    assert_eq!(listed(backend, "ada").await, 0);
    let nothing = v1::PlayerState { player: "players/ada".to_owned(), ..Default::default() };
    assert_eq!(home(backend, "ada").await, nothing);
    let kept = export(backend, "ada", "").await;
    let player = Some(v1::Player { name: "players/ada".to_owned(), standings: Vec::new() });
    let tokens_from_time = kept.tokens_from_time;
    assert_eq!(kept, v1::ExportPlayerResponse { player, tokens_from_time, ..Default::default() });
    assert!(tokens_from_time.is_some(), "his tokens are called back");
}

async fn invited(inviter: &Caller, invitee: &str) -> String {
    let request =
        v1::CreateInviteRequest { request_id: fresh_id(), invitee: invitee.to_owned(), ..Default::default() };
    let made = soon("CreateInvite", inviter.matchmaking().create_invite(request)).await.unwrap();
    made.into_inner().invite.unwrap().name
}

async fn state_of(backend: &Caller, name: String) -> InviteState {
    let request = v1::GetInviteRequest { name, ..Default::default() };
    let invite = soon("GetInvite", backend.matchmaking().get_invite(request)).await.unwrap();
    invite.into_inner().invite.unwrap().state()
}

/// Ada has won a ranked match, plays a ranked one and two others, waits to begin a third, has made and received
/// invites. Returns the matches: over, ranked, live, not begun.
async fn a_life(cluster: &Cluster) -> ([Duel; 4], [String; 2]) {
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let over = paired(cluster, "ranked", &ada, &bo).await;
    over.join().await;
    over.resign(if over.black.name == "players/ada" { Seat::White } else { Seat::Black }).await.unwrap();
    cluster.settled(&over.name).await;
    let ranked = paired(cluster, "ranked", &ada, &bo).await;
    ranked.join().await;
    let live = cluster.duel(v1::MatchSettings::default()).await;
    live.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let waits = cluster.agreed(v1::MatchSettings::default()).await;
    let games = [over, ranked, live, waits];
    for game in &games {
        cluster.settled(&game.name).await;
    }
    (games, [invited(&ada, "players/bo").await, invited(&bo, "players/ada").await])
}

async fn ends(cluster: &Cluster, games: &[Duel; 4]) {
    for game in games {
        let seen = cluster.agreed_view(&game.name).await.unwrap();
        assert_eq!(seen.finish.unwrap().reason(), EndReason::Resignation);
    }
}

#[tokio::test]
async fn what_is_his_alone_is_gone_and_his_live_matches_are_resigned() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    let (games, [made, received]) = a_life(&cluster).await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    ban(&cluster, 0, "ada").await;
    delete(&backend, "ada", "delete").await.unwrap();
    is_forgotten(&backend).await;
    ends(&cluster, &games).await;
    assert_eq!(state_of(&backend, made).await, InviteState::Revoked);
    assert_eq!(state_of(&backend, received).await, InviteState::Declined);
    let refused = soon("ListMatches", ada.matches().list_matches(v1::ListMatchesRequest::default())).await;
    assert_eq!(reason(&refused.unwrap_err()), ErrorReason::TokenExpired, "he is not banned any more");
    // What is bo's as well: his list, his standing of both ranked matches, the transcripts.
    assert_eq!(listed(&backend, "bo").await, 4);
    let of_bo = standings(&backend, "bo").await;
    let ranked = of_bo.iter().find(|standing| standing.rating.is_some()).unwrap();
    assert_eq!((ranked.wins, ranked.losses), (1, 1));
    assert_eq!(board(&backend).await, ["players/bo"]);
    bo.transcript(&games[0].name).await.unwrap();

    delete(&backend, "ada", "another").await.unwrap();
    is_forgotten(&backend).await;
    cluster.advance_ms(20_000).await;
    is_forgotten(&backend).await;
}

#[tokio::test]
async fn a_deletion_cancels_his_ticket_and_frees_him() {
    let cluster = Cluster::of_two().await;
    let backend = cluster.backend(1).await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let ticket = queue::queue(&ada, "casual").await;
    delete(&backend, "ada", "delete").await.unwrap();
    assert_eq!(queue::get(&backend, &ticket.name).await.unwrap().state(), v1::TicketState::Cancelled);
    is_forgotten(&backend).await;
    let other = queue::queue(&bo, "casual").await;
    cluster.advance_ms(15_000).await;
    assert_eq!(queue::get(&bo, &other.name).await.unwrap().state(), v1::TicketState::Waiting);
    // Found for each other, and not joined yet.
    let again = cluster.player(1, "ada").await;
    let found = queue::queue(&again, "casual").await;
    let found = queue::matched(&cluster, &again, &found).await;
    delete(&backend, "ada", "delete-again").await.unwrap();
    is_forgotten(&backend).await;
    let game = cluster.agreed_view(&found.r#match).await.unwrap();
    assert_eq!(game.finish.unwrap().result(), v1::MatchResult::Aborted);
}

/// Whatever is refused or loses its answer: the same call again ends what was begun, and again changes nothing.
#[tokio::test]
async fn a_deletion_that_broke_off_is_finished_by_repeating_the_call() {
    for operation in [
        Operation::PutAccess,
        Operation::LeaveTicket,
        Operation::CloseInvite,
        Operation::Commit,
        Operation::Settle,
        Operation::Reserve,
        Operation::RemoveRecord,
        Operation::Unrank,
        Operation::ForgetMatchesOf,
    ] {
        for fault in [Fault::Refused, Fault::AnswerLost] {
            let cluster = Cluster::of_one().await;
            let backend = cluster.backend(0).await;
            let (games, _) = a_life(&cluster).await;
            cluster.nodes[0].faults.at(operation, 1, fault.clone());
            let broken = delete(&backend, "ada", "delete").await;
            if let Err(refused) = broken {
                assert_eq!(reason(&refused), ErrorReason::StoreUnavailable, "{operation:?}");
                delete(&backend, "ada", "delete").await.unwrap();
            }
            cluster.nodes[0].faults.clear();
            is_forgotten(&backend).await;
            ends(&cluster, &games).await;
        }
    }
}

/// What he has begun since is another life.
#[tokio::test]
async fn a_deletion_that_is_asked_for_again_deletes_nothing_more() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    delete(&backend, "ada", "delete").await.unwrap();
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    cluster.settled(&duel.name).await;
    delete(&backend, "ada", "delete").await.unwrap();
    assert_eq!(listed(&backend, "ada").await, 1);
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
}

/// Nobody remembers that there was another record. Here the match was not in his list yet.
#[tokio::test]
async fn a_match_that_ends_after_the_deletion_begins_a_new_record() {
    let cluster = Cluster::start(Setup::default()).await;
    let backend = cluster.backend(0).await;
    let turn = match_settings::TimeControl::TurnTime(seconds(600));
    let settings = v1::MatchSettings { time_control: Some(turn), ..Default::default() };
    for _ in 0..2 {
        let won = cluster.duel(settings.clone()).await;
        won.resign(Seat::White).await.unwrap();
        cluster.settled(&won.name).await;
    }
    let live = cluster.duel(settings).await;
    cluster.settled(&live.name).await;
    cluster.store.forget_matches_of("players/ada").await.unwrap();
    delete(&backend, "ada", "delete").await.unwrap();
    assert_eq!(standings(&backend, "ada").await, []);
    live.resign(Seat::White).await.unwrap();
    cluster.settled(&live.name).await;
    let anew = standings(&backend, "ada").await;
    assert_eq!(anew.iter().map(|standing| (standing.wins, standing.losses)).collect::<Vec<_>>(), [(1, 0)]);
}
