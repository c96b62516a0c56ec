//! Ends that a player, the board or a limit brings.

use std::fmt::Write as _;

use referee::{Settings, TimeControl};
use rules::{Cell, Status};

use crate::script::{Played, check, check_started};
use crate::settings::{DEFAULT, REVEALED};

/// Both complete a row of five in turn 7; each has two turtles that the other can then take out of it.
const TO_SUDDEN_DEATH: &str = "C4/D6 D8/C2 A3/A7 B3/B7 C3/C7 D3/D7 E3/E7";

fn status(played: &Played) -> Status {
    played.game.position.outcome().status
}

#[test]
fn a_resignation_loses_at_once() {
    check_started(DEFAULT, "3000 resign black as r -> done; ends WhiteWins Resignation at 3000");
    check_started(DEFAULT, "3000 resign white as r -> done; ends BlackWins Resignation at 3000");
    check_started(
        DEFAULT,
        "3000 seal white E5 as w1
         4000 resign white as r -> done; ends BlackWins Resignation at 4000",
    );
}

#[test]
fn a_repeated_resignation_has_the_same_answer_and_another_finds_the_match_finished() {
    check_started(
        DEFAULT,
        "3000 resign black as r  -> done; ends WhiteWins Resignation at 3000
         4000 resign black as r  -> done
         4000 resign black as s  -> refused MatchFinished
         4000 resign white as r  -> refused MatchFinished",
    );
}

#[test]
fn an_operator_ends_a_match_and_finds_it_ended_when_he_asks_again() {
    let played = check_started(
        DEFAULT,
        "3000 seal black E5 as b1
         4000 abort               -> done; ends Void Operator at 4000
         5000 abort               -> done
         5000 seal black E5 as b1 -> receipt black 1 at 3000
         5000 seal white D4 as w1 -> refused MatchFinished",
    );
    let finish = played.game.finish().expect("it is finished");
    assert!(finish.unresolved[rules::Seat::Black].is_some(), "a commitment stays in the transcript");
    check_started(REVEALED, "3000 seal black E5 as b1\n3000 seal white D4 as w1\n4000 abort");
    check(DEFAULT, "1000 join black\n2000 abort -> done; ends Aborted Operator at 2000\n3000 abort -> done");
}

#[test]
fn an_abort_after_another_end_does_not_count() {
    check_started(
        DEFAULT,
        "3000 resign black as r -> done; ends WhiteWins Resignation at 3000
         4000 abort             -> refused MatchFinished",
    );
    check_started(DEFAULT, "32001 abort -> refused MatchFinished; ends Draw BothFlagged at 32000");
}

#[test]
fn a_row_of_five_wins() {
    check_started(
        DEFAULT,
        "3000 play A1/A9 B1/C9 C1/E9 D1/G9
         4000 play E1/I9 -> receipt white 5 at 4000; resolved 5; ends BlackWins Row at 4000
         5000 seal white A5 as x -> refused MatchFinished",
    );
    check_started(
        DEFAULT,
        "3000 play A9/A1 C9/B1 E9/C1 G9/D1
         4000 play I9/E1 -> receipt white 5 at 4000; resolved 5; ends WhiteWins Row at 4000",
    );
}

#[test]
fn the_longer_row_of_one_turn_wins_as_sudden_death() {
    check_started(
        DEFAULT,
        "3000 play A1/A9 B1/B9 D1/C9 E1/D9 F1/I5
         4000 play C1/E9 -> receipt white 6 at 4000; resolved 6; ends BlackWins SuddenDeath at 4000",
    );
}

#[test]
fn equal_rows_play_on() {
    let played = check_started(
        DEFAULT,
        &format!(
            "3000 play {TO_SUDDEN_DEATH} -> receipt white 7 at 3000; resolved 7; turn 8 until 33000
             4000 play I5/I5             -> receipt white 8 at 4000; resolved 8; turn 9 until 34000"
        ),
    );
    assert_eq!(status(&played), Status::SuddenDeath);
}

#[test]
fn sudden_death_ends_with_a_longer_row() {
    check_started(
        DEFAULT,
        &format!(
            "3000 play {TO_SUDDEN_DEATH}
             4000 play F3/I9 -> receipt white 8 at 4000; resolved 8; ends BlackWins SuddenDeath at 4000"
        ),
    );
}

