//! The rotation of keys, in the file of this node.
//!
//! A node goes by the keys that it was started with: they are in its store, in its tokens' verifiers on every thread,
//! and in receipts under way. So a change here is one of the file, and the answer says which of the two knows what.

use std::path::Path;

use referee::Stamp;
use store::keys::{KeyFacts, KeyState, Keys, KeysError, Role};
use wire::ApiError;
use wire::admin::v1::{
    ListKeysResponse, PrepareKeyRequest, PrepareKeyResponse, PromoteKeyRequest, PromoteKeyResponse,
    RetireKeyRequest, RetireKeyResponse,
};
use wire::v1::ErrorReason;

use super::{Act, Admin, remembered, remembered_as};
use crate::convert::{admin, errors};

impl Admin {
    /// Every key of the file, beside what the node runs with.
    pub(super) async fn list_all_keys(&self) -> Result<ListKeysResponse, ApiError> {
        let keys = self.on_file(|path| Ok(Keys::load(path)?.facts())).await?;
        let restart_required = keys != *self.keys;
        Ok(ListKeysResponse {
            keys: keys.iter().map(|facts| self.shown(facts)).collect(),
            node: admin::node_name(&self.node.roster.name),
            restart_required,
        })
    }

    /// Adds a key. The request's record draws its number, so that a repetition finds it.
    pub(super) async fn prepare(
        &self,
        operator: &str,
        asked: &PrepareKeyRequest,
    ) -> Result<PrepareKeyResponse, ApiError> {
        let role = admin::role(asked.role)?;
        let content = PrepareKeyRequest { request_id: String::new(), ..*asked };
        let [a, b, c, d, ..] = remembered(&self.node, operator, &asked.request_id, &content).await?;
        let number = u32::from_be_bytes([a, b, c, d]);
        let facts = self
            .on_file(move |path| {
                Keys::change(path, |keys| {
                    let id = keys.prepare_numbered(role, number)?;
                    Ok(keys.facts().into_iter().find(|facts| facts.role == role && facts.id == id))
                })
            })
            .await?
            .ok_or_else(|| errors::incident("a prepared key is not there"))?;
        self.audit(operator, &asked.request_id, "prepare_key", (role, facts.id.as_str()));
        Ok(PrepareKeyResponse { key: Some(self.shown(&facts)) })
    }

    /// Takes a key into use. One that is in use already stays so.
    pub(super) async fn promote(
        &self,
        operator: &str,
        asked: &PromoteKeyRequest,
    ) -> Result<PromoteKeyResponse, ApiError> {
        let (role, id) = (admin::role(asked.role)?, admin::key_id(&asked.id)?);
        let content = PromoteKeyRequest { request_id: String::new(), ..asked.clone() };
        remembered(&self.node, operator, &asked.request_id, &content).await?;
        let now = Stamp::from_ms(self.node.clock.now_ms());
        let promoted = move |path: &Path| {
            let is_it = |facts: &KeyFacts| facts.role == role && facts.id == id;
            let in_use = Keys::load(path)?.facts().into_iter().find(is_it);
            if let Some(facts) = in_use.filter(|facts| facts.state() == KeyState::InUse) {
                return Ok((Some(facts), false));
            }
            let change = |keys: &mut Keys| {
                keys.promote(role, &id, now)?;
                Ok(keys.facts().into_iter().find(is_it))
            };
            Keys::change(path, change).map(|facts| (facts, true))
        };
        let (facts, is_new) = self.on_file(promoted).await?;
        let facts = facts.ok_or_else(|| errors::incident("a promoted key is not there"))?;
        if is_new {
            self.audit(operator, &asked.request_id, "promote_key", (role, &asked.id));
        }
        Ok(PromoteKeyResponse { key: Some(self.shown(&facts)) })
    }

