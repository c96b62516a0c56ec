//! Canonical text.

use proptest::prelude::*;
use rules::{CanonicalError, Cell, Position, Setup};

use crate::boards::any_position;

#[test]
fn canonical_text_reads_as_specified() {
    let cells = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<Cell>>();
    let setup = Setup {
        black: cells(&["A1", "B1", "C1", "D1", "E1"]),
        white: cells(&["A9"]),
        eggs: cells(&["I9", "B2"]),
    };
    let position = Position::from_setup(&setup).unwrap();
    let expected = "bbbbb.....e..................................................\
                    ...........w.......e I9,B2 black_wins 5:0\n";
    assert_eq!(position.canonical_line(), expected);
}

#[test]
fn every_deviation_has_a_name() {
    let empty = ".".repeat(81);
    let one_egg = format!("e{}", ".".repeat(80));
    let cases = [
        (String::new(), CanonicalError::Fields),
        (format!("{empty} - ongoing"), CanonicalError::Fields),
        (format!("{empty} - ongoing 0:0 "), CanonicalError::Fields),
        (format!("{empty}  - ongoing 0:0"), CanonicalError::Fields),
        (" ".repeat(1_000), CanonicalError::Fields),
        (format!("{empty}. - ongoing 0:0"), CanonicalError::Board),
        (format!("{}B - ongoing 0:0", ".".repeat(80)), CanonicalError::Board),
        (format!("{one_egg} - ongoing 0:0"), CanonicalError::Eggs),
        (format!("{empty} A1 ongoing 0:0"), CanonicalError::Eggs),
        (format!("{one_egg} A1,A1 ongoing 0:0"), CanonicalError::Eggs),
        (format!("{one_egg} A1, ongoing 0:0"), CanonicalError::Eggs),
        (format!("{one_egg} a1 ongoing 0:0"), CanonicalError::Eggs),
        (format!("{empty} - sudden_death 0:0"), CanonicalError::Outcome),
        (format!("{empty} - ongoing 0:1"), CanonicalError::Outcome),
        (format!("{empty} - ongoing 00:0"), CanonicalError::Outcome),
        (format!("{empty} - ongoing 0:0\n"), CanonicalError::Outcome),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<Position>(), Err(error), "{text:?}");
    }
}

proptest! {
    #[test]
    fn canonical_text_goes_there_and_back(position in any_position()) {
        let text = position.to_string();
        prop_assert_eq!(text.parse(), Ok(position));
        prop_assert_eq!(position.canonical_line(), format!("{}\n", text));
    }

    /// Whatever is accepted is exactly what would be written.
    #[test]
    fn a_changed_text_is_refused_or_canonical(
        position in any_position(), at in any::<prop::sample::Index>(), letter in "[bwe. ,:\\-AI19_\n]", cut in 0..2_usize,
    ) {
        let mut text = position.to_string();
        let at = at.index(text.len());
        text.replace_range(at..at + cut, &letter);
        if let Ok(read) = text.parse::<Position>() {
            prop_assert_eq!(read.to_string(), text);
        }
    }
}
