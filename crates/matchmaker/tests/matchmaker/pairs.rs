//! Who is paired with whom, and by which rule.

use matchmaker::Terms;

use crate::script::{check, excluding, having_met, paired, place, playing, tickets, waits};

#[test]
fn two_inside_both_windows_are_paired() {
    check([waits("ann", 0, 1500), waits("bob", 0, 1600)], 0, &["ann-bob"]);
    check([waits("ann", 0, 1500), waits("bob", 0, 1601)], 0, &[]);
}

#[test]
fn a_window_counts_only_if_both_accept() {
    // Ann's window is 200 by then, Bob's still 100.
    check([waits("ann", 0, 1500), waits("bob", 10_000, 1650)], 10_000, &[]);
    check([waits("ann", 0, 1500), waits("bob", 10_000, 1650)], 15_000, &["ann-bob"]);
}

/// C12.
#[test]
fn two_whose_windows_grow_into_each_other_are_paired_at_that_moment() {
    let both = || [waits("ann", 0, 1500), waits("bob", 2_000, 1700)];
    check(both(), 11_999, &[]);
    check(both(), 12_000, &["ann-bob"]);
}

#[test]
fn the_one_who_has_waited_longest_chooses_the_nearest() {
    check(
        [waits("cid", 300, 1560), waits("bob", 200, 1540), waits("ann", 100, 1500), waits("dan", 400, 1450)],
        400,
        &["ann-bob"],
    );
    check([waits("bob", 0, 1500), waits("cid", 200, 1550), waits("dan", 100, 1450)], 300, &["bob-dan"]);
}

#[test]
fn one_who_still_refuses_does_not_hide_one_further_away_who_accepts() {
    // Bob is nearer and new, Cid has waited.
    check(
        [waits("ann", 0, 1500), waits("cid", 1_000, 1700), waits("bob", 14_000, 1650)],
        15_000,
        &["ann-cid"],
    );
}

/// C13.
#[test]
fn a_common_time_control_is_chosen_the_first_in_the_order_of_the_pool() {
    let tickets =
        tickets([playing(waits("ann", 0, 1500), &[3, 1, 15]), playing(waits("bob", 0, 1500), &[15, 0, 3])]);
    assert_eq!(paired(&tickets, 0).pairs[0].time_control, place(3));
}

#[test]
fn without_a_common_time_control_two_are_never_paired() {
    check([playing(waits("ann", 0, 1500), &[0]), playing(waits("bob", 0, 1500), &[1])], 100_000, &[]);
}

#[test]
fn an_exclusion_holds_both_ways_and_never_relaxes() {
    check([excluding(waits("ann", 0, 1500), "bob"), waits("bob", 0, 1500)], 100_000, &[]);
    check([waits("ann", 0, 1500), excluding(waits("bob", 0, 1500), "ann")], 100_000, &[]);
}

#[test]
fn an_excluded_one_does_not_hide_the_next() {
    check(
        [excluding(waits("ann", 0, 1500), "bob"), waits("bob", 0, 1510), waits("cid", 0, 1550)],
        0,
        &["ann-cid"],
    );
}

#[test]
fn recent_opponents_meet_again_when_whoever_lists_the_other_has_waited() {
    let met = || [having_met(waits("ann", 0, 1500), "bob"), waits("bob", 5_000, 1500)];
    check(met(), 9_999, &[]);
    check(met(), 10_000, &["ann-bob"]);
    let younger = || [waits("ann", 0, 1500), having_met(waits("bob", 5_000, 1500), "ann")];
    check(younger(), 14_999, &[]);
    check(younger(), 15_000, &["ann-bob"]);
}

#[test]
fn past_the_bound_the_nearest_compatible_one_is_taken() {
    let three = || [waits("ann", 0, 1500), waits("bob", 39_999, 2600), waits("cid", 39_999, 300)];
    check(three(), 39_999, &[]);
    check(three(), 40_000, &["ann-bob"]);
}

#[test]
fn past_the_bound_a_recent_opponent_is_taken_at_once() {
    check([waits("ann", 0, 1500), having_met(waits("bob", 40_000, 1500), "ann")], 40_000, &["ann-bob"]);
}

/// C1: the store allows a player one ticket; should there ever be two, they make no match.
#[test]
fn nobody_meets_himself() {
    let mut again = waits("ann", 1_000, 1500);
    again.id = matchmaker::TicketId::from_bytes([9; 16]);
    check([waits("ann", 0, 1500), again.clone()], 100_000, &[]);
    check([waits("ann", 0, 1500), again, waits("bob", 2_000, 1500)], 100_000, &["ann-bob"]);
}

#[test]
fn a_pair_says_by_which_rule_it_came_about() {
    let pairs = tickets([
        waits("ann", 0, 1500),
        waits("bob", 1, 1520),
        having_met(waits("cid", 2, 3000), "dan"),
        waits("dan", 3, 3100),
    ]);
    let pairing = paired(&pairs, 20_000);
    let said: Vec<_> = pairing.pairs.iter().map(|pair| (pair.terms, pair.to_string())).collect();
    assert_eq!(
        said,
        [
            (
                Terms::BothWindows,
                "paired at time control 0: 20 points apart, inside both windows of 300 and 299 points".into()
            ),
            (
                Terms::Rematch,
                "paired at time control 0: 100 points apart, inside both windows of 299 and 299 points; \
                 they met lately, and have waited long enough to meet again"
                    .into()
            ),
        ]
    );
    let far = tickets([waits("ann", 0, 1500), waits("bob", 1, 2520)]);
    let pair = paired(&far, 40_000).pairs[0];
    assert_eq!(pair.terms, Terms::PastBound);
    assert_eq!(
        pair.to_string(),
        "paired at time control 0: 1020 points apart, the nearest for one who has waited past the bound"
    );
}
