//! A box opens only where it was made for, and is as long as any other.

use proptest::prelude::*;
use rules::{Cell, Seat};
use sealing::{
    BoxContext, BoxError, BoxKey, Commitment, MatchId, Opening, Salt, SealBox, open_box, seal_box,
};

/// A key, a context and an opening, as bytes.
type Held = ([u8; 32], [u8; 16], u32, bool, [u8; 32], u8, [u8; 32]);

fn held() -> impl Strategy<Value = Held> {
    let (key, match_id, commitment) = (any::<[u8; 32]>(), any::<[u8; 16]>(), any::<[u8; 32]>());
    (key, match_id, any::<u32>(), any::<bool>(), commitment, 1..=81u8, any::<[u8; 32]>())
}

fn key(held: &Held) -> BoxKey {
    BoxKey::from_bytes(&held.0)
}

fn context(held: &Held) -> BoxContext {
    BoxContext {
        match_id: MatchId::from_bytes(held.1),
        turn: held.2,
        seat: if held.3 { Seat::White } else { Seat::Black },
        commitment: Commitment::from_bytes(held.4),
    }
}

fn opening(held: &Held) -> Opening {
    Opening { cell: Cell::from_number(held.5).unwrap(), salt: Salt::from_bytes(held.6) }
}

proptest! {
    #[test]
    fn a_box_gives_back_what_it_holds(held in held(), nonce: [u8; 12]) {
        let sealed = seal_box(&key(&held), &context(&held), &opening(&held), nonce).unwrap();
        prop_assert_eq!(open_box(&key(&held), &context(&held), &sealed), Ok(opening(&held)));
        prop_assert_eq!(sealed.as_bytes().len(), SealBox::BYTES);
    }

    #[test]
    fn a_box_opens_with_its_own_key_and_seal_only(
        held in held(), other in held(), index in 0..5_usize, nonce: [u8; 12],
    ) {
        let sealed = seal_box(&key(&held), &context(&held), &opening(&held), nonce).unwrap();
        let mut moved = held;
        match index {
            0 => moved.0 = other.0,
            1 => moved.1 = other.1,
            2 => moved.2 = other.2,
            3 => moved.3 = other.3,
            _ => moved.4 = other.4,
        }
        let opened = open_box(&key(&moved), &context(&moved), &sealed);
        let expected = if moved == held { Ok(opening(&held)) } else { Err(BoxError::NotAuthentic) };
        prop_assert_eq!(opened, expected);
    }

    #[test]
    fn a_changed_box_does_not_open(held in held(), nonce: [u8; 12], at in 0..SealBox::BYTES, bit in 0..8_u8) {
        let sealed = seal_box(&key(&held), &context(&held), &opening(&held), nonce).unwrap();
        let mut bytes = *sealed.as_bytes();
        bytes[at] ^= 1 << bit;
        let opened = open_box(&key(&held), &context(&held), &SealBox::from_bytes(bytes));
        prop_assert_eq!(opened, Err(BoxError::NotAuthentic));
    }

    /// The same move in two boxes: nothing but chance is equal.
    #[test]
    fn another_nonce_hides_it_anew(held in held(), nonce: [u8; 12], other: [u8; 12]) {
        prop_assume!(nonce != other);
        let boxes = [nonce, other].map(|nonce| {
            *seal_box(&key(&held), &context(&held), &opening(&held), nonce).unwrap().as_bytes()
        });
        let equal = boxes[0][12..].iter().zip(&boxes[1][12..]).filter(|(one, two)| one == two).count();
        prop_assert!(equal < 10, "{equal} of 49 bytes are equal");
    }
}

#[test]
fn boxes_of_another_length_are_none() {
    for length in [0, 60, 62] {
        assert!(SealBox::try_from(&vec![0; length][..]).is_err());
    }
}
