//! Draw offers.

use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;

use crate::{Error, MatchHandle, convert, random};

impl MatchHandle {
    /// Whether the opponent's draw offer waits for an answer.
    #[must_use]
    pub fn is_offered_draw(&self, status: &v1::MatchStatus) -> bool {
        let opponent = self.seat().and_then(|seat| convert::seat_status(status, seat.opponent()));
        opponent.is_some_and(|opponent| opponent.draw_offer() == v1::DrawOffer::Open)
    }

    /// Offers a draw in the turn that is played, `MatchStatus.turn`. Once a turn: the offer lapses when
    /// the turn resolves. If the opponent's offer is open, the match ends as agreed.
    ///
    /// # Errors
    /// [`Error::Api`]: ALREADY_OFFERED, TURN_CLOSED, TURN_NOT_OPEN_YET, MATCH_FINISHED and others, as
    /// `OfferDraw` says.
    ///
    /// ```no_run
    /// # async fn example(game: whattheshell::MatchHandle) -> Result<(), whattheshell::Error> {
    /// let status = game.refresh().await?.status.unwrap_or_default();
    /// if game.is_offered_draw(&status) {
    ///     game.answer_draw(status.turn, true).await?;
    /// } else {
    ///     game.offer_draw(status.turn).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn offer_draw(&self, turn: u32) -> Result<v1::Match, Error> {
        let request = v1::OfferDrawRequest {
            name: self.name().to_owned(),
            player: self.player.acting_for(),
            request_id: random::request_id()?,
            turn,
        };
        let call = async |channel, request| MatchServiceClient::new(channel).offer_draw(request).await;
        let answer = self.player.caller().unary(request, call).await?;
        answer.r#match.ok_or(Error::Malformed("match"))
    }

    /// Accepts or declines the draw that the opponent has offered in a turn. Accepted, the match is over.
    ///
    /// # Errors
    /// [`Error::Api`]: NO_OPEN_OFFER, TURN_CLOSED, MATCH_FINISHED and others, as `AnswerDraw` says.
    pub async fn answer_draw(&self, turn: u32, accept: bool) -> Result<v1::Match, Error> {
        let offerer = self.seated()?.opponent();
        let request = v1::AnswerDrawRequest {
            name: self.name().to_owned(),
            player: self.player.acting_for(),
            request_id: random::request_id()?,
            turn,
            seat: i32::from(offerer.number()),
            accept,
        };
        let call = async |channel, request| MatchServiceClient::new(channel).answer_draw(request).await;
        let answer = self.player.caller().unary(request, call).await?;
        answer.r#match.ok_or(Error::Malformed("match"))
    }
}
