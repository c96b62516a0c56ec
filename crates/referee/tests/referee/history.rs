//! What can be proved afterwards, from the records alone.

use referee::{Match, Settings, TurnRecord};
use rules::{PerSeat, Position};
use sealing::{Ending, Transcript};

use crate::script::check_started;

/// Replays a match from what is stored: every hash, the position and the ending follow from it.
#[track_caller]
pub(crate) fn verify(game: &Match, turns: &[TurnRecord]) {
    let numbers: Vec<u32> = turns.iter().map(|record| record.turn).collect();
    assert_eq!(numbers, (1..=game.resolved).collect::<Vec<u32>>(), "each turn once, in order");
    let (mut hash, mut position) = (game.first_hash(), Position::initial());
    for record in turns {
        let cells = record.facts.openings.as_ref().map(|opening| opening.cell);
        let played = game.settings.rules_version.play(&position, cells.black, cells.white);
        position = played.expect("a resolved turn is legal");
        hash = sealing::turn_hash(&hash, &record.facts, &position);
        assert_eq!(record.hash, hash);
    }
    assert_eq!((game.hash, &game.position), (hash, &position));
    let verified = transcript(game, turns).verify().expect("the transcript verifies");
    assert_eq!(verified.position, game.position);
    assert_eq!(verified.last, game.finish().map_or(game.hash, |finish| finish.end_hash));
}

fn transcript(game: &Match, turns: &[TurnRecord]) -> Transcript {
    let finish = game.finish();
    Transcript {
        match_id: game.id,
        settings: game.settings.fields(),
        parties: PerSeat::clone(&game.parties),
        first_hash: game.first_hash(),
        turns: turns.iter().map(|record| record.facts.clone()).collect(),
        turn_hashes: turns.iter().map(|record| record.hash).collect(),
        ending: finish.map(|finish| Ending {
            result: finish.result,
            reason: finish.reason,
            time_ms: finish.at.as_ms(),
            unresolved: finish.unresolved.as_ref().map(|facts| facts.as_ref().map(|facts| facts.commitment)),
        }),
        end_hash: finish.map(|finish| finish.end_hash),
    }
}

#[test]
fn a_record_tells_when_the_turn_opened_each_seat_sealed_and_it_resolved() {
    let played = check_started(
        Settings::default(),
        "3000 seal white E5 as w1 -> receipt white 1 at 3000; changed
         7000 seal black D5 as b1 -> receipt black 1 at 7000; resolved 1; turn 2 until 37000
         7001 play A1/I9          -> receipt white 2 at 7001; resolved 2; turn 3 until 37001",
    );
    let stamps: Vec<_> = played
        .turns
        .iter()
        .map(|record| (record.facts.opened_ms, record.facts.sealed_ms, record.facts.resolved_ms))
        .map(|(opened, sealed, resolved)| {
            let from = |ms: u64| ms - crate::script::CREATED_MS;
            (from(opened), sealed.map(from), from(resolved))
        })
        .collect();
    let expected = [
        (2000, PerSeat { black: 7000, white: 3000 }, 7000),
        (7000, PerSeat { black: 7001, white: 7001 }, 7001),
    ];
    assert_eq!(stamps, expected);
}

#[test]
fn a_record_keeps_what_a_repetition_is_answered_from() {
    let played = check_started(
        Settings::default(),
        "3000 seal white E5 as w1 signed 2
         7000 seal black D5 as b1",
    );
    let record = &played.turns[0];
    assert_eq!(record.request_ids.as_ref().map(|id| id.as_str()), PerSeat { black: "b1", white: "w1" });
    assert_eq!(record.key_ids.as_ref().map(|id| id.as_ref()), PerSeat { black: "key-1", white: "key-1" });
    assert_eq!(
        record.facts.signatures.map(|signature| signature.is_some()),
        PerSeat { black: false, white: true }
    );
}

#[test]
fn commitments_of_a_turn_that_never_resolved_stay_in_the_transcript_without_what_they_hid() {
    let played = check_started(
        Settings::default(),
        "3000  seal white E5 as w1
         32001 tick -> done; ends WhiteWins Flag at 32000",
    );
    let finish = played.game.finish().expect("it is finished");
    let held = finish.unresolved.as_ref().map(|facts| facts.as_ref().map(|facts| facts.request_id.as_str()));
    assert_eq!(held, PerSeat { black: None, white: Some("w1") });
    assert!(played.turns.is_empty());
}
