//! Names, numbers and lengths at the edge of the format.

use proptest::prelude::*;
use sealing::{
    Claim, Commitment, Digest, EndReason, MatchId, MatchResult, PlayerSignature, Salt, WrongLength,
};

proptest! {
    #[test]
    fn a_match_has_one_name(bytes: [u8; 16]) {
        let id = MatchId::from_bytes(bytes);
        let name = id.to_string();
        prop_assert_eq!(name.parse(), Ok(id));
        let shouted = name.to_uppercase();
        prop_assert!(shouted == name || shouted.parse::<MatchId>().is_err());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-fA-F-]{30,40}|.{0,40}") {
        if let Ok(id) = text.parse::<MatchId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }
}

#[test]
fn other_forms_of_a_uuid_are_refused() {
    for text in [
        "",
        "0198c5a0000070008000000000000000002a",
        "0198c5a0-0000-7000-8000-00000000002",
        "0198c5a0-0000-7000-8000-00000000002a0",
        "0198C5A0-0000-7000-8000-00000000002A",
        "{0198c5a0-0000-7000-8000-00000000002a}",
        "0198c5a-00000-7000-8000-00000000002a",
        "0198c5a0-0000-7000-8000-00000000002g",
        " 198c5a0-0000-7000-8000-00000000002a",
        "0198c5a0-0000-7000-8000-0000000000é",
    ] {
        assert!(text.parse::<MatchId>().is_err(), "{text}");
    }
}

#[test]
fn numbers_name_results_and_reasons() {
    for (number, result) in (1..).zip(MatchResult::ALL) {
        assert_eq!((result.number(), MatchResult::from_number(number)), (number, Some(result)));
    }
    for (number, reason) in (1..).zip(EndReason::ALL) {
        assert_eq!((reason.number(), EndReason::from_number(number)), (number, Some(reason)));
        assert!(MatchResult::ALL.into_iter().any(|result| reason.allows(result)));
    }
    assert_eq!((MatchResult::from_number(0), MatchResult::from_number(6)), (None, None));
    assert_eq!((EndReason::from_number(0), EndReason::from_number(14)), (None, None));
}

#[test]
fn claims_stand_in_the_order_of_their_checks() {
    for (position, claim) in Claim::ALL.into_iter().enumerate() {
        assert_eq!(claim as usize, position, "{}", claim.name());
    }
}

#[test]
fn bytes_of_another_length_are_refused() {
    for length in [0, 16, 31, 33, 64] {
        let bytes = vec![7; length];
        let refusal = WrongLength { expected: 32, found: length };
        assert_eq!(Digest::try_from(&bytes[..]), Err(refusal));
        assert_eq!(Commitment::try_from(&bytes[..]), Err(refusal));
        assert_eq!(Salt::try_from(&bytes[..]), Err(refusal));
    }
    assert_eq!(Digest::try_from(&[7; 32][..]), Ok(Digest::from_bytes([7; 32])));
    assert!(PlayerSignature::try_from(&[7; 64][..]).is_ok());
}
