//! While a turn is open, nothing tells anything about a sealed cell.

use referee::{Command, Match, Phase, Revealing, SealedMove, Settings};
use rules::{Cell, Seat};

use crate::script::{Played, check_started, opening};
use crate::settings::{DEFAULT, REVEALED};

/// The same match with another cell and salt behind the seal of `seat`, if they are there at all.
pub(crate) fn with_other_secret(game: &Match, seat: Seat, cell: Cell) -> Match {
    let mut other = game.clone();
    if let Phase::Open(open) | Phase::Revealing(Revealing { open, .. }) = &mut other.phase
        && let Some(held) = open.seals[seat].as_mut().and_then(|seal| seal.opening.as_mut())
    {
        *held = opening(cell, 0xb7);
    }
    other
}

fn cell(name: &str) -> Cell {
    name.parse().expect("a cell")
}

fn black_sealed() -> Played {
    check_started(DEFAULT, "3000 play A1/I9\n4000 seal black E5 as b2 salt 171")
}

#[test]
fn debug_text_of_a_match_is_the_same_whatever_was_sealed() {
    let game = black_sealed().game;
    let other = with_other_secret(&game, Seat::Black, cell("C7"));
    assert_ne!(game, other);
    assert_eq!(format!("{game:?}"), format!("{other:?}"));
    assert_eq!(format!("{game:#?}"), format!("{other:#?}"));
    let text = format!("{game:?}");
    assert!(!text.contains("E5") && !text.contains("171, 171") && !text.contains("abab"), "{text}");
}

#[test]
fn debug_text_of_a_seal_is_the_same_whatever_it_holds() {
    let played = black_sealed();
    let Command::Seal(seal) = played.command(&["seal", "white", "E5", "as", "w2"]) else { unreachable!() };
    let mut other = seal.clone();
    other.sealed = SealedMove::Opening(opening(cell("C7"), 0xb7));
    assert_ne!(seal, other);
    assert_eq!(format!("{:?}", Command::Seal(seal)), format!("{:?}", Command::Seal(other)));
}

#[test]
fn what_a_seat_is_answered_does_not_depend_on_what_the_other_sealed() {
    let played = black_sealed();
    let other = with_other_secret(&played.game, Seat::Black, cell("C7"));
    let now = played.now(5_000);
    for words in [
        "seal white E5 as w2",
        "seal white C7 as w2",
        "seal white A1 as w2",
        "seal white D4 as w2 in 3",
        "seal white D4 as w2 knowing other",
        "seal white D4 as w2 committed",
        "reveal white E5 as v",
        "offer white as o",
        "accept white as o",
        "resign white as r",
        "join white",
        "tick",
    ] {
        let command = played.command(&words.split(' ').collect::<Vec<_>>());
        let (one, two) = (played.game.apply(&command, now), other.apply(&command, now));
        assert_eq!(one.answer, two.answer, "{words}");
        assert_eq!(one.change.is_some(), two.change.is_some(), "{words}");
    }
}

fn black_revealed() -> Played {
    check_started(
        REVEALED,
        "3000 play A1/I9
         4000 seal black E5 as b2 salt 171
         4000 seal white D4 as w2
         5000 reveal black E5 as r salt 171",
    )
}

#[test]
fn debug_text_of_a_held_reveal_is_the_same_whatever_was_revealed() {
    let played = black_revealed();
    let other = with_other_secret(&played.game, Seat::Black, cell("C7"));
    assert_ne!(played.game, other);
    let text = format!("{:?}", played.game);
    assert_eq!(text, format!("{other:?}"));
    assert!(!text.contains("E5") && !text.contains("171, 171") && !text.contains("abab"), "{text}");
    let reveal = |words: [&str; 7]| format!("{:?}", played.command(&words));
    let [one, two] = ["E5", "C7"].map(|name| reveal(["reveal", "black", name, "as", "r", "salt", "171"]));
    assert_eq!(one, two);
}

#[test]
fn what_a_seat_is_answered_does_not_depend_on_what_the_other_revealed() {
    let played = black_revealed();
    // Another legal cell, and one that will lose the match for black.
    let others = ["C7", "A1"].map(|name| with_other_secret(&played.game, Seat::Black, cell(name)));
    let now = played.now(5_500);
    for words in [
        "reveal white D4 as v",
        "reveal white E5 as v",
        "reveal white E5 as v salt 171",
        "reveal white D4 as v in 3",
        "seal white D4 as w2",
        "seal white E5 as x",
        "offer white as o",
        "accept white as o",
        "join white",
        "tick",
    ] {
        let command = played.command(&words.split(' ').collect::<Vec<_>>());
        let one = played.game.apply(&command, now);
        for other in &others {
            let two = other.apply(&command, now);
            assert_eq!(one.answer, two.answer, "{words}");
            assert_eq!(one.change.is_some(), two.change.is_some(), "{words}");
        }
    }
}

#[test]
fn a_held_reveal_is_gone_when_the_match_ends() {
    for end in ["6000 resign white as q", "6000 abort", "14001 tick"] {
        let script = |black: &str| {
            format!(
                "3000 seal black {black} as b1\n3000 seal white D4 as w1\n4000 reveal black {black} as r\n{end}"
            )
        };
        let played = check_started(REVEALED, &script("E5"));
        let text = format!("{:?}", played.game);
        assert!(!text.contains("Opening"), "no opening is left, not even an untold one: {text}");
    }
}

#[test]
fn what_an_unresolved_seal_hid_is_gone_when_the_match_ends() {
    for end in ["5000 resign white as r", "33001 tick"] {
        let played = check_started(DEFAULT, &format!("3000 seal black E5 as b1\n{end}"));
        let other = check_started(DEFAULT, &format!("3000 seal black C7 as b1\n{end}"));
        let commitment = |played: &Played| {
            let finish = played.game.finish().expect("it is finished");
            finish.unresolved[Seat::Black].as_ref().expect("black had sealed").commitment.to_string()
        };
        // Apart from the commitments and what is hashed over them, the two matches are the same.
        let text = |played: &Played| {
            let finish = played.game.finish().expect("it is finished");
            format!("{:?}", played.game)
                .replace(&commitment(played), "C")
                .replace(&finish.end_hash.to_string(), "H")
        };
        assert_ne!(commitment(&played), commitment(&other));
        assert_eq!(text(&played), text(&other));
    }
}

#[test]
fn refusals_never_name_a_cell() {
    let mut played = check_started(Settings::default(), "3000 play E5/D4\n4000 seal black C7 as b2");
    for words in ["seal white E5 as x", "seal black C7 as y", "seal white C7 as x in 9"] {
        let command = played.command(&words.split(' ').collect::<Vec<_>>());
        let now = played.now(5_000);
        let (_, answer) = played.apply(&command, now);
        let refusal = answer.expect_err(words);
        let text = format!("{refusal} {refusal:?}");
        assert!(!text.contains("E5") && !text.contains("C7"), "{text}");
    }
}
