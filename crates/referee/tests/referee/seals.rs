//! Sealing: final, repeatable, and judged on the public board alone.

use rules::{Piece, Seat};

use crate::script::{check, check_started};
use crate::settings::DEFAULT;

#[test]
fn the_second_seal_resolves_the_turn_whoever_it_is_from() {
    check_started(
        DEFAULT,
        "3000 seal black E5 as b1 -> receipt black 1 at 3000; changed
         4000 seal white D4 as w1 -> receipt white 1 at 4000; resolved 1; turn 2 until 34000
         5000 seal white A1 as w2 -> receipt white 2 at 5000; changed
         5000 seal black I9 as b2 -> receipt black 2 at 5000; resolved 2; turn 3 until 35000",
    );
}

#[test]
fn a_repeated_seal_has_its_first_receipt_while_the_turn_is_open() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1           -> receipt black 1 at 3000; changed
         4000  seal black E5 as b1           -> receipt black 1 at 3000
         32000 seal black E5 as b1           -> receipt black 1 at 3000
         32000 seal black E5 as b1 knowing h0 -> receipt black 1 at 3000",
    );
}

#[test]
fn a_repeated_seal_has_its_first_receipt_after_the_turn_resolved() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1
         4000  seal white D4 as w1
         5000  seal black E5 as b1 in 1 -> receipt black 1 at 3000
         6000  play A1/I9 B1/G9
         6000  seal white D4 as w1 in 1 -> receipt white 1 at 4000
         6000  seal white G9 as w3 in 3 -> receipt white 3 at 6000",
    );
}

#[test]
fn a_repeated_seal_has_its_first_receipt_after_the_end_of_the_match() {
    check_started(
        DEFAULT,
        "3000  play E5/D4
         4000  seal white A1 as w2
         5000  resign black as r          -> done; ends WhiteWins Resignation at 5000
         6000  seal white A1 as w2 in 2   -> receipt white 2 at 4000
         6000  seal white D4 as w1 in 1   -> receipt white 1 at 3000
         6000  seal black E5 as b1 in 1   -> receipt black 1 at 3000",
    );
}

#[test]
fn a_repetition_that_finds_its_deadline_passed_still_has_its_receipt() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1 -> receipt black 1 at 3000; changed
         32001 seal black E5 as b1 -> receipt black 1 at 3000; ends BlackWins Flag at 32000",
    );
}

#[test]
fn the_same_request_with_another_choice_is_told_apart() {
    let other = [
        "seal black E6 as b1 in 1",
        "seal black E5 as b1 in 1 salt 2",
        "seal black E5 as b1 in 1 signed 1",
        "seal black E5 as b1 in 1 committed",
    ];
    for other in other {
        check_started(
            DEFAULT,
            &format!(
                "3000 seal black E5 as b1 -> receipt black 1 at 3000; changed
                 4000 {other}             -> refused RequestIdReused
                 5000 seal white D4 as w1 -> receipt white 1 at 5000; resolved 1; turn 2 until 35000
                 6000 {other}             -> refused RequestIdReused
                 7000 resign white as r   -> done; ends BlackWins Resignation at 7000
                 8000 {other}             -> refused RequestIdReused",
            ),
        );
        check_started(
            DEFAULT,
            &format!(
                "3000 seal black E5 as b1 -> receipt black 1 at 3000; changed
                 4000 resign white as r   -> done; ends BlackWins Resignation at 4000
                 5000 {other}             -> refused RequestIdReused",
            ),
        );
    }
}

#[test]
fn a_seal_is_final() {
    check_started(
        DEFAULT,
        "3000 seal black E5 as b1      -> receipt black 1 at 3000; changed
         4000 seal black E5 as x       -> refused AlreadySealed { turn: 1 }
         4000 seal black E6 as x       -> refused AlreadySealed { turn: 1 }
         5000 seal white D4 as w1      -> receipt white 1 at 5000; resolved 1; turn 2 until 35000
         6000 seal black E6 as x in 1  -> refused AlreadySealed { turn: 1 }
         6000 seal black E6 as x       -> receipt black 2 at 6000; changed",
    );
}

#[test]
fn a_late_seal_never_becomes_a_move_of_the_next_turn() {
    let played = check_started(
        DEFAULT,
        "3000 play E5/D4
         4000 seal black A1 as x in 1 -> refused AlreadySealed { turn: 1 }
         4000 seal black E5 as b1 in 1 -> receipt black 1 at 3000",
    );
    let open = played.game.open_turn().expect("turn 2 is open");
    assert_eq!((open.turn, open.seals[Seat::Black].is_none()), (2, true));
}

#[test]
fn a_seal_for_a_turn_ahead_is_refused() {
    check_started(
        DEFAULT,
        "3000 seal black E5 as b1 in 2 -> refused TurnNotOpenYet { turn: 2 }
         3000 seal black E5 as b1 in 9 -> refused TurnNotOpenYet { turn: 9 }
         3000 seal black E5 as b1      -> receipt black 1 at 3000; changed
         3000 seal black E6 as b2 in 2 -> refused TurnNotOpenYet { turn: 2 }",
    );
}

