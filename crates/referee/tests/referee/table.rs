//! The whole table: every command in every phase.

use referee::Settings;

use crate::script::check;
use crate::settings::{DEFAULT, REVEALED};

/// Plays `opening`, then each line of `table` on its own. The table has every command, by each seat that
/// can ask it.
#[track_caller]
fn check_phase(opening: &str, table: &str) {
    check_phase_of(&DEFAULT, opening, table);
}

#[track_caller]
fn check_phase_of(settings: &Settings, opening: &str, table: &str) {
    let of_a_seat = ["join", "seal", "reveal", "offer", "accept", "decline", "resign", "claim"];
    let asked =
        of_a_seat.into_iter().flat_map(|command| ["black", "white"].map(|seat| format!("{command} {seat}")));
    for command in asked.chain(["abort", "lost", "tick"].map(str::to_owned)) {
        assert!(table.contains(&format!(" {command} ")), "the table lacks `{command}`");
    }
    for line in table.lines() {
        check(settings.clone(), &format!("{opening}\n{line}"));
    }
}

#[test]
fn while_nobody_is_there() {
    check_phase(
        "",
        "3000 join black         -> done; changed
         3000 join white         -> done; changed
         3000 seal black E5 as a -> refused MatchNotStarted
         3000 seal white E5 as a -> refused MatchNotStarted
         3000 reveal black E5 as a -> refused MatchNotStarted
         3000 reveal white E5 as a -> refused MatchNotStarted
         3000 offer black as o   -> refused MatchNotStarted
         3000 offer white as o   -> refused MatchNotStarted
         3000 accept black as o  -> refused MatchNotStarted
         3000 accept white as o  -> refused MatchNotStarted
         3000 decline black as o -> refused MatchNotStarted
         3000 decline white as o -> refused MatchNotStarted
         3000 abort              -> done; ends Aborted Operator at 3000
         3000 resign black as r  -> done; ends Aborted Resignation at 3000
         3000 resign white as r  -> done; ends Aborted Resignation at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick               -> done",
    );
}

#[test]
fn while_one_is_there() {
    check_phase(
        "2000 join black",
        "3000 join black         -> done
         3000 join white         -> done; turn 1 until 33000
         3000 seal black E5 as a -> refused MatchNotStarted
         3000 seal white E5 as a -> refused MatchNotStarted
         3000 reveal black E5 as a -> refused MatchNotStarted
         3000 reveal white E5 as a -> refused MatchNotStarted
         3000 offer black as o   -> refused MatchNotStarted
         3000 offer white as o   -> refused MatchNotStarted
         3000 accept black as o  -> refused MatchNotStarted
         3000 accept white as o  -> refused MatchNotStarted
         3000 decline black as o -> refused MatchNotStarted
         3000 decline white as o -> refused MatchNotStarted
         3000 abort              -> done; ends Aborted Operator at 3000
         3000 resign black as r  -> done; ends Aborted Resignation at 3000
         3000 resign white as r  -> done; ends Aborted Resignation at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick               -> done",
    );
}

#[test]
fn while_a_turn_is_open() {
    check_phase(
        "1000 join black\n2000 join white",
        "3000 join black         -> done
         3000 join white         -> done
         3000 seal black E5 as a -> receipt black 1 at 3000; changed
         3000 seal white E5 as a -> receipt white 1 at 3000; changed
         3000 reveal black E5 as a -> refused SealModeMismatch
         3000 reveal white E5 as a -> refused SealModeMismatch
         3000 reveal white E5 as a in 2 -> refused SealModeMismatch
         3000 offer black as o   -> done; changed
         3000 offer white as o   -> done; changed
         3000 offer white as o in 2 -> refused TurnNotOpenYet { turn: 2 }
         3000 accept black as o  -> refused NoOpenOffer
         3000 accept white as o  -> refused NoOpenOffer
         3000 decline black as o -> refused NoOpenOffer
         3000 decline white as o -> refused NoOpenOffer
         3000 abort              -> done; ends Void Operator at 3000
         3000 resign black as r  -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r  -> done; ends BlackWins Resignation at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick               -> done",
    );
}

#[test]
fn while_one_has_sealed() {
    check_phase(
        "1000 join black\n2000 join white\n2500 seal black E5 as a",
        "3000 join black         -> done
         3000 join white         -> done
         3000 seal black E5 as a -> receipt black 1 at 2500
         3000 seal black E5 as b -> refused AlreadySealed { turn: 1 }
         3000 seal white E5 as a -> receipt white 1 at 3000; resolved 1; turn 2 until 33000
         3000 reveal black E5 as a -> refused SealModeMismatch
         3000 reveal white E5 as a -> refused SealModeMismatch
         3000 reveal white E5 as a in 2 -> refused SealModeMismatch
         3000 offer black as o   -> done; changed
         3000 offer white as o   -> done; changed
         3000 offer white as o in 2 -> refused TurnNotOpenYet { turn: 2 }
         3000 accept black as o  -> refused NoOpenOffer
         3000 accept white as o  -> refused NoOpenOffer
         3000 decline black as o -> refused NoOpenOffer
         3000 decline white as o -> refused NoOpenOffer
         3000 abort              -> done; ends Void Operator at 3000
         3000 resign black as r  -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r  -> done; ends BlackWins Resignation at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick               -> done",
    );
}

