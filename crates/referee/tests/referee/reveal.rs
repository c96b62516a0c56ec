//! Commit-reveal: nothing of a move is with the service before both have bound themselves to theirs.

use referee::{Match, Settings, TimeControl};
use rules::{Piece, Seat};

use crate::script::{Played, at, check_started};
use crate::settings::REVEALED;

/// 60 s on the clock and 5 s for every seal.
const BANK: Settings =
    Settings { time: TimeControl::Bank { initial_ms: 60_000, increment_ms: 5_000 }, ..REVEALED };

/// Both seal at 3000, so that they may reveal until 13000.
#[track_caller]
fn check_sealed(black: &str, white: &str, script: &str) -> Played {
    check_started(
        REVEALED,
        &format!("3000 seal black {black} as b1\n3000 seal white {white} as w1\n{script}"),
    )
}

fn has_opening(game: &Match) -> [bool; 2] {
    let open = game.turn_in_play().expect("a turn is in play");
    Seat::BOTH.map(|seat| open.seals[seat].as_ref().is_some_and(|seal| seal.opening.is_some()))
}

#[test]
fn the_second_commitment_makes_reveals_due_and_the_second_reveal_resolves() {
    for (first, second) in [("black E5", "white D4"), ("white D4", "black E5")] {
        let (seat, other) = (&first[..5], &second[..5]);
        check_started(
            REVEALED,
            &format!(
                "3000 seal {first} as s    -> receipt {seat} 1 at 3000; changed
                 4000 seal {second} as s   -> receipt {other} 1 at 4000; reveals until 14000
                 5000 reveal {first} as r  -> done; changed
                 6000 reveal {second} as r -> done; resolved 1; turn 2 until 36000"
            ),
        );
    }
}

#[test]
fn the_match_holds_no_cell_before_it_is_revealed() {
    let played = check_sealed("E5", "D4", "");
    assert_eq!(has_opening(&played.game), [false, false]);
    let played = check_sealed("E5", "D4", "4000 reveal white D4 as r");
    assert_eq!(has_opening(&played.game), [false, true]);
}

#[test]
fn a_first_reveal_is_held_and_shows_only_that_it_is_there() {
    let played = check_sealed("E5", "D4", "4000 reveal black E5 as r -> done; changed");
    let open = played.game.turn_in_play().expect("turn 1 is in play");
    assert!(open.requests[Seat::Black].reveal.is_some() && open.requests[Seat::White].reveal.is_none());
    assert_eq!((played.game.resolved, played.turns.len()), (0, 0));
    assert_eq!(played.game.position, rules::Position::initial());
}

#[test]
fn an_opening_alone_is_refused_where_moves_are_revealed() {
    check_started(
        REVEALED,
        "3000 seal black E5 as b1 open -> refused SealModeMismatch
         3000 seal black E5 as b1      -> receipt black 1 at 3000; changed
         3000 reveal black E5 as r     -> refused NotInRevealPhase { turn: 1 }",
    );
}

#[test]
fn a_reveal_that_does_not_fit_its_commitment_is_refused_and_changes_nothing() {
    check_sealed(
        "E5",
        "D4",
        "4000 reveal black E6 as r        -> refused CommitmentMismatch
         4000 reveal black E5 as r salt 2 -> refused CommitmentMismatch
         4000 reveal black D4 as r        -> refused CommitmentMismatch
         4000 reveal white E5 as r        -> refused CommitmentMismatch
         5000 reveal black E5 as r        -> done; changed
         5000 reveal white D4 as r        -> done; resolved 1; turn 2 until 35000",
    );
}

#[test]
fn a_repeated_reveal_has_the_same_answer_for_ever() {
    check_sealed(
        "E5",
        "D4",
        "4000 reveal black E5 as r      -> done; changed
         4001 reveal black E5 as r      -> done
         5000 reveal white D4 as r      -> done; resolved 1; turn 2 until 35000
         6000 reveal black E5 as r in 1 -> done
         6000 reveal white D4 as r in 1 -> done
         7000 seal black A1 as b2
         7000 seal white B1 as w2
         8000 reveal black A1 as r2     -> done; changed
         8000 reveal black E5 as r in 1 -> done
         9000 resign white as q         -> done; ends BlackWins Resignation at 9000
         9999 reveal black E5 as r in 1 -> done
         9999 reveal white D4 as r in 1 -> done
         9999 reveal black A1 as r2 in 2 -> done
         9999 reveal white B1 as r2 in 2 -> refused MatchFinished",
    );
}

