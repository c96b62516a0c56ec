//! Verifying a whole match, and every claim that can be wrong.

use prost::Message as _;
use whattheshell::rules::Seat;
use whattheshell::sealing::{Claim as Chain, EndReason, MatchResult};
use whattheshell::{Claim, Error, Transcript, Violation, v1};

use crate::history::{History, MATCH, stamp};

/// Something that a right server does not say about turn 2 of a match, and what is wrong with it.
pub(crate) struct Lie {
    pub(crate) tell: fn(&mut v1::ResolvedTurn),
    pub(crate) violation: Violation,
}

/// Lies about a turn.
pub(crate) fn lies() -> Vec<Lie> {
    let of = |seat, claim, tell| Lie { tell, violation: Violation { turn: Some(2), seat, claim } };
    let chain = Claim::Transcript;
    let (black, white) = (Some(Seat::Black), Some(Seat::White));
    vec![
        of(black, chain(Chain::Commitment), |turn| turn.black.as_mut().unwrap().salt[0] ^= 1),
        of(white, chain(Chain::Commitment), |turn| turn.white.as_mut().unwrap().cell = 2),
        of(black, chain(Chain::Commitment), |turn| turn.black.as_mut().unwrap().commitment[0] ^= 1),
        of(None, chain(Chain::TurnHash), |turn| turn.hash[0] ^= 1),
        of(None, chain(Chain::TurnHash), |turn| turn.resolve_time.as_mut().unwrap().seconds += 1),
        of(black, chain(Chain::TurnTimes), |turn| {
            turn.black.as_mut().unwrap().seal_time.as_mut().unwrap().seconds -= 1;
        }),
        of(None, Claim::Position, |turn| {
            let position = turn.position.as_mut().unwrap();
            position.cells = position.cells.replace('b', ".");
        }),
        of(None, Claim::Position, |turn| turn.position.as_mut().unwrap().eggs.clear()),
        of(None, Claim::Position, |turn| turn.position.as_mut().unwrap().black_winning_turtles = 5),
        of(None, Claim::Events, |turn| turn.events.clear()),
        of(None, Claim::Field("resolve_time"), |turn| turn.resolve_time = None),
        of(None, Claim::Field("open_time"), |turn| turn.open_time.as_mut().unwrap().nanos += 1),
        of(white, Claim::Field("cell"), |turn| turn.white.as_mut().unwrap().cell = 0),
        of(black, Claim::Field("cell"), |turn| turn.black.as_mut().unwrap().cell = 82),
        of(black, Claim::Field("salt"), |turn| turn.black.as_mut().unwrap().salt.truncate(31)),
        of(black, Claim::Field("black, white"), |turn| turn.black = None),
    ]
}

fn verify(message: v1::Transcript) -> Result<whattheshell::VerifiedMatch, Violation> {
    Transcript::from(message).verify().map_err(|error| match error {
        Error::Verification(violation) => violation,
        other => panic!("{other}"),
    })
}

#[test]
fn a_right_transcript_is_verified_also_from_a_file() {
    let history = History::played();
    let transcript = Transcript::from(history.transcript());
    let verified = transcript.verify().unwrap();
    assert_eq!(verified.name, MATCH);
    assert_eq!(verified.turns.len(), 3);
    assert_eq!(verified.turns[1].cells.black, verified.turns[1].cells.white);
    assert_eq!(verified.result(), Some(MatchResult::WhiteWins));
    assert_eq!(verified.reason(), Some(EndReason::Resignation));
    assert_eq!(verified.last_hash.as_bytes()[..], history.finish.unwrap().end_hash);
    let again = Transcript::from_bytes(&transcript.to_bytes()).unwrap();
    assert_eq!(again.verify().unwrap(), verified);
    assert!(Transcript::from_bytes(b"no transcript").is_err());
}

#[test]
fn a_live_match_is_verified_as_far_as_it_is() {
    let history = History { finish: None, ..History::played() };
    let verified = verify(history.transcript()).unwrap();
    assert_eq!((verified.turns.len(), verified.result()), (3, None));
    assert_eq!(verified.last_hash, history.hash(3));
}

#[test]
fn a_lie_about_a_turn_is_named_by_turn_and_claim() {
    for lie in lies() {
        let mut message = History::played().transcript();
        (lie.tell)(&mut message.turns[1]);
        assert_eq!(verify(message), Err(lie.violation));
    }
}

