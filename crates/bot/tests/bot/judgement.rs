//! What every level above chance sees.

use bot::evaluator::value;
use bot::{Level, analyse};
use rules::Seat;

use crate::boards::{FOUR, board, cell};

#[test]
fn an_equilibrium_completes_a_row_that_cannot_be_stopped() {
    // Two free ends: white can stand in the way of one.
    let mut rows = FOUR;
    rows[8] = ".bbbb...w";
    let position = board(rows);
    assert!(value(&position, Seat::Black) > 0.5);
    for level in &Level::ALL[4..] {
        let strategy = analyse(&position, Seat::Black, *level).unwrap().strategy;
        let completing = strategy.share(cell("A1")) + strategy.share(cell("F1"));
        assert!(completing > 0.9, "level {level}: {completing}");
    }
}

#[test]
fn an_equilibrium_stands_in_the_way_of_a_row() {
    let position = board(FOUR);
    for level in &Level::ALL[4..] {
        let share = analyse(&position, Seat::White, *level).unwrap().strategy.share(cell("F1"));
        assert!(share > 0.3, "level {level}: {share}");
    }
}

#[test]
fn the_highest_levels_look_further_each() {
    let mut rows = FOUR;
    rows[8] = "wbb......";
    let turns = [4, 5, 6].map(|level| analyse(&board(rows), Seat::White, Level::ALL[level]).unwrap().turns);
    assert!(turns[1] > 10 * turns[0] && turns[2] > 2 * turns[1], "{turns:?}");
}

#[test]
fn a_win_is_worth_more_than_any_chance() {
    let mut rows = FOUR;
    rows[8] = ".bbbb....";
    let chance = value(&board(rows), Seat::Black);
    rows[8] = "bbbbb....";
    assert_eq!(value(&board(rows), Seat::Black), 1.0);
    assert_eq!(value(&board(rows), Seat::White), -1.0);
    assert!(chance < 1.0);
}
