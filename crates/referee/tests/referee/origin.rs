//! What the end of a match causes elsewhere, by where the match came from.

use referee::{FollowUp, Match, Mode, NewMatch, Now, Origin, Settings, TicketRef};
use rules::{PerSeat, Seat};

use crate::script::{Played, at, new_match};
use crate::settings::DEFAULT;

const RANKED: Settings = Settings { mode: Mode::Ranked, start_ms: Some(20_000), ..DEFAULT };

/// What the last command causes in a match that tickets brought together, beside what stands in lists.
fn causes(settings: Settings, origin: Option<Origin>, commands: &[(u64, &str)]) -> Vec<FollowUp> {
    let new = NewMatch { origin, ..new_match(settings) };
    let mut played = Played::new(DEFAULT);
    played.game = Match::create(new, Now { stamp: at(0), outage_ms: 0 }).next.as_ref().clone();
    let mut caused = Vec::new();
    for (ms, command) in commands {
        let words: Vec<_> = command.split_whitespace().collect();
        let (change, _) = played.apply(&played.command(&words), played.now(*ms));
        caused = change.map(|change| change.follow_ups).unwrap_or_default();
    }
    caused.retain(|follow_up| !matches!(follow_up, FollowUp::Index(_)));
    caused
}

fn tickets() -> Option<Origin> {
    let ticket = |name: &str| Some(TicketRef(name.into()));
    Some(Origin { tickets: PerSeat { black: ticket("ranked.1"), white: ticket("ranked.2") }, ratings: None })
}

use FollowUp::{Record, Release, Requeue};
use Seat::{Black, White};

#[test]
fn who_was_there_waits_again_when_the_other_does_not_come() {
    let black_only = [(1_000, "join black"), (20_001, "tick")];
    assert_eq!(causes(RANKED, tickets(), &black_only), [Requeue(Black), Release(White)]);
    assert_eq!(causes(RANKED, tickets(), &[(20_001, "tick")]), [Release(Black), Release(White)]);
    let casual = Settings { start_ms: Some(20_000), ..DEFAULT };
    assert_eq!(causes(casual, tickets(), &black_only), [Requeue(Black), Release(White)]);
}

#[test]
fn who_gives_up_before_the_start_lets_the_other_one_wait_again() {
    let resigns = [(1_000, "resign white as r")];
    assert_eq!(causes(RANKED, tickets(), &resigns), [Requeue(Black), Release(White)]);
    assert_eq!(causes(RANKED, tickets(), &[(1_000, "abort")]), [Release(Black), Release(White)]);
}

#[test]
fn a_match_that_began_is_counted_once_for_each_and_frees_both() {
    let end = [(1_000, "join black"), (2_000, "join white"), (3_000, "resign white as r")];
    let both = [Record(Black), Record(White), Release(Black), Release(White)];
    assert_eq!(causes(RANKED, tickets(), &end), both);
    // From an invite: nobody waits again, and nobody waited.
    assert_eq!(causes(RANKED, Some(Origin::default()), &end), both);
    assert_eq!(causes(DEFAULT, None, &end), [Record(Black), Record(White)]);
    let void = [(1_000, "join black"), (2_000, "join white"), (3_000, "lost")];
    assert_eq!(causes(RANKED, tickets(), &void), [Release(Black), Release(White)]);
}
