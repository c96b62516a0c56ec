//! The matches of a player, page by page.

use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;

use crate::{Error, Player};

impl Player {
    /// One page of the player's matches, newest first. `player` is filled in. The next page is had by the
    /// answer's `next_page_token`, which is empty on the last one; [`Self::matches`] asks for all of them.
    ///
    /// # Errors
    /// As every call; [`Error::Api`] with PAGE_TOKEN_INVALID if the token is of another list.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// use whattheshell::v1::ListMatchesRequest;
    /// let request = ListMatchesRequest { page_size: 10, ..Default::default() };
    /// let page = ann.list_matches(request.clone()).await?;
    /// let next = ListMatchesRequest { page_token: page.next_page_token, ..request };
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_matches(
        &self,
        request: v1::ListMatchesRequest,
    ) -> Result<v1::ListMatchesResponse, Error> {
        let request = v1::ListMatchesRequest { player: self.acting_for(), ..request };
        let call = async |channel, request| MatchServiceClient::new(channel).list_matches(request).await;
        self.caller().unary(request, call).await
    }

    /// All matches of the player, newest first: finished ones, live ones, or, by None, both. A page is
    /// asked for when the one before has been read. What begins meanwhile is not among them.
    ///
    /// The stream ends with the first error; its errors are those of [`Self::list_matches`].
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// use futures::TryStreamExt as _;
    /// let mut finished = ann.matches(Some(true));
    /// while let Some(game) = finished.try_next().await? {
    ///     println!("{}: {:?}", game.name, game.result());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn matches(&self, finished: Option<bool>) -> BoxStream<'static, Result<v1::MatchSummary, Error>> {
        let player = self.clone();
        let first = v1::ListMatchesRequest { finished, ..Default::default() };
        let pages = stream::try_unfold(Some(first), move |request| {
            let player = player.clone();
            async move {
                let Some(request) = request else { return Ok(None) };
                let page = player.list_matches(request.clone()).await?;
                let token = page.next_page_token;
                // Else the pages would go round and round.
                if !token.is_empty() && token == request.page_token {
                    return Err(Error::Malformed("next_page_token"));
                }
                let is_last = token.is_empty();
                let next = v1::ListMatchesRequest { page_token: token, ..request };
                let next = Some(next).filter(|_| !is_last);
                Ok(Some((stream::iter(page.matches.into_iter().map(Ok)), next)))
            }
        });
        pages.try_flatten().boxed()
    }
}