#[test]
fn a_cell_that_is_occupied_on_the_public_board_is_refused() {
    check_started(
        DEFAULT,
        "3000 play E5/D4 C3/C3
         4000 seal black E5 as x -> refused CellOccupied
         4000 seal black D4 as x -> refused CellOccupied
         4000 seal black C3 as x -> refused CellOccupied
         4000 seal black C4 as x -> receipt black 3 at 4000; changed",
    );
}

#[test]
fn a_cell_that_only_the_opponent_sealed_is_not_occupied_and_both_collide() {
    let played = check_started(
        DEFAULT,
        "3000 seal black E5 as b1 -> receipt black 1 at 3000; changed
         4000 seal white E5 as w1 -> receipt white 1 at 4000; resolved 1; turn 2 until 34000",
    );
    let e5 = "E5".parse().expect("a cell");
    assert_eq!(played.game.position.piece(e5), Some(Piece::Egg));
}

#[test]
fn a_commitment_alone_is_refused_where_the_server_seals() {
    check_started(
        DEFAULT,
        "3000 seal black E5 as b1 committed -> refused SealModeMismatch
         3000 seal black E5 as b1           -> receipt black 1 at 3000; changed",
    );
}

#[test]
fn a_claim_of_another_history_is_refused_and_changes_nothing() {
    check_started(
        DEFAULT,
        "3000 seal black E5 as b1 knowing other      -> refused HistoryRegressed
         3000 seal black E5 as b1 knowing h0         -> receipt black 1 at 3000; changed
         3000 seal white D4 as w1                    -> receipt white 1 at 3000; resolved 1; turn 2 until 33000
         4000 seal black A1 as b2 knowing h0         -> refused HistoryRegressed
         4000 seal black A1 as b2 in 3 knowing other -> refused HistoryRegressed
         4000 seal black A1 as b2 in 3 knowing h1    -> refused HistoryRegressed
         4000 seal black A1 as b2 knowing h1         -> receipt black 2 at 4000; changed",
    );
}

#[test]
fn a_receipt_names_match_turn_seat_commitment_stamp_and_key() {
    let mut played = check_started(DEFAULT, "3000 play E5/D4");
    let command = played.command(&["seal", "white", "A1", "as", "w2"]);
    let now = played.now(4_000);
    let (_, answer) = played.apply(&command, now);
    let Ok(referee::Answer::Sealed(receipt)) = answer else { panic!("{answer:?}") };
    let previous = played.turns[0].hash;
    let context = sealing::SealContext {
        match_id: played.game.id,
        turn: 2,
        seat: Seat::White,
        player: "players/bob",
        previous: &previous,
    };
    let opening = crate::script::opening("A1".parse().expect("a cell"), 1);
    assert!(context.opens(&receipt.commitment, &opening));
    assert_eq!((receipt.match_id, receipt.turn, receipt.seat), (played.game.id, 2, Seat::White));
    assert_eq!((receipt.sealed_ms, receipt.key_id.as_ref()), (now.stamp.as_ms(), "key-1"));
}

#[test]
fn two_seals_at_one_moment_come_to_the_same_in_either_order() {
    let one = check_started(DEFAULT, "3000 seal black E5 as b1\n3000 seal white D4 as w1");
    let other = check_started(DEFAULT, "3000 seal white D4 as w1\n3000 seal black E5 as b1");
    assert_eq!(one.game, other.game);
    assert_eq!(one.turns, other.turns);
}

#[test]
fn a_seal_after_the_end_is_refused() {
    check(
        DEFAULT,
        "1000 join black
         2000 join white
         3000 resign black as r        -> done; ends WhiteWins Resignation at 3000
         4000 seal black E5 as b1      -> refused MatchFinished
         4000 seal white E5 as w1 in 7 -> refused MatchFinished",
    );
    check_started(
        DEFAULT,
        "3000 seal black E5 as b1
         4000 resign black as r        -> done; ends WhiteWins Resignation at 4000
         5000 seal black E5 as x in 1  -> refused MatchFinished
         5000 seal white D4 as w1 in 1 -> refused MatchFinished
         5000 seal black E5 as b1 in 2 -> refused MatchFinished",
    );
}

#[test]
fn a_signature_is_taken_only_if_it_is_of_the_key_bound_into_the_match() {
    check_started(
        DEFAULT,
        "3000 seal white E5 as w1 signed 3 -> refused SignatureInvalid
         3000 seal black D5 as b1 signed 2 -> refused SignatureInvalid
         3000 seal white E5 as w1 signed 2 -> receipt white 1 at 3000; changed
         3001 seal white E5 as w1 signed 2 -> receipt white 1 at 3000
         3002 seal white E5 as w1          -> refused RequestIdReused",
    );
}
