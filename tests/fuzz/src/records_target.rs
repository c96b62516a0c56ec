//! What a store reads: bytes of this build, of others, and damaged ones.

use std::fmt::Debug;

use rules::PerSeat;
use sealing::BoxKey;
use store::codec::{self, CodecError, Keyring};

/// Nonces of boxes that are only made to be opened again.
const NONCES: PerSeat<[u8; 12]> = PerSeat { black: [1; 12], white: [2; 12] };

/// Reads the bytes after the first as the record that the first one names. Whatever is read is written, and read
/// again as the same.
///
/// # Panics
///
/// If it is not.
pub fn records(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    let keyring = Keyring::new("box-1".parse().expect("an id"), BoxKey::from_bytes(&[1; 32]));
    let write_head = |stored: &store::Stored| codec::encode_head(stored, &keyring, &NONCES);
    match kind % 13 {
        0 => check(bytes, |bytes| codec::decode_head(bytes, &keyring), write_head),
        1 => check(bytes, codec::decode_head_without_openings, write_head),
        2 => check(bytes, codec::decode_turn, codec::encode_turn),
        3 => check(bytes, codec::decode_request, codec::encode_request),
        4 => check(bytes, codec::decode_indexed, codec::encode_indexed),
        5 => check(bytes, codec::decode_shard_clock, codec::encode_shard_clock),
        6 => check(bytes, codec::decode_feed_entry, codec::encode_feed_entry),
        7 => check(bytes, codec::decode_invite, codec::encode_invite),
        8 => check(bytes, codec::decode_new_match, codec::encode_new_match),
        9 => check(bytes, codec::decode_player_record, codec::encode_player_record),
        10 => check(bytes, codec::decode_wish, codec::encode_wish),
        11 => check(bytes, codec::decode_reservation, codec::encode_reservation),
        _ => check(bytes, codec::decode_follow_up, |follow_up| Ok(codec::encode_follow_up(follow_up))),
    }
}

#[track_caller]
fn check<T: PartialEq + Debug>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, CodecError>,
    write: impl Fn(&T) -> Result<Vec<u8>, CodecError>,
) {
    let Ok(record) = read(bytes) else { return };
    // What is too long to be kept was never written.
    let Ok(written) = write(&record) else { return };
    assert_eq!(read(&written).as_ref(), Ok(&record));
}