#[test]
fn the_opening_that_is_in_is_done_under_any_request() {
    check_sealed(
        "E5",
        "D4",
        "4000 reveal black E5 as r      -> done; changed
         4000 reveal black E5 as s      -> done
         5000 reveal white D4 as r      -> done; resolved 1; turn 2 until 35000
         6000 reveal black E5 as s in 1 -> done
         7000 play A1/B1
         8000 seal black C1 as b3
         8000 seal white D1 as w3
         8000 reveal white D1 as r
         9000 resign black as q
         9000 reveal black E5 as s in 1 -> done
         9000 reveal white D1 as s in 3 -> done",
    );
}

#[test]
fn the_same_request_with_another_opening_is_told_apart() {
    for other in ["black E6 as r in 1", "black E5 as r in 1 salt 2"] {
        check_sealed(
            "E5",
            "D4",
            &format!(
                "4000 reveal black E5 as r -> done; changed
                 5000 reveal {other}       -> refused RequestIdReused
                 6000 reveal white D4 as r -> done; resolved 1; turn 2 until 36000
                 7000 reveal {other}       -> refused RequestIdReused
                 8000 resign white as q
                 9000 reveal {other}       -> refused RequestIdReused"
            ),
        );
        check_sealed(
            "E5",
            "D4",
            &format!(
                "4000 reveal black E5 as r
                 5000 resign white as q
                 9000 reveal {other}       -> refused RequestIdReused"
            ),
        );
    }
}

#[test]
fn a_reveal_for_a_resolved_turn_is_refused_unless_it_repeats_one() {
    check_sealed(
        "E5",
        "D4",
        "4000 reveal black E5 as r
         4000 reveal white D4 as r
         5000 reveal black E6 as s in 1 -> refused TurnClosed { turn: 1 }
         5000 reveal black E5 as t in 2 -> refused NotInRevealPhase { turn: 2 }
         5000 reveal black E5 as t in 3 -> refused TurnNotOpenYet { turn: 3 }",
    );
}

#[test]
fn nothing_is_revealed_where_the_server_seals() {
    check_started(
        crate::settings::DEFAULT,
        "3000 seal black E5 as b1
         3000 reveal black E5 as r      -> refused SealModeMismatch
         4000 seal white D4 as w1
         5000 reveal black E5 as r in 1 -> refused SealModeMismatch
         5000 reveal black E5 as r in 3 -> refused SealModeMismatch
         6000 resign black as q
         7000 reveal black E5 as r in 2 -> refused MatchFinished",
    );
}

#[test]
fn a_seal_repeated_while_revealing_has_its_first_receipt() {
    check_sealed(
        "E5",
        "D4",
        "4000 seal black E5 as b1 -> receipt black 1 at 3000
         4000 seal white D4 as w1 -> receipt white 1 at 3000
         4000 seal white D5 as w1 -> refused RequestIdReused
         4000 seal white D5 as x  -> refused AlreadySealed { turn: 1 }
         5000 reveal black E5 as r
         5000 seal black E5 as b1 -> receipt black 1 at 3000
         6000 reveal white D4 as r
         6000 seal black E5 as b1 in 1 -> receipt black 1 at 3000",
    );
}

#[test]
fn both_may_commit_to_the_same_cell_and_collide() {
    let played = check_sealed(
        "E5",
        "E5",
        "4000 reveal black E5 as r -> done; changed
         4000 reveal white E5 as r -> done; resolved 1; turn 2 until 34000",
    );
    assert_eq!(played.game.position.piece("E5".parse().expect("a cell")), Some(Piece::Egg));
}

