//! A sealed move: what binds it, what opens it.

use core::fmt;

use rules::{Cell, Seat};
use subtle::ConstantTimeEq;

use crate::bytes::{Commitment, Digest, WrongLength, exactly};
use crate::match_id::MatchId;
use crate::preimage::{FIELD_BYTES_MAX, Preimage};

/// The 32 random bytes that hide a sealed cell: 81 cells alone are guessed in a millisecond.
///
/// Secret until the turn resolves: `Debug` prints nothing of it, there is no `Display`, and
/// comparison takes the same time whatever differs. Draw it from a secure source.
#[derive(Clone)]
pub struct Salt([u8; 32]);

impl Salt {
    /// Wraps the bytes; every value is possible.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl TryFrom<&[u8]> for Salt {
    type Error = WrongLength;

    fn try_from(bytes: &[u8]) -> Result<Self, WrongLength> {
        exactly(bytes).map(Self)
    }
}

impl PartialEq for Salt {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Salt {}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

/// The cell and the salt behind a commitment. Secret until the turn resolves, as [`Salt`] is.
///
/// ```
/// use sealing::{Opening, Salt};
/// let opening = Opening { cell: "E5".parse().unwrap(), salt: Salt::from_bytes([7; 32]) };
/// assert_eq!(format!("{opening:?}"), "Opening(..)");
/// ```
#[derive(Clone)]
pub struct Opening {
    /// The chosen cell.
    pub cell: Cell,
    /// What hides it.
    pub salt: Salt,
}

impl PartialEq for Opening {
    fn eq(&self, other: &Self) -> bool {
        (self.cell.number().ct_eq(&other.cell.number()) & self.salt.0.ct_eq(&other.salt.0)).into()
    }
}

impl Eq for Opening {}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening(..)")
    }
}

/// Everything a commitment is bound to beside its opening.
///
/// Seat and player are bound, so a copied commitment cannot force a collision; the previous hash is
/// bound, so a commitment fits one history only.
///
/// ```
/// use rules::{Cell, Seat};
/// use sealing::{Digest, MatchId, Opening, Salt, SealContext};
///
/// let context = SealContext {
///     match_id: MatchId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
///     turn: 1,
///     seat: Seat::Black,
///     player: "players/p1",
///     previous: &Digest::from_bytes([0; 32]),
/// };
/// let salt = Salt::from_bytes(std::array::from_fn(|index| index as u8));
/// let opening = Opening { cell: Cell::from_number(41).unwrap(), salt };
///
/// let commitment = context.commit(&opening);
/// assert_eq!(
///     commitment.to_string(),
///     "c1d02a4717bbcb2ca83053d73d7c9eca0ec3af026851acc7cc0d7229f6798509",
/// );
/// assert!(context.opens(&commitment, &opening));
/// assert!(!SealContext { seat: Seat::White, ..context }.opens(&commitment, &opening));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SealContext<'a> {
    /// The match.
    pub match_id: MatchId,
    /// The turn the move is for; the first is 1.
    pub turn: u32,
    /// The seat that seals.
    pub seat: Seat,
    /// The resource name of the player in that seat, `players/{player}`.
    pub player: &'a str,
    /// The hash of the turn before, h_{turn-1}; h_0 for the first turn.
    pub previous: &'a Digest,
}

impl SealContext<'_> {
    /// The commitment to an opening:
    ///
    /// ```text
    /// C = SHA-256( lp("whattheshell.v1.seal") lp(match id) lp(turn u32 BE) lp(seat u8) lp(player name)
    ///              lp(h_{turn-1}) lp(cell u8, 1..81) lp(salt, 32 bytes) )
    /// ```
    #[must_use]
    pub fn commit(&self, opening: &Opening) -> Commitment {
        Commitment::from_bytes(
            Preimage::new("whattheshell.v1.seal")
                .field(self.match_id.as_bytes())
                .field(&self.turn.to_be_bytes())
                .field(&[self.seat.number()])
                .field(self.player.as_bytes())
                .field(self.previous.as_bytes())
                .field(&[opening.cell.number()])
                .field(opening.salt.as_bytes())
                .sha256(),
        )
    }

    /// Whether this is the opening that `commitment` was made of, here. Takes the same time
    /// whatever differs; false for a player's name longer than [`FIELD_BYTES_MAX`].
    #[must_use]
    pub fn opens(&self, commitment: &Commitment, opening: &Opening) -> bool {
        let expected = self.commit(opening);
        self.player.len() <= FIELD_BYTES_MAX && expected.as_bytes().ct_eq(commitment.as_bytes()).into()
    }
}
