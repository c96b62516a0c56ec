//! Bytes from a damaged disk or an unknown writer are refused and never panic.

use proptest::prelude::*;
use referee::Now;
use store::codec::{
    CodecError, FORMAT, RECORD_BYTES_MAX, decode_feed_entry, decode_feed_trimmed, decode_head,
    decode_indexed, decode_invite, decode_request, decode_shard_clock, decode_turn, encode_head, encode_turn,
};

use super::played::{CREATED_MS, NONCES, half_sealed, keyring, matches};

/// Every reader on the same bytes; what each says.
fn read_all(bytes: &[u8]) -> [Result<(), CodecError>; 8] {
    [
        decode_head(bytes, &keyring()).map(|_| ()),
        decode_turn(bytes).map(|_| ()),
        decode_invite(bytes).map(|_| ()),
        decode_request(bytes).map(|_| ()),
        decode_indexed(bytes).map(|_| ()),
        decode_shard_clock(bytes).map(|_| ()),
        decode_feed_entry(bytes).map(|_| ()),
        decode_feed_trimmed(bytes).map(|_| ()),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _said = read_all(&bytes);
    }

    /// What still decodes after a change is a match that goes on without a panic.
    #[test]
    fn a_changed_head_is_refused_or_is_a_match(
        played in matches(), head: prop::sample::Index, at: prop::sample::Index, value: u8, cut: bool,
    ) {
        let stored = head.get(&played.heads);
        let mut bytes = encode_head(stored, &keyring(), &NONCES).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = value }
        let _said = read_all(&bytes);
        if let Ok(stored) = decode_head(&bytes, &keyring()) {
            let _goes_on = stored.head.apply(&referee::Command::Tick, Now::at_ms(CREATED_MS + 1_000_000_000_000));
        }
    }

    #[test]
    fn a_changed_turn_is_refused_or_is_a_turn(
        played in matches(), turn: prop::sample::Index, at: prop::sample::Index, value: u8, cut: bool,
    ) {
        prop_assume!(!played.turns.is_empty());
        let mut bytes = encode_turn(turn.get(&played.turns)).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = value }
        let _said = read_all(&bytes);
    }

    /// No byte of a box can be changed without notice.
    #[test]
    fn a_changed_box_does_not_open(at in 0..61_usize, bit in 0..8_u8) {
        let played = half_sealed("E5".parse().unwrap());
        let mut bytes = encode_head(played.last(), &keyring(), &NONCES).unwrap();
        let start = bytes.windows(12).position(|window| window == NONCES.black).unwrap();
        bytes[start + at] ^= 1 << bit;
        prop_assert!(matches!(decode_head(&bytes, &keyring()), Err(CodecError::Box(_))));
    }
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let found = FORMAT + 1;
    let newer = [0x08, found as u8];
    // A field that no reader of today knows, of a wire type that none of its fields has.
    let unreadable = [&newer[..], &[0x35, 1, 2, 3, 4]].concat();
    for bytes in [&newer[..], &unreadable] {
        for said in read_all(bytes) {
            assert_eq!(said, Err(CodecError::NewerFormat { found }));
        }
    }
    let shown = CodecError::NewerFormat { found }.to_string();
    assert!(shown.contains("format 2") && shown.contains("up to 1"), "{shown}");
}

#[test]
fn a_record_without_a_format_is_none() {
    for bytes in [&[][..], &[0x08, 0x00]] {
        for said in read_all(bytes) {
            assert_eq!(said, Err(CodecError::Malformed));
        }
    }
}

#[test]
fn a_record_that_is_too_long_is_not_looked_at() {
    let bytes = vec![0x08; RECORD_BYTES_MAX + 1];
    for said in read_all(&bytes) {
        assert_eq!(said, Err(CodecError::TooLong { bytes: RECORD_BYTES_MAX + 1 }));
    }
}

#[test]
fn a_record_of_another_kind_is_refused() {
    let played = half_sealed("E5".parse().unwrap());
    let head = encode_head(played.last(), &keyring(), &NONCES).unwrap();
    assert!(read_all(&head)[1..].iter().all(Result::is_err));
}
