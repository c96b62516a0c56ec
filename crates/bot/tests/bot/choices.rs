//! Every choice is legal, follows from the seed, and costs no more than promised.

use bot::{GameOver, Level, analyse, choose};
use proptest::prelude::*;
use rules::{Position, Seat, Status};

use crate::boards::{FIVE, board, cell, open_position};

/// Levels 0 to 5; the highest takes longer and has fewer cases.
fn most_levels() -> &'static [Level] {
    &Level::ALL[..6]
}

fn check(position: &Position, seat: Seat, level: Level, seed: u64) -> Result<(), TestCaseError> {
    let analysis = analyse(position, seat, level).expect("it is not over");
    prop_assert!(analysis.turns <= level.turns_max(), "{} turns at level {}", analysis.turns, level);
    let mut total = 0.0;
    for &(cell, share) in analysis.strategy.shares() {
        prop_assert!(position.is_empty(cell), "level {} may choose {}", level, cell);
        prop_assert!(share > 0.0);
        prop_assert_eq!(analysis.strategy.share(cell), share);
        total += share;
    }
    prop_assert!((total - 1.0).abs() < 1e-4, "the shares add up to {}", total);
    let chosen = choose(position, seat, level, seed).expect("it is not over");
    prop_assert!(analysis.strategy.share(chosen) > 0.0);
    prop_assert_eq!(choose(position, seat, level, seed), Ok(chosen));
    prop_assert_eq!(analyse(position, seat, level), Ok(analysis));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn choices_are_legal_bounded_and_follow_from_the_seed(position in open_position(), seed: u64) {
        for level in most_levels() {
            for seat in Seat::BOTH {
                check(&position, seat, *level, seed)?;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn so_are_those_of_the_highest_level(position in open_position(), seed: u64) {
        check(&position, Seat::White, Level::HARDEST, seed)?;
    }
}

#[test]
fn the_seed_draws_by_the_shares() {
    let position = Position::initial();
    let strategy = analyse(&position, Seat::Black, Level::ALL[2]).unwrap().strategy;
    let draws = 2000;
    let mut counts = [0_u32; rules::Cell::COUNT];
    for seed in 0..draws {
        let chosen = choose(&position, Seat::Black, Level::ALL[2], seed).unwrap();
        counts[usize::from(chosen.index())] += 1;
    }
    assert!(strategy.shares().len() > 1, "a level that mixes");
    for &(cell, share) in strategy.shares() {
        let drawn = f64::from(counts[usize::from(cell.index())]) / draws as f64;
        assert!((drawn - f64::from(share)).abs() < 0.05, "{cell}: {drawn} drawn of {share}");
    }
}

#[test]
fn the_random_level_chooses_any_legal_cell_alike() {
    let shares = analyse(&Position::initial(), Seat::Black, Level::EASIEST).unwrap().strategy;
    assert_eq!(shares.shares().len(), 81);
    assert!(shares.shares().iter().all(|&(_, share)| (share - 1.0 / 81.0).abs() < 1e-6));
}

#[test]
fn a_game_that_is_over_has_no_choice() {
    let row = board(FIVE);
    assert_eq!(row.outcome().status, Status::BlackWins);
    for level in Level::ALL {
        assert_eq!(choose(&row, Seat::White, level, 1), Err(GameOver));
        assert_eq!(analyse(&row, Seat::White, level), Err(GameOver));
    }
}

#[test]
fn on_the_last_cell_there_is_one_choice() {
    let (even, odd) = ("bbwwbbwwb", "wwbbwwbbw");
    let full = board([even, odd, even, odd, even, odd, even, odd, ".bwwbbwwb"]);
    assert!(!full.outcome().status.is_over());
    for level in Level::ALL {
        assert_eq!(choose(&full, Seat::Black, level, 9), Ok(cell("A1")));
    }
}
