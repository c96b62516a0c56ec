//! A session that acts as one player.

use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;

use crate::call::Caller;
use crate::ledger::Ledger;
use crate::{Error, MatchHandle, MatchStream, Transcript, random};

/// A session that acts as one player. Cheap to clone; clones share the connection.
///
/// Every call may fail as [`Error::Api`] or [`Error::Transport`]; a call that changes something draws
/// its request id here and keeps it for its retries.
#[derive(Clone, Debug)]
pub struct Player {
    caller: Caller,
    name: String,
    /// What goes into the `player` field of requests: empty for the player himself.
    acting_for: String,
}

impl Player {
    pub(crate) fn new(caller: Caller, name: String, by_backend: bool) -> Self {
        let acting_for = if by_backend { name.clone() } else { String::new() };
        Self { caller, name, acting_for }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn acting_for(&self) -> String {
        self.acting_for.clone()
    }

    /// Who the session acts as, `players/{player}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Invites a player to a match, or, without `invitee`, whoever has the join secret of the answer.
    /// `player` and `request_id` are filled in.
    ///
    /// # Errors
    /// As every call.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// use whattheshell::v1::CreateInviteRequest;
    /// let request = CreateInviteRequest { invitee: "players/bob".into(), ..Default::default() };
    /// let invite = ann.invite(request).await?.invite.unwrap_or_default();
    /// println!("tell bob: {}", invite.name);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn invite(&self, request: v1::CreateInviteRequest) -> Result<v1::CreateInviteResponse, Error> {
        let player = self.acting_for();
        let request = v1::CreateInviteRequest { player, request_id: random::request_id()?, ..request };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).create_invite(request).await;
        self.caller.unary(request, call).await
    }

    /// An invite as it is now. An open one needs its join secret, unless the player made it.
    ///
    /// # Errors
    /// As every call.
    pub async fn get_invite(&self, name: &str, join_secret: Option<&str>) -> Result<v1::Invite, Error> {
        let request = v1::GetInviteRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            join_secret: join_secret.unwrap_or_default().to_owned(),
        };
        let call = async |channel, request| MatchmakingServiceClient::new(channel).get_invite(request).await;
        self.caller.unary(request, call).await?.invite.ok_or(Error::Malformed("invite"))
    }

    /// Accepts an invite: its match exists then and is to be [joined](Self::join). An open one needs its
    /// join secret.
    ///
    /// # Errors
    /// As every call.
    pub async fn accept_invite(&self, name: &str, join_secret: Option<&str>) -> Result<v1::Invite, Error> {
        let request = v1::AcceptInviteRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
            join_secret: join_secret.unwrap_or_default().to_owned(),
            public_key: Vec::new(),
        };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).accept_invite(request).await;
        self.caller.unary(request, call).await?.invite.ok_or(Error::Malformed("invite"))
    }

    /// Declines an invite.
    ///
    /// # Errors
    /// As every call.
    pub async fn decline_invite(&self, name: &str) -> Result<v1::Invite, Error> {
        let request = v1::DeclineInviteRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
        };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).decline_invite(request).await;
        self.caller.unary(request, call).await?.invite.ok_or(Error::Malformed("invite"))
    }

    /// Takes an invite back.
    ///
    /// # Errors
    /// As every call.
    pub async fn revoke_invite(&self, name: &str) -> Result<v1::Invite, Error> {
        let request = v1::RevokeInviteRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
        };
        let call =
            async |channel, request| MatchmakingServiceClient::new(channel).revoke_invite(request).await;
        self.caller.unary(request, call).await?.invite.ok_or(Error::Malformed("invite"))
    }

    /// Takes the player's seat: he is here and ready. Joining again changes nothing, so this is also how
    /// a client that was restarted comes back.
    ///
    /// # Errors
    /// As every call; [`Error::Verification`] if the match is not what its hash says.
    pub async fn join(&self, name: &str) -> Result<MatchHandle, Error> {
        let request = v1::JoinMatchRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
        };
        let call = async |channel, request| MatchServiceClient::new(channel).join_match(request).await;
        let game = self.caller.unary(request, call).await?.r#match.ok_or(Error::Malformed("match"))?;
        MatchHandle::new(self.clone(), name, &game)
    }

    /// A match without joining it: for one who has joined already, or to watch.
    ///
    /// # Errors
    /// As every call; [`Error::Verification`] if the match is not what its hash says.
    pub async fn open(&self, name: &str) -> Result<MatchHandle, Error> {
        let game = self.get_match(name).await?;
        MatchHandle::new(self.clone(), name, &game)
    }

    /// A match as it is now, as the player may see it.
    ///
    /// # Errors
    /// As every call.
    pub async fn get_match(&self, name: &str) -> Result<v1::Match, Error> {
        let request = v1::GetMatchRequest { name: name.to_owned(), player: self.acting_for() };
        let call = async |channel, request| MatchServiceClient::new(channel).get_match(request).await;
        self.caller.unary(request, call).await?.r#match.ok_or(Error::Malformed("match"))
    }

    /// Gives up: the opponent wins. Before the first turn the match is aborted instead.
    ///
    /// # Errors
    /// As every call.
    pub async fn resign(&self, name: &str) -> Result<v1::Match, Error> {
        let request = v1::ResignRequest {
            name: name.to_owned(),
            player: self.acting_for(),
            request_id: random::request_id()?,
        };
        let call = async |channel, request| MatchServiceClient::new(channel).resign(request).await;
        self.caller.unary(request, call).await?.r#match.ok_or(Error::Malformed("match"))
    }

    /// A match as it happens, from its first turn, for one who does not play in it;
    /// [`MatchHandle::watch`] also checks the player's own moves. Nothing is sent before the stream is
    /// first polled.
    #[must_use]
    pub fn watch(&self, name: &str) -> MatchStream {
        MatchStream::new(self.clone(), name, Ledger::default(), None)
    }

    /// All that is needed to verify a match offline. Of a live match the turns so far.
    ///
    /// # Errors
    /// As every call.
    pub async fn transcript(&self, name: &str) -> Result<Transcript, Error> {
        let request = v1::GetTranscriptRequest { name: name.to_owned(), player: self.acting_for() };
        let call = async |channel, request| MatchServiceClient::new(channel).get_transcript(request).await;
        let answer = self.caller.unary(request, call).await?;
        answer.transcript.map(Transcript::from).ok_or(Error::Malformed("transcript"))
    }
}
