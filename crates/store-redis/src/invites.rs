//! Invites.
//!
//! An invite lies in the shard of its id, the lists that it stands in with its players, in other slots. It is put
//! into the lists once it is stored, as it is stored, and before its creation is answered; it is taken off after it
//! was closed. So a list lacks no open invite that anybody was told of, whenever a node dies, and whoever creates
//! again, as one does without an answer, makes good for a node that has died in between. Whoever reads a list looks
//! at the invites themselves.

use async_trait::async_trait;
use referee::Stamp;
use store::{Closing, Invite, InviteId, InviteStore, StoreError, codec};

use crate::call::Call;
use crate::matches::read_id;
use crate::redis_store::RedisStore;
use crate::reply::{Reply, unexpected, unreadable, unwritable};

/// Entries of a list read at once.
const LISTED_TOGETHER: usize = 32;

impl RedisStore {
    /// A call on an invite: its record and the shard's clock.
    fn on_invite(&self, script: &std::sync::Arc<crate::scripts::Script>, id: InviteId) -> Call {
        let place = self.place(id);
        let keys = vec![self.names.invite(&place, id), self.names.clock(&place)];
        Call::new(script, place, keys)
    }

    /// Runs a call on an invite and reads what is stored then.
    async fn stored_invite(&self, id: InviteId, call: Call) -> Result<(Invite, Stamp), StoreError> {
        let reply = self.caller.run(call).await?;
        let now = self.note_time(self.shard(id), &reply)?;
        let record = reply.optional_bytes(2)?.ok_or(StoreError::NotFound)?;
        let invite = codec::decode_invite(record).map_err(|error| unreadable(&error))?;
        if invite.id == id {
            Ok((invite, now.stamp))
        } else {
            Err(unreadable(&codec::CodecError::Field { field: "Invite.id" }))
        }
    }

    /// Puts an invite into the lists of its players, or takes it off, and tells them.
    async fn note_invite(&self, invite: &Invite, listed: bool) -> Result<(), StoreError> {
        for player in [Some(&invite.inviter), invite.invitee.as_ref()].into_iter().flatten() {
            let created = if listed { Some(invite.created) } else { None };
            let kept_ms = invite.expires.ms_since(invite.created).saturating_add(2 * Invite::RETENTION_MS);
            self.note_in_list(player, invite.id, created, kept_ms).await?;
        }
        Ok(())
    }

    async fn note_in_list(
        &self,
        player: &str,
        id: InviteId,
        created: Option<Stamp>,
        kept_ms: u64,
    ) -> Result<(), StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.open_invites(&place), self.names.fence(&place)];
        let channel = self.names.player_channel(&place);
        let call = Call::new(&self.scripts.note_invite, place, keys)
            .number(id)
            .argument(created.map_or(String::new(), |created| created.as_ms().to_string()))
            .number(kept_ms)
            .telling(channel);
        self.caller.run(call).await.map(drop)
    }

    /// The open invites of a player, newest first, at most `limit`.
    pub(crate) async fn listed_invites(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.open_invites(&place), self.names.fence(&place)];
        let (mut open, mut over) = (Vec::new(), Vec::new());
        let mut first = 0;
        while open.len() < limit {
            let call = Call::new(&self.scripts.open_invites, place.clone(), keys.clone())
                .number(first)
                .number(first + LISTED_TOGETHER - 1);
            let reply = self.caller.run(call).await?;
            let listed = read_listed(&reply)?;
            for id in &listed {
                match self.invite(*id).await {
                    Ok((invite, _)) if invite.closing.is_none() => open.push(invite),
                    Ok(_) | Err(StoreError::NotFound) => over.push(*id),
                    Err(error) => return Err(error),
                }
            }
            if listed.len() < LISTED_TOGETHER {
                break;
            }
            first += listed.len();
        }
        // Whoever should have taken them off died before he could. Only now: it moves the others up.
        for id in over {
            self.note_in_list(player, id, None, 0).await?;
        }
        open.truncate(limit);
        Ok(open)
    }
}

/// The invites of a part of a list.
fn read_listed(reply: &Reply) -> Result<Vec<InviteId>, StoreError> {
    reply.list(0)?.iter().map(|id| read_id(id)).collect()
}

/// Reads a whole, not negative number as a sorted set holds it.
pub(crate) fn read_score(text: &[u8]) -> Result<u64, StoreError> {
    let text = std::str::from_utf8(text).map_err(|_| unexpected())?;
    let score: f64 = text.parse().map_err(|_| unexpected())?;
    // A cast of a float saturates; a score of NaN cannot be stored.
    if score >= 0.0 { Ok(score as u64) } else { Err(unexpected()) }
}

#[async_trait]
impl InviteStore for RedisStore {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        let record = codec::encode_invite(&invite).map_err(|error| unwritable(&error))?;
        let call = self
            .on_invite(&self.scripts.create_invite, invite.id)
            .argument(record)
            .number(invite.expires.as_ms())
            .number(invite.expires.plus_ms(Invite::RETENTION_MS).as_ms());
        let (stored, _) = self.stored_invite(invite.id, call).await?;
        if stored.closing.is_none() {
            self.note_invite(&stored, true).await?;
        }
        Ok(stored)
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.stored_invite(id, self.on_invite(&self.scripts.invite, id)).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        let (invite, _) = self.invite(id).await?;
        if invite.closing.is_some() {
            return Ok(invite);
        }
        let closed = Invite { closing: Some(closing), ..invite };
        let record = codec::encode_invite(&closed).map_err(|error| unwritable(&error))?;
        let call =
            self.on_invite(&self.scripts.close_invite, id).argument(record).number(Invite::RETENTION_MS);
        let (stored, _) = self.stored_invite(id, call).await?;
        if stored.closing.is_some() {
            self.note_invite(&stored, false).await?;
        }
        Ok(stored)
    }
}
