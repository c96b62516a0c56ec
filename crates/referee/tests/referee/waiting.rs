//! Before turn 1: both players must be there.

use referee::{FollowUp, Match, Now, Settings};
use rules::Seat;

use crate::script::{at, check, new_match};

const READY_CHECK: Settings = Settings { start_ms: Some(20_000), ..DEFAULT };
const DEFAULT: Settings = crate::settings::DEFAULT;

#[test]
fn the_second_join_opens_turn_1_and_starts_both_clocks() {
    check(
        DEFAULT,
        "1000 join white -> done; changed
         2000 join black -> done; turn 1 until 32000",
    );
}

#[test]
fn joining_again_is_harmless_at_any_time() {
    check(
        DEFAULT,
        "1000 join black     -> done; changed
         1500 join black     -> done
         2000 join white     -> done; turn 1 until 32000
         9000 join black     -> done
         9000 join white     -> done
         9000 resign white as r -> done; ends BlackWins Resignation at 9000
         9500 join black     -> done",
    );
}

#[test]
fn nothing_can_be_sealed_before_both_are_there() {
    check(
        DEFAULT,
        "500  seal black E5 as a -> refused MatchNotStarted
         1000 join black         -> done; changed
         1500 seal black E5 as a -> refused MatchNotStarted",
    );
}

#[test]
fn giving_up_before_turn_1_aborts_the_match() {
    check(
        DEFAULT,
        "500  resign white as r -> done; ends Aborted Resignation at 500
         600  resign white as r -> done
         600  resign black as r -> refused MatchFinished
         1000 join black        -> done",
    );
    check(
        READY_CHECK,
        "1000  join black        -> done; changed
         20000 resign black as r -> done; ends Aborted Resignation at 20000",
    );
    check(
        READY_CHECK,
        "1000  join black        -> done; changed
         20001 resign black as r -> refused MatchFinished; ends Aborted NoShow at 20000",
    );
}

#[test]
fn a_seat_that_is_not_taken_by_the_start_time_aborts_the_match() {
    check(
        READY_CHECK,
        "1000  join black -> done; changed
         20000 tick       -> done
         20001 tick       -> done; ends Aborted NoShow at 20000",
    );
    check(READY_CHECK, "20001 tick -> done; ends Aborted NoShow at 20000");
}

#[test]
fn the_start_time_is_inclusive() {
    check(
        READY_CHECK,
        "1000  join black -> done; changed
         20000 join white -> done; turn 1 until 50000",
    );
}

#[test]
fn a_join_after_the_start_time_finds_the_match_aborted() {
    check(
        READY_CHECK,
        "1000  join black         -> done; changed
         20001 join white         -> done; ends Aborted NoShow at 20000
         20002 seal white E5 as a -> refused MatchFinished",
    );
}

#[test]
fn joining_does_not_move_the_start_time() {
    check(
        READY_CHECK,
        "19999 join black -> done; changed
         20001 tick       -> done; ends Aborted NoShow at 20000",
    );
}

#[test]
fn the_start_time_is_forgotten_once_both_are_there() {
    check(
        READY_CHECK,
        "1000  join black -> done; changed
         2000  join white -> done; turn 1 until 32000
         20001 tick       -> done",
    );
}

#[test]
fn without_a_start_time_only_the_idle_limit_bounds_the_wait() {
    let idle = Settings { idle_ms: Settings::IDLE_MIN_MS, ..DEFAULT };
    let last = Settings::IDLE_MIN_MS;
    check(
        idle.clone(),
        &format!(
            "{last} tick -> done
             {} tick     -> done; ends Void Idle at {last}",
            last + 1
        ),
    );
    check(
        idle,
        &format!(
            "1000 join black -> done; changed
             {} tick -> done
             {} tick -> done; ends Void Idle at {}",
            last + 1_000,
            last + 1_001,
            last + 1_000,
        ),
    );
}

#[test]
fn a_new_match_is_shown_in_both_players_lists() {
    let created = Match::create(new_match(DEFAULT), Now { stamp: at(0), outage_ms: 0 });
    assert_eq!(created.follow_ups, Seat::BOTH.map(FollowUp::Index));
    assert!(created.events.is_empty());
    assert_eq!(created.not_after, None);
}

#[test]
fn a_player_is_found_at_his_seat_and_a_stranger_at_none() {
    let game = Match::create(new_match(DEFAULT), Now { stamp: at(0), outage_ms: 0 }).next;
    assert_eq!(game.seat_of("players/ann"), Some(Seat::Black));
    assert_eq!(game.seat_of("players/bob"), Some(Seat::White));
    assert_eq!(game.seat_of("players/eve"), None);
}