#[test]
fn a_lie_about_the_match_or_its_end_is_named() {
    type Corruption = fn(&mut v1::Transcript);
    let chain = |claim| Violation { turn: None, seat: None, claim: Claim::Transcript(claim) };
    let cases: [(Corruption, Violation); 8] = [
        (|message| message.first_hash[0] ^= 1, chain(Chain::FirstHash)),
        (|message| message.settings.as_mut().unwrap().turn_limit = 499, chain(Chain::FirstHash)),
        (|message| message.black.as_mut().unwrap().player.push('a'), chain(Chain::FirstHash)),
        (|message| message.finish.as_mut().unwrap().end_hash[0] ^= 1, chain(Chain::EndHash)),
        (|message| message.finish.as_mut().unwrap().finish_time = stamp(1), chain(Chain::EndTime)),
        (|message| message.finish.as_mut().unwrap().result = 3, chain(Chain::EndResult)),
        (
            |message| message.finish.as_mut().unwrap().reason = 99,
            Violation { turn: None, seat: None, claim: Claim::KnownEnding },
        ),
        (
            |message| drop(message.turns.remove(1)),
            Violation { turn: Some(3), seat: None, claim: Claim::Sequence },
        ),
    ];
    for (corrupt, expected) in cases {
        let mut message = History::played().transcript();
        corrupt(&mut message);
        assert_eq!(verify(message), Err(expected));
    }
}

#[test]
fn a_violation_says_what_is_wrong_in_words() {
    let violation = &lies()[0].violation;
    assert_eq!(violation.to_string(), "turn 2: black: the opening does not open the commitment");
}

/// The match in a file, with all that this client proves of it.
fn file() -> (v1::Transcript, Vec<u8>) {
    let right = Transcript::from(History::played().transcript());
    right.verify().unwrap();
    (right.message().clone(), right.to_bytes())
}

fn is_refused(bytes: &[u8]) -> bool {
    Transcript::from_bytes(bytes).and_then(|changed| changed.verify()).is_err()
}

#[test]
fn a_file_with_any_changed_bit_is_refused() {
    let (message, bytes) = file();
    // Unsigned, so that nothing but the form and the chain of hashes can tell; the signature and its key
    // are bound by each other (`client_transcripts` of the service's tests).
    assert!(message.signature.is_empty() && message.key_id.is_empty());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(is_refused(&changed), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_file_with_anything_added_is_refused_and_one_that_was_cut_has_no_end() {
    let (message, bytes) = file();
    let joined = v1::MatchSeat { joined: true, ..Default::default() };
    let again = v1::Transcript { black: Some(joined.clone()), ..Default::default() };
    let added = [
        // Unknown fields of every wire type, among them the highest number; then known ones again.
        vec![0x78, 0x00],
        vec![0x79, 1, 2, 3, 4, 5, 6, 7, 8],
        vec![0x7A, 0x00],
        vec![0x7B, 0x7C],
        vec![0x7D, 1, 2, 3, 4],
        vec![0xFA, 0xFF, 0xFF, 0xFF, 0x0F, 0x01, 0x00],
        bytes[..2 + usize::from(bytes[1])].to_vec(),
        vec![0x42, 0x00],
        vec![0x4A, 0x00],
        again.encode_to_vec(),
        vec![0x00],
    ];
    for added in added {
        assert!(is_refused(&[&bytes[..], &added].concat()), "{added:02x?} at the end");
        assert!(is_refused(&[&added, &bytes[..]].concat()), "{added:02x?} at the beginning");
    }
    // Cut between two turns it is the match as it stood then, and says so: it has no end.
    for length in 0..bytes.len() {
        let cut = Transcript::from_bytes(&bytes[..length]).and_then(|cut| cut.verify());
        assert!(cut.is_err() || cut.is_ok_and(|cut| cut.finish.is_none()), "the first {length} bytes");
    }
    // In a place of its own: true or not, nothing proves it.
    let seat = message.black.as_ref().unwrap();
    for black in [
        v1::MatchSeat { joined: true, ..seat.clone() },
        v1::MatchSeat { rating: Some(1_500.0), ..seat.clone() },
        v1::MatchSeat { bot_level: 3, ..seat.clone() },
    ] {
        let claimed = v1::Transcript { black: Some(black), ..message.clone() };
        assert!(is_refused(&claimed.encode_to_vec()));
        assert_eq!(Transcript::from(claimed).to_bytes(), bytes, "a server's word is left out");
    }
}
