//! Keys are rotated without a gap: what was locked, signed or remembered before still is.

use referee::Stamp;
use rules::{Cell, Seat};
use sealing::{Commitment, Digest, MatchId, Receipt, verify_end, verify_receipt};
use store::codec::{decode_head, encode_head};
use store::keys::{KeyState, Keys, KeysError, PublishedKey, Role};

use super::played::{NONCES, half_sealed};

const START: Stamp = Stamp::from_ms(1_000);
const ROTATED: Stamp = Stamp::from_ms(9_000);

fn rotated(keys: &Keys, role: Role) -> Keys {
    let mut keys = keys.clone();
    let next = keys.prepare(role).unwrap();
    keys.promote(role, &next, ROTATED).unwrap();
    keys
}

fn receipt(key_id: &str) -> Receipt {
    Receipt {
        match_id: MatchId::from_bytes([1; 16]),
        turn: 3,
        seat: Seat::White,
        commitment: Commitment::from_bytes([2; 32]),
        sealed_ms: 5,
        key_id: key_id.into(),
    }
}

#[test]
fn a_move_locked_before_a_rotation_opens_after_it() {
    let old = Keys::generate(START);
    let new = rotated(&old, Role::Box);
    let played = half_sealed(Cell::from_number(3).unwrap());
    let bytes = encode_head(played.last(), &old.keyring(), &NONCES).unwrap();
    assert_eq!(&decode_head(&bytes, &new.keyring()).unwrap(), played.last());
}

/// Nodes get the file one after the other: while some lock by a new key, none may be unable to open.
#[test]
fn a_prepared_key_opens_before_it_locks() {
    let mut prepared = Keys::generate(START);
    let next = prepared.prepare(Role::Box).unwrap();
    assert_ne!(prepared.keyring().current().0, &next);
    let mut promoted = prepared.clone();
    promoted.promote(Role::Box, &next, ROTATED).unwrap();
    let played = half_sealed(Cell::from_number(3).unwrap());
    let bytes = encode_head(played.last(), &promoted.keyring(), &NONCES).unwrap();
    assert_eq!(&decode_head(&bytes, &prepared.keyring()).unwrap(), played.last());
}

#[test]
fn a_receipt_is_signed_alike_before_and_after_a_rotation() {
    let old = Keys::generate(START);
    let new = rotated(&old, Role::Signing);
    let given = receipt(old.signer().key_id().as_str());
    let signature = old.signer().sign_receipt(&given).unwrap();
    assert_eq!(new.signer().sign_receipt(&given), Some(signature));
    assert!(new.signer().signed_receipt(&given, &signature));
    assert!(!new.signer().signed_receipt(&receipt("other"), &signature));
    assert_eq!(new.signer().sign_receipt(&receipt("")), None);
    assert_ne!(new.signer().key_id(), old.signer().key_id());
}

#[test]
fn everyone_can_check_what_old_and_new_keys_signed() {
    let old = Keys::generate(START);
    let new = rotated(&old, Role::Signing);
    let end = Digest::from_bytes([3; 32]);
    let published = new.signer().published().to_vec();
    let [current, ended] = &published[..] else { panic!("two keys: {published:?}") };
    assert_eq!((current.from, current.until), (Some(ROTATED), None));
    assert_eq!((ended.from, ended.until), (Some(START), Some(ROTATED)));
    for (keys, PublishedKey { key, .. }) in [(&new, current), (&old, ended)] {
        let signed = keys.signer().sign_end(&end);
        assert_eq!(signed.key_id, key.id.as_str());
        assert!(verify_end(&end, &signed.key_id, &signed.signature, &key.public_key));
        let given = receipt(key.id.as_str());
        let signature = keys.signer().sign_receipt(&given).unwrap();
        assert!(verify_receipt(&given, &signature, &key.public_key));
    }
}

