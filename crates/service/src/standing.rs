//! What a finished match changes about its players: results, ratings, whom they met.

use matchmaker::{MatchScore, Rating, SpeedClass};
use referee::{Match, Mode, PinnedRating};
use rules::Seat;
use sealing::MatchResult;
use store::{Met, PlayerRecord, Speed, Standing, Store, StoreError};

use crate::pools::speed_class;

/// How often a record is written again because another match of the player was counted meanwhile.
const TRIES_MAX: usize = 16;

/// Counts a match in the record of a seat's player, once, and puts him where he belongs on the leaderboard.
pub(crate) async fn count(store: &dyn Store, game: &Match, seat: Seat) -> Result<(), StoreError> {
    let player = &game.parties[seat].player;
    for _ in 0..TRIES_MAX {
        let (mut record, version) = store.record(player).await?;
        let is_new = !record.counted.contains(&game.id);
        if is_new {
            add(&mut record, game, seat);
            if !store.put_record(player, version, &record, rand::random()).await? {
                continue;
            }
        }
        let speed = Speed(speed_class(game.settings.time).number());
        let standing = of(&record, game.settings.mode, speed);
        return match standing.and_then(|standing| Some((standing, standing.rating?))) {
            Some((standing, rating)) => {
                let matches = standing.wins + standing.losses + standing.draws;
                store.rank(speed, player, rating.points_micro, matches).await
            }
            None => Ok(()),
        };
    }
    Err(StoreError::Unavailable("a player's record changes all the time".to_owned()))
}

/// The rating of a player in a speed class; a new player's if he has none.
pub(crate) fn rating(record: &PlayerRecord, speed: SpeedClass) -> Rating {
    let standing = of(record, Mode::Ranked, Speed(speed.number()));
    standing.and_then(|standing| standing.rating).map_or_else(Rating::default, from_pinned)
}

/// A rating as it is stored.
pub(crate) const fn pinned(rating: Rating) -> PinnedRating {
    PinnedRating {
        points_micro: rating.points_micro(),
        deviation_micro: rating.deviation_micro(),
        volatility_nano: rating.volatility_nano(),
    }
}

/// A stored rating.
pub(crate) fn from_pinned(rating: PinnedRating) -> Rating {
    Rating::new(rating.points_micro, rating.deviation_micro, rating.volatility_nano)
}

fn of(record: &PlayerRecord, mode: Mode, speed: Speed) -> Option<&Standing> {
    record.standings.iter().find(|standing| standing.mode == mode && standing.speed == speed)
}

fn add(record: &mut PlayerRecord, game: &Match, seat: Seat) {
    let Some(finish) = game.finish() else { return };
    let score = match finish.result {
        MatchResult::Draw => MatchScore::Draw,
        result if result == MatchResult::won_by(seat) => MatchScore::Win,
        _ => MatchScore::Loss,
    };
    let (mode, speed) = (game.settings.mode, Speed(speed_class(game.settings.time).number()));
    let standing = match record.standings.iter_mut().position(|own| own.mode == mode && own.speed == speed) {
        Some(at) => &mut record.standings[at],
        None => {
            let (rating, updated) = (None, finish.at);
            record.standings.push(Standing { mode, speed, rating, wins: 0, losses: 0, draws: 0, updated });
            let last = record.standings.len() - 1;
            &mut record.standings[last]
        }
    };
    match score {
        MatchScore::Win => standing.wins += 1,
        MatchScore::Draw => standing.draws += 1,
        MatchScore::Loss => standing.losses += 1,
    }
    standing.updated = standing.updated.max(finish.at);
    // The opponent's as it was at the beginning, so that it does not matter whose record is written first.
    if let Some(ratings) = game.origin.as_ref().and_then(|origin| origin.ratings.as_ref()) {
        let before = standing.rating.map_or_else(Rating::default, from_pinned);
        standing.rating = Some(pinned(before.after(from_pinned(ratings[seat.opponent()]), score)));
    }
    record.counted.push(game.id);
    keep_last(&mut record.counted, PlayerRecord::COUNTED_MAX);
    if game.origin.as_ref().is_some_and(|origin| origin.tickets[seat].is_some()) {
        meet(record, &game.parties[seat.opponent()].player, seat);
    }
}

/// Notes whom a player met last, and in which colour.
fn meet(record: &mut PlayerRecord, opponent: &str, seat: Seat) {
    let known = record.recent.iter().position(|met| met.player == opponent);
    let before = known.map_or(0, |at| record.recent.remove(at).black_surplus);
    let black_surplus = match seat {
        Seat::Black => before.saturating_add(1),
        Seat::White => before.saturating_sub(1),
    };
    record.recent.push(Met { player: opponent.to_owned(), black_surplus });
    keep_last(&mut record.recent, PlayerRecord::RECENT_MAX);
}

fn keep_last<T>(list: &mut Vec<T>, max: usize) {
    list.drain(..list.len().saturating_sub(max));
}