#[test]
fn a_seat_may_reveal_until_the_deadline_inclusive() {
    check_sealed(
        "E5",
        "D4",
        "13000 reveal black E5 as r -> done; changed
         13000 tick                 -> done
         13000 reveal white D4 as r -> done; resolved 1; turn 2 until 43000",
    );
}

#[test]
fn a_seat_that_has_not_revealed_by_the_deadline_loses() {
    check_sealed(
        "E5",
        "D4",
        "4000  reveal black E5 as r -> done; changed
         13001 tick                 -> done; ends BlackWins FailedReveal at 13000",
    );
    check_sealed(
        "E5",
        "D4",
        "4000  reveal white D4 as r -> done; changed
         99999 reveal black E5 as r -> refused MatchFinished; ends WhiteWins FailedReveal at 13000",
    );
    check_sealed(
        "E5",
        "D4",
        "4000  reveal white E5 as r -> refused CommitmentMismatch
         5000  reveal black E5 as r -> done; changed
         13001 tick                 -> done; ends BlackWins FailedReveal at 13000",
    );
}

#[test]
fn two_seats_that_have_not_revealed_draw() {
    check_sealed("E5", "D4", "13001 tick -> done; ends Draw FailedReveal at 13000");
    check_sealed(
        "E5",
        "D4",
        "13001 reveal black E5 as r -> refused MatchFinished; ends Draw FailedReveal at 13000",
    );
}

#[test]
fn a_reveal_of_an_occupied_cell_loses_once_the_other_is_in() {
    for (first, second) in [("black E5", "white A1"), ("white A1", "black E5")] {
        check_started(
            REVEALED,
            &format!(
                "3000 play E5/D4
                 4000 seal black E5 as b2 -> receipt black 2 at 4000; changed
                 4000 seal white A1 as w2 -> receipt white 2 at 4000; reveals until 14000
                 5000 reveal {first} as r  -> done; changed
                 6000 reveal {second} as r -> done; ends WhiteWins FailedReveal at 6000
                 7000 reveal {first} as r  -> done
                 7000 reveal {second} as r -> done"
            ),
        );
    }
}

/// Turn 2, in which both seal cells of which these seats' are occupied.
#[track_caller]
fn check_occupied(black: &str, white: &str, script: &str) {
    check_started(
        REVEALED,
        &format!(
            "3000 play E5/D4 C3/C3\n4000 seal black {black} as b3\n4000 seal white {white} as w3\n{script}"
        ),
    );
}

#[test]
fn two_reveals_of_occupied_cells_draw() {
    check_occupied(
        "D4",
        "C3",
        "5000 reveal black D4 as r -> done; changed
         6000 reveal white C3 as r -> done; ends Draw FailedReveal at 6000",
    );
    check_occupied(
        "C3",
        "C3",
        "5000 reveal white C3 as r -> done; changed
         6000 reveal black C3 as r -> done; ends Draw FailedReveal at 6000",
    );
}

#[test]
fn one_occupied_cell_and_one_missing_reveal_draw() {
    check_occupied(
        "E5",
        "A1",
        "5000  reveal black E5 as r -> done; changed
         14000 tick                 -> done
         14001 tick                 -> done; ends Draw FailedReveal at 14000",
    );
    check_occupied(
        "A1",
        "E5",
        "5000  reveal white E5 as r -> done; changed
         14001 reveal black A1 as r -> refused MatchFinished; ends Draw FailedReveal at 14000",
    );
}

#[test]
fn a_missing_reveal_loses_though_its_cell_was_legal() {
    check_occupied(
        "A1",
        "E5",
        "5000  reveal black A1 as r
         14001 tick                 -> done; ends BlackWins FailedReveal at 14000",
    );
}

#[test]
fn an_outage_moves_the_time_to_reveal() {
    check_sealed(
        "E5",
        "D4",
        "4000  outage 60000
         73000 reveal black E5 as r -> done; changed
         73000 tick                 -> done
         73001 tick                 -> done; ends BlackWins FailedReveal at 73000",
    );
    let game = check_sealed("E5", "D4", "").game;
    assert_eq!(game.due(), Some(at(13_001)));
    assert_eq!(game.under_outage(5_000).due(), Some(at(18_001)));
}

