//! The whole table: every command in every phase.

use crate::script::check;
use crate::settings::DEFAULT;

/// Plays `opening`, then each line of `table` on its own.
#[track_caller]
fn check_phase(opening: &str, table: &str) {
    for line in table.lines() {
        check(DEFAULT, &format!("{opening}\n{line}"));
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
         3000 resign black as r  -> done; ends Aborted Resignation at 3000
         3000 resign white as r  -> done; ends Aborted Resignation at 3000
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
         3000 resign black as r  -> done; ends Aborted Resignation at 3000
         3000 resign white as r  -> done; ends Aborted Resignation at 3000
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
         3000 resign black as r  -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r  -> done; ends BlackWins Resignation at 3000
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
         3000 resign black as r  -> done; ends WhiteWins Resignation at 3000
         3000 resign white as r  -> done; ends BlackWins Resignation at 3000
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
         3000 resign black as r  -> done
         3000 resign white as r  -> refused MatchFinished
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
             32001 resign black as r  -> refused MatchFinished; {over}
             32001 resign white as r  -> refused MatchFinished; {over}
             32001 tick               -> done; {over}"
        ),
    );
}
