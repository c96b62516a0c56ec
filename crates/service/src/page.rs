//! Pages of lists. A token names the last entry that was shown and the list it belongs to; it is opaque
//! to clients and checked as untrusted input when it comes back.

use referee::Stamp;
use sha2::{Digest as _, Sha256};
use store::PageKey;
use wire::ApiError;
use wire::v1::ErrorReason;

/// Entries on a page where the request names no number.
const SIZE_DEFAULT: usize = 20;

/// The most entries on a page: each is a read of its own.
pub(crate) const SIZE_MAX: usize = 100;

/// The part of a list that a request asks for.
pub(crate) struct Page {
    pub(crate) size: usize,
    pub(crate) after: Option<PageKey>,
}

impl Page {
    /// Reads a request's page: 0 is the default, too many are the most there are.
    pub(crate) fn of(size: u32, token: &str, player: &str, finished: Option<bool>) -> Result<Self, ApiError> {
        let size = self::size(size);
        if token.is_empty() {
            return Ok(Self { size, after: None });
        }
        let after = parse(token, player, finished).ok_or_else(token_invalid)?;
        Ok(Self { size, after: Some(after) })
    }
}

/// A page of a list that is whole in memory, in the order of its keys, and the token of the next one. A token names
/// the last key that was shown.
pub(crate) fn part<T>(
    mut all: Vec<T>,
    key: impl Fn(&T) -> String,
    size: u32,
    token: &str,
) -> Result<(Vec<T>, String), ApiError> {
    if !token.is_empty() && !wire::is_id(token) {
        return Err(token_invalid());
    }
    all.sort_by_cached_key(&key);
    all.retain(|entry| key(entry).as_str() > token);
    let is_last = all.len() <= self::size(size);
    all.truncate(self::size(size));
    let next = all.last().filter(|_| !is_last).map(key).unwrap_or_default();
    Ok((all, next))
}

/// The entries of a page: 0 is the default, too many are the most there are.
pub(crate) fn size(size: u32) -> usize {
    match size as usize {
        0 => SIZE_DEFAULT,
        size => size.min(SIZE_MAX),
    }
}

/// The refusal of a token that is not one of its list.
pub(crate) fn token_invalid() -> ApiError {
    let what = "it is not a next_page_token of this list; start without one";
    ApiError::field(ErrorReason::PageTokenInvalid, "page_token", what)
}

/// The token of the page after this entry; empty if there is none.
pub(crate) fn token(last: Option<PageKey>, player: &str, finished: Option<bool>) -> String {
    match last {
        None => String::new(),
        Some(key) => {
            format!("{}.{}.{}", key.created.as_ms(), key.match_id, list(player, finished))
        }
    }
}

fn parse(token: &str, player: &str, finished: Option<bool>) -> Option<PageKey> {
    let mut parts = token.split('.');
    let (created, id, of) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || of != list(player, finished) {
        return None;
    }
    Some(PageKey { created: Stamp::from_ms(created.parse().ok()?), match_id: id.parse().ok()? })
}

/// Tells lists apart, so that a token of one is not taken for another's.
fn list(player: &str, finished: Option<bool>) -> String {
    let hash = Sha256::digest(format!("{player} {finished:?}"));
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
