//! What every change of a stored match must be, judged by what was stored before it and when it was made.

use referee::{Match, Phase, TurnRecord};
use rules::{PerSeat, Seat};
use sealing::{Commitment, EndReason, Ending, Transcript, TranscriptError};

use crate::primary::Made;

/// What is wrong with a change: the invariant it breaks, and how.
pub(crate) fn broken(made: &Made) -> Vec<(u8, String)> {
    let Some(before) = &made.before else { return Vec::new() };
    let mut wrong = Vec::new();
    if before.finish().is_some() {
        wrong.push((1, "a finished match has changed".to_owned()));
    }
    // Deadlines as they stand when the change is made, whatever its committer believed.
    let before = before.under_outage(made.at.outage_ms);
    wrong.extend(time(&before, made));
    wrong.extend(board(&before, made));
    wrong.extend(seals(&before, made));
    wrong
}

/// A deadline decides at its moment, for whoever comes first after it; until then it decides nothing.
fn time(before: &Match, made: &Made) -> Option<(u8, String)> {
    let deadline = before.deadline()?;
    let passed = made.at.stamp > deadline;
    let Some(finish) = made.after.finish() else {
        return passed.then(|| (8, "a change was stored after the deadline".to_owned()));
    };
    if finish.reason == EndReason::LostHistory {
        // Nothing is decided any more once a part is lost, by a deadline neither. Where nothing can be lost
        // the oracle takes no such end.
        return None;
    }
    let by_time = match finish.reason {
        EndReason::Flag | EndReason::BothFlagged | EndReason::NoShow | EndReason::Idle => true,
        // An opening of an illegal cell can end it before.
        EndReason::FailedReveal => passed,
        _ => false,
    };
    if by_time && (!passed || finish.at != deadline) {
        return Some((8, format!("it ended by {:?} at another moment than its deadline", finish.reason)));
    }
    (passed && !by_time).then(|| (8, "an end was stored after the deadline".to_owned()))
}

/// The history grows by one turn at a time, each of which follows from the one before.
fn board(before: &Match, made: &Made) -> Option<(u8, String)> {
    let after = &made.after;
    let Some(record) = made.turn.as_ref().filter(|_| after.resolved != before.resolved) else {
        let same = after.resolved == before.resolved
            && after.hash == before.hash
            && after.position == before.position;
        return (!same).then(|| (1, "the board has changed without a turn".to_owned()));
    };
    let turn = record.turn;
    if turn != before.resolved + 1 || after.resolved != turn {
        return Some((1, format!("turn {turn} came after turn {}", before.resolved)));
    }
    let openings = &record.facts.openings;
    let played =
        before.settings.rules_version.resolve(&before.position, openings.black.cell, openings.white.cell);
    let follows = played.is_ok_and(|played| played.position == after.position);
    let hash = sealing::turn_hash(&before.hash, &record.facts, &after.position);
    (!follows || record.hash != hash || after.hash != hash)
        .then(|| (1, format!("turn {turn} does not follow from what was stored before it")))
}

/// A seal that was stored stays, until its turn resolves with it or the match ends.
fn seals(before: &Match, made: &Made) -> Vec<(u8, String)> {
    let Some(open) = before.turn_in_play() else { return Vec::new() };
    let kept = |seat: Seat| -> Option<Commitment> {
        if let Some(record) = made.turn.as_ref().filter(|record| record.turn == open.turn) {
            return Some(record.facts.commitments[seat]);
        }
        match &made.after.phase {
            Phase::Finished(finish) => finish.unresolved[seat].as_ref().map(|facts| facts.commitment),
            _ => made.after.turn_in_play()?.seals[seat].as_ref().map(|seal| seal.facts.commitment),
        }
    };
    let lost = |seat: &Seat| {
        open.seals[*seat].as_ref().is_some_and(|seal| kept(*seat) != Some(seal.facts.commitment))
    };
    let lost = Seat::BOTH.into_iter().filter(lost);
    lost.map(|seat| (2, format!("turn {}: the seal of {seat} was overwritten", open.turn))).collect()
}

/// The requests that show in a match and in the turn it has just resolved.
pub(crate) fn requests(game: &Match, turn: Option<&TurnRecord>) -> Vec<String> {
    let mut ids = Vec::new();
    for seat in Seat::BOTH {
        if let Some(open) = game.turn_in_play() {
            ids.extend(open.seals[seat].as_ref().map(|seal| seal.facts.request_id.clone()));
            ids.extend(open.requests[seat].reveal.clone());
            ids.extend(open.requests[seat].offer.clone());
        }
        if let Some(record) = turn {
            ids.push(record.request_ids[seat].clone());
            ids.extend(record.requests[seat].reveal.clone());
        }
        if let Some(finish) = game.finish() {
            ids.extend(finish.unresolved[seat].as_ref().map(|facts| facts.request_id.clone()));
            ids.extend(finish.by.as_ref().map(|(_, id)| id.clone()));
        }
    }
    ids.into_iter().map(|id| id.as_str().to_owned()).collect()
}

/// Plays a stored match again from its settings and turns.
pub(crate) fn replay(head: &Match, turns: &[std::sync::Arc<TurnRecord>]) -> Result<(), TranscriptError> {
    let ending = head.finish().map(|finish| Ending {
        result: finish.result,
        reason: finish.reason,
        time_ms: finish.at.as_ms(),
        unresolved: finish.unresolved.as_ref().map(|facts| facts.as_ref().map(|facts| facts.commitment)),
    });
    let transcript = Transcript {
        match_id: head.id,
        settings: head.settings.fields(),
        parties: PerSeat::clone(&head.parties),
        first_hash: head.first_hash(),
        turns: turns.iter().map(|record| record.facts.clone()).collect(),
        turn_hashes: turns.iter().map(|record| record.hash).collect(),
        ending,
        end_hash: head.finish().map(|finish| finish.end_hash),
    };
    transcript.verify().map(drop)
}
