//! Time in which the service was down is nobody's time.

use referee::{Settings, TimeControl};

use crate::script::{at, check, check_started};
use crate::settings::DEFAULT;

#[test]
fn deadlines_move_by_the_time_that_the_service_was_down() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1
         4000  outage 100000
         132000 tick                -> done
         132000 seal white D4 as w1 -> receipt white 1 at 132000; resolved 1; turn 2 until 162000",
    );
    check_started(
        DEFAULT,
        "4000  outage 100000
         132001 tick -> done; ends Draw BothFlagged at 132000",
    );
}

#[test]
fn outages_add_up_and_each_counts_once() {
    check_started(
        DEFAULT,
        "4000  outage 10000
         15000 seal black E5 as b1 -> receipt black 1 at 15000; changed
         16000 outage 10000
         52000 tick                -> done
         52001 tick                -> done; ends BlackWins Flag at 52000",
    );
}

#[test]
fn a_turn_that_opens_after_an_outage_is_not_longer_for_it() {
    check_started(
        DEFAULT,
        "4000  outage 10000
         15000 play E5/D4 -> receipt white 1 at 15000; resolved 1; turn 2 until 45000
         45001 tick       -> done; ends Draw BothFlagged at 45000",
    );
}

#[test]
fn a_bank_clock_does_not_run_while_the_service_is_down() {
    let bank = Settings { time: TimeControl::Bank { initial_ms: 60_000, increment_ms: 0 }, ..DEFAULT };
    check_started(
        bank,
        "4000  outage 100000
         112000 seal black E5 as b1 -> receipt black 1 at 112000; changed
         122000 seal white D4 as w1 -> receipt white 1 at 122000; resolved 1; turn 2 until 172000/162000",
    );
}

#[test]
fn the_start_time_and_the_idle_limit_move_too() {
    check(
        Settings { start_ms: Some(20_000), ..DEFAULT },
        "1000  outage 50000
         70000 tick -> done
         70001 tick -> done; ends Aborted NoShow at 70000",
    );
    let idle_ms = Settings::IDLE_MIN_MS;
    check(
        Settings { idle_ms, ..DEFAULT },
        &format!(
            "1000 outage 50000
             {} tick -> done
             {} tick -> done; ends Void Idle at {}",
            idle_ms + 50_000,
            idle_ms + 50_001,
            idle_ms + 50_000,
        ),
    );
}

#[test]
fn an_outage_changes_no_result_that_stands() {
    check_started(
        DEFAULT,
        "3000  resign black as r -> done; ends WhiteWins Resignation at 3000
         4000  outage 100000
         99999 resign black as r -> done",
    );
}

#[test]
fn a_due_time_moves_with_the_deadlines() {
    let game = check_started(DEFAULT, "").game;
    assert_eq!(game.due(), Some(at(32_001)));
    assert_eq!(game.under_outage(5_000).due(), Some(at(37_001)));
    assert_eq!(game.under_outage(5_000).under_outage(5_000).due(), Some(at(37_001)));
    assert_eq!(game.under_outage(5_000).under_outage(7_000).due(), Some(at(39_001)));
}
