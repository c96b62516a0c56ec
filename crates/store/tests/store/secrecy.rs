//! A record shows nothing of an unresolved move.

use rules::{Cell, Seat};
use sealing::Opening;
use store::codec::encode_head;

use super::played::{NONCES, Played, half_revealed, half_sealed, keyring, opening};

/// Every way in which a secret could stand in bytes.
fn forms(bytes: &[u8]) -> Vec<Vec<u8>> {
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let raw = bytes.to_vec();
    vec![raw, reversed, hex.to_uppercase().into_bytes(), hex.into_bytes(), base64(bytes).into_bytes()]
}

/// Base64 of the bytes' whole groups of three, as both alphabets have it up to their last two letters.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (groups, _) = bytes.as_chunks::<3>();
    let letters = groups.iter().flat_map(|[a, b, c]| {
        let group = u32::from_be_bytes([0, *a, *b, *c]);
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[(group >> shift) as usize & 63]))
    });
    letters.collect()
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Encodes the head of the match that each cell leads to, and looks for what it must not show.
fn check(half_played: impl Fn(Cell) -> Played) {
    let mut lengths = Vec::new();
    let mut differing = Vec::new();
    let mut first: Option<Vec<u8>> = None;
    for cell in Cell::all().filter(|cell| cell.number() != 81) {
        let played = half_played(cell);
        let bytes = encode_head(played.last(), &keyring(), &NONCES).unwrap();
        let Opening { cell, salt } = opening(cell, Seat::Black, 1);
        let opened = [&[cell.number()], salt.as_bytes().as_slice()].concat();
        for secret in [&opened, salt.as_bytes().as_slice(), &salt.as_bytes()[..8]] {
            for form in forms(secret) {
                assert!(!contains(&bytes, &form), "the record of {cell} shows {form:02x?}");
            }
        }
        lengths.push(bytes.len());
        if let Some(first) = &first {
            differing.push(bytes.iter().zip(first).filter(|(one, other)| one != other).count());
        }
        first.get_or_insert(bytes);
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 1, "the length of a record tells the cell: {lengths:?}");
    // Commitment (32), ciphertext and tag; under one nonce the ciphertexts of one salt differ in a byte.
    assert!(differing.iter().all(|count| *count <= 32 + 1 + 16), "{differing:?}");
}

#[test]
fn a_sealed_move_is_stored_under_lock() {
    check(half_sealed);
}

#[test]
fn a_first_reveal_is_stored_under_lock() {
    check(half_revealed);
}

#[test]
fn another_nonce_makes_another_box() {
    let played = half_sealed(Cell::from_number(41).unwrap());
    let other = rules::PerSeat { black: [2; 12], ..NONCES };
    let (one, two) = (
        encode_head(played.last(), &keyring(), &NONCES).unwrap(),
        encode_head(played.last(), &keyring(), &other).unwrap(),
    );
    assert_eq!(one.len(), two.len());
    let equal = one.iter().zip(&two).filter(|(one, two)| one == two).count();
    assert!(one.len() - equal > 50, "only {} bytes differ", one.len() - equal);
}

#[test]
fn keys_are_not_shown() {
    let shown = format!("{:?} {:#?}", keyring(), keyring());
    assert!(shown.contains("box-1") && shown.contains("BoxKey(..)"), "{shown}");
    assert!(!shown.contains("01, 01") && !shown.contains("[1"), "{shown}");
}