#[test]
fn after_the_end() {
    check_phase(
        "1000 join black\n2000 join white\n2500 resign black as r",
        "3000 join black         -> done
         3000 join white         -> done
         3000 seal black E5 as a -> refused MatchFinished
         3000 seal white E5 as a -> refused MatchFinished
         3000 reveal black E5 as a -> refused MatchFinished
         3000 reveal white E5 as a -> refused MatchFinished
         3000 offer black as o -> refused MatchFinished
         3000 offer white as o -> refused MatchFinished
         3000 accept black as o -> refused MatchFinished
         3000 accept white as o -> refused MatchFinished
         3000 decline black as o -> refused MatchFinished
         3000 decline white as o -> refused MatchFinished
         3000 abort -> refused MatchFinished
         3000 resign black as r  -> done
         3000 resign white as r  -> refused MatchFinished
         3000 claim black 1 7 -> refused MatchFinished
         3000 claim white 1 7 -> refused MatchFinished
         3000 lost -> refused MatchFinished
         3000 tick               -> done",
    );
}

#[test]
fn once_a_deadline_has_passed() {
    let over = "ends Draw BothFlagged at 32000";
    check_phase(
        "1000 join black\n2000 join white",
        &format!(
            "32001 join black         -> done; {over}
             32001 join white         -> done; {over}
             32001 seal black E5 as a -> refused MatchFinished; {over}
             32001 seal white E5 as a -> refused MatchFinished; {over}
             32001 reveal black E5 as a -> refused MatchFinished; {over}
             32001 reveal white E5 as a -> refused MatchFinished; {over}
             32001 offer black as o -> refused MatchFinished; {over}
             32001 offer white as o -> refused MatchFinished; {over}
             32001 accept black as o -> refused MatchFinished; {over}
             32001 accept white as o -> refused MatchFinished; {over}
             32001 decline black as o -> refused MatchFinished; {over}
             32001 decline white as o -> refused MatchFinished; {over}
             32001 abort -> refused MatchFinished; {over}
             32001 resign black as r  -> refused MatchFinished; {over}
             32001 resign white as r  -> refused MatchFinished; {over}
             32001 claim black 1 7 -> refused MatchFinished; {over}
             32001 claim white 1 7 -> refused MatchFinished; {over}
             32001 lost -> done; ends Void LostHistory at 32001
             32001 tick               -> done; {over}"
        ),
    );
}

#[test]
fn while_an_offer_is_open() {
    check_phase(
        "1000 join black\n2000 join white\n2500 offer black as o",
        "3000 join black         -> done
         3000 join white         -> done
         3000 seal black E5 as a -> receipt black 1 at 3000; changed
         3000 seal white E5 as a -> receipt white 1 at 3000; changed
         3000 reveal black E5 as a -> refused SealModeMismatch
         3000 reveal white E5 as a -> refused SealModeMismatch
         3000 offer black as o   -> done
         3000 offer black as p   -> refused AlreadyOffered
         3000 offer white as o   -> done; ends Draw AgreedDraw at 3000
         3000 accept black as p  -> refused NoOpenOffer
         3000 accept white as p  -> done; ends Draw AgreedDraw at 3000
         3000 decline black as p -> refused NoOpenOffer
         3000 decline white as p -> done; changed
         3000 resign black as r  -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r  -> done; ends BlackWins Resignation at 3000
         3000 abort              -> done; ends Void Operator at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick               -> done",
    );
}

/// Both have committed themselves: black to E5, white to D4.
const COMMITTED: &str = "1000 join black
    2000 join white
    2500 seal black E5 as a
    2500 seal white D4 as a";

#[test]
fn while_one_has_committed() {
    check_phase_of(
        &REVEALED,
        "1000 join black\n2000 join white\n2500 seal black E5 as a",
        "3000 join black           -> done
         3000 join white           -> done
         3000 seal black E5 as a   -> receipt black 1 at 2500
         3000 seal black E5 as b   -> refused AlreadySealed { turn: 1 }
         3000 seal white D4 as a   -> receipt white 1 at 3000; reveals until 13000
         3000 seal white D4 as a open -> refused SealModeMismatch
         3000 reveal black E5 as v -> refused NotInRevealPhase { turn: 1 }
         3000 reveal white D4 as v -> refused NotInRevealPhase { turn: 1 }
         3000 reveal black E5 as v in 2 -> refused TurnNotOpenYet { turn: 2 }
         3000 offer black as o     -> done; changed
         3000 offer white as o     -> done; changed
         3000 accept black as o    -> refused NoOpenOffer
         3000 accept white as o    -> refused NoOpenOffer
         3000 decline black as o   -> refused NoOpenOffer
         3000 decline white as o   -> refused NoOpenOffer
         3000 resign black as r    -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r    -> done; ends BlackWins Resignation at 3000
         3000 abort                -> done; ends Void Operator at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick                 -> done",
    );
}

