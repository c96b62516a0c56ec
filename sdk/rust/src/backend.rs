//! A session of a back end.

use wire::{Collection, v1};

use crate::call::Caller;
use crate::client::mint;
use crate::feed::FeedStream;
use crate::{Error, Player};

/// A session that acts for any player, by an API key. It never sees a sealed cell. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Backend {
    caller: Caller,
}

impl Backend {
    pub(crate) fn new(caller: Caller) -> Self {
        Self { caller }
    }

    /// Makes a token by which a client acts as one player; for others than `players/{player}` with all
    /// defaults, fill in the rest of the request.
    ///
    /// # Errors
    /// [`Error::Api`], [`Error::Transport`].
    ///
    /// ```no_run
    /// # async fn example(client: whattheshell::Client, key: &str) -> Result<(), whattheshell::Error> {
    /// use whattheshell::v1::MintPlayerTokenRequest;
    /// let backend = client.backend(key)?;
    /// let request = MintPlayerTokenRequest { player: "players/ann".into(), ..Default::default() };
    /// let token = backend.mint_token(request).await?.token;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn mint_token(
        &self,
        request: v1::MintPlayerTokenRequest,
    ) -> Result<v1::MintPlayerTokenResponse, Error> {
        mint(&self.caller, request).await
    }

    /// What happens in all matches, after `cursor`: the last [`FeedItem::cursor`](crate::FeedItem::cursor) that was
    /// dealt with. Empty: from the oldest event that the server keeps.
    ///
    /// ```no_run
    /// # async fn example(client: whattheshell::Client, key: &str) -> Result<(), whattheshell::Error> {
    /// use futures::StreamExt as _;
    /// let mut feed = client.backend(key)?.feed(Vec::new());
    /// while let Some(item) = feed.next().await {
    ///     let item = item?;
    ///     println!("{}: {:?}", item.event.r#match, item.event.event);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn feed(&self, cursor: Vec<u8>) -> FeedStream {
        FeedStream::new(self.caller.clone(), cursor)
    }

    /// A session that acts for `players/{player}`.
    ///
    /// # Errors
    /// [`Error::Credential`]: the name is not a player's.
    pub fn player(&self, player: &str) -> Result<Player, Error> {
        Collection::Players
            .id(player)
            .map_err(|_| Error::Credential("a player is named players/{player}"))?;
        Ok(Player::new(self.caller.clone(), player.to_owned(), true))
    }
}
