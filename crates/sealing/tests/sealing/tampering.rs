//! A transcript in which anything is changed is refused.

use rules::{Cell, Seat};
use sealing::{
    Bank, BotSeat, Commitment, Digest, EndReason, MatchId, MatchResult, Party, PlayerSignature, PublicKey,
    Salt, Transcript, TurnFacts,
};

use super::vectors::matches;

fn flip(bytes: [u8; 32], bit: usize) -> [u8; 32] {
    let mut flipped = bytes;
    flipped[bit / 8 % 32] ^= 1 << (bit % 8);
    flipped
}

fn flip_digest(digest: &mut Digest, bit: usize) {
    *digest = Digest::from_bytes(flip(*digest.as_bytes(), bit));
}

fn flip_commitment(commitment: &mut Commitment, bit: usize) {
    *commitment = Commitment::from_bytes(flip(*commitment.as_bytes(), bit));
}

/// Applies a change to every match, and demands that it is refused wherever it changed anything.
fn refused(what: &str, change: impl Fn(&mut Transcript)) {
    let mut changed_some = false;
    for whole in matches() {
        let mut changed = whole.clone();
        change(&mut changed);
        if changed != *whole {
            changed_some = true;
            assert!(changed.verify().is_err(), "{what} of {}", whole.match_id);
        }
    }
    assert!(changed_some, "{what}: nothing to change");
}

/// Applies a change to every turn of every match in turn.
fn refused_in_each_turn(what: &str, change: impl Fn(&mut TurnFacts)) {
    for whole in matches() {
        for turn in 0..whole.turns.len() {
            let mut changed = whole.clone();
            change(&mut changed.turns[turn]);
            if changed != *whole {
                assert!(changed.verify().is_err(), "{what} of turn {} of {}", turn + 1, whole.match_id);
            }
        }
    }
}

#[test]
fn of_the_match() {
    refused("id", |transcript| {
        let mut bytes = *transcript.match_id.as_bytes();
        bytes[15] ^= 1;
        transcript.match_id = MatchId::from_bytes(bytes);
    });
    refused("rules version", |transcript| transcript.settings.rules_version.push('x'));
    refused("turn time", |transcript| {
        transcript.settings.turn_time_ms =
            transcript.settings.turn_time_ms.map_or(Some(0), |time| Some(time + 1));
    });
    refused("turn time gone", |transcript| transcript.settings.turn_time_ms = None);
    refused("bank", |transcript| {
        transcript.settings.bank = Some(Bank { initial_ms: 1, increment_ms: 2 });
    });
    refused("bank gone", |transcript| transcript.settings.bank = None);
    refused("seal mode", |transcript| transcript.settings.seal_mode ^= 3);
    refused("reveal time", |transcript| transcript.settings.reveal_time_ms = Some(1));
    refused("mode", |transcript| transcript.settings.mode ^= 3);
    refused("spectators", |transcript| transcript.settings.spectators ^= 3);
    refused("seal status", |transcript| transcript.settings.seal_status ^= 3);
    refused("start time", |transcript| transcript.settings.start_time_ms = Some(1));
    refused("turn limit", |transcript| transcript.settings.turn_limit += 1);
    refused("idle limit", |transcript| transcript.settings.idle_limit_ms += 1);
    refused("bot", |transcript| {
        transcript.settings.bot = Some(BotSeat { seat: Seat::Black, level: 7 });
    });
    refused("bot gone", |transcript| transcript.settings.bot = None);
    refused("players", |transcript| {
        std::mem::swap(&mut transcript.parties.black, &mut transcript.parties.white);
    });
    for seat in Seat::BOTH {
        let party =
            |change: fn(&mut Party)| move |transcript: &mut Transcript| change(&mut transcript.parties[seat]);
        refused("player", party(|party| party.player.push('x')));
        refused("key", party(|party| party.public_key = Some(PublicKey::from_bytes([5; 32]))));
        refused("key gone", party(|party| party.public_key = None));
    }
}

