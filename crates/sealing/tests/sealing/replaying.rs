//! A match that is checked turn by turn, as its turns come.

use rules::Seat;
use sealing::{Claim, Replay, Salt, Transcript, TranscriptError};

use super::vectors::matches;

fn start(whole: &Transcript) -> Replay {
    Replay::new(whole.match_id, whole.settings.clone(), whole.parties.clone(), &whole.first_hash).unwrap()
}

#[test]
fn every_step_is_where_the_whole_match_leads() {
    for whole in matches() {
        let mut replay = start(whole);
        assert_eq!((replay.turns(), replay.hash()), (0, replay.first_hash()));
        for (number, (facts, hash)) in (1..).zip(whole.turns.iter().zip(&whole.turn_hashes)) {
            let played = replay.turn(facts, hash).unwrap();
            assert_eq!((replay.turns(), replay.hash(), replay.position()), (number, *hash, played.position));
        }
        let end = match (&whole.ending, &whole.end_hash) {
            (Some(ending), Some(hash)) => replay.end(ending, hash),
            _ => Ok(replay.verified()),
        };
        assert_eq!(end, whole.verify(), "{}", whole.match_id);
    }
}

#[test]
fn a_refused_turn_changes_nothing() {
    for whole in matches() {
        let mut replay = start(whole);
        for (number, (facts, hash)) in (1..).zip(whole.turns.iter().zip(&whole.turn_hashes)) {
            let mut lie = facts.clone();
            lie.openings[Seat::White].salt = Salt::from_bytes([0xEE; 32]);
            let (turn, seat) = (Some(number), Some(Seat::White));
            let refusal = TranscriptError { turn, seat, claim: Claim::Commitment };
            assert_eq!(replay.turn(&lie, hash).unwrap_err(), refusal);
            let refusal = TranscriptError { turn, seat: None, claim: Claim::TurnHash };
            assert_eq!(replay.turn(facts, &replay.hash()).unwrap_err(), refusal);
            assert_eq!(replay.turns(), number - 1);
            assert!(replay.turn(facts, hash).is_ok());
        }
    }
}
