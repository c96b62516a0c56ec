//! A ticket as it changes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use wire::v1;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;
use wire::v1::watch_ticket_response::Update;

use crate::line::Line;
use crate::{Claim, Error, Player, Violation};

/// A ticket: whole and current in each item, which replaces the one before. While the stream is polled the
/// ticket's lease is renewed.
///
/// The stream ends when the ticket is matched, cancelled or expired. A matched one waits again if the opponent
/// does not come: once the match is aborted, [`Player::watch_player`] tells, and it is to be watched again.
/// When the connection breaks, falls silent or is sent elsewhere before that, the stream is opened again by
/// itself; a state that the client has already is not yielded again. It ends with an error after some 12
/// attempts in a row without anything new, and after one that repeating does not mend. A ticket whose lease
/// ran out meanwhile has expired.
pub struct TicketStream {
    name: String,
    is_connected: Arc<AtomicBool>,
    tickets: BoxStream<'static, Result<v1::Ticket, Error>>,
}

impl TicketStream {
    pub(crate) fn new(player: Player, name: &str) -> Self {
        let is_connected = Arc::new(AtomicBool::new(false));
        let line = Line::new(Arc::clone(&is_connected), player.caller().renews());
        let watcher = Watcher { line, player, name: name.to_owned(), last: None };
        let tickets = stream::try_unfold(watcher, |mut watcher| async move {
            Ok(watcher.next().await?.map(|ticket| (ticket, watcher)))
        });
        Self { name: name.to_owned(), is_connected, tickets: tickets.boxed() }
    }

    /// The ticket, `tickets/{ticket}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the last that came was a message: false before the first one, and from the moment that the
    /// stream finds the connection broken until it is open again. For display.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }
}

impl Stream for TicketStream {
    type Item = Result<v1::Ticket, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.tickets.poll_next_unpin(cx)
    }
}

impl fmt::Debug for TicketStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketStream").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What stands behind a stream.
struct Watcher {
    line: Line<v1::WatchTicketResponse>,
    player: Player,
    name: String,
    last: Option<v1::Ticket>,
}

impl Watcher {
    /// The next state that the client does not have; none after the last one.
    async fn next(&mut self) -> Result<Option<v1::Ticket>, Error> {
        while !self.last.as_ref().is_some_and(is_over) {
            match self.receive().await {
                Ok(Some(Update::Ticket(ticket))) => {
                    if ticket.name != self.name {
                        return Err(Violation::of_match(Claim::Field("ticket")).into());
                    }
                    self.line.progressed();
                    if self.last.as_ref().is_none_or(|last| is_news(last, &ticket)) {
                        self.last = Some(ticket.clone());
                        return Ok(Some(ticket));
                    }
                }
                Ok(Some(Update::Heartbeat(heartbeat))) => {
                    self.line.told(heartbeat.interval.as_ref());
                    self.line.progressed();
                }
                // An update of a kind that only a newer client knows.
                Ok(None) => {}
                Err(error) => self.line.resume_after(error).await?,
            }
        }
        Ok(None)
    }

    /// The next update, from a call that is opened if there is none.
    async fn receive(&mut self) -> Result<Option<Update>, Error> {
        if !self.line.is_open() {
            let request =
                v1::WatchTicketRequest { name: self.name.clone(), player: self.player.acting_for() };
            let call =
                async |channel, request| MatchmakingServiceClient::new(channel).watch_ticket(request).await;
            let messages = self.player.caller().open(request, call).await?;
            self.line.opened(messages);
        }
        Ok(self.line.message().await?.0.update)
    }
}

/// Whether a ticket does not change any more. A state that only a newer client knows may.
fn is_over(ticket: &v1::Ticket) -> bool {
    use v1::TicketState::{Cancelled, Expired, Matched};
    matches!(ticket.state(), Matched | Cancelled | Expired)
}

/// Whether a ticket differs in more than its lease, which every resume renews.
fn is_news(last: &v1::Ticket, ticket: &v1::Ticket) -> bool {
    let told = |ticket: &v1::Ticket| v1::Ticket { lease_expire_time: None, ..ticket.clone() };
    told(last) != told(ticket)
}
