//! A session that acts as one player.

use sealing::{MalformedKeyId, ServerKey};
use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;

use crate::call::Caller;
use crate::ledger::Ledger;
use crate::{Error, MatchHandle, MatchStream, PlayerStream, Transcript, VerifiedMatch, random};

/// The most characters of an invite's id: a UUID has 36, and a request's id 64 with the verb before it.
const INVITE_CHARS_MAX: usize = 48;

/// A session that acts as one player. Cheap to clone; clones share the connection.
///
/// Every call may fail as [`Error::Api`] or [`Error::Transport`]; a call that changes something draws
/// its request id here and keeps it for its retries. What closes an invite (accepting, declining or taking it
/// back) is the same request however often it is asked for, so a lost answer is had by asking again.
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
            request_id: closing_id("accept", name)?,
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
            request_id: closing_id("decline", name)?,
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
            request_id: closing_id("revoke", name)?,
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

    /// All that waits for the player, as it changes: his live matches, his invites. Nothing is sent before
    /// the stream is first polled.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player) -> Result<(), whattheshell::Error> {
    /// use futures::TryStreamExt as _;
    /// let mut states = ann.watch_player();
    /// while let Some(state) = states.try_next().await? {
    ///     let due = state.matches.iter().filter(|game| game.move_due).count();
    ///     println!("{due} matches wait for a move, {} invites are open", state.invites.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn watch_player(&self) -> PlayerStream {
        PlayerStream::new(self.clone())
    }

    /// [`Transcript::verify_signed`] by the keys that this server lists; it is asked once for all, and
    /// again where a transcript names a key that is not known yet.
    ///
    /// It shows that this server signed the match. Who does not trust the connection either names the keys
    /// himself.
    ///
    /// # Errors
    /// As every call; [`Error::Verification`]: the first claim that does not hold.
    ///
    /// ```no_run
    /// # async fn example(ann: whattheshell::Player, name: &str) -> Result<(), whattheshell::Error> {
    /// let transcript = ann.transcript(name).await?;
    /// let verified = ann.verify_signed(&transcript).await?;
    /// println!("{:?} after {} turns", verified.result(), verified.turns.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn verify_signed(&self, transcript: &Transcript) -> Result<VerifiedMatch, Error> {
        // A key whose id is malformed cannot be listed; then no key is known, which is what is said.
        let key_id = &transcript.message().key_id;
        let key = match key_id.parse() {
            Ok(id) => {
                let key = self.caller.server_key(key_id).await?;
                key.map(|public_key| ServerKey { id, public_key })
            }
            Err(MalformedKeyId) => None,
        };
        transcript.verify_signed(key.as_slice())
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

/// The id of the request that closes an invite. An invite is closed once: whoever asks again, after a lost
/// answer or in another process, means the same request.
fn closing_id(verb: &str, name: &str) -> Result<String, Error> {
    let invite = name.strip_prefix("invites/").unwrap_or_default();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if invite.is_empty() || invite.len() > INVITE_CHARS_MAX || !invite.bytes().all(allowed) {
        // No name of an invite, which the server will say.
        return random::request_id();
    }
    Ok(format!("{verb}-{invite}"))
}