#[test]
fn tokens_of_the_old_key_are_still_taken() {
    let old = Keys::generate(START);
    let new = rotated(&old, Role::Token);
    assert_ne!(new.token_seed(), old.token_seed());
    let seeds: Vec<_> = new.token_seeds().collect();
    assert_eq!(seeds, [new.token_seed(), old.token_seed()]);
    assert_eq!(new.request_secret(), old.request_secret());
}

#[test]
fn only_a_key_that_waits_is_taken_into_use() {
    let mut keys = Keys::generate(START);
    let current = keys.signer().key_id().clone();
    let refused = keys.promote(Role::Signing, &current, ROTATED);
    assert!(matches!(refused, Err(KeysError::NotPrepared { .. })), "{refused:?}");
    let next = keys.prepare(Role::Signing).unwrap();
    assert!(keys.promote(Role::Box, &next, ROTATED).is_err());
    assert!(matches!(keys.prepare(Role::Request), Err(KeysError::NotRotated { .. })));
}

#[test]
fn no_two_services_have_the_same_keys() {
    let (one, other) = (Keys::generate(START), Keys::generate(START));
    assert_ne!(one.request_secret(), other.request_secret());
    assert_ne!(one.token_seed(), other.token_seed());
    assert_ne!(one.signer().published()[0].key.public_key, other.signer().published()[0].key.public_key);
}

#[test]
fn the_number_of_keys_is_bounded() {
    let mut keys = Keys::generate(START);
    let refused = (0..=Keys::COUNT_MAX).find_map(|_| keys.prepare(Role::Token).err());
    assert!(matches!(refused, Some(KeysError::TooMany { limit: Keys::COUNT_MAX })));
}

/// Or the file would say that a key ended before it began, and no node could start.
#[test]
fn a_machine_whose_clock_is_behind_rotates_too() {
    let mut keys = Keys::generate(ROTATED);
    let next = keys.prepare(Role::Signing).unwrap();
    keys.promote(Role::Signing, &next, START).unwrap();
    let facts = keys.facts();
    assert_eq!((facts[0].id.clone(), facts[0].from, facts[0].until), (next, Some(ROTATED), None));
    assert_eq!((facts[1].from, facts[1].until), (Some(ROTATED), Some(ROTATED)));
}

#[test]
fn every_key_is_told_with_how_far_it_has_come() {
    let mut keys = rotated(&Keys::generate(START), Role::Signing);
    let prepared = keys.prepare(Role::Signing).unwrap();
    let facts = keys.facts();
    let told: Vec<_> = facts.iter().map(|key| (key.role, key.state())).collect();
    let expected = [
        (Role::Signing, KeyState::InUse),
        (Role::Signing, KeyState::Ended),
        (Role::Signing, KeyState::Prepared),
        (Role::Box, KeyState::InUse),
        (Role::Token, KeyState::InUse),
        (Role::Request, KeyState::InUse),
    ];
    assert_eq!(told, expected);
    assert_eq!(facts[2].id, prepared);
    let signer = keys.signer();
    for (key, published) in facts.iter().zip(signer.published()) {
        assert_eq!(key.public_key, Some(published.key.public_key));
    }
    assert!(facts[3..].iter().all(|key| key.public_key.is_none()), "what is no public key is secret");
}

#[test]
fn only_a_key_that_is_not_in_use_goes() {
    let first = Keys::generate(START);
    let old = first.keyring().current().0.clone();
    let mut keys = rotated(&first, Role::Box);
    let in_use = keys.keyring().current().0.clone();
    let refused = keys.retire(Role::Box, &in_use);
    assert!(matches!(refused, Err(KeysError::InUse { role: Role::Box, .. })), "{refused:?}");
    assert!(keys.keyring().key(&old).is_some());
    assert_eq!(keys.retire(Role::Box, &old).unwrap().state(), KeyState::Ended);
    assert!(keys.keyring().key(&old).is_none());
    let refused = keys.retire(Role::Box, &old);
    assert!(matches!(refused, Err(KeysError::Unknown { role: Role::Box, .. })), "{refused:?}");
}
