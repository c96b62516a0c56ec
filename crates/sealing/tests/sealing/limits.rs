//! What has no place in the format is refused and never panics.

use rules::{Cell, Seat};
use sealing::{
    Claim, Digest, FIELD_BYTES_MAX, MatchId, Opening, Salt, SealContext, Transcript, TranscriptError,
    match_hash, transcript_digest,
};
use sha2::{Digest as _, Sha256};

use super::vectors::matches;

/// A match that has only been created, with a name of this many bytes in black's seat.
fn created(name_bytes: usize) -> Transcript {
    let mut transcript = matches().iter().find(|found| found.turns.is_empty()).unwrap().clone();
    (transcript.ending, transcript.end_hash) = (None, None);
    transcript.parties.black.player = "p".repeat(name_bytes);
    transcript.first_hash =
        match_hash(transcript.match_id, &transcript.settings, transcript.parties.as_ref());
    transcript
}

#[test]
fn the_longest_name_holds() {
    assert!(created(FIELD_BYTES_MAX).verify().is_ok());
}

#[test]
fn a_longer_name_is_refused() {
    let refusal = TranscriptError { turn: None, seat: Some(Seat::Black), claim: Claim::FieldLength };
    assert_eq!(created(FIELD_BYTES_MAX + 1).verify(), Err(refusal));
}

#[test]
fn a_longer_version_is_refused() {
    let mut transcript = created(1);
    transcript.settings.rules_version = "1".repeat(FIELD_BYTES_MAX + 1);
    let refusal = TranscriptError { turn: None, seat: None, claim: Claim::FieldLength };
    assert_eq!(transcript.verify(), Err(refusal));
}

#[test]
fn nothing_opens_for_a_longer_name() {
    let opening = Opening { cell: Cell::from_number(1).unwrap(), salt: Salt::from_bytes([0; 32]) };
    for (bytes, opens) in [(FIELD_BYTES_MAX, true), (FIELD_BYTES_MAX + 1, false), (2 * 65_536, false)] {
        let context = SealContext {
            match_id: MatchId::from_bytes([0; 16]),
            turn: 1,
            seat: Seat::Black,
            player: &"p".repeat(bytes),
            previous: &Digest::from_bytes([0; 32]),
        };
        assert_eq!(context.opens(&context.commit(&opening), &opening), opens, "{bytes} bytes");
    }
}

/// Without its length, or with a clipped one, a text that is too long could stand for several fields.
#[test]
fn a_longer_text_makes_no_digest_of_the_format() {
    let end = Digest::from_bytes([0; 32]);
    let key_id = "k".repeat(FIELD_BYTES_MAX + 5);
    let made = transcript_digest(&end, &key_id);
    for length in [&[][..], &[0xFF, 0xFF], &[0, 4]] {
        let mut hash = Sha256::new();
        hash.update([0, 26]);
        hash.update("whattheshell.v1.transcript");
        hash.update([0, 32]);
        hash.update(end);
        hash.update(length);
        hash.update(&key_id);
        assert_ne!(made, Digest::from_bytes(hash.finalize().into()), "{length:?}");
    }
    assert_ne!(made, transcript_digest(&end, &key_id[..FIELD_BYTES_MAX]));
}

#[test]
fn a_refusal_says_where_and_what() {
    let named = TranscriptError { turn: Some(3), seat: Some(Seat::White), claim: Claim::Commitment };
    assert_eq!(named.to_string(), "turn 3: white: the opening does not open the commitment");
    let whole = TranscriptError { turn: None, seat: None, claim: Claim::EndHash };
    assert_eq!(whole.to_string(), "h_end is not the hash of the ending");
}
