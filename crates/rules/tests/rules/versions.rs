//! The versions of the rules: each has a name for ever, and one outcome for a turn.

use proptest::prelude::*;
use rules::RulesVersion;

use crate::boards::legal_turn;

#[test]
fn each_version_is_found_by_its_own_name_and_the_newest_is_the_last() {
    for (index, version) in RulesVersion::ALL.iter().enumerate() {
        assert_eq!(RulesVersion::from_name(version.name()), Some(*version));
        assert!(RulesVersion::ALL[..index].iter().all(|other| other.name() != version.name()));
    }
    assert_eq!(RulesVersion::ALL.last(), Some(&RulesVersion::NEWEST));
    assert_eq!(RulesVersion::from_name("wts-2026.1"), Some(RulesVersion::Wts2026_1));
    for unknown in ["", "wts-2026", "wts-2026.10", "WTS-2026.1"] {
        assert_eq!(RulesVersion::from_name(unknown), None, "{unknown:?}");
    }
}

proptest! {
    #[test]
    fn a_version_plays_a_turn_as_it_resolves_it((position, black, white) in legal_turn()) {
        for version in RulesVersion::ALL {
            let turn = version.resolve(&position, black, white).unwrap();
            prop_assert_eq!(version.play(&position, black, white), Ok(turn.position));
            let again = version.resolve(&turn.position, black, white);
            prop_assert_eq!(version.play(&turn.position, black, white).err(), again.err());
        }
    }

    #[test]
    fn the_first_version_is_the_position_s_own_rules((position, black, white) in legal_turn()) {
        let version = RulesVersion::Wts2026_1;
        prop_assert_eq!(version.resolve(&position, black, white), position.resolve(black, white));
    }
}
