//! Players who queue, and what their tickets say: what the tests of tickets share.

use service_tests::{Caller, Cluster, Duel, soon};
use tonic::{Status, Streaming};
use wire::v1::watch_ticket_response::Update;
use wire::v1::{self, TicketState, time_control};

/// A time control of 30 s a turn, which both default pools have.
pub(crate) fn half_minute() -> v1::TimeControl {
    turns_of(30)
}

pub(crate) fn turns_of(seconds: i64) -> v1::TimeControl {
    let control = time_control::Control::TurnTime(service_tests::seconds(seconds));
    v1::TimeControl { control: Some(control) }
}

/// What a player asks for in a pool, by a request of this id.
pub(crate) fn wish(pool: &str, request_id: &str) -> v1::CreateTicketRequest {
    v1::CreateTicketRequest {
        request_id: request_id.to_owned(),
        pool: pool.to_owned(),
        time_controls: vec![half_minute()],
        ..Default::default()
    }
}

pub(crate) async fn create(caller: &Caller, wish: v1::CreateTicketRequest) -> Result<v1::Ticket, Status> {
    let response = soon("CreateTicket", caller.matchmaking().create_ticket(wish)).await?;
    Ok(response.into_inner().ticket.unwrap())
}

/// Lets a player wait in a pool.
pub(crate) async fn queue(caller: &Caller, pool: &str) -> v1::Ticket {
    create(caller, wish(pool, &format!("queue-{:032x}", rand::random::<u128>()))).await.unwrap()
}

pub(crate) async fn get(caller: &Caller, name: &str) -> Result<v1::Ticket, Status> {
    let request = v1::GetTicketRequest { name: name.to_owned(), player: String::new() };
    let response = soon("GetTicket", caller.matchmaking().get_ticket(request)).await?;
    Ok(response.into_inner().ticket.unwrap())
}

pub(crate) async fn renew(caller: &Caller, name: &str) -> Result<v1::Ticket, Status> {
    let request = v1::RenewTicketRequest {
        name: name.to_owned(),
        request_id: "renew".to_owned(),
        ..Default::default()
    };
    let response = soon("RenewTicket", caller.matchmaking().renew_ticket(request)).await?;
    Ok(response.into_inner().ticket.unwrap())
}

/// Cancels by ticket, or by player where no name is given.
pub(crate) async fn cancel(caller: &Caller, name: &str) -> Result<Option<v1::Ticket>, Status> {
    cancel_as(caller, name, &format!("cancel-{:032x}", rand::random::<u128>())).await
}

/// The same, by a request of this id.
pub(crate) async fn cancel_as(
    caller: &Caller,
    name: &str,
    request_id: &str,
) -> Result<Option<v1::Ticket>, Status> {
    let request = v1::CancelTicketRequest {
        name: name.to_owned(),
        request_id: request_id.to_owned(),
        ..Default::default()
    };
    let response = soon("CancelTicket", caller.matchmaking().cancel_ticket(request)).await?;
    Ok(response.into_inner().ticket)
}

/// A stream of a ticket.
pub(crate) async fn watch(caller: &Caller, name: &str) -> Result<Streaming<v1::WatchTicketResponse>, Status> {
    let request = v1::WatchTicketRequest { name: name.to_owned(), player: String::new() };
    Ok(soon("WatchTicket", caller.matchmaking().watch_ticket(request)).await?.into_inner())
}

/// The next ticket of a stream; none at its end.
pub(crate) async fn next(
    stream: &mut Streaming<v1::WatchTicketResponse>,
) -> Result<Option<v1::Ticket>, Status> {
    loop {
        match soon("the next message", stream.message()).await?.map(|message| message.update.unwrap()) {
            None => return Ok(None),
            Some(Update::Ticket(ticket)) => return Ok(Some(ticket)),
            Some(Update::Heartbeat(_)) => {}
        }
    }
}

/// Moves time on until the ticket is as wanted, as its player sees it. He renews no lease by it.
pub(crate) async fn until(
    cluster: &Cluster,
    caller: &Caller,
    name: &str,
    wanted: impl Fn(&v1::Ticket) -> bool,
) -> v1::Ticket {
    soon("a change of the ticket", async {
        loop {
            let ticket = get(caller, name).await.unwrap();
            if wanted(&ticket) {
                return ticket;
            }
            cluster.advance_ms(50).await;
        }
    })
    .await
}

/// Moves time on until the ticket is matched.
pub(crate) async fn matched(cluster: &Cluster, caller: &Caller, ticket: &v1::Ticket) -> v1::Ticket {
    until(cluster, caller, &ticket.name, |ticket| ticket.state() == TicketState::Matched).await
}

/// Two players who have queued and were given the same match, as a duel of them.
pub(crate) async fn paired(cluster: &Cluster, pool: &str, one: &Caller, other: &Caller) -> Duel {
    let (first, second) = (queue(one, pool).await, queue(other, pool).await);
    let first = matched(cluster, one, &first).await;
    let second = matched(cluster, other, &second).await;
    assert_eq!(first.r#match, second.r#match, "both are given the same match");
    let game = one.get(&first.r#match).await.unwrap();
    let (black, white) = match game.black.unwrap().player == one.name {
        true => (one, other),
        false => (other, one),
    };
    Duel { name: first.r#match, black: black.clone(), white: white.clone() }
}
