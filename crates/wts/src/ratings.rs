//! Both players' ratings, before and after a ranked match.

use std::time::Duration;

use rules::PerSeat;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use whattheshell::{Error, Player, v1};

use crate::words;

/// How long ratings are waited for. A match is counted within a second or two of its end, by whichever node
/// finds it; who waits longer looks at a server that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long until they are asked for again: two calls, for something that moves once.
const PAUSE: Duration = Duration::from_millis(250);

/// The ratings that a ranked match was made with; none of a casual one.
pub(crate) fn before(black: Option<&v1::MatchSeat>, white: Option<&v1::MatchSeat>) -> Option<PerSeat<f64>> {
    Some(PerSeat { black: black?.rating?, white: white?.rating? })
}

/// The ratings once the match is counted. None: it counts for nothing, or has not been counted in time.
///
/// # Errors
/// Those of the calls.
pub(crate) async fn after(
    player: &Player,
    players: &PerSeat<String>,
    finish: &v1::MatchFinished,
) -> Result<Option<PerSeat<f64>>, Error> {
    if matches!(finish.result(), v1::MatchResult::Aborted | v1::MatchResult::Void) {
        return Ok(None);
    }
    let finish_ms = finish.finish_time.as_ref().map(words::stamp_ms).unwrap_or_default();
    let counted = async {
        loop {
            let black = counted(&player.get_player(&players.black).await?, finish_ms);
            let white = counted(&player.get_player(&players.white).await?, finish_ms);
            if let (Some(black), Some(white)) = (black, white) {
                return Ok(PerSeat { black, white });
            }
            sleep(PAUSE).await;
        }
    };
    timeout(PATIENCE, counted).await.ok().transpose()
}

/// The rating of a player whose record has the ranked match that ended then: he is in one at a time, so only the
/// last one's kind has changed since.
fn counted(player: &v1::Player, finish_ms: u64) -> Option<f64> {
    let has_it = |standing: &&v1::Standing| {
        let updated_ms = standing.update_time.as_ref().map(words::stamp_ms);
        standing.mode() == v1::MatchMode::Ranked && updated_ms.is_some_and(|ms| ms >= finish_ms)
    };
    player.standings.iter().find(has_it)?.rating.as_ref().map(|rating| rating.value)
}

/// A rating as it is shown.
pub(crate) fn shown(rating: f64) -> String {
    format!("{rating:.0}")
}

/// How a rating has moved.
pub(crate) fn move_shown(before: f64, after: f64) -> String {
    format!("{} → {}", shown(before), shown(after))
}

/// Both ratings in a line, each with how it has moved if that is known.
pub(crate) fn in_words(
    players: &PerSeat<String>,
    before: PerSeat<f64>,
    after: Option<PerSeat<f64>>,
) -> String {
    let of = |player: &str, before, after: Option<f64>| {
        let rating = after.map_or_else(|| shown(before), |after| move_shown(before, after));
        format!("{} {rating}", player.trim_start_matches("players/"))
    };
    format!(
        "ratings: {}, {}",
        of(&players.black, before.black, after.map(|after| after.black)),
        of(&players.white, before.white, after.map(|after| after.white)),
    )
}

/// The same for programs.
pub(crate) fn object(before: PerSeat<f64>, after: Option<PerSeat<f64>>) -> Value {
    json!({
        "event": "rated",
        "black_before": before.black,
        "black_after": after.map(|after| after.black),
        "white_before": before.white,
        "white_after": after.map(|after| after.white),
    })
}
