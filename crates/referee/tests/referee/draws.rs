//! Draw offers: one a seat a turn, gone with the turn; two in one turn are an agreement.

use rules::Seat;

use crate::script::check_started;
use crate::settings::{DEFAULT, REVEALED};

#[test]
fn an_offer_that_is_accepted_ends_the_match() {
    let played = check_started(
        DEFAULT,
        "3000 seal white D4 as w1
         4000 offer black as o  -> done; changed
         5000 accept white as a -> done; ends Draw AgreedDraw at 5000
         6000 seal white D4 as w1 -> receipt white 1 at 3000
         6000 seal black E5 as b1 -> refused MatchFinished",
    );
    let finish = played.game.finish().expect("it is finished");
    assert!(finish.unresolved[Seat::White].is_some(), "a commitment stays in the transcript");
}

#[test]
fn two_offers_in_one_turn_are_an_agreement() {
    check_started(
        DEFAULT,
        "3000 offer black as o -> done; changed
         4000 offer white as o -> done; ends Draw AgreedDraw at 4000",
    );
}

#[test]
fn two_offers_at_one_moment_come_to_the_same_in_either_order() {
    let one = check_started(DEFAULT, "3000 offer black as o\n3000 offer white as p");
    let other = check_started(DEFAULT, "3000 offer white as p\n3000 offer black as o");
    assert_eq!(one.game, other.game);
}

#[test]
fn a_declined_offer_can_be_made_again_in_the_next_turn_only() {
    check_started(
        DEFAULT,
        "3000 offer black as o    -> done; changed
         4000 decline white as d  -> done; changed
         4000 offer black as p    -> refused AlreadyOffered
         4000 accept white as a   -> refused NoOpenOffer
         4000 decline white as e  -> refused NoOpenOffer
         5000 play E5/D4          -> receipt white 1 at 5000; resolved 1; turn 2 until 35000
         6000 offer black as p    -> done; changed
         7000 accept white as a   -> done; ends Draw AgreedDraw at 7000",
    );
}

#[test]
fn who_has_declined_may_still_offer_himself() {
    check_started(
        DEFAULT,
        "3000 offer black as o   -> done; changed
         4000 decline white as d -> done; changed
         5000 offer white as o   -> done; changed
         6000 accept black as a  -> done; ends Draw AgreedDraw at 6000",
    );
    check_started(
        DEFAULT,
        "3000 offer black as o   -> done; changed
         4000 decline white as d -> done; changed
         5000 offer white as o   -> done; changed
         6000 decline black as d -> done; changed
         7000 play E5/D4         -> receipt white 1 at 7000; resolved 1; turn 2 until 37000",
    );
}

#[test]
fn an_offer_lapses_with_its_turn() {
    check_started(
        DEFAULT,
        "3000 offer black as o       -> done; changed
         4000 play E5/D4             -> receipt white 1 at 4000; resolved 1; turn 2 until 34000
         5000 accept white as a      -> refused NoOpenOffer
         5000 accept white as a in 1 -> refused TurnClosed { turn: 1 }
         5000 offer white as p in 1  -> refused TurnClosed { turn: 1 }
         6000 offer white as p       -> done; changed
         7000 accept black as a in 2 -> done; ends Draw AgreedDraw at 7000",
    );
}

#[test]
fn only_the_other_seat_answers() {
    check_started(
        DEFAULT,
        "3000 offer black as o   -> done; changed
         4000 accept black as a  -> refused NoOpenOffer
         4000 decline black as a -> refused NoOpenOffer
         5000 accept white as a  -> done; ends Draw AgreedDraw at 5000",
    );
}

#[test]
fn an_offer_for_a_turn_ahead_is_refused() {
    check_started(
        DEFAULT,
        "3000 offer black as o in 2  -> refused TurnNotOpenYet { turn: 2 }
         3000 accept white as a in 2 -> refused TurnNotOpenYet { turn: 2 }",
    );
}

#[test]
fn an_offer_and_an_answer_repeated_have_the_same_answer_for_ever() {
    check_started(
        DEFAULT,
        "3000 offer black as o        -> done; changed
         3001 offer black as o        -> done
         4000 decline white as d      -> done; changed
         4001 decline white as d      -> done
         4002 offer black as o        -> done
         5000 play E5/D4
         6000 offer black as o in 1   -> done
         6000 decline white as d in 1 -> done
         7000 offer white as p        -> done; changed
         8000 accept black as a       -> done; ends Draw AgreedDraw at 8000
         9000 offer black as o in 1   -> done
         9000 decline white as d in 1 -> done
         9000 offer white as p in 2   -> done
         9000 accept black as a in 2  -> done
         9000 accept black as b in 2  -> refused MatchFinished
         9000 offer black as b in 3   -> refused MatchFinished",
    );
}

#[test]
fn both_of_two_offers_repeated_after_the_agreement_are_done() {
    check_started(
        DEFAULT,
        "3000 offer black as o
         4000 offer white as p -> done; ends Draw AgreedDraw at 4000
         5000 offer black as o -> done
         5000 offer white as p -> done
         5000 offer white as q -> refused MatchFinished",
    );
}

#[test]
fn the_same_request_with_another_content_is_told_apart() {
    let later = "5000 play E5/D4";
    let over = "5000 resign black as q";
    for then in ["", later, over] {
        check_started(
            DEFAULT,
            &format!(
                "3000 offer black as o
                 4000 decline white as d
                 {then}
                 6000 accept white as d in 1  -> refused RequestIdReused
                 6000 offer white as d in 1   -> refused RequestIdReused
                 6000 accept black as o in 1  -> refused RequestIdReused
                 6000 decline black as o in 1 -> refused RequestIdReused"
            ),
        );
    }
}

#[test]
fn a_draw_can_be_agreed_on_while_reveals_are_due() {
    let both = "3000 seal black E5 as b1\n3000 seal white D4 as w1\n4000 reveal black E5 as r";
    check_started(
        REVEALED,
        &format!(
            "{both}
             5000 offer white as o  -> done; changed
             6000 accept black as a -> done; ends Draw AgreedDraw at 6000
             7000 reveal black E5 as r -> done
             7000 reveal white D4 as r -> refused MatchFinished"
        ),
    );
    // An offer from before the commitments is still there.
    check_started(
        REVEALED,
        &format!(
            "2500 offer white as o
             {both}
             6000 accept black as a -> done; ends Draw AgreedDraw at 6000"
        ),
    );
}

#[test]
fn an_offer_stops_no_clock() {
    check_started(
        DEFAULT,
        "3000  seal black E5 as b1
         31000 offer white as o -> done; changed
         32001 accept black as a -> refused MatchFinished; ends BlackWins Flag at 32000",
    );
    check_started(
        REVEALED,
        "3000  seal black E5 as b1
         3000  seal white D4 as w1
         4000  offer white as o
         13001 accept black as a -> refused MatchFinished; ends Draw FailedReveal at 13000",
    );
}

#[test]
fn an_offer_is_something_that_happened_for_the_idle_limit() {
    let idle_ms = referee::Settings::IDLE_MIN_MS;
    let slow = referee::Settings {
        time: referee::TimeControl::PerTurn { turn_ms: 3 * idle_ms },
        idle_ms,
        ..DEFAULT
    };
    check_started(
        slow,
        &format!(
            "{} offer black as o -> done; changed
             {} tick             -> done
             {} tick             -> done; ends Void Idle at {}",
            1_000 + idle_ms,
            1_000 + 2 * idle_ms,
            1_001 + 2 * idle_ms,
            1_000 + 2 * idle_ms,
        ),
    );
}
