//! Invites: how two players who know each other come to a match.

use async_trait::async_trait;
use referee::{RequestId, Settings, Stamp};
use rules::Seat;
use sealing::{MatchId, PublicKey};

use crate::StoreError;

/// The id of an invite; written like a match id, as a lower-case hyphenated UUID.
pub type InviteId = MatchId;

/// How an invite ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InviteEnd {
    /// The invitee took it: this match comes of it.
    Accepted {
        /// The match's id.
        match_id: MatchId,
    },
    /// The invitee does not want to.
    Declined,
    /// The inviter took it back.
    Revoked,
}

/// Who ended an invite, how, and by which request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Closing {
    /// How.
    pub end: InviteEnd,
    /// The player who did (`players/{player}`).
    pub by: String,
    /// The request that did.
    pub request_id: RequestId,
    /// The key of whoever accepted, for the match.
    pub public_key: Option<PublicKey>,
}

/// An invite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invite {
    /// Its id.
    pub id: InviteId,
    /// Who invites (`players/{player}`).
    pub inviter: String,
    /// The inviter's key for the match.
    pub inviter_key: Option<PublicKey>,
    /// Who is invited; none: whoever has the join secret.
    pub invitee: Option<String>,
    /// SHA-256 of the join secret of an open invite.
    pub secret_hash: Option<[u8; 32]>,
    /// What the match will be played by.
    pub settings: Settings,
    /// The inviter's seat; none: by the match's id.
    pub inviter_seat: Option<Seat>,
    /// The finished match that this is a rematch of.
    pub rematch_of: Option<MatchId>,
    /// When it was made.
    pub created: Stamp,
    /// The last moment at which it can be accepted, inclusive.
    pub expires: Stamp,
    /// How it ended, if it has.
    pub closing: Option<Closing>,
}

impl Invite {
    /// How long it can be read after it was closed or expired, ms. Far shorter than the retention of the
    /// match that came of it: whoever reads an accepted invite makes its match if there is none, and must not
    /// make one again that was played and forgotten.
    pub const RETENTION_MS: u64 = 24 * 60 * 60 * 1_000;
}

/// Where invites are kept. An invite is open, then closed once and for ever; it can be read a day longer,
/// which is shorter than a finished match can: an accepted invite never outlives its match.
#[async_trait]
pub trait InviteStore: Send + Sync + 'static {
    /// Stores a new invite, or finds the one with its id: the answer is what is stored.
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError>;

    /// Reads an invite, with the time of its shard.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none.
    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError>;

    /// Closes an invite if it is open and not expired. The answer is what is stored then: the caller
    /// looks whether the closing is his.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none.
    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError>;
}
