//! Clocks: the earliest deadline that passed decides, whoever is processed first and however late.

use referee::{Settings, TimeControl};

use crate::script::check_started;
use crate::settings::DEFAULT;

/// 60 s on the clock and 5 s for every seal.
const BANK: Settings =
    Settings { time: TimeControl::Bank { initial_ms: 60_000, increment_ms: 5_000 }, ..DEFAULT };

#[test]
fn a_seat_may_seal_until_its_deadline_inclusive() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1 -> receipt black 1 at 3000; changed
         32000 tick                -> done
         32000 seal white D4 as w1 -> receipt white 1 at 32000; resolved 1; turn 2 until 62000",
    );
}

#[test]
fn a_seat_that_has_not_sealed_by_its_deadline_loses() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1 -> receipt black 1 at 3000; changed
         32001 seal white D4 as w1 -> refused MatchFinished; ends BlackWins Flag at 32000",
    );
    check_started(
        DEFAULT,
        "3000  seal white E5 as w1 -> receipt white 1 at 3000; changed
         32001 tick                -> done; ends WhiteWins Flag at 32000",
    );
}

#[test]
fn two_seats_that_flag_together_draw() {
    check_started(DEFAULT, "32001 tick -> done; ends Draw BothFlagged at 32000");
    check_started(
        DEFAULT,
        "32001 seal black E5 as b1 -> refused MatchFinished; ends Draw BothFlagged at 32000",
    );
}

#[test]
fn a_sealed_seat_cannot_flag() {
    check_started(
        BANK,
        "50000  seal black E5 as b1 -> receipt black 1 at 50000; changed
         62000  tick                -> done
         62001  tick                -> done; ends BlackWins Flag at 62000",
    );
}

#[test]
fn a_resignation_after_the_flag_does_not_count() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1
         32001 resign black as r   -> refused MatchFinished; ends BlackWins Flag at 32000",
    );
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1
         32000 resign black as r   -> done; ends WhiteWins Resignation at 32000",
    );
}

#[test]
fn how_late_a_deadline_is_found_never_changes_the_result() {
    for late_ms in [32_001, 32_002, 40_000, 1_000_000_000_u64] {
        check_started(
            DEFAULT,
            &format!(
                "3000      seal black E5 as b1
                 {late_ms} seal white D4 as w1 -> refused MatchFinished; ends BlackWins Flag at 32000"
            ),
        );
    }
}

#[test]
fn a_bank_clock_keeps_what_was_left_and_gains_the_increment() {
    // Black uses 10 s of 60, white 30 s: 55 s and 35 s are left for turn 2.
    check_started(
        BANK,
        "12000 seal black E5 as b1 -> receipt black 1 at 12000; changed
         32000 seal white D4 as w1 -> receipt white 1 at 32000; resolved 1; turn 2 until 87000/67000
         33000 seal white A1 as w2 -> receipt white 2 at 33000; changed
         87000 seal black I9 as b2 -> receipt black 2 at 87000; resolved 2; turn 3 until 92000/126000",
    );
}

#[test]
fn waiting_for_the_opponent_costs_no_bank_time() {
    check_started(
        BANK,
        "2000  seal black E5 as b1 -> receipt black 1 at 2000; changed
         62000 seal white D4 as w1 -> receipt white 1 at 62000; resolved 1; turn 2 until 127000/67000",
    );
}

#[test]
fn with_bank_clocks_the_earlier_deadline_decides_however_late_it_is_found() {
    let script = |end: &str| {
        format!(
            "12000 seal black E5 as b1
             32000 seal white D4 as w1 -> receipt white 1 at 32000; resolved 1; turn 2 until 87000/67000
             {end}"
        )
    };
    check_started(BANK, &script("67000 tick -> done"));
    check_started(BANK, &script("67001 tick -> done; ends BlackWins Flag at 67000"));
    check_started(BANK, &script("87001 tick -> done; ends BlackWins Flag at 67000"));
    check_started(
        BANK,
        &script("70000 seal black A1 as b2 -> refused MatchFinished; ends BlackWins Flag at 67000"),
    );
}

#[test]
fn with_bank_clocks_equal_deadlines_still_flag_both() {
    check_started(BANK, "62001 tick -> done; ends Draw BothFlagged at 62000");
    check_started(
        BANK,
        "12000 play E5/D4 -> receipt white 1 at 12000; resolved 1; turn 2 until 67000
         90000 tick       -> done; ends Draw BothFlagged at 67000",
    );
}

#[test]
fn a_bank_clock_never_holds_more_than_its_bound() {
    let full = Settings {
        time: TimeControl::Bank {
            initial_ms: Settings::BANK_MAX_MS,
            increment_ms: Settings::INCREMENT_MAX_MS,
        },
        ..DEFAULT
    };
    let until = 3_000 + Settings::BANK_MAX_MS;
    check_started(
        full,
        &format!("3000 play E5/D4 -> receipt white 1 at 3000; resolved 1; turn 2 until {until}"),
    );
}
