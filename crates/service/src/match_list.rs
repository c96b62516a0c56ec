//! A page of a player's list of matches.

use store::{PageKey, Store, StoreError};
use wire::ApiError;
use wire::v1;

use crate::convert::{errors, view};
use crate::page::{self, Page};

/// The matches of a page, and the token of the next one.
pub(crate) async fn page(
    store: &dyn Store,
    player: &str,
    finished: Option<bool>,
    page: &Page,
) -> Result<(Vec<v1::MatchSummary>, String), ApiError> {
    let listed = store.matches_of(player, finished, page.after, page.size).await.map_err(errors::store)?;
    let last = listed.last().filter(|_| listed.len() == page.size);
    let last = last.map(|last| PageKey { created: last.created, match_id: last.match_id });
    let mut matches = Vec::with_capacity(listed.len());
    for entry in &listed {
        match store.load(entry.match_id).await {
            Ok(loaded) => matches.push(view::summary(&loaded.stored.head)),
            // Its retention has passed since it was listed.
            Err(StoreError::NotFound) => {}
            Err(error) => return Err(errors::store(error)),
        }
    }
    Ok((matches, page::token(last, player, finished)))
}
