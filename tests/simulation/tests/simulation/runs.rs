//! Sound products break nothing, and a seed is one run.

use simulation::{Plan, run, search};

/// Matches in every test run: some seconds.
const MATCHES: u64 = 300;

/// Where they begin.
const SEED: u64 = 1;

/// Seeds that are run twice.
const TWICE: u64 = 25;

/// Runs among which a failover must lose a turn that somebody was told.
const LOSSY_MAX: u64 = 200;

#[test]
fn no_invariant_breaks_whatever_goes_wrong() {
    let (totals, failure) = search(MATCHES, SEED, None);
    if let Some(failure) = failure {
        let trace = failure.trace.join("\n");
        panic!("seed {}: {:?}\n{}\n{trace}", failure.seed, failure.violation, failure.plan);
    }
    assert!(totals.matches >= MATCHES && totals.faults > totals.matches, "{totals:?}");
}

#[test]
fn a_seed_is_one_run_to_the_byte() {
    for seed in 0..TWICE {
        let plan = Plan::of(seed, usize::MAX);
        let (first, second) = (run(&plan, true), run(&plan, true));
        assert!(!first.trace.is_empty());
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert_eq!((first.steps, first.faults), (second.steps, second.faults), "seed {seed}");
        assert_eq!(run(&plan, false).steps, first.steps, "noting it changes nothing, seed {seed}");
    }
}

#[test]
fn a_client_whose_turns_a_failover_has_lost_is_told_so() {
    let told = (0..LOSSY_MAX).find(|seed| {
        let outcome = run(&Plan::of(*seed, usize::MAX), true);
        assert_eq!(outcome.violation, None, "seed {seed}");
        outcome.trace.iter().any(|line| line.contains("stops reading: ERROR_REASON_HISTORY_REGRESSED"))
    });
    assert!(told.is_some(), "in {LOSSY_MAX} runs no turn is lost: they show nothing");
}

/// One failover takes an end away, and it comes about again just as it was: a back end that is told the first one
/// late is told nothing out of order.
#[test]
fn what_is_lost_and_comes_about_again_may_be_told_as_it_first_was() {
    let outcome = run(&Plan::of(5_094_604, usize::MAX), false);
    assert_eq!(outcome.violation, None);
}
