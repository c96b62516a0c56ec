//! Waiting for a bot, whose seal opens the turn.

use std::sync::Arc;

use sealing::Digest;
use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::watch_match_response::Update;

use crate::line::Line;
use crate::{Error, MatchHandle};

impl MatchHandle {
    /// Whether the match waits for a bot's move, which opens the next turn. No time of the player's runs
    /// meanwhile.
    #[must_use]
    pub fn is_bot_due(&self, status: &v1::MatchStatus) -> bool {
        status.state() == v1::MatchState::BotDue
    }

    /// Waits until a turn, whose previous h is `previous`, is not to come any more: it is open, or the match
    /// has gone on or ended. What the server says here is only a hint: the seal that follows is judged.
    pub(crate) async fn until_open(&self, turn: u32, previous: Digest) -> Result<(), Error> {
        let mut line = Line::new(Arc::default(), self.player.caller().renews());
        loop {
            match self.receive(&mut line, turn, previous).await {
                Ok(Some(Update::Status(status))) if status.turn >= turn => return Ok(()),
                Ok(Some(Update::Turn(_) | Update::Finished(_))) => return Ok(()),
                Ok(Some(Update::Heartbeat(heartbeat))) => line.told(heartbeat.interval.as_ref()),
                Ok(_) => {}
                Err(error) => line.resume_after(error).await?,
            }
        }
    }

    /// The next update of the match after the turn before, from a call that is opened if there is none.
    async fn receive(
        &self,
        line: &mut Line<v1::WatchMatchResponse>,
        turn: u32,
        previous: Digest,
    ) -> Result<Option<Update>, Error> {
        if !line.is_open() {
            let request = v1::WatchMatchRequest {
                name: self.name.to_string(),
                player: self.player.acting_for(),
                after_turn: Some(turn.saturating_sub(1)),
                after_hash: previous.as_bytes().to_vec(),
                last_receipt: None,
            };
            let call = async |channel, request| MatchServiceClient::new(channel).watch_match(request).await;
            line.opened(self.player.caller().open(request, call).await?);
        }
        Ok(line.message().await?.0.update)
    }
}
