//! How fast a match is. Each class has ratings of its own: who plays well with a day for a turn may not with
//! ten seconds.

/// The part of a bank's initial time that counts for a turn: a match is taken to last forty.
const TURNS_A_BANK: u64 = 40;

/// A class of time controls, by the time for one turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpeedClass {
    /// Less than 15 s.
    Blitz,
    /// 15 s to less than 1 h.
    Rapid,
    /// 1 h and more.
    Correspondence,
}

impl SpeedClass {
    /// All, the fastest first.
    pub const ALL: [Self; 3] = [Self::Blitz, Self::Rapid, Self::Correspondence];
    /// From this time for a turn on a match is [`Rapid`](Self::Rapid), ms.
    pub const RAPID_MIN_MS: u64 = 15_000;
    /// From this time for a turn on a match is [`Correspondence`](Self::Correspondence), ms.
    pub const CORRESPONDENCE_MIN_MS: u64 = 60 * 60 * 1_000;

    /// The class of a match with `turn_ms` for every turn.
    #[must_use]
    pub const fn of_turn_ms(turn_ms: u64) -> Self {
        if turn_ms < Self::RAPID_MIN_MS {
            Self::Blitz
        } else if turn_ms < Self::CORRESPONDENCE_MIN_MS {
            Self::Rapid
        } else {
            Self::Correspondence
        }
    }

    /// The class of a match with a bank clock, which counts as the increment and a fortieth of the initial time
    /// for every turn.
    ///
    /// ```
    /// use matchmaker::SpeedClass;
    ///
    /// // Five minutes and five seconds a turn: 5 s + 300 s / 40 = 12.5 s.
    /// assert_eq!(SpeedClass::of_bank(300_000, 5_000), SpeedClass::Blitz);
    /// ```
    #[must_use]
    pub const fn of_bank(initial_ms: u64, increment_ms: u64) -> Self {
        Self::of_turn_ms(increment_ms.saturating_add(initial_ms / TURNS_A_BANK))
    }

    /// Its number in the API and in what is stored. It never changes.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Blitz => 1,
            Self::Rapid => 2,
            Self::Correspondence => 3,
        }
    }

    /// The class of this [`number`](Self::number), if there is one.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.number() == number)
    }
}
