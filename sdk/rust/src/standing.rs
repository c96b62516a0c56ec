//! What players have achieved: records, ratings, leaderboards.

use wire::v1;
use wire::v1::player_service_client::PlayerServiceClient;

use crate::{Error, Player};

impl Player {
    /// What a player, `players/{player}`, has achieved: his ratings, wins, losses and draws, one standing for
    /// each kind of match. A finished match counts a moment after its end.
    ///
    /// # Errors
    /// As every call.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// for standing in ann.get_player(ann.name()).await?.standings {
    ///     let rating = standing.rating.unwrap_or_default().value;
    ///     println!("{:?}: {rating:.0}, {} won", standing.speed(), standing.wins);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_player(&self, name: &str) -> Result<v1::Player, Error> {
        let request = v1::GetPlayerRequest { name: name.to_owned() };
        let call = async |channel, request| PlayerServiceClient::new(channel).get_player(request).await;
        self.caller().unary(request, call).await?.player.ok_or(Error::Malformed("player"))
    }

    /// One page of a leaderboard: the best, or those around a player. The next page is had by the answer's
    /// `next_page_token`, which is empty on the last one.
    ///
    /// # Errors
    /// As every call; [`Error::Api`] with PAGE_TOKEN_INVALID if the token is of another list.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// use whattheshell::v1::{ListLeaderboardRequest, SpeedClass};
    /// let around_player = ann.name().to_owned();
    /// let speed = SpeedClass::Rapid.into();
    /// let request = ListLeaderboardRequest { speed, around_player, ..Default::default() };
    /// for line in ann.list_leaderboard(request).await?.entries {
    ///     println!("{:>4}  {}", line.rank, line.player);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_leaderboard(
        &self,
        request: v1::ListLeaderboardRequest,
    ) -> Result<v1::ListLeaderboardResponse, Error> {
        let call = async |channel, request| PlayerServiceClient::new(channel).list_leaderboard(request).await;
        self.caller().unary(request, call).await
    }
}
