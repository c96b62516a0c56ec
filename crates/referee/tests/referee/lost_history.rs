//! A store that has lost a part of a match.

use crate::script::{check, check_started};
use crate::settings::{DEFAULT, REVEALED};

#[test]
fn what_the_service_knows_to_be_lost_makes_the_match_void() {
    let played = check_started(
        DEFAULT,
        "3000 play A1/I9
         4000 seal black E5 as b2
         5000 lost                -> done; ends Void LostHistory at 5000
         6000 lost                -> done
         6000 claim black 7 7     -> done
         6000 seal black E5 as b2 -> receipt black 2 at 4000
         6000 seal white D4 as w2 -> refused MatchFinished",
    );
    let finish = played.game.finish().expect("it is finished");
    assert!(finish.unresolved.black.is_some(), "a commitment stays in the transcript");
    check_started(REVEALED, "3000 seal black E5 as b1\n3000 seal white D4 as w1\n4000 lost");
    check(DEFAULT, "1000 join black\n2000 lost -> done; ends Void LostHistory at 2000");
}

#[test]
fn nobody_flags_for_a_seal_that_may_be_what_is_lost() {
    check_started(
        DEFAULT,
        "3000 seal white D4 as w1
         40000 lost -> done; ends Void LostHistory at 40000",
    );
    check_started(
        DEFAULT,
        "40000 tick -> done; ends Draw BothFlagged at 32000
         40000 lost -> refused MatchFinished",
    );
}

#[test]
fn one_seat_s_claim_is_kept_and_changes_nothing_else() {
    check_started(
        DEFAULT,
        "3000 play A1/I9
         4000 claim black 2 7     -> done; changed
         4000 claim black 2 7     -> done
         5000 seal black E5 as b2 -> receipt black 2 at 5000; changed
         5000 seal white D4 as w2 -> receipt white 2 at 5000; resolved 2; turn 3 until 35000",
    );
}

#[test]
fn both_seats_who_claim_the_same_are_believed() {
    check_started(
        DEFAULT,
        "3000 play A1/I9
         4000 claim black 2 7 -> done; changed
         5000 claim white 2 7 -> done; ends Void LostHistory at 5000",
    );
    check_started(
        DEFAULT,
        "3000 play A1/I9
         4000 claim white 2 7 -> done; changed
         5000 play B1/H9
         6000 claim black 2 7 -> done; ends Void LostHistory at 6000",
    );
}

#[test]
fn claims_that_differ_in_turn_or_hash_are_not() {
    check_started(
        DEFAULT,
        "3000 play A1/I9
         4000 claim black 2 7 -> done; changed
         4000 claim white 2 8 -> done; changed
         4000 claim white 3 7 -> done; changed
         5000 claim black 3 8 -> done; changed
         6000 claim black 3 7 -> done; ends Void LostHistory at 6000",
    );
}

#[test]
fn a_claim_of_the_history_that_the_match_has_is_none() {
    check_started(
        DEFAULT,
        "3000 play A1/I9
         4000 claim black 1 h1 -> done
         4000 claim white 1 h1 -> done",
    );
}

#[test]
fn a_claim_keeps_no_idle_match_alive() {
    let idle = referee::Settings { idle_ms: 60_000, ..DEFAULT };
    check(
        idle,
        "1000 join black
         50000 claim black 1 7 -> done; changed
         61001 tick            -> done; ends Void Idle at 61000",
    );
}

#[test]
fn a_seal_of_another_history_is_refused_also_after_its_turn() {
    check_started(
        DEFAULT,
        "3000 play A1/I9 B1/H9
         4000 seal black B1 as b2 in 2 salt 1 knowing h1    -> receipt black 2 at 3000
         4000 seal black B1 as b2 in 2 salt 1 knowing other -> refused HistoryRegressed
         4000 seal black C1 as c2 in 2 knowing other        -> refused HistoryRegressed",
    );
}