#[test]
fn while_both_are_to_reveal() {
    check_phase_of(
        &REVEALED,
        COMMITTED,
        "3000 join black           -> done
         3000 join white           -> done
         3000 seal black E5 as a   -> receipt black 1 at 2500
         3000 seal white D4 as a   -> receipt white 1 at 2500
         3000 seal black E5 as b   -> refused AlreadySealed { turn: 1 }
         3000 seal black E5 as b in 2 -> refused TurnNotOpenYet { turn: 2 }
         3000 reveal black E5 as v -> done; changed
         3000 reveal white D4 as v -> done; changed
         3000 reveal white E5 as v -> refused CommitmentMismatch
         3000 reveal white D4 as v in 2 -> refused TurnNotOpenYet { turn: 2 }
         3000 offer black as o     -> done; changed
         3000 offer white as o     -> done; changed
         3000 accept black as o    -> refused NoOpenOffer
         3000 accept white as o    -> refused NoOpenOffer
         3000 decline black as o   -> refused NoOpenOffer
         3000 decline white as o   -> refused NoOpenOffer
         3000 resign black as r    -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r    -> done; ends BlackWins Resignation at 3000
         3000 abort                -> done; ends Void Operator at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick                 -> done",
    );
}

#[test]
fn while_one_has_revealed() {
    check_phase_of(
        &REVEALED,
        &format!("{COMMITTED}\n2600 reveal black E5 as v"),
        "3000 join black           -> done
         3000 join white           -> done
         3000 seal black E5 as a   -> receipt black 1 at 2500
         3000 seal white D4 as a   -> receipt white 1 at 2500
         3000 reveal black E5 as v -> done
         3000 reveal black E5 as w -> done
         3000 reveal black D4 as v -> refused RequestIdReused
         3000 reveal black D4 as w -> refused CommitmentMismatch
         3000 reveal white D4 as v -> done; resolved 1; turn 2 until 33000
         3000 reveal white E5 as v -> refused CommitmentMismatch
         3000 offer black as o     -> done; changed
         3000 offer white as o     -> done; changed
         3000 accept black as o    -> refused NoOpenOffer
         3000 accept white as o    -> refused NoOpenOffer
         3000 decline black as o   -> refused NoOpenOffer
         3000 decline white as o   -> refused NoOpenOffer
         3000 resign black as r    -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r    -> done; ends BlackWins Resignation at 3000
         3000 abort                -> done; ends Void Operator at 3000
         3000 claim black 1 7 -> done; changed
         3000 claim white 1 7 -> done; changed
         3000 claim white 0 h0 -> done
         3000 lost -> done; ends Void LostHistory at 3000
         3000 tick                 -> done",
    );
}

#[test]
fn once_the_time_to_reveal_has_passed() {
    let over = "ends BlackWins FailedReveal at 12500";
    check_phase_of(
        &REVEALED,
        &format!("{COMMITTED}\n2600 reveal black E5 as v"),
        &format!(
            "12501 join black           -> done; {over}
             12501 join white           -> done; {over}
             12501 seal black E5 as a   -> receipt black 1 at 2500; {over}
             12501 seal white D4 as a   -> receipt white 1 at 2500; {over}
             12501 seal white D4 as b   -> refused MatchFinished; {over}
             12501 reveal black E5 as v -> done; {over}
             12501 reveal white D4 as v -> refused MatchFinished; {over}
             12501 offer black as o     -> refused MatchFinished; {over}
             12501 offer white as o     -> refused MatchFinished; {over}
             12501 accept black as o    -> refused MatchFinished; {over}
             12501 accept white as o    -> refused MatchFinished; {over}
             12501 decline black as o   -> refused MatchFinished; {over}
             12501 decline white as o   -> refused MatchFinished; {over}
             12501 resign black as r    -> refused MatchFinished; {over}
             12501 resign white as r    -> refused MatchFinished; {over}
             12501 abort                -> refused MatchFinished; {over}
             12501 claim black 1 7 -> refused MatchFinished; {over}
             12501 claim white 1 7 -> refused MatchFinished; {over}
             12501 lost -> done; ends Void LostHistory at 12501
             12501 tick                 -> done; {over}"
        ),
    );
}
