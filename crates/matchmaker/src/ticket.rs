//! What pairing knows of a player who waits.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use thiserror::Error;

use crate::TimeControls;

/// A ticket's id, unique in its pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TicketId([u8; 16]);

impl TicketId {
    /// The id of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its first half, which orders two ids unless they share it.
    pub(crate) fn start(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A ticket's content, not checked yet: [`Ticket::new`] does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TicketContent {
    /// Its id.
    pub id: TicketId,
    /// Who waits.
    pub player: String,
    /// When he began to wait, ms. A ticket that is queued again keeps the time of its first.
    pub created_ms: u64,
    /// What he would play; at least one.
    pub time_controls: TimeControls,
    /// His rating, points.
    pub rating_points: i32,
    /// The rating's deviation (one standard error), points: Glicko starts with 350.
    pub deviation_points: u32,
    /// Whom he never wants to meet. Nothing relaxes it.
    pub exclusions: Vec<String>,
    /// Whom he met lately. Whoever waits long enough meets them again.
    pub recent_opponents: Vec<String>,
}

/// A player who waits, checked. Pairing cannot be made to fail by what is in it.
// In this order tickets are in order of age: the first fields decide.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket {
    created_ms: u64,
    id: TicketId,
    player: Box<str>,
    time_controls: TimeControls,
    /// Sixteen bits hold the range, and let a pairing read half as much.
    rating_points: i16,
    deviation_points: u32,
    /// Sorted, as is the next.
    exclusions: Box<[Box<str>]>,
    recent_opponents: Box<[Box<str>]>,
    sketch: Sketch,
}

/// The names of a ticket in two words, so that pairing seldom has to read them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Sketch {
    /// A hash of the player's name, the same in every process: no key is drawn, as nothing is here. Whoever
    /// makes hashes collide gains nothing, as names are compared then.
    pub(crate) player_hash: u32,
    /// The bits of all whom the ticket excludes or its player met.
    listed_bits: u64,
}

impl Sketch {
    fn new(player: &str, listed: [&[Box<str>]; 2]) -> Self {
        let bits = listed.into_iter().flatten().map(|name| bit(hash(name)));
        Self { player_hash: hash(player), listed_bits: bits.fold(0, |all, bit| all | bit) }
    }

    /// Whether one of both may have the other in a list; if not, neither has.
    pub(crate) const fn may_list(self, other: Self) -> bool {
        (self.listed_bits & bit(other.player_hash)) | (other.listed_bits & bit(self.player_hash)) != 0
    }
}

/// One of 64.
const fn bit(hash: u32) -> u64 {
    1 << (hash >> 26)
}

fn hash(name: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    (hasher.finish() >> 32) as u32
}

/// Why there is no such ticket.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TicketError {
    /// Nobody could be found for it.
    #[error("time_controls must name at least one")]
    NoTimeControl,
    /// A number is out of its range.
    #[error("{field} must be from {min} to {max} points")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// The least allowed, points.
        min: i32,
        /// The most allowed, points.
        max: i32,
    },
    /// A list is too long.
    #[error("{field} may name at most {max} players")]
    TooMany {
        /// The field's name.
        field: &'static str,
        /// The most allowed.
        max: usize,
    },
    /// A name is too long.
    #[error("a player's name has at most {} bytes", Ticket::NAME_MAX_BYTES)]
    NameTooLong,
}

impl Ticket {
    /// The least rating, points: far below what any rating system gives, and small enough to add up.
    pub const RATING_MIN_POINTS: i32 = -10_000;
    /// The most rating, points.
    pub const RATING_MAX_POINTS: i32 = 10_000;
    /// The most deviation, points: three times that of a new player in Glicko says nothing at all.
    pub const DEVIATION_MAX_POINTS: u32 = 1_000;
    /// The most exclusions of one ticket. It bounds what pairing does for a ticket: each may cost a look.
    pub const EXCLUSIONS_MAX: usize = 100;
    /// The most recent opponents of one ticket: whom he met before those, he may meet again.
    pub const RECENT_OPPONENTS_MAX: usize = 20;
    /// The longest name of a player, bytes: `players/` and the 64 characters a name may have.
    pub const NAME_MAX_BYTES: usize = 72;

    /// Checks `content`.
    ///
    /// # Errors
    /// The first field at fault.
    pub fn new(content: TicketContent) -> Result<Self, TicketError> {
        if content.time_controls.is_empty() {
            return Err(TicketError::NoTimeControl);
        }
        let (min, max) = (Self::RATING_MIN_POINTS, Self::RATING_MAX_POINTS);
        let rating_points = match i16::try_from(content.rating_points) {
            Ok(points) if (min..=max).contains(&content.rating_points) => points,
            _ => return Err(TicketError::OutOfRange { field: "rating", min, max }),
        };
        if content.deviation_points > Self::DEVIATION_MAX_POINTS {
            let max = Self::DEVIATION_MAX_POINTS.cast_signed();
            return Err(TicketError::OutOfRange { field: "deviation", min: 0, max });
        }
        if content.player.len() > Self::NAME_MAX_BYTES {
            return Err(TicketError::NameTooLong);
        }
        let exclusions = names("exclusions", content.exclusions, Self::EXCLUSIONS_MAX)?;
        let recent_opponents =
            names("recent_opponents", content.recent_opponents, Self::RECENT_OPPONENTS_MAX)?;
        Ok(Self {
            sketch: Sketch::new(&content.player, [&exclusions, &recent_opponents]),
            created_ms: content.created_ms,
            id: content.id,
            player: content.player.into(),
            time_controls: content.time_controls,
            rating_points,
            deviation_points: content.deviation_points,
            exclusions,
            recent_opponents,
        })
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> TicketId {
        self.id
    }

    /// Who waits.
    #[must_use]
    pub const fn player(&self) -> &str {
        &self.player
    }

    /// When he began to wait, ms.
    #[must_use]
    pub const fn created_ms(&self) -> u64 {
        self.created_ms
    }

    /// What he would play.
    #[must_use]
    pub const fn time_controls(&self) -> TimeControls {
        self.time_controls
    }

    /// His rating, points.
    #[must_use]
    pub const fn rating_points(&self) -> i32 {
        self.rating_points as i32
    }

    /// The rating's deviation, points.
    #[must_use]
    pub const fn deviation_points(&self) -> u32 {
        self.deviation_points
    }

    /// How long he has waited at `now_ms`, ms; nothing yet for a ticket from a clock that is ahead.
    #[must_use]
    pub const fn waited_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.created_ms)
    }

    pub(crate) const fn points(&self) -> i16 {
        self.rating_points
    }

    pub(crate) const fn sketch(&self) -> Sketch {
        self.sketch
    }

    /// Whether he never wants to meet `player`.
    #[must_use]
    pub fn excludes(&self, player: &str) -> bool {
        lists(&self.exclusions, player)
    }

    /// Whether he met `player` lately.
    #[must_use]
    pub fn has_met(&self, player: &str) -> bool {
        lists(&self.recent_opponents, player)
    }
}

fn names(field: &'static str, names: Vec<String>, max: usize) -> Result<Box<[Box<str>]>, TicketError> {
    if names.len() > max {
        return Err(TicketError::TooMany { field, max });
    }
    if names.iter().any(|name| name.len() > Ticket::NAME_MAX_BYTES) {
        return Err(TicketError::NameTooLong);
    }
    let mut names: Vec<Box<str>> = names.into_iter().map(String::into_boxed_str).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.into())
}

fn lists(sorted: &[Box<str>], player: &str) -> bool {
    sorted.binary_search_by(|name| (**name).cmp(player)).is_ok()
}