#[test]
fn of_a_turn() {
    for seat in Seat::BOTH {
        refused_in_each_turn("commitment", |facts| flip_commitment(&mut facts.commitments[seat], 100));
        refused_in_each_turn("cell", |facts| {
            let cell = &mut facts.openings[seat].cell;
            *cell = Cell::from_index((cell.index() + 1) % 81).unwrap();
        });
        refused_in_each_turn("salt", |facts| {
            let salt = &mut facts.openings[seat].salt;
            *salt = Salt::from_bytes(flip(*salt.as_bytes(), 255));
        });
        refused_in_each_turn("seal earlier", |facts| facts.sealed_ms[seat] -= 1);
        refused_in_each_turn("seal later", |facts| facts.sealed_ms[seat] += 1);
        refused_in_each_turn("signature", |facts| {
            facts.signatures[seat] = Some(PlayerSignature::from_bytes([1; 64]));
        });
        refused_in_each_turn("signature gone", |facts| facts.signatures[seat] = None);
    }
    refused_in_each_turn("opening earlier", |facts| facts.opened_ms -= 1);
    refused_in_each_turn("opening later", |facts| facts.opened_ms += 1);
    refused_in_each_turn("resolution later", |facts| facts.resolved_ms += 1);
    refused_in_each_turn("extremes", |facts| (facts.opened_ms, facts.resolved_ms) = (0, u64::MAX));
    refused_in_each_turn("seats", |facts| {
        std::mem::swap(&mut facts.commitments.black, &mut facts.commitments.white);
        std::mem::swap(&mut facts.openings.black, &mut facts.openings.white);
    });
}

#[test]
fn of_the_order_of_turns() {
    refused("last turn gone", |transcript| {
        transcript.turns.pop();
    });
    refused("first turn gone", |transcript| {
        if !transcript.turns.is_empty() {
            transcript.turns.remove(0);
            transcript.turn_hashes.remove(0);
        }
    });
    refused("a turn repeated", |transcript| {
        transcript.turns.extend(transcript.turns.last().cloned());
        transcript.turn_hashes.extend(transcript.turn_hashes.last().copied());
    });
    refused("turns reversed", |transcript| {
        transcript.turns.reverse();
        transcript.turn_hashes.reverse();
    });
    refused("turns of another match", |transcript| {
        let mut others = matches().iter().filter(|other| other.match_id != transcript.match_id);
        let donor = others.find(|other| !other.turns.is_empty()).unwrap();
        transcript.turns.clone_from(&donor.turns);
        transcript.turn_hashes.clone_from(&donor.turn_hashes);
    });
    // A match cut short is refused as long as it claims the ending.
    refused("the end brought forward", |transcript| {
        if transcript.ending.is_some() {
            transcript.turns.pop();
            transcript.turn_hashes.pop();
        }
    });
}

#[test]
fn of_any_bit_of_a_hash() {
    for bit in [0, 7, 128, 255] {
        refused("h_0", |transcript| flip_digest(&mut transcript.first_hash, bit));
        refused("h_end", |transcript| {
            if let Some(end) = &mut transcript.end_hash {
                flip_digest(end, bit);
            }
        });
        refused("the last h_t", |transcript| {
            if let Some(hash) = transcript.turn_hashes.last_mut() {
                flip_digest(hash, bit);
            }
        });
        refused("the first h_t", |transcript| {
            if let Some(hash) = transcript.turn_hashes.first_mut() {
                flip_digest(hash, bit);
            }
        });
    }
}

#[test]
fn of_the_ending() {
    for result in MatchResult::ALL {
        refused("result", |transcript| {
            if let Some(ending) = &mut transcript.ending {
                ending.result = result;
            }
        });
    }
    for reason in EndReason::ALL {
        refused("reason", |transcript| {
            if let Some(ending) = &mut transcript.ending {
                ending.reason = reason;
            }
        });
    }
    for change in [|time_ms: u64| time_ms - 1, |time_ms| time_ms + 1, |_| 0, |_| u64::MAX] {
        refused("time", |transcript| {
            if let Some(ending) = &mut transcript.ending {
                ending.time_ms = change(ending.time_ms);
            }
        });
    }
    for seat in Seat::BOTH {
        for held in [None, Some(Commitment::from_bytes([3; 32]))] {
            refused("unresolved commitment", |transcript| {
                if let Some(ending) = &mut transcript.ending {
                    ending.unresolved[seat] = held;
                }
            });
        }
    }
    refused("ending gone, hash kept", |transcript| transcript.ending = None);
    refused("hash gone, ending kept", |transcript| transcript.end_hash = None);
}
