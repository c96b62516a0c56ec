//! Many runs, and what to make of one that fails.

use crate::flaw::Flaw;
use crate::oracle::Violation;
use crate::plan::{GAMES_MAX, Plan};
use crate::world::{Outcome, run};

/// Runs that making a failure smaller may take.
const RUNS_TO_MINIMIZE_MAX: usize = 600;

/// Seeds that a smaller plan is tried with.
const SEEDS_EACH: u64 = 4;

/// What many runs came to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Matches played.
    pub matches: u64,
    /// Steps of all tasks.
    pub steps: u64,
    /// What went wrong on purpose.
    pub faults: u64,
    /// Runs in which an invariant was broken.
    pub violations: u64,
}

/// A run that broke an invariant, as small as it gets.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the run it was found in.
    pub seed: u64,
    /// Matches until it was found, those of its own run included.
    pub matches: u64,
    /// The plan that is left of it.
    pub plan: Plan,
    /// What is broken in that plan's run.
    pub violation: Violation,
    /// What happens in it.
    pub trace: Vec<String>,
}

/// Plays at least so many matches, in runs from `seed` on, until one breaks an invariant. With `flaw` all of
/// them are over a store that has it.
pub fn search(matches: u64, seed: u64, flaw: Option<Flaw>) -> (Totals, Option<Failure>) {
    let mut totals = Totals::default();
    let mut seed = seed;
    while totals.matches < matches {
        let left = usize::try_from(matches - totals.matches).unwrap_or(usize::MAX).min(GAMES_MAX);
        let mut plan = Plan::of(seed, left);
        if let Some(flaw) = flaw {
            plan = plan.with_flaw(flaw);
        }
        let outcome = run(&plan, false);
        totals.matches += plan.matches() as u64;
        totals.steps += outcome.steps;
        totals.faults += outcome.faults;
        if let Some(violation) = outcome.violation {
            totals.violations += 1;
            return (totals, Some(failure(&plan, &violation, totals.matches)));
        }
        seed = seed.wrapping_add(1);
    }
    (totals, None)
}

fn failure(plan: &Plan, violation: &Violation, matches: u64) -> Failure {
    let (small, outcome) = minimize(plan, violation);
    let violation = outcome.violation.unwrap_or_else(|| violation.clone());
    Failure { seed: plan.seed, matches, plan: small, violation, trace: outcome.trace }
}

/// Leaves out of a failing plan whatever its failure does not need: what is left still breaks the same
/// invariant. Returns it with its traced run.
#[must_use]
pub fn minimize(plan: &Plan, violation: &Violation) -> (Plan, Outcome) {
    let mut plan = plan.clone();
    let mut runs = 0;
    let fails =
        |plan: &Plan| run(plan, false).violation.is_some_and(|found| found.invariant == violation.invariant);
    'smaller: loop {
        for smaller in plan.smaller() {
            // With less in it the same seed draws other things, so some more are tried.
            for other in 0..SEEDS_EACH {
                runs += 1;
                if runs > RUNS_TO_MINIMIZE_MAX {
                    break 'smaller;
                }
                let smaller = smaller.with_seed(smaller.seed.wrapping_add(other));
                if fails(&smaller) {
                    plan = smaller;
                    continue 'smaller;
                }
            }
        }
        break;
    }
    let outcome = run(&plan, true);
    (plan, outcome)
}