#[test]
fn the_idle_limit_bounds_a_reveal_too() {
    // Longer to reveal than any settings allow, so that the idle limit comes first.
    let idle_ms = Settings::IDLE_MIN_MS;
    let slow = Settings {
        seal_mode: referee::SealMode::CommitReveal { reveal_ms: 2 * idle_ms },
        idle_ms,
        ..REVEALED
    };
    check_started(
        slow,
        &format!(
            "3000 seal black E5 as b1
             3000 seal white D4 as w1
             4000 reveal black E5 as r
             {} tick -> done
             {} tick -> done; ends Void Idle at {}",
            4_000 + idle_ms,
            4_001 + idle_ms,
            4_000 + idle_ms,
        ),
    );
}

#[test]
fn no_flag_falls_and_no_bank_clock_runs_while_reveals_are_due() {
    // Both seal at the last moment; the reveals come after the turn's deadlines.
    check_started(
        REVEALED,
        "32000 seal black E5 as b1
         32000 seal white D4 as w1 -> receipt white 1 at 32000; reveals until 42000
         42000 reveal black E5 as r
         42000 reveal white D4 as r -> done; resolved 1; turn 2 until 72000",
    );
    // Black uses 10 s of 60, white 30 s: 55 s and 35 s are left, however long the reveals take.
    check_started(
        BANK,
        "12000 seal black E5 as b1
         32000 seal white D4 as w1 -> receipt white 1 at 32000; reveals until 42000
         33000 reveal black E5 as r
         42000 reveal white D4 as r -> done; resolved 1; turn 2 until 97000/77000",
    );
}

#[test]
fn a_seat_that_never_commits_flags_as_ever() {
    check_started(
        REVEALED,
        "3000  seal black E5 as b1
         32001 tick -> done; ends BlackWins Flag at 32000",
    );
}

#[test]
fn a_match_can_be_given_up_while_reveals_are_due() {
    let played = check_sealed(
        "E5",
        "D4",
        "4000 reveal black E5 as r
         5000 resign black as q -> done; ends WhiteWins Resignation at 5000
         5000 resign black as q -> done",
    );
    let finish = played.game.finish().expect("it is finished");
    let held = finish.unresolved.as_ref().map(Option::is_some);
    assert_eq!((held.black, held.white), (true, true), "both commitments stay in the transcript");
}

#[test]
fn revealed_turns_come_to_the_ends_that_the_board_and_the_limit_bring() {
    check_started(
        REVEALED,
        "3000 play A1/A9 B1/C9 C1/E9 D1/G9
         4000 play E1/I9 -> done; resolved 5; ends BlackWins Row at 4000
         5000 reveal white I9 as rw5 in 5 -> done
         5000 seal white I9 as w5 in 5    -> receipt white 5 at 4000",
    );
    check_started(
        Settings { turn_limit: 2, ..REVEALED },
        "3000 play A1/A9 -> done; resolved 1; turn 2 until 33000
         4000 play B1/B9 -> done; resolved 2; ends Draw TurnLimit at 4000",
    );
}

#[test]
fn two_reveals_at_one_moment_come_to_the_same_in_either_order() {
    let one = check_sealed("E5", "D4", "4000 reveal black E5 as r\n4000 reveal white D4 as r");
    let other = check_sealed("E5", "D4", "4000 reveal white D4 as r\n4000 reveal black E5 as r");
    assert_eq!(one.game, other.game);
    assert_eq!(one.turns, other.turns);
}

#[test]
fn a_revealed_turn_is_recorded_as_a_sealed_one_with_the_stamps_of_its_commitments() {
    let played = check_sealed("E5", "D4", "4000 reveal black E5 as r\n6000 reveal white D4 as r");
    let facts = &played.turns[0].facts;
    let stamps = [facts.opened_ms, facts.sealed_ms.black, facts.sealed_ms.white, facts.resolved_ms];
    assert_eq!(stamps, [2_000, 3_000, 3_000, 6_000].map(|ms| at(ms).as_ms()));
}
