//! The arena plays by the rules and counts right.

use bot::arena::{self, Foresight, Player, Score, best_response};
use bot::{GameOver, Level, analyse};
use rules::{PerSeat, Position, Seat, Status};

use crate::boards::{FIVE, FOUR, board, cell};

#[test]
fn a_game_is_one_that_the_rules_allow() {
    let bot = Player::Bot(Level::ALL[3]);
    let record = arena::game(PerSeat { black: &bot, white: &bot }, 3);
    let mut position = Position::initial();
    for turn in &record.turns {
        position.advance(turn.black, turn.white).unwrap();
    }
    assert_eq!(position.outcome().status, record.status);
    assert!(record.status.is_over());
}

#[test]
fn the_same_seed_plays_the_same_game() {
    let bot = Player::Bot(Level::ALL[2]);
    let players = || PerSeat { black: &bot, white: &bot };
    assert_eq!(arena::game(players(), 3), arena::game(players(), 3));
    assert_ne!(arena::game(players(), 3), arena::game(players(), 4));
}

#[test]
fn a_replayer_plays_what_was_played() {
    let bot = Player::Bot(Level::ALL[2]);
    let record = arena::game(PerSeat { black: &bot, white: &bot }, 3);
    let replayed = |seat: Seat| Player::Replayer(record.turns.iter().map(|turn| turn[seat]).collect());
    let (black, white) = (replayed(Seat::Black), replayed(Seat::White));
    assert_eq!(arena::game(PerSeat { black: &black, white: &white }, 99), record);
}

#[test]
fn a_contest_counts_every_game_for_the_first_player() {
    let (strong, weak) = (Player::Bot(Level::ALL[4]), Player::Bot(Level::EASIEST));
    let score = arena::contest(&strong, &weak, 8, 1);
    assert_eq!(score.games(), 8);
    let mirrored = arena::contest(&weak, &strong, 8, 1);
    assert!(score.mean() > 0.7 && mirrored.mean() < 0.3, "{score:?} {mirrored:?}");
}

#[test]
fn an_interval_holds_the_score_and_narrows() {
    let few = Score { won: 6, drawn: 2, lost: 2 };
    let many = Score { won: 600, drawn: 200, lost: 200 };
    assert_eq!((few.mean(), many.mean()), (0.7, 0.7));
    let (wide, narrow) = (few.interval(), many.interval());
    assert!(wide.low < narrow.low && narrow.low < 0.7 && 0.7 < narrow.high && narrow.high < wide.high);
    let none = Score::default().interval();
    assert_eq!((none.low, none.high), (0.0, 1.0));
}

#[test]
fn a_best_response_takes_what_the_strategy_leaves_open() {
    // White is random, so that black's open row is almost never stopped: complete it.
    let position = board(FOUR);
    let random = analyse(&position, Seat::White, Level::EASIEST).unwrap().strategy;
    for foresight in [Foresight::One, Foresight::Two] {
        let answer = best_response(&position, Seat::Black, &random, foresight);
        assert_eq!(answer, Ok(cell("F1")));
    }
}

#[test]
fn a_responder_answers_the_strategy_that_the_bot_draws_from() {
    let level = Level::ALL[4];
    let players = PerSeat { black: &Player::Bot(level), white: &Player::Responder(Foresight::One) };
    let mut position = Position::initial();
    for turn in arena::game(players, 3).turns {
        let strategy = analyse(&position, Seat::Black, level).unwrap().strategy;
        assert_eq!(best_response(&position, Seat::White, &strategy, Foresight::One), Ok(turn.white));
        assert!(strategy.share(turn.black) > 0.0);
        position.advance(turn.black, turn.white).unwrap();
    }
}

#[test]
fn knowing_a_level_that_errs_beats_it() {
    let responder = Player::Responder(Foresight::One);
    assert!(arena::contest(&responder, &Player::Bot(Level::ALL[2]), 10, 1).mean() > 0.7);
}

#[test]
fn a_game_that_is_over_has_no_response() {
    let position = board(FIVE);
    assert_eq!(position.outcome().status, Status::BlackWins);
    let random = analyse(&Position::initial(), Seat::Black, Level::EASIEST).unwrap().strategy;
    assert_eq!(best_response(&position, Seat::White, &random, Foresight::One), Err(GameOver));
}
