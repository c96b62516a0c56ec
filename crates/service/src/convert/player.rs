//! Players, their ratings, and pools.

use matchmaker::Rating;
use referee::Mode;
use store::{Access, Met, PlayerRecord, Standing};
use wire::v1;

use super::settings;
use super::time::timestamp;
use crate::pools::Pool;
use crate::standing;

/// A player with what he has achieved.
pub(crate) fn to_wire(name: String, record: &PlayerRecord) -> v1::Player {
    v1::Player { name, standings: record.standings.iter().map(of_standing).collect() }
}

fn of_standing(standing: &Standing) -> v1::Standing {
    let mode = match standing.mode {
        Mode::Casual => v1::MatchMode::Casual,
        Mode::Ranked => v1::MatchMode::Ranked,
    };
    v1::Standing {
        mode: mode.into(),
        // The numbers of the domain are those of the wire.
        speed: i32::from(standing.speed.0),
        rating: standing.rating.map(standing::from_pinned).map(rating),
        wins: standing.wins,
        losses: standing.losses,
        draws: standing.draws,
        update_time: Some(timestamp(standing.updated)),
    }
}

/// A player's ban, if he has one.
pub(crate) fn ban(player: &str, access: &Access) -> Option<v1::PlayerBan> {
    access.ban.as_ref().map(|ban| v1::PlayerBan {
        player: player.to_owned(),
        reason: ban.reason.clone(),
        create_time: Some(timestamp(ban.from)),
        end_time: ban.until.map(timestamp),
    })
}

/// Whom a player met last.
pub(crate) fn recent_opponent(met: &Met) -> v1::RecentOpponent {
    v1::RecentOpponent { player: met.player.clone(), black_surplus: met.black_surplus.into() }
}

/// A rating.
pub(crate) fn rating(rating: Rating) -> v1::Rating {
    v1::Rating {
        value: rating.points(),
        deviation: rating.deviation_points(),
        volatility: rating.volatility(),
    }
}

/// A pool as players choose one.
pub(crate) fn pool(pool: &Pool) -> v1::Pool {
    // Of the settings a time control is named apart, and what a ranked match hides goes by it.
    let mut shown = v1::MatchSettings { time_control: None, ..settings::to_wire(&pool.settings) };
    if pool.settings.mode == Mode::Ranked {
        shown.seal_status = v1::SealStatus::Unspecified.into();
    }
    v1::Pool {
        pool: pool.name.as_str().to_owned(),
        region: pool.region.clone(),
        settings: Some(shown),
        time_controls: pool.time_controls.iter().map(|time| settings::time_control_to_wire(*time)).collect(),
    }
}
