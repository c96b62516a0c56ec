//! What a policy may say, and how a window follows from it.

use matchmaker::{Policy, PolicyError, PolicyNumbers, Ticket};

use crate::script::{PLAIN, waits};

fn refused(numbers: PolicyNumbers) -> String {
    Policy::new(numbers).expect_err("these numbers are no policy").to_string()
}

#[test]
fn the_default_is_a_policy() {
    assert_eq!(Policy::new(PolicyNumbers::default()), Ok(Policy::default()));
}

#[test]
fn numbers_out_of_range_are_refused() {
    let points = Policy::POINTS_MAX + 1;
    let wide = PolicyNumbers { window_max_points: points, ..PLAIN };
    assert_eq!(refused(wide), "window_max must be at most 20000 points");
    let fast = PolicyNumbers { window_growth_points_per_s: points, ..PLAIN };
    assert_eq!(refused(fast), "window_growth must be at most 20000 points/s");
    let unsure = PolicyNumbers { deviation_percent: Policy::DEVIATION_MAX_PERCENT + 1, ..PLAIN };
    assert_eq!(refused(unsure), "deviation must be at most 200 percent");
    let patient = PolicyNumbers { bound_ms: Policy::BOUND_MAX_MS + 1, ..PLAIN };
    assert_eq!(refused(patient), "bound must be at most 86400000 ms");
}

#[test]
fn relaxations_come_in_order() {
    let shrinks = PolicyNumbers { window_start_points: 301, ..PLAIN };
    assert_eq!(Policy::new(shrinks), Err(PolicyError::StartsAboveMax));
    let late = PolicyNumbers { rematch_after_ms: 40_001, ..PLAIN };
    assert_eq!(Policy::new(late), Err(PolicyError::RematchAfterBound));
}

#[test]
fn a_window_widens_with_waiting_and_with_deviation_up_to_its_end() {
    let policy = Policy::new(PolicyNumbers { deviation_percent: 50, ..PLAIN }).unwrap();
    let window = |deviation_points, now_ms| {
        let mut content = waits("ann", 1_000, 1500);
        content.deviation_points = deviation_points;
        policy.window_points(&Ticket::new(content).unwrap(), now_ms)
    };
    assert_eq!(window(0, 1_000), 100);
    assert_eq!(window(0, 1_099), 100);
    assert_eq!(window(0, 1_100), 101);
    assert_eq!(window(50, 3_000), 145);
    assert_eq!(window(350, 3_000), 295);
    assert_eq!(window(350, 4_000), 300);
    assert_eq!(window(0, u64::MAX), 300);
    // A clock that went back makes no window narrower than it began.
    assert_eq!(window(0, 0), 100);
}
