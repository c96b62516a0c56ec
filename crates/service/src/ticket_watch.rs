//! `WatchTicket`: a ticket as it changes. The open stream renews its lease.

use std::sync::Arc;

use futures::stream::{self, BoxStream};
use store::{PlayerHints, SeenTicket, StoreError, TicketName};
use tonic::Status;
use wire::ApiError;
use wire::v1;
use wire::v1::watch_ticket_response::Update;

use crate::access::Caller;
use crate::convert::{errors, ticket};
use crate::guard::guarded;
use crate::node::Node;
use crate::tickets::{RENEWAL_MS, Tickets};
use crate::vigil::Vigil;

type TicketStream = BoxStream<'static, Result<v1::WatchTicketResponse, Status>>;

/// Opens a stream, or refuses it.
pub(crate) async fn open(
    node: Arc<Node>,
    caller: &Caller,
    request: v1::WatchTicketRequest,
) -> Result<TicketStream, ApiError> {
    let tickets = Tickets { node: Arc::clone(&node) };
    let (name, seen) = tickets.load(caller, &request.name, &request.player).await?;
    let player = seen.ticket.wish.as_ref().map(|wish| wish.party.player.clone()).unwrap_or_default();
    // Hints first, then the ticket again: a change between the two is hinted at. Whatever moves a ticket moves
    // its player's reservation too, and that is told.
    let hints = node.store.watch_player(&player).await.map_err(errors::store)?;
    let open = node.stats.stream();
    let watch = WatchTicket {
        tickets,
        name,
        hints,
        vigil: Vigil::new(&node, caller),
        sent: None,
        renew_ms: 0,
        ended: false,
    };
    let updates = stream::unfold(watch, |mut watch| async move {
        let update = watch.next().await?;
        let message = |update| v1::WatchTicketResponse { update: Some(update) };
        Some((update.map(message).map_err(Status::from), watch))
    });
    Ok(guarded(updates, "a ticket's stream".to_owned(), open))
}

/// One open stream.
struct WatchTicket {
    tickets: Tickets,
    name: TicketName,
    hints: PlayerHints,
    vigil: Vigil,
    sent: Option<v1::Ticket>,
    /// When the lease is renewed next.
    renew_ms: u64,
    ended: bool,
}

impl WatchTicket {
    /// The next update; none when the stream is over.
    async fn next(&mut self) -> Option<Result<Update, ApiError>> {
        if self.ended {
            return None;
        }
        let update = self.produce().await;
        self.ended |= update.is_err();
        self.vigil.sends();
        Some(update)
    }

    async fn produce(&mut self) -> Result<Update, ApiError> {
        loop {
            self.vigil.check_token()?;
            let seen = self.read().await?;
            let (shown, waits) = (ticket::to_wire(&seen), seen.ticket.is_waiting());
            if self.sent.as_ref().is_none_or(|sent| changed(sent, &shown)) {
                self.ended = !waits;
                self.sent = Some(shown.clone());
                return Ok(Update::Ticket(shown));
            }
            let hint = async {
                let gone = || errors::store(StoreError::Unavailable("it is gone".to_owned()));
                self.hints.changed().await.map_err(|_| gone())
            };
            if self.vigil.wait(hint, self.renew_ms).await? {
                return Ok(Update::Heartbeat(self.vigil.heartbeat()));
            }
        }
    }

    /// Reads the ticket, and renews its lease when it is time to.
    async fn read(&mut self) -> Result<SeenTicket, ApiError> {
        let now_ms = self.node().clock.now_ms();
        let store = self.node().store.as_ref();
        let seen = if now_ms >= self.renew_ms {
            let renewed = store.renew_ticket(&self.name).await;
            self.renew_ms = now_ms.saturating_add(RENEWAL_MS);
            renewed
        } else {
            store.ticket(&self.name).await
        };
        self.tickets.made(seen.map_err(errors::store)?).await
    }

    fn node(&self) -> &Node {
        &self.tickets.node
    }
}

/// Whether a client is told. That a lease was renewed or time went by is no news.
fn changed(sent: &v1::Ticket, shown: &v1::Ticket) -> bool {
    let told =
        |ticket: &v1::Ticket| v1::Ticket { lease_expire_time: None, estimated_wait: None, ..ticket.clone() };
    told(sent) != told(shown)
}
