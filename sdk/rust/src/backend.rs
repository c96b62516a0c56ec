//! A session of a back end.

use std::time::Duration;

use wire::v1::player_service_client::PlayerServiceClient;
use wire::{Collection, v1};

use crate::call::Caller;
use crate::client::mint;
use crate::feed::FeedStream;
use crate::{Error, Player, random};

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

    /// Bans a player, for good or for a while. Every call with a token of his is refused with PLAYER_BANNED and his
    /// streams end with it, within 2 seconds on all nodes; his ticket is cancelled; and nothing brings him into a
    /// match any more. None: another call has lifted the ban since this one was first made.
    ///
    /// # Errors
    /// [`Error::Api`]: FIELD_INVALID for a player, a time or a reason that cannot be; [`Error::Transport`].
    ///
    /// ```no_run
    /// # async fn example(client: whattheshell::Client, key: &str) -> Result<(), whattheshell::Error> {
    /// use std::time::Duration;
    /// let backend = client.backend(key)?;
    /// let day = Some(Duration::from_secs(86_400));
    /// backend.ban_player("players/eve", day, "chat-abuse, case 4711").await?;
    /// backend.unban_player("players/eve").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ban_player(
        &self,
        player: &str,
        ttl: Option<Duration>,
        reason: &str,
    ) -> Result<Option<v1::PlayerBan>, Error> {
        let request = v1::BanPlayerRequest {
            player: player.to_owned(),
            request_id: random::request_id()?,
            ttl: ttl.map(|ttl| {
                // Longer than a ban can be, and so refused.
                let seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
                prost_types::Duration { seconds, nanos: (ttl.subsec_millis() * 1_000_000) as i32 }
            }),
            reason: reason.to_owned(),
        };
        let call = async |channel, request| PlayerServiceClient::new(channel).ban_player(request).await;
        Ok(self.caller.unary(request, call).await?.ban)
    }

    /// Lifts a player's ban, if he has one.
    ///
    /// # Errors
    /// As [`Backend::ban_player`].
    pub async fn unban_player(&self, player: &str) -> Result<(), Error> {
        let (player, request_id) = (player.to_owned(), random::request_id()?);
        let request = v1::UnbanPlayerRequest { player, request_id };
        let call = async |channel, request| PlayerServiceClient::new(channel).unban_player(request).await;
        self.caller.unary(request, call).await.map(drop)
    }

    /// Calls back every token of a player that was minted before. Those that are minted after are good at once: a
    /// session that asks for its tokens goes on, one with a single token ends.
    ///
    /// # Errors
    /// As [`Backend::ban_player`].
    pub async fn revoke_player_tokens(&self, player: &str) -> Result<(), Error> {
        let (player, request_id) = (player.to_owned(), random::request_id()?);
        let request = v1::RevokePlayerTokensRequest { player, request_id };
        let call =
            async |channel, request| PlayerServiceClient::new(channel).revoke_player_tokens(request).await;
        self.caller.unary(request, call).await.map(drop)
    }

    /// A page of everything that the server keeps of a player: at first all but his matches, and the newest of
    /// those; the next page is had by the answer's `next_page_token`, which is empty on the last one.
    ///
    /// # Errors
    /// As [`Backend::ban_player`]; [`Error::Api`] with PAGE_TOKEN_INVALID if the token is another's.
    ///
    /// ```no_run
    /// # async fn example(client: whattheshell::Client, key: &str) -> Result<(), whattheshell::Error> {
    /// use whattheshell::v1::ExportPlayerRequest;
    /// let backend = client.backend(key)?;
    /// let mut request = ExportPlayerRequest { player: "players/eve".into(), ..Default::default() };
    /// loop {
    ///     let page = backend.export_player(request.clone()).await?;
    ///     println!("{page:#?}");
    ///     request.page_token = page.next_page_token;
    ///     if request.page_token.is_empty() {
    ///         break;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn export_player(
        &self,
        request: v1::ExportPlayerRequest,
    ) -> Result<v1::ExportPlayerResponse, Error> {
        let call = async |channel, request| PlayerServiceClient::new(channel).export_player(request).await;
        self.caller.unary(request, call).await
    }

    /// Deletes everything that the server keeps of a player alone; his live matches are resigned. What is not his
    /// alone stays as long as it would have: finished matches and their transcripts. If there is no answer, call
    /// again: it goes on where it was.
    ///
    /// # Errors
    /// As [`Backend::ban_player`].
    pub async fn delete_player(&self, player: &str) -> Result<(), Error> {
        let (player, request_id) = (player.to_owned(), random::request_id()?);
        let request = v1::DeletePlayerRequest { player, request_id };
        let call = async |channel, request| PlayerServiceClient::new(channel).delete_player(request).await;
        self.caller.unary(request, call).await.map(drop)
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
