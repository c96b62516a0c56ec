//! Leaderboards: the best players, or those around one.

use futures::future::try_join_all;
use matchmaker::SpeedClass;
use sha2::{Digest as _, Sha256};
use store::{Ranked, Speed, StoreError};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::convert::{errors, player, request};
use crate::node::Node;
use crate::{page, standing};

/// The part of a leaderboard that a request asks for.
pub(crate) async fn list(
    node: &Node,
    request: &v1::ListLeaderboardRequest,
) -> Result<v1::ListLeaderboardResponse, ApiError> {
    let speed = speed(request.speed)?;
    let around = match request.around_player.as_str() {
        "" => None,
        name => Some(request::player("around_player", name)?),
    };
    let size = page::size(request.page_size);
    let list = list_name(speed, around);
    let skip = match (request.page_token.as_str(), around) {
        ("", None) => 0,
        ("", Some(player)) => match place(node, speed, player).await? {
            // He is in the middle of the first page.
            Some(place) => place.saturating_sub(size as u64 / 2),
            None => return Ok(v1::ListLeaderboardResponse::default()),
        },
        (token, _) => read_token(token, &list).ok_or_else(page::token_invalid)?,
    };
    let ranked = node.store.leaderboard(number(speed), skip, size).await.map_err(errors::store)?;
    let full_page = ranked.len() == size;
    let entries = try_join_all(ranked.iter().map(|line| entry(node, speed, line))).await;
    let next = skip.saturating_add(size as u64);
    Ok(v1::ListLeaderboardResponse {
        entries: entries.map_err(errors::store)?,
        next_page_token: if full_page { format!("{next}.{list}") } else { String::new() },
    })
}

async fn place(node: &Node, speed: SpeedClass, player: &str) -> Result<Option<u64>, ApiError> {
    node.store.leaderboard_place(number(speed), player).await.map_err(errors::store)
}

/// A line with the whole rating, of which the board holds the points only.
async fn entry(node: &Node, speed: SpeedClass, line: &Ranked) -> Result<v1::LeaderboardEntry, StoreError> {
    let (record, _) = node.store.record(&line.player).await?;
    let rating = v1::Rating {
        // The line's own, by which it stands where it does; the record may be newer.
        value: line.points_micro as f64 / 1e6,
        ..player::rating(standing::rating(&record, speed))
    };
    Ok(v1::LeaderboardEntry { rank: line.rank, player: line.player.clone(), rating: Some(rating) })
}

const fn number(speed: SpeedClass) -> Speed {
    Speed(speed.number())
}

fn speed(number: i32) -> Result<SpeedClass, ApiError> {
    if number == 0 {
        return Err(ApiError::required("speed"));
    }
    let class = u8::try_from(number).ok().and_then(SpeedClass::of_number);
    class.ok_or_else(|| {
        ApiError::field(ErrorReason::FieldInvalid, "speed", "this server does not know the class")
    })
}

/// Tells lists apart, so that a token of one is not taken for another's.
fn list_name(speed: SpeedClass, around: Option<&str>) -> String {
    let hash = Sha256::digest(format!("leaderboard {} {around:?}", speed.number()));
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_token(token: &str, list: &str) -> Option<u64> {
    let (skip, of) = token.split_once('.')?;
    if of == list { skip.parse().ok() } else { None }
}
