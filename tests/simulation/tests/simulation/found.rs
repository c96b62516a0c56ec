//! What is wrong with a store is found, and shown by a small run that can be repeated.

use simulation::{Failure, Flaw, run, search};

/// Matches in which a flaw must show.
const MATCHES_MAX: u64 = 1_000;

fn found(flaw: Flaw, invariants: &[u8]) -> Failure {
    let (_, failure) = search(MATCHES_MAX, 1, Some(flaw));
    let Some(failure) = failure else { panic!("{flaw:?} is not found in {MATCHES_MAX} matches") };
    assert!(invariants.contains(&failure.violation.invariant), "{:?}", failure.violation);
    let again = run(&failure.plan, true);
    assert_eq!(again.violation, Some(failure.violation.clone()), "the plan that is left fails alike");
    assert_eq!(again.trace, failure.trace);
    failure
}

#[test]
fn a_store_that_ignores_versions_is_found() {
    found(Flaw::IgnoresVersions, &[1, 2, 5, 7]);
}

#[test]
fn a_store_that_ignores_not_after_is_found() {
    found(Flaw::IgnoresNotAfter, &[8]);
}

#[test]
fn a_store_that_reads_old_heads_is_found() {
    found(Flaw::ReadsOldHeads, &[1, 2, 5, 7, 8]);
}

#[test]
fn a_store_that_ignores_outages_is_found() {
    found(Flaw::IgnoresOutages, &[8]);
}

#[test]
fn a_store_that_forgets_requests_is_found() {
    found(Flaw::ForgetsRequests, &[5]);
}

#[test]
fn a_store_whose_feed_lacks_something_is_found() {
    found(Flaw::LosesFeedEntries, &[4]);
}

#[test]
fn a_store_whose_feed_goes_on_by_numbers_alone_is_found() {
    found(Flaw::ResumesByNumber, &[4]);
}