    /// Removes a key. That it is gone already is an answer only to a repetition of a request that found it.
    pub(super) async fn retire(
        &self,
        operator: &str,
        asked: &RetireKeyRequest,
    ) -> Result<RetireKeyResponse, ApiError> {
        let (role, id) = (admin::role(asked.role)?, admin::key_id(&asked.id)?);
        let content = RetireKeyRequest { request_id: String::new(), ..asked.clone() };
        let searched = id.clone();
        let is_it = move |facts: &KeyFacts| facts.role == role && facts.id == searched;
        let is_known = self.on_file(move |path| Ok(Keys::load(path)?.facts().iter().any(is_it))).await?;
        let fresh = if is_known { KNOWN } else { [0; 16] };
        let first = remembered_as(&self.node, operator, &asked.request_id, &content, fresh).await?;
        let was_known = first == KNOWN;
        let accept_loss = asked.accept_loss;
        let retired = move |path: &Path| {
            Keys::change(path, |keys| {
                let known = keys.facts().into_iter().find(|facts| facts.role == role && facts.id == id);
                let state = known.map(|facts| facts.state());
                match state {
                    None if was_known => Ok(Retired::Before),
                    Some(KeyState::Ended) if !accept_loss => Ok(Retired::Kept),
                    _ => keys.retire(role, &id).map(Retired::Now),
                }
            })
        };
        match self.on_file(retired).await? {
            Retired::Before => Ok(RetireKeyResponse { key: None }),
            Retired::Kept => {
                let what =
                    "the key was in use, and what still needs it would be lost; say that you accept it";
                Err(ApiError::field(ErrorReason::FieldRequired, "accept_loss", what))
            }
            Retired::Now(facts) => {
                self.audit(operator, &asked.request_id, "retire_key", (role, &asked.id));
                Ok(RetireKeyResponse { key: Some(self.shown(&facts)) })
            }
        }
    }

    fn audit(&self, operator: &str, request_id: &str, action: &'static str, (role, id): (Role, &str)) {
        let object = format!("{role} key {id} of {}", admin::node_name(&self.node.roster.name));
        Act { operator, request_id }.audit(action, &object, "");
    }

    fn shown(&self, facts: &KeyFacts) -> wire::admin::v1::Key {
        let running = self.keys.iter().find(|running| running.role == facts.role && running.id == facts.id);
        admin::key(facts, running)
    }

    /// Works on the file, on a thread that may wait for a disk.
    async fn on_file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, KeysError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let Some(path) = self.key_file.clone() else {
            let what = "this server keeps its keys in memory: there is nothing to rotate";
            return Err(ApiError::new(ErrorReason::Unimplemented).with_message(what));
        };
        let worked = tokio::task::spawn_blocking(move || work(&path)).await;
        worked.map_err(|_| errors::incident("the work on a file of keys panicked"))?.map_err(refusal)
    }
}

/// What is remembered of a request to remove a key that was there.
const KNOWN: [u8; 16] = [1; 16];

/// What became of a key that was to be removed.
enum Retired {
    Now(KeyFacts),
    Before,
    Kept,
}

/// What is wrong with the request is told; what is wrong with the file is for the log, with its path.
fn refusal(error: KeysError) -> ApiError {
    let field = match &error {
        KeysError::NotPrepared { .. } | KeysError::InUse { .. } | KeysError::Unknown { .. } => "id",
        KeysError::NotRotated { .. } => "role",
        KeysError::TooMany { .. } => {
            return ApiError::new(ErrorReason::Overloaded).with_message(&error.to_string());
        }
        KeysError::Claimed { .. } => return errors::contended(),
        KeysError::Missing { .. }
        | KeysError::Exposed { .. }
        | KeysError::Read { .. }
        | KeysError::TooLong { .. }
        | KeysError::Write { .. }
        | KeysError::Malformed { .. } => return errors::incident(&error.to_string()),
    };
    ApiError::field(ErrorReason::FieldInvalid, field, &error.to_string())
}
