//! Keys of boxes come and go; what they hold stays readable while it is needed.

use rules::Cell;
use sealing::{BoxError, BoxKey};
use store::codec::{CodecError, Keyring, decode_head, encode_head};

use super::played::{NONCES, half_sealed, keyring};

fn rotated() -> Keyring {
    Keyring::new("box-2".parse().unwrap(), BoxKey::from_bytes(&[2; 32]))
        .with_old("box-1".parse().unwrap(), BoxKey::from_bytes(&[1; 32]))
}

#[test]
fn an_old_key_opens_what_it_locked() {
    let played = half_sealed(Cell::from_number(3).unwrap());
    let old = encode_head(played.last(), &keyring(), &NONCES).unwrap();
    assert_eq!(&decode_head(&old, &rotated()).unwrap(), played.last());
}

#[test]
fn the_current_key_locks() {
    let played = half_sealed(Cell::from_number(3).unwrap());
    let new = encode_head(played.last(), &rotated(), &NONCES).unwrap();
    assert_eq!(&decode_head(&new, &rotated()).unwrap(), played.last());
    let key_id = "box-2".parse().unwrap();
    assert_eq!(decode_head(&new, &keyring()), Err(CodecError::UnknownKey { key_id }));
}

#[test]
fn another_key_of_the_same_name_opens_nothing() {
    let played = half_sealed(Cell::from_number(3).unwrap());
    let bytes = encode_head(played.last(), &keyring(), &NONCES).unwrap();
    let other = Keyring::new("box-1".parse().unwrap(), BoxKey::from_bytes(&[3; 32]));
    assert_eq!(decode_head(&bytes, &other), Err(CodecError::Box(BoxError::NotAuthentic)));
}

/// A node without the keys can still tell what it cannot open.
#[test]
fn a_refusal_says_what_to_do() {
    let key_id = "box-7".parse().unwrap();
    let shown = CodecError::UnknownKey { key_id }.to_string();
    assert_eq!(shown, "a sealed move needs the key box-7: add it to the keys, for decryption only");
}
