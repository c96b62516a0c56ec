//! What pairing knows of a player who waits.

use std::collections::BTreeMap;
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
    /// Of the names in `listed`, in order: a look is nearly always over after these few bytes.
    listed_hashes: Box<[u32]>,
    listed: Box<[Listed]>,
    player_hash: u32,
    sketch: Sketch,
}

/// A player in one of a ticket's lists, or in both.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Listed {
    name: Box<str>,
    relation: Relation,
}

/// What a ticket says of another player.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Relation {
    pub(crate) is_excluded: bool,
    pub(crate) was_met: bool,
}

/// The names of a ticket in one word, so that pairing seldom has to read them: a set of [`Self::LISTED_BITS`] for
/// all whom the ticket excludes or its player met, and above that the two of them that stand for the player.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Sketch(u64);

impl Sketch {
    /// As many as leave room for two numbers below 64.
    const LISTED_BITS: u32 = 52;

    fn new(player_hash: u32, listed_hashes: &[u32]) -> Self {
        let listed = listed_hashes.iter().map(|hash| Self::of(*hash).own()).fold(0, |all, own| all | own);
        Self(Self::of(player_hash).0 | listed)
    }

    /// Of a player who lists nobody. Two bits: of ten names in a list one other in nine has both, where one in six
    /// has one.
    const fn of(hash: u32) -> Self {
        let [high, low] = [hash >> 16, hash & 0xffff];
        let [high, low] = [(high * Self::LISTED_BITS) >> 16, (low * Self::LISTED_BITS) >> 16];
        Self(((high | low << 6) as u64) << Self::LISTED_BITS)
    }

    /// The bits of the player.
    const fn own(self) -> u64 {
        let places = self.0 >> Self::LISTED_BITS;
        1 << (places & 63) | 1 << (places >> 6)
    }

    /// Whether one of both may have the other in a list; if not, neither has.
    pub(crate) const fn may_list(self, other: Self) -> bool {
        let (of_self, of_other) = (self.own(), other.own());
        self.0 & of_other == of_other || other.0 & of_self == of_self
    }
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
        check_names("exclusions", &content.exclusions, Self::EXCLUSIONS_MAX)?;
        check_names("recent_opponents", &content.recent_opponents, Self::RECENT_OPPONENTS_MAX)?;
        let (listed_hashes, listed) = listed(content.exclusions, content.recent_opponents);
        let player_hash = hash(&content.player);
        Ok(Self {
            sketch: Sketch::new(player_hash, &listed_hashes),
            player_hash,
            created_ms: content.created_ms,
            id: content.id,
            player: content.player.into(),
            time_controls: content.time_controls,
            rating_points,
            deviation_points: content.deviation_points,
            listed_hashes,
            listed,
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

    pub(crate) const fn player_hash(&self) -> u32 {
        self.player_hash
    }

    pub(crate) const fn sketch(&self) -> Sketch {
        self.sketch
    }

    /// Whether he never wants to meet `player`.
    #[must_use]
    pub fn excludes(&self, player: &str) -> bool {
        self.relation(hash(player), player).is_excluded
    }

    /// Whether he met `player` lately.
    #[must_use]
    pub fn has_met(&self, player: &str) -> bool {
        self.relation(hash(player), player).was_met
    }

    /// What it says of the player of `other`.
    pub(crate) fn relation_to(&self, other: &Self) -> Relation {
        self.relation(other.player_hash, &other.player)
    }

    fn relation(&self, player_hash: u32, player: &str) -> Relation {
        let start = self.listed_hashes.partition_point(|hash| *hash < player_hash);
        let same = self.listed_hashes[start..].iter().take_while(|hash| **hash == player_hash).count();
        let found = self.listed[start..start + same].iter().find(|listed| *listed.name == *player);
        found.map_or_else(Relation::default, |listed| listed.relation)
    }
}

fn check_names(field: &'static str, names: &[String], max: usize) -> Result<(), TicketError> {
    if names.len() > max {
        return Err(TicketError::TooMany { field, max });
    }
    if names.iter().any(|name| name.len() > Ticket::NAME_MAX_BYTES) {
        return Err(TicketError::NameTooLong);
    }
    Ok(())
}

/// Everybody in one of both lists once, in the order of the hashes.
fn listed(exclusions: Vec<String>, recent_opponents: Vec<String>) -> (Box<[u32]>, Box<[Listed]>) {
    let mut all = BTreeMap::<(u32, Box<str>), Relation>::new();
    for name in exclusions {
        all.entry((hash(&name), name.into())).or_default().is_excluded = true;
    }
    for name in recent_opponents {
        all.entry((hash(&name), name.into())).or_default().was_met = true;
    }
    let (hashes, listed): (Vec<u32>, Vec<Listed>) =
        all.into_iter().map(|((hash, name), relation)| (hash, Listed { name, relation })).unzip();
    (hashes.into(), listed.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two names with the same hash.
    fn collision() -> [String; 2] {
        let mut seen = BTreeMap::new();
        let mut names = (0..).map(|number| format!("players/{number}"));
        names.find_map(|name| Some([seen.insert(hash(&name), name.clone())?, name])).expect("endless names")
    }

    #[test]
    fn names_of_one_hash_are_not_taken_for_each_other() {
        let [one, other] = collision();
        let ticket = |player: &str, exclusions: &[&String], recent_opponents: &[&String]| {
            Ticket::new(TicketContent {
                id: TicketId::from_bytes([0; 16]),
                player: player.to_owned(),
                created_ms: 0,
                time_controls: crate::TimeControlPlace::all().collect(),
                rating_points: 1500,
                deviation_points: 50,
                exclusions: exclusions.iter().copied().cloned().collect(),
                recent_opponents: recent_opponents.iter().copied().cloned().collect(),
            })
        };
        let ann = ticket("ann", &[&one], &[&one]).expect("a ticket");
        assert!(ann.excludes(&one) && ann.has_met(&one));
        assert!(!ann.excludes(&other) && !ann.has_met(&other));
        let other_ticket = ticket(&other, &[], &[]).expect("a ticket");
        assert_eq!(ann.relation_to(&other_ticket), Relation::default());
        let bob = ticket("bob", &[&other], &[&one]).expect("a ticket");
        assert!(bob.excludes(&other) && !bob.has_met(&other));
        assert!(bob.has_met(&one) && !bob.excludes(&one));
    }
}
