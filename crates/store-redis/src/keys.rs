//! Which keys a store belongs to.

use crate::call::Call;
use crate::error::OpenError;
use crate::redis_store::RedisStore;

impl RedisStore {
    /// Checks that the store is opened with its own keys, before anything is sealed with others that no other
    /// node could open. `id` names the whole set of keys, through all rotations, and is no secret. The first
    /// one that a store hears of is its own from then on.
    ///
    /// # Errors
    /// [`OpenError::OtherKeys`] if it is not; [`OpenError::HalfImported`]; or the store cannot be reached.
    pub async fn check_keys(&self, id: &str) -> Result<(), OpenError> {
        let (key, place) = self.names.meta();
        let call = Call::new(&self.scripts.keys, place, vec![key]).argument(id);
        let reply = self.caller.run(call).await.map_err(|error| self.unreachable(&error))?;
        let found = reply.optional_bytes(0).map_err(|_| OpenError::DamagedMeta)?;
        let found = found.ok_or_else(|| OpenError::HalfImported { location: self.location() })?;
        match found == id.as_bytes() {
            true => Ok(()),
            false => Err(OpenError::OtherKeys {
                found: String::from_utf8_lossy(found).into_owned(),
                own: id.to_owned(),
            }),
        }
    }
}
