//! Tickets: what is asked for once, and a stream that goes on until the ticket is over.

use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::timeout;
use tonic::Status;
use whattheshell::v1::TicketState::{self, Cancelled, Expired, Matched, Requeued, Waiting};
use whattheshell::v1::{self, ErrorReason};
use whattheshell::{ApiError, Error, TicketStream};

use crate::history::{MATCH, stamp};
use crate::lobby::{Lobby, OnCall, OnWatch, Step, ann};

/// The longest a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

const TICKET: &str = "tickets/ranked.0198c5a00000700080000000000000aa";

fn ticket(state: TicketState) -> v1::Ticket {
    let game = if state == Matched { MATCH } else { "" };
    v1::Ticket {
        name: TICKET.to_owned(),
        state: state.into(),
        r#match: game.to_owned(),
        lease_expire_time: stamp(1),
        ..v1::Ticket::default()
    }
}

fn told(state: TicketState) -> Step {
    Step::Ticket(Box::new(ticket(state)))
}

fn drained() -> Step {
    Step::Fail(ApiError::new(ErrorReason::ResumeElsewhere).into())
}

/// The states up to the end, and the error if it is one.
async fn states(tickets: &mut TicketStream) -> (Vec<TicketState>, Option<Error>) {
    let mut states = Vec::new();
    let all = async {
        while let Some(ticket) = tickets.next().await {
            match ticket {
                Ok(ticket) => states.push(ticket.state()),
                Err(error) => return Some(error),
            }
        }
        None
    };
    let error = timeout(PATIENCE, all).await.expect("the stream goes on or ends");
    assert!(tickets.next().await.is_none(), "nothing comes after the end");
    (states, error)
}

/// A server of these streams, what a client is told of them, and how many calls that took.
async fn watched(on_watch: OnWatch) -> (Vec<TicketState>, Option<Error>, usize) {
    let (lobby, ann) = ann(Lobby { on_watch, ..Lobby::default() }).await;
    let (states, error) = states(&mut ann.watch_ticket(TICKET)).await;
    assert!(lobby.watched().iter().all(|name| name == TICKET));
    (states, error, lobby.watched().len())
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_and_says_nothing_twice() {
    let (states, error, calls) = watched(Box::new(|nth| match nth {
        0 => vec![told(Waiting), Step::Heartbeat, Step::Unknown, drained()],
        // It ends with OK though the ticket still waits, after a lease that was only renewed.
        1 => {
            let renewed = v1::Ticket { lease_expire_time: stamp(2), ..ticket(Waiting) };
            vec![Step::Ticket(Box::new(renewed))]
        }
        2 => vec![Step::Fail(Status::unavailable("restarting"))],
        3 => vec![told(Waiting), told(Requeued), drained()],
        _ => vec![told(Requeued), told(Matched), told(Waiting)],
    }))
    .await;
    assert_eq!((states, calls), (vec![Waiting, Requeued, Matched], 5));
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn a_stream_ends_after_what_a_ticket_does_not_return_from() {
    for last in [Matched, Cancelled, Expired] {
        let (states, error, calls) = watched(Box::new(move |_| vec![told(Waiting), told(last)])).await;
        assert_eq!((states, calls), (vec![Waiting, last], 1));
        assert!(error.is_none(), "{error:?}");
    }
}

#[tokio::test]
async fn what_repeating_does_not_mend_ends_a_stream() {
    let (states, error, calls) = watched(Box::new(|nth| match nth {
        0 => vec![told(Waiting), drained()],
        _ => vec![Step::Fail(ApiError::not_found(TICKET).into())],
    }))
    .await;
    assert_eq!((states, calls), (vec![Waiting], 2));
    assert_eq!(error.and_then(|error| error.reason()), Some(ErrorReason::NotFound));
}

#[tokio::test]
async fn another_ticket_than_the_one_asked_for_is_refused() {
    let other = || v1::Ticket { name: "tickets/ranked.other".to_owned(), ..ticket(Matched) };
    let (states, error, _) = watched(Box::new(move |_| vec![Step::Ticket(Box::new(other()))])).await;
    assert!(states.is_empty());
    assert!(matches!(error, Some(Error::Verification(_))), "{error:?}");
}

/// Every second call gets no answer, which is had by asking again.
fn every_other_is_lost() -> OnCall {
    Box::new(|nth| match nth % 2 {
        0 => Err(ApiError::new(ErrorReason::StoreUnavailable).with_retry_delay(Duration::ZERO).into()),
        _ => Ok(Some(ticket(Waiting))),
    })
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_by_the_same_request_and_each_wish_is_its_own() {
    let (lobby, ann) = ann(Lobby { on_call: every_other_is_lost(), ..Lobby::default() }).await;
    let wish = || v1::CreateTicketRequest { pool: "ranked".to_owned(), ..Default::default() };
    ann.create_ticket(wish()).await.unwrap();
    ann.create_ticket(wish()).await.unwrap();
    ann.renew_ticket(TICKET).await.unwrap();
    ann.cancel_ticket(TICKET).await.unwrap();
    assert_eq!(ann.cancel_any_ticket().await.unwrap().map(|ticket| ticket.name), Some(TICKET.to_owned()));
    let level = v1::BotLevel::BotLevel3.into();
    ann.create_bot_match(v1::CreateBotMatchRequest { level, ..Default::default() }).await.unwrap();
    let asked = lobby.asked();
    let wishes: Vec<_> = asked.chunks(2).map(|tries| (tries[0].0, tries[0].1.as_str())).collect();
    let expected = [
        ("create", "ranked"),
        ("create", "ranked"),
        ("renew", TICKET),
        ("cancel", TICKET),
        ("cancel", ""),
        ("bot", "4"),
    ];
    assert_eq!(wishes, expected);
    assert!(asked.chunks(2).all(|tries| tries[0] == tries[1]), "{asked:?}");
    let mut ids: Vec<_> = asked.into_iter().step_by(2).map(|(_, _, id)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), expected.len());
}

#[tokio::test]
async fn who_has_no_ticket_cancels_none() {
    let (_lobby, ann) = ann(Lobby::default()).await;
    assert!(ann.cancel_any_ticket().await.unwrap().is_none());
}
