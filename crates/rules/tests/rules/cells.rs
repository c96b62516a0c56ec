//! Names and sets of cells.

use proptest::prelude::*;
use rules::{Cell, NotationError};

use crate::boards::any_position;

#[test]
fn every_cell_has_one_name() {
    let names: Vec<String> = Cell::all().map(|cell| cell.to_string()).collect();
    assert_eq!(
        (names[0].as_str(), names[1].as_str(), names[9].as_str(), names[80].as_str()),
        ("A1", "B1", "A2", "I9")
    );
    for (cell, name) in Cell::all().zip(&names) {
        assert_eq!(name.parse(), Ok(cell));
    }
}

/// The grammar `[A-Z](0|[1-9][0-9]*)` once more, by hand.
fn is_well_formed(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|column| column.is_ascii_uppercase())
        && match letters.as_str() {
            "0" => true,
            row => {
                !row.is_empty() && !row.starts_with('0') && row.chars().all(|digit| digit.is_ascii_digit())
            }
        }
}

#[test]
fn names_of_up_to_three_characters_are_read_as_the_grammar_says() {
    let alphabet: Vec<char> = "AIJZai@[`{0159 -+.:/Ä５\0\n".chars().collect();
    let longer = |names: &[String]| -> Vec<String> {
        names.iter().flat_map(|name| alphabet.iter().map(move |letter| format!("{name}{letter}"))).collect()
    };
    let one = longer(&[String::new()]);
    let two = longer(&one);
    let three = longer(&two);
    for name in [String::new()].iter().chain(&one).chain(&two).chain(&three) {
        let expected = match Cell::all().find(|cell| cell.to_string() == *name) {
            Some(cell) => Ok(cell),
            None if is_well_formed(name) => Err(NotationError::OffBoard),
            None => Err(NotationError::Malformed),
        };
        assert_eq!(name.parse(), expected, "{name:?}");
    }
}

proptest! {
    #[test]
    fn the_nth_legal_cell_is_the_one_after_n_others(position in any_position(), n in 0..90_usize) {
        let mut jumped = position.legal_cells();
        let mut walked = position.legal_cells();
        let nth = jumped.nth(n);
        for _ in 0..n {
            walked.next();
        }
        prop_assert_eq!(nth, walked.next());
        prop_assert_eq!(jumped.len(), walked.len());
        prop_assert!(jumped.eq(walked));
    }
}
