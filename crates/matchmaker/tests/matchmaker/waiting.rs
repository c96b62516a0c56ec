//! Why a ticket still waits.

use matchmaker::{Pairing, TicketContent, Why};

use crate::script::{excluding, having_met, paired, playing, tickets, waits};

/// Nobody is paired, and the ticket at `place` by age says `expected`.
fn check<const N: usize>(contents: [TicketContent; N], now_ms: u64, place: usize, expected: &str) {
    let tickets = tickets(contents);
    let Pairing { pairs, waiting } = paired(&tickets, now_ms);
    assert_eq!(pairs, []);
    assert_eq!(waiting.len(), N);
    assert_eq!(waiting[place].to_string(), expected);
}

#[test]
fn one_who_is_alone_is_told_so() {
    check([waits("ann", 0, 1500)], 0, 0, "waits: nobody else would play its time controls");
    let other = playing(waits("bob", 0, 1500), &[2]);
    check([waits("ann", 0, 1500), other], 0, 0, "waits: nobody else would play its time controls");
}

#[test]
fn one_with_whom_nobody_may_play_is_told_so() {
    check(
        [excluding(waits("ann", 0, 1500), "bob"), waits("bob", 1, 1500)],
        50_000,
        1,
        "waits: all who would play its time controls are excluded",
    );
}

#[test]
fn the_nearest_is_named_with_the_moment_at_which_both_accept() {
    check(
        [waits("ann", 0, 1500), waits("bob", 5_000, 1650)],
        5_000,
        0,
        "waits: the nearest one is 150 points away, to be paired at 10000 ms at the latest",
    );
    let tickets = tickets([waits("ann", 0, 1500), waits("bob", 5_000, 1650)]);
    let waiting = paired(&tickets, 5_000).waiting;
    let nearest = |of: usize| match waiting[of].why {
        Why::Apart { nearest, .. } => nearest.player(),
        _ => "nobody",
    };
    assert_eq!((nearest(0), nearest(1)), ("bob", "ann"));
}

#[test]
fn one_outside_the_widest_window_waits_for_the_bound() {
    check(
        [waits("ann", 0, 1500), waits("bob", 5_000, 1801)],
        39_999,
        1,
        "waits: the nearest one is 301 points away, to be paired at 40000 ms at the latest",
    );
}

#[test]
fn recent_opponents_are_told_when_they_may_meet_again() {
    check(
        [waits("ann", 0, 1500), having_met(waits("bob", 5_000, 1500), "ann")],
        5_000,
        0,
        "waits: the nearest one was met lately, to be paired at 15000 ms at the latest",
    );
}

#[test]
fn an_excluded_one_is_not_the_nearest() {
    check(
        [excluding(waits("ann", 0, 1500), "bob"), waits("bob", 0, 1500), waits("cid", 0, 1700)],
        0,
        0,
        "waits: the nearest one is 200 points away, to be paired at 10000 ms at the latest",
    );
}

#[test]
fn a_second_ticket_of_a_player_names_the_first() {
    let mut again = waits("ann", 1_000, 1500);
    again.id = matchmaker::TicketId::from_bytes([9; 16]);
    check([waits("ann", 0, 1500), again], 1_000, 1, "waits: its player has an older ticket");
}
