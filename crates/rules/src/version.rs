//! The versions of the rules.

use crate::{Cell, IllegalTurn, Position, Turn};

/// The rules a match is played by. They are part of it: it is played, stored, replayed and verified by
/// them for ever, whatever versions come later.
///
/// Whoever plays a turn of a match plays it here, by the match's own version.
///
/// ```
/// use rules::{Cell, Position, RulesVersion};
/// let version = RulesVersion::from_name("wts-2026.1").expect("every later build knows it");
/// let e5: Cell = "E5".parse()?;
/// assert_eq!(version.play(&Position::initial(), e5, e5)?.eggs(), [e5]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RulesVersion {
    /// `wts-2026.1`: the rules page of 2026, which [`Position`]'s own methods play.
    Wts2026_1,
    /// `wts-rehearsal`: the same, but a collision lays no egg. What a second version would meet is tried
    /// with it; no match that counts is played by it.
    #[cfg(feature = "second-version")]
    Rehearsal,
}

impl RulesVersion {
    /// Every version that this build can play, newest last.
    pub const ALL: &'static [Self] = &[
        Self::Wts2026_1,
        #[cfg(feature = "second-version")]
        Self::Rehearsal,
    ];

    /// The newest version: that of matches whose settings name none.
    pub const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];

    /// The version's name: on the wire, in what is stored, in a match's first hash. It never changes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wts2026_1 => "wts-2026.1",
            #[cfg(feature = "second-version")]
            Self::Rehearsal => "wts-rehearsal",
        }
    }

    /// The version with this name; none if this build does not know it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|version| version.name() == name)
    }

    /// [`Position::resolve`] by these rules.
    ///
    /// # Errors
    ///
    /// [`IllegalTurn`].
    pub fn resolve(self, position: &Position, black: Cell, white: Cell) -> Result<Turn, IllegalTurn> {
        let turn = position.resolve(black, white)?;
        match self {
            Self::Wts2026_1 => Ok(turn),
            #[cfg(feature = "second-version")]
            Self::Rehearsal if black == white => {
                Ok(Turn { position: *position, events: alloc::vec::Vec::new(), ..turn })
            }
            #[cfg(feature = "second-version")]
            Self::Rehearsal => Ok(turn),
        }
    }

    /// [`Position::play`] by these rules.
    ///
    /// # Errors
    ///
    /// [`IllegalTurn`].
    pub fn play(self, position: &Position, black: Cell, white: Cell) -> Result<Position, IllegalTurn> {
        match self {
            Self::Wts2026_1 => position.play(black, white),
            #[cfg(feature = "second-version")]
            Self::Rehearsal => self.resolve(position, black, white).map(|turn| turn.position),
        }
    }
}