#[test]
fn sudden_death_ends_when_one_row_is_broken() {
    check_started(
        DEFAULT,
        &format!(
            "3000 play {TO_SUDDEN_DEATH}
             4000 play D5/I9 -> receipt white 8 at 4000; resolved 8; ends BlackWins SuddenDeath at 4000"
        ),
    );
}

#[test]
fn sudden_death_is_over_when_both_rows_are_broken_in_one_turn() {
    let played = check_started(
        DEFAULT,
        &format!(
            "3000 play {TO_SUDDEN_DEATH}
             4000 play D5/C5 -> receipt white 8 at 4000; resolved 8; turn 9 until 34000"
        ),
    );
    assert_eq!(status(&played), Status::Ongoing);
}

#[test]
fn a_full_board_draws() {
    let mut turns = String::from("3000 play");
    let cells: Vec<Cell> = Cell::all().collect();
    for cell in &cells[..80] {
        write!(turns, " {cell}/{cell}").expect("a string can be written to");
    }
    check_started(
        DEFAULT,
        &format!(
            "{turns}         -> receipt white 80 at 3000; resolved 80; turn 81 until 33000
             4000 play I9/I9 -> receipt white 81 at 4000; resolved 81; ends Draw FullBoard at 4000"
        ),
    );
}

#[test]
fn the_last_allowed_turn_draws() {
    let three = Settings { turn_limit: 3, ..DEFAULT };
    check_started(
        three.clone(),
        "3000 play A1/A9 B1/C9 -> receipt white 2 at 3000; resolved 2; turn 3 until 33000
         4000 play C1/E9       -> receipt white 3 at 4000; resolved 3; ends Draw TurnLimit at 4000",
    );
    check_started(
        Settings { turn_limit: 1, ..three },
        "3000 play A1/A9 -> receipt white 1 at 3000; resolved 1; ends Draw TurnLimit at 3000",
    );
}

#[test]
fn the_board_decides_before_the_turn_limit() {
    check_started(
        Settings { turn_limit: 5, ..DEFAULT },
        "3000 play A1/A9 B1/C9 C1/E9 D1/G9
         4000 play E1/I9 -> receipt white 5 at 4000; resolved 5; ends BlackWins Row at 4000",
    );
}

#[test]
fn players_who_repeat_for_ever_end_at_the_turn_limit() {
    // Each takes the other's two turtles between B5, E5 and A5, F5 and leaves the cells empty again.
    let mut played = String::from("3000 play F5/A5");
    for _ in 0..249 {
        played.push_str(" B5/E5 C5/D5");
    }
    let came = format!(
        "{played}        -> receipt white 499 at 3000; resolved 499; turn 500 until 33000
         4000 play B5/E5 -> receipt white 500 at 4000; resolved 500; ends Draw TurnLimit at 4000"
    );
    check_started(DEFAULT, &came);
}

#[test]
fn a_match_in_which_nobody_does_anything_is_void_after_the_idle_limit() {
    // Turns longer than the idle limit, so that no clock ends it first.
    let idle_ms = Settings::IDLE_MIN_MS;
    let slow = Settings { time: TimeControl::PerTurn { turn_ms: 2 * idle_ms }, idle_ms, ..DEFAULT };
    let since = |ms: u64| ms + idle_ms;
    check_started(
        slow,
        &format!(
            "3000 seal black E5 as b1 -> receipt black 1 at 3000; changed
             {} seal black E5 as x    -> refused AlreadySealed {{ turn: 1 }}
             {} tick                  -> done
             {} seal white D4 as w1   -> refused MatchFinished; ends Void Idle at {}",
            since(2_999),
            since(3_000),
            since(3_001),
            since(3_000),
        ),
    );
}

#[test]
fn a_flag_at_the_moment_of_the_idle_limit_is_a_flag() {
    let idle_ms = Settings::IDLE_MIN_MS;
    let slow = Settings { time: TimeControl::PerTurn { turn_ms: idle_ms }, idle_ms, ..DEFAULT };
    let last = 2_000 + idle_ms;
    check_started(slow, &format!("{} tick -> done; ends Draw BothFlagged at {last}", last + 1));
}
