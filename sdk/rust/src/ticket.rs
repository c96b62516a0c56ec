//! Ways into a match without knowing anybody: a ticket in a pool, or a bot.

use wire::v1;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;

use crate::{Error, Player, TicketStream, random};

impl Player {
    /// Looks for an opponent in a pool, which `GetServerInfo` lists. `player` and `request_id` are filled in.
    /// A player has one ticket at most: while he has one, asking again returns it, whatever is asked for.
    ///
    /// The ticket lives as long as it is [watched](Self::watch_ticket) or [renewed](Self::renew_ticket).
    ///
    /// # Errors
    /// As every call; [`Error::Api`]: ALREADY_IN_MATCH for one who is in a ranked match, FIELD_INVALID for a
    /// pool or a time control that the server does not have.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// use futures::TryStreamExt as _;
    /// use whattheshell::{prost_types::Duration, v1};
    /// let half_a_minute = v1::time_control::Control::TurnTime(Duration { seconds: 30, nanos: 0 });
    /// let ticket = ann
    ///     .create_ticket(v1::CreateTicketRequest {
    ///         pool: "ranked".into(),
    ///         time_controls: vec![v1::TimeControl { control: Some(half_a_minute) }],
    ///         ..Default::default()
    ///     })
    ///     .await?;
    /// let mut states = ann.watch_ticket(&ticket.name);
    /// while let Some(ticket) = states.try_next().await? {
    ///     if ticket.state() == v1::TicketState::Matched {
    ///         println!("{} begins", ann.join(&ticket.r#match).await?.name());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_ticket(&self, request: v1::CreateTicketRequest) -> Result<v1::Ticket, Error> {
        let player = self.acting_for();
        let request = v1::CreateTicketRequest { player, request_id: random::request_id()?, ..request };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).create_ticket(request).await;
        self.caller().unary(request, call).await?.ticket.ok_or(Error::Malformed("ticket"))
    }

    /// A ticket as it is now.
    ///
    /// # Errors
    /// As every call.
    pub async fn get_ticket(&self, name: &str) -> Result<v1::Ticket, Error> {
        let request = v1::GetTicketRequest { name: name.to_owned(), player: self.acting_for() };
        let call = async |channel, request| MatchmakingServiceClient::new(channel).get_ticket(request).await;
        self.caller().unary(request, call).await?.ticket.ok_or(Error::Malformed("ticket"))
    }

    /// Renews the lease of a ticket that waits: for a client that does not watch it.
    ///
    /// # Errors
    /// As every call; [`Error::Api`]: TICKET_NOT_OPEN for one that does not wait any more.
    pub async fn renew_ticket(&self, name: &str) -> Result<v1::Ticket, Error> {
        let request = v1::RenewTicketRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
        };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).renew_ticket(request).await;
        self.caller().unary(request, call).await?.ticket.ok_or(Error::Malformed("ticket"))
    }

    /// Stops looking for an opponent. Once it is confirmed, no match comes from the ticket; after a lost
    /// answer, ask again.
    ///
    /// # Errors
    /// As every call; [`Error::Api`]: TICKET_NOT_OPEN for one that has a match.
    pub async fn cancel_ticket(&self, name: &str) -> Result<v1::Ticket, Error> {
        self.cancel(name).await?.ok_or(Error::Malformed("ticket"))
    }

    /// Cancels whatever ticket the player has, also one whose name was lost. None: he has none.
    ///
    /// # Errors
    /// As [`Self::cancel_ticket`].
    pub async fn cancel_any_ticket(&self) -> Result<Option<v1::Ticket>, Error> {
        self.cancel("").await
    }

    async fn cancel(&self, name: &str) -> Result<Option<v1::Ticket>, Error> {
        let request = v1::CancelTicketRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
        };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).cancel_ticket(request).await;
        Ok(self.caller().unary(request, call).await?.ticket)
    }

    /// A ticket as it changes. While the stream is open the server renews the ticket's lease. Nothing is sent
    /// before the stream is first polled.
    #[must_use]
    pub fn watch_ticket(&self, name: &str) -> TicketStream {
        TicketStream::new(self.clone(), name)
    }

    /// A casual match against a bot of a level, which is there at once; it is to be [joined](Self::join).
    /// `player` and `request_id` are filled in.
    ///
    /// In such a match a turn opens with the bot's seal, whose commitment is published: the bot cannot have
    /// seen the player's move. [`MatchHandle::seal`](crate::MatchHandle::seal) waits for that.
    ///
    /// # Errors
    /// As every call; [`Error::Api`]: FIELD_INVALID, SETTINGS_INVALID.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), Box<dyn std::error::Error>> {
    /// use whattheshell::v1;
    /// let level = v1::BotLevel::BotLevel3.into();
    /// let request = v1::CreateBotMatchRequest { level, ..Default::default() };
    /// let game = ann.join(&ann.create_bot_match(request).await?.name).await?;
    /// game.seal(1, "E5".parse()?).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_bot_match(&self, request: v1::CreateBotMatchRequest) -> Result<v1::Match, Error> {
        let player = self.acting_for();
        let request = v1::CreateBotMatchRequest { player, request_id: random::request_id()?, ..request };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).create_bot_match(request).await;
        self.caller().unary(request, call).await?.r#match.ok_or(Error::Malformed("match"))
    }
}
