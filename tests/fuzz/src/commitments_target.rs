//! Commitments and boxes of moves.

use rules::{Cell, Seat};
use sealing::{
    BoxContext, BoxKey, Commitment, Digest, FIELD_BYTES_MAX, MatchId, Opening, Salt, SealBox, SealContext,
    open_box, seal_box,
};

/// Bytes in front of a player's name: what a seal is made of, and what is changed of it.
const HEAD_BYTES: usize = 16 + 4 + 1 + 32 + 1 + 32 + 2;

/// Commits to a move that the bytes say, changes one byte of it, and asks whether it still opens; the same with
/// the box that it is stored in.
///
/// # Panics
///
/// If a changed move opens what the first one was committed to or locked in, or the first one does not.
pub fn commitments(data: &[u8]) {
    let Some((head, name)) = data.split_at_checked(HEAD_BYTES) else { return };
    let player = String::from_utf8_lossy(name);
    let (changed_at, change) = (head[HEAD_BYTES - 2] as usize, head[HEAD_BYTES - 1]);
    let first = Sealed::of(head);
    let mut other = head.to_vec();
    other[changed_at % (HEAD_BYTES - 2)] ^= change;
    let other = Sealed::of(&other);
    let commitment = first.context(&player).commit(&first.opening);
    let is_readable = player.len() <= FIELD_BYTES_MAX;
    assert_eq!(first.context(&player).opens(&commitment, &first.opening), is_readable);
    if first != other {
        assert!(!other.context(&player).opens(&commitment, &other.opening), "two moves, one commitment");
    }
    assert!(!first.context(&format!("{player}.")).opens(&commitment, &first.opening));
    boxed(&first, &other, commitment, head);
}

fn boxed(first: &Sealed, other: &Sealed, commitment: Commitment, head: &[u8]) {
    let key = BoxKey::from_bytes(&[7; 32]);
    let nonce = std::array::from_fn(|at| head[at]);
    let context = first.boxed(commitment);
    let sealed = seal_box(&key, &context, &first.opening, nonce).expect("keys and moves are of one length");
    assert_eq!(open_box(&key, &context, &sealed), Ok(first.opening.clone()));
    if first.boxed(commitment) != other.boxed(commitment) {
        assert!(open_box(&key, &other.boxed(commitment), &sealed).is_err(), "it opens elsewhere");
    }
    let change = head[HEAD_BYTES - 1];
    let mut bytes = *sealed.as_bytes();
    bytes[head[HEAD_BYTES - 2] as usize % SealBox::BYTES] ^= change;
    if change != 0 {
        assert!(open_box(&key, &context, &SealBox::from_bytes(bytes)).is_err(), "it was changed");
    }
    let foreign = SealBox::from_bytes(std::array::from_fn(|at| head[at % head.len()]));
    assert!(open_box(&key, &context, &foreign).is_err(), "nobody made it");
}

#[derive(PartialEq, Eq)]
struct Sealed {
    match_id: MatchId,
    turn: u32,
    seat: Seat,
    previous: Digest,
    opening: Opening,
}

impl Sealed {
    fn of(head: &[u8]) -> Self {
        let bytes = |from: usize| std::array::from_fn(|at| head[from + at]);
        let cell = head[53] % 81 + 1;
        Self {
            match_id: MatchId::from_bytes(std::array::from_fn(|at| head[at])),
            turn: u32::from_be_bytes(std::array::from_fn(|at| head[16 + at])),
            seat: if head[20].is_multiple_of(2) { Seat::Black } else { Seat::White },
            previous: Digest::from_bytes(bytes(21)),
            opening: Opening {
                cell: Cell::from_number(cell).expect("it is 1 to 81"),
                salt: Salt::from_bytes(bytes(54)),
            },
        }
    }

    const fn context<'a>(&'a self, player: &'a str) -> SealContext<'a> {
        let Self { match_id, turn, seat, previous, .. } = self;
        SealContext { match_id: *match_id, turn: *turn, seat: *seat, player, previous }
    }

    const fn boxed(&self, commitment: Commitment) -> BoxContext {
        BoxContext { match_id: self.match_id, turn: self.turn, seat: self.seat, commitment }
    }
}
