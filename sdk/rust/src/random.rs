//! What the client draws: salts and request ids, from the operating system.

use rand::TryRng as _;
use rand::rngs::SysRng;
use sealing::Salt;

use crate::Error;

/// 32 bytes that nobody can guess.
pub(crate) fn salt() -> Result<Salt, Error> {
    bytes().map(Salt::from_bytes)
}

/// A random UUID: the id of one intent, kept for its retries.
pub(crate) fn request_id() -> Result<String, Error> {
    Ok(uuid::Builder::from_random_bytes(bytes()?).into_uuid().to_string())
}

fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(|_| Error::Randomness)?;
    Ok(bytes)
}
