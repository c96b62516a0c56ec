//! What holds for every step of every match, whatever the command.

use referee::{Change, Command, Event, FollowUp, Match, Now, Phase, Revealing, Stamp, Transition};
use rules::Seat;
use sealing::EndReason;

/// Checks a step against every law.
#[track_caller]
pub(crate) fn keeps(before: &Match, command: &Command, now: Now, step: &Transition) {
    let tick = before.apply(&Command::Tick, now);
    if step.answer.is_err() {
        assert_eq!(step.change, tick.change, "a refused command changes nothing but what time has changed");
    }
    let is_lost = *command == Command::LostHistory;
    if tick.change.is_some() && !is_lost {
        assert_eq!(step.change, tick.change, "a deadline that has passed decides before any command");
    }
    if let Some(change) = &step.change {
        moves_on(before, change);
        if change.events.is_empty() {
            touches_only_its_own(before, command, change);
        }
        let reason = change.next.finish().map(|finish| finish.reason);
        let by_time = tick.change.is_some() || reason == Some(EndReason::LostHistory);
        holds_until_the_first_deadline(before, now, change, by_time);
        let again = change.next.apply(command, now);
        assert_eq!(again.change, None, "the same command again changes nothing");
        if tick.change.is_none() && change.turn().is_none() {
            assert_eq!(again.answer, step.answer, "the same command again has the same answer");
        }
        is_due_when_time_changes_it(&change.next, now);
    }
    is_due_when_time_changes_it(before, now);
}

/// Only one turn resolves at a time, and nothing that is settled changes.
fn moves_on(before: &Match, change: &Change) {
    let next = change.next.as_ref();
    assert_ne!(before, next, "a change changes something");
    assert!(before.finish().is_none(), "a finished match never changes");
    let resolved = change.events.iter().filter(|event| matches!(event, Event::TurnResolved(_))).count();
    assert!(resolved <= 1, "at most one turn resolves in a change");
    assert_eq!(next.resolved, before.resolved + resolved as u32);
    match change.turn() {
        Some(record) => assert_eq!((record.turn, record.hash), (next.resolved, next.hash)),
        None => assert_eq!((next.hash, &next.position), (before.hash, &before.position)),
    }
    if let Some(open) = next.turn_in_play() {
        assert_eq!(open.turn, next.resolved + 1, "the turn in play follows the last resolved one");
        let sealed = Seat::BOTH.map(|seat| open.seals[seat].is_some());
        let revealing = matches!(next.phase, Phase::Revealing(_));
        assert_eq!(sealed == [true, true], revealing, "reveals are due once both have sealed");
    }
    assert_eq!(
        (next.id, &next.settings, &next.parties, next.created),
        (before.id, &before.settings, &before.parties, before.created)
    );
    let ends = change.events.last() == Some(&Event::Finished);
    assert_eq!(ends, next.finish().is_some(), "the end is told");
    let people = Seat::BOTH.into_iter().filter(|seat| next.settings.bot.is_none_or(|bot| bot.seat != *seat));
    let lists: Vec<_> = people.filter(|_| ends).map(FollowUp::Index).collect();
    assert!(change.follow_ups.starts_with(&lists), "the end is shown in all players' lists");
    assert!(ends || change.follow_ups.is_empty(), "nothing but the end causes anything elsewhere");
}

/// A reveal that is held shows that it is there and nothing else; an offer or an answer leaves seals and
/// clocks alone.
fn touches_only_its_own(before: &Match, command: &Command, change: &Change) {
    let next = &change.next;
    let mut expected = before.under_outage(next.outage_ms).into_owned();
    expected.idle_by = next.idle_by;
    let (Phase::Open(open) | Phase::Revealing(Revealing { open, .. })) = &mut expected.phase else { return };
    let Some(next_open) = next.turn_in_play() else { return };
    match command {
        Command::Reveal(reveal) => {
            let seat = reveal.seat;
            open.requests[seat].reveal = Some(reveal.request_id.clone());
            if let Some(seal) = &mut open.seals[seat] {
                seal.opening = Some(reveal.opening.clone());
            }
        }
        Command::Draw(_) => open.requests = next_open.requests.clone(),
        Command::ClaimHistory { seat, .. } => expected.claims[*seat] = next.claims[*seat],
        Command::Join { .. }
        | Command::Seal(_)
        | Command::Resign { .. }
        | Command::Abort
        | Command::LostHistory
        | Command::Tick => return,
    }
    assert_eq!(**next, expected, "{command:?} touches only its own");
}

/// What a player does counts only if it is stored before the first deadline that it beat; what time
/// does counts whenever it is stored, and so does the end of a match of which a part is lost.
fn holds_until_the_first_deadline(before: &Match, now: Now, change: &Change, by_time: bool) {
    let first = before.under_outage(now.outage_ms).deadline();
    assert_eq!(change.not_after, if by_time { None } else { first });
    assert!(change.not_after.is_none_or(|not_after| now.stamp <= not_after));
}

/// A live match has a due time: a tick there changes it, however late it comes and always alike; a
/// tick before does not.
fn is_due_when_time_changes_it(game: &Match, now: Now) {
    let moved = game.under_outage(now.outage_ms);
    let Some(due) = moved.due() else {
        assert!(game.finish().is_some(), "a live match has a due time");
        assert_eq!(moved.deadline(), None);
        return;
    };
    assert!(game.finish().is_none(), "a finished match is never due");
    if let Phase::BotDue { since } = moved.phase {
        assert_eq!(due, since, "a bot is to move at once");
        return;
    }
    let tick_at = |stamp: Stamp| moved.apply(&Command::Tick, Now { stamp, outage_ms: now.outage_ms }).change;
    let early = Stamp::from_ms(due.as_ms() - 1);
    assert_eq!(tick_at(early), None, "a deadline is inclusive");
    let prompt = tick_at(due);
    assert!(prompt.is_some(), "a tick at the due time changes the match");
    assert_eq!(tick_at(due.plus_ms(1)), prompt, "a late tick comes to the same");
    assert_eq!(tick_at(due.plus_ms(u64::from(u32::MAX))), prompt, "a very late tick comes to the same");
}
