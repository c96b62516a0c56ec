//! Signatures hold for what was signed, and no tampered match passes under one.

use std::sync::LazyLock;

use proptest::prelude::*;
use rules::Seat;
use sealing::{
    Claim, Commitment, Digest, MatchId, PlayerSignature, PlayerSigningKey, Receipt, ServerSigningKey,
    Signature, Transcript, TranscriptError, end_hash, verify_end, verify_player, verify_receipt,
};
use vectors::ServiceSignature;

use super::vectors::rows;

fn server(seed: &[u8; 32]) -> ServerSigningKey {
    ServerSigningKey::from_seed("k1".parse().unwrap(), seed)
}

fn flip(signature: &[u8; 64], bit: usize) -> [u8; 64] {
    let mut flipped = *signature;
    flipped[bit / 8] ^= 1 << (bit % 8);
    flipped
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_signature_holds_for_its_message_and_key_only(
        seed: [u8; 32], other_seed: [u8; 32], digest: [u8; 32], other: [u8; 32], bit in 0..512_usize,
    ) {
        prop_assume!(seed != other_seed && digest != other);
        let (key, end) = (server(&seed), Digest::from_bytes(digest));
        let signature = key.sign_end(&end);
        prop_assert!(verify_end(&end, "k1", &signature, &key.public_key()));
        prop_assert!(!verify_end(&Digest::from_bytes(other), "k1", &signature, &key.public_key()));
        prop_assert!(!verify_end(&end, "k2", &signature, &key.public_key()));
        prop_assert!(!verify_end(&end, "k1", &signature, &server(&other_seed).public_key()));
        let flipped = Signature::from_bytes(flip(signature.as_bytes(), bit));
        prop_assert!(!verify_end(&end, "k1", &flipped, &key.public_key()));
    }

    #[test]
    fn a_player_signs_his_own_commitments(seed: [u8; 32], commitment: [u8; 32], bit in 0..512_usize) {
        let (key, commitment) = (PlayerSigningKey::from_seed(&seed), Commitment::from_bytes(commitment));
        let signature = key.sign(&commitment);
        prop_assert!(verify_player(&commitment, &signature, &key.public_key()));
        let flipped = PlayerSignature::from_bytes(flip(signature.as_bytes(), bit));
        prop_assert!(!verify_player(&commitment, &flipped, &key.public_key()));
        // The same bytes are no receipt and no end of a match.
        let end = Digest::from_bytes(*commitment.as_bytes());
        let moved = Signature::from_bytes(*signature.as_bytes());
        prop_assert!(!verify_end(&end, "", &moved, &key.public_key()));
    }
}

#[test]
fn a_receipt_is_signed_by_the_key_that_it_names() {
    let key = server(&[7; 32]);
    let receipt = |key_id: &str| Receipt {
        match_id: MatchId::from_bytes([1; 16]),
        turn: 3,
        seat: Seat::White,
        commitment: Commitment::from_bytes([2; 32]),
        sealed_ms: 5,
        key_id: key_id.into(),
    };
    let signature = key.sign_receipt(&receipt("k1")).unwrap();
    assert!(verify_receipt(&receipt("k1"), &signature, &key.public_key()));
    assert!(!verify_receipt(&receipt("k2"), &signature, &key.public_key()));
    assert_eq!(key.sign_receipt(&receipt("k2")), None);
    assert_eq!(key.sign_receipt(&receipt("")), None);
}

/// A match of the vectors that the service signed: its encoded form, what it holds, and the signature.
struct Signed {
    encoded: String,
    transcript: Transcript,
    signature: ServiceSignature,
}

fn signed() -> &'static [Signed] {
    static SIGNED: LazyLock<Vec<Signed>> = LazyLock::new(|| {
        let whole = rows("transcripts.jsonl").into_iter().filter(|row| row.ends_with(r#""refused": null}"#));
        let signed = whole.filter_map(|encoded| {
            let signature = vectors::signature_of(&encoded).unwrap()?;
            let transcript = vectors::transcript_of(&encoded).unwrap();
            Some(Signed { encoded, transcript, signature })
        });
        signed.collect()
    });
    &SIGNED
}

/// Replaces one byte of the encoded form; what still decodes to something else is refused under the
/// keys that the verifier knows.
fn changed(whole: &Signed, at: usize, byte: u8) {
    let start = whole.encoded.find(r#""match": "#).unwrap();
    let end = whole.encoded.find(r#""server_keys": "#).unwrap();
    let mut bytes = whole.encoded.clone().into_bytes();
    bytes[start + at % (end - start)] = byte;
    let Ok(text) = String::from_utf8(bytes) else { return };
    let (Ok(transcript), Ok(signature)) = (vectors::transcript_of(&text), vectors::signature_of(&text))
    else {
        return;
    };
    let known = &whole.signature.keys;
    // A signature that is gone is for the caller to miss: he asks for one.
    let Some(signature) = signature.map(|found| found.signature) else { return };
    if transcript != whole.transcript || signature != whole.signature.signature {
        let refused = transcript.verify_signed(&signature, known);
        assert!(refused.is_err(), "byte {at} as {byte:#04x} of {}", whole.transcript.match_id);
    }
}

#[test]
fn a_match_signed_by_the_service_holds() {
    assert!(signed().len() >= 4);
    for Signed { transcript, signature, .. } in signed() {
        let verified = transcript.verify_signed(&signature.signature, &signature.keys).unwrap();
        assert_eq!(Some(verified.last), transcript.end_hash);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_changed_byte_of_an_encoded_match_is_refused(
        whole in any::<prop::sample::Index>(), at: usize, digit in "[0-9a-f]", any_byte: u8, likely: bool,
    ) {
        let byte = if likely { digit.as_bytes()[0] } else { any_byte };
        changed(whole.get(signed()), at, byte);
    }
}

#[test]
fn every_digit_of_a_short_match_is_covered() {
    let whole = signed().iter().min_by_key(|signed| signed.encoded.len()).unwrap();
    for at in 0..whole.encoded.len() {
        b"01".iter().for_each(|digit| changed(whole, at, *digit));
    }
}

/// Whoever makes every hash anew has a consistent match, and cannot sign it.
#[test]
fn a_match_made_anew_is_refused_for_its_signature() {
    for Signed { transcript, signature, .. } in signed() {
        let mut forged = transcript.clone();
        let ending = forged.ending.as_mut().unwrap();
        ending.time_ms += 1;
        let last = forged.turn_hashes.last().unwrap_or(&forged.first_hash);
        forged.end_hash = Some(end_hash(last, ending));
        assert!(forged.verify().is_ok());
        let refusal = TranscriptError { turn: None, seat: None, claim: Claim::ServerSignature };
        assert_eq!(forged.verify_signed(&signature.signature, &signature.keys), Err(refusal));
    }
}

#[test]
fn a_key_that_is_not_known_is_refused() {
    for Signed { transcript, signature, .. } in signed() {
        let refusal = TranscriptError { turn: None, seat: None, claim: Claim::ServerKey };
        assert_eq!(transcript.verify_signed(&signature.signature, &[]), Err(refusal));
    }
}
