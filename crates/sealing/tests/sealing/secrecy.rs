//! Nothing prints what a seal hides.

use std::fmt::Debug;

use rules::{Cell, PerSeat};
use sealing::{BoxKey, Opening, PlayerSigningKey, Salt, ServerSigningKey};

use super::vectors::matches;

/// A salt whose bytes are easily found in any print of them.
fn marked() -> Opening {
    Opening { cell: Cell::from_number(41).unwrap(), salt: Salt::from_bytes([0xAB; 32]) }
}

fn prints(value: &impl Debug) -> String {
    format!("{value:?} {value:#?} {value:x?} {value:X?}")
}

fn assert_silent(printed: &str) {
    for telling in ["E5", "41", "171", "abab", "ABAB", "ab, ab", "AB, AB", "ab,\n"] {
        assert!(!printed.contains(telling), "{telling} in {printed}");
    }
}

#[test]
fn an_opening_prints_neither_cell_nor_salt() {
    assert_silent(&prints(&marked()));
    assert_silent(&prints(&marked().salt));
    assert_eq!(format!("{:?} {:?}", marked(), marked().salt), "Opening(..) Salt(..)");
}

#[test]
fn keys_print_their_names_only() {
    let seed = [0xAB; 32];
    let server = ServerSigningKey::from_seed("k1".parse().unwrap(), &seed);
    let (player, locking) = (PlayerSigningKey::from_seed(&seed), BoxKey::from_bytes(&seed));
    for printed in [prints(&server), prints(&player), prints(&locking)] {
        assert_silent(&printed);
    }
    assert_eq!(format!("{player:?} {locking:?}"), "PlayerSigningKey(..) BoxKey(..)");
    assert_eq!(format!("{server:?}"), r#"ServerSigningKey { id: "k1", .. }"#);
}

#[test]
fn what_holds_openings_is_as_silent() {
    let mut transcript = matches().iter().find(|found| !found.turns.is_empty()).unwrap().clone();
    for facts in &mut transcript.turns {
        facts.openings = PerSeat { black: marked(), white: marked() };
    }
    assert_silent(&prints(&transcript.turns[0].openings));
    // The rest of a transcript is public and full of digits; a cell is upper case, digests are not.
    for printed in [format!("{transcript:?}"), format!("{transcript:#?}")] {
        for telling in ["E5", "171, 171", "171,\n", "abab"] {
            assert!(!printed.contains(telling), "{telling} in {printed}");
        }
    }
}

#[test]
fn openings_compare_by_cell_and_salt() {
    let other_cell = Opening { cell: Cell::from_number(42).unwrap(), ..marked() };
    let mut bytes = [0xAB; 32];
    bytes[31] = 0;
    let other_salt = Opening { salt: Salt::from_bytes(bytes), ..marked() };
    assert_eq!(marked(), marked());
    assert_ne!(marked(), other_cell);
    assert_ne!(marked(), other_salt);
}
