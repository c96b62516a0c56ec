//! What has no place in the format is refused and never panics.

use rules::{Cell, Seat};
use sealing::{
    Claim, Digest, FIELD_BYTES_MAX, MatchId, Opening, Salt, SealContext, Transcript, TranscriptError,
    match_hash,
};

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

#[test]
fn a_refusal_says_where_and_what() {
    let named = TranscriptError { turn: Some(3), seat: Some(Seat::White), claim: Claim::Commitment };
    assert_eq!(named.to_string(), "turn 3: white: the opening does not open the commitment");
    let whole = TranscriptError { turn: None, seat: None, claim: Claim::EndHash };
    assert_eq!(whole.to_string(), "h_end is not the hash of the ending");
}
