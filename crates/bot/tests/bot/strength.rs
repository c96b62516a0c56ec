//! A higher level wins more, and knowing a level does not help much.

use bot::Level;
use bot::arena::{Player, contest, replays};

fn score(first: usize, second: usize, games: u32) -> f64 {
    contest(&Player::Bot(Level::ALL[first]), &Player::Bot(Level::ALL[second]), games, 5).mean()
}

#[test]
fn levels_that_look_ahead_beat_chance() {
    for level in [1, 4, 5] {
        assert!(score(level, 0, 10) > 0.8, "level {level}");
    }
    assert!(score(6, 0, 6) > 0.8);
}

#[test]
fn erring_less_wins_more() {
    assert!(score(4, 1, 20) > 0.7);
}

#[test]
fn looking_further_wins_more() {
    assert!(score(5, 4, 12) > 0.6);
}

#[test]
fn a_won_game_cannot_be_replayed() {
    assert!(replays(Level::ALL[4], 20, 5).mean() < 0.3);
}
