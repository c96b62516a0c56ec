//! Which ratings a match counts for.

use matchmaker::SpeedClass::{self, Blitz, Correspondence, Rapid};

#[test]
fn the_time_for_a_turn_decides_the_class() {
    assert_eq!([0, 14_999].map(SpeedClass::of_turn_ms), [Blitz; 2]);
    assert_eq!([15_000, 3_599_999].map(SpeedClass::of_turn_ms), [Rapid; 2]);
    assert_eq!([3_600_000, u64::MAX].map(SpeedClass::of_turn_ms), [Correspondence; 2]);
}

#[test]
fn a_bank_counts_as_its_increment_and_a_fortieth_of_its_initial_time() {
    assert_eq!(SpeedClass::of_bank(599_999, 0), Blitz);
    assert_eq!(SpeedClass::of_bank(600_000, 0), Rapid);
    assert_eq!(SpeedClass::of_bank(0, 14_999), Blitz);
    assert_eq!(SpeedClass::of_bank(40, 14_999), Rapid);
    assert_eq!(SpeedClass::of_bank(143_999_999, 0), Rapid);
    assert_eq!(SpeedClass::of_bank(144_000_000, 0), Correspondence);
    assert_eq!(SpeedClass::of_bank(u64::MAX, u64::MAX), Correspondence);
}

/// As `SpeedClass` in the API's `player_service.proto`, where 0 is none.
#[test]
fn each_class_keeps_its_number() {
    assert_eq!(SpeedClass::ALL.map(SpeedClass::number), [1, 2, 3]);
    assert_eq!(
        [0, 1, 2, 3, 4].map(SpeedClass::of_number),
        [None, Some(Blitz), Some(Rapid), Some(Correspondence), None]
    );
}
