//! Tickets: players who wait for an opponent.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{NewMatch, Stamp, TimeControl};
use sealing::{MatchId, Party};
use thiserror::Error;

use crate::StoreError;

/// The name of a pool: 1 to 24 of `[A-Za-z0-9._-]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolName(Arc<str>);

/// What is no name of a pool, or of a ticket in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "a pool's name is 1 to {} of A-Z a-z 0-9 . _ -, a ticket's that, a dot and 32 digits 0-9 a-f",
    PoolName::LENGTH_MAX
)]
pub struct TicketNameError;

impl PoolName {
    /// The most characters: the name stands in every ticket's.
    pub const LENGTH_MAX: usize = 24;

    /// Takes a name as it came from outside.
    ///
    /// # Errors
    /// If it is empty, too long, or holds another character.
    pub fn new(text: &str) -> Result<Self, TicketNameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = !text.is_empty() && text.len() <= Self::LENGTH_MAX && text.bytes().all(allowed);
        if fits { Ok(Self(text.into())) } else { Err(TicketNameError) }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PoolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a ticket: `<pool>.<32 hexadecimal digits>`.
///
/// ```
/// use store::TicketName;
/// let name: TicketName = "eu.ranked.000102030405060708090a0b0c0d0e0f".parse()?;
/// assert_eq!(name.pool.as_str(), "eu.ranked");
/// assert_eq!(name.to_string(), "eu.ranked.000102030405060708090a0b0c0d0e0f");
/// # Ok::<(), store::TicketNameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TicketName {
    /// Its pool.
    pub pool: PoolName,
    /// Its id there. It begins with the time of its creation, as a `UUIDv7` does: that bounds how long a late
    /// creation can come.
    pub id: TicketId,
}

impl TicketName {
    /// When the id was made, by the clock of whoever made it.
    #[must_use]
    pub fn made(&self) -> Stamp {
        let [a, b, c, d, e, f, ..] = *self.id.as_bytes();
        Stamp::from_ms(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
}

impl fmt::Display for TicketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.pool)?;
        self.id.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for TicketName {
    type Err = TicketNameError;

    fn from_str(text: &str) -> Result<Self, TicketNameError> {
        let (pool, digits) = text.rsplit_once('.').ok_or(TicketNameError)?;
        if digits.len() != 32 || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(TicketNameError);
        }
        let id = u128::from_str_radix(digits, 16).map_err(|_| TicketNameError)?;
        Ok(Self { pool: PoolName::new(pool)?, id: TicketId::from_bytes(id.to_be_bytes()) })
    }
}

/// An opponent that a player met lately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Met {
    /// The opponent (`players/{player}`).
    pub player: String,
    /// How many more matches the player played black than white against him.
    pub black_surplus: i8,
}

/// When a waiting player takes a bot instead of a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BotFallback {
    /// After waiting this long, ms.
    pub after_ms: u64,
    /// The number of the bot's level on the wire, 1 to 7.
    pub level: u8,
}

/// What a player asks for. It never changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Who waits, with his key for the match.
    pub party: Party,
    /// What he would play, the one he likes best first.
    pub time_controls: Vec<TimeControl>,
    /// What he is paired by, thousandths of a point.
    pub rating_milli: u64,
    /// Its deviation, points.
    pub deviation_points: u32,
    /// Whom he never wants to meet.
    pub excluded: Vec<String>,
    /// Whom he met lately.
    pub recent: Vec<Met>,
    /// A bot, if nobody is found.
    pub bot_fallback: Option<BotFallback>,
}

/// Where a ticket stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TicketState {
    /// Its player waits.
    Waiting {
        /// The last moment of its lease, inclusive, unless it is renewed.
        lease_until: Stamp,
        /// The match that was aborted because the other one did not come, if it waits again.
        aborted: Option<MatchId>,
    },
    /// A match was found.
    Matched {
        /// The match.
        match_id: MatchId,
        /// Its player went on: he does not wait again, whatever becomes of the match.
        left: bool,
    },
    /// It was cancelled.
    Cancelled,
    /// Its lease ran out.
    Expired,
}

/// A ticket as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Its name.
    pub name: TicketName,
    /// What its player asks for; shared, as it never changes. None of one that was closed before it came.
    pub wish: Option<Arc<Wish>>,
    /// When he began to wait.
    pub created: Stamp,
    /// Where it stands.
    pub state: TicketState,
}

impl Ticket {
    /// How long a ticket lives without being renewed, ms: a client that is alive renews it three times over.
    pub const LEASE_MS: u64 = 20_000;

    /// How long a ticket can be read after it has ended, ms: longer than any ready check of a pool, so that
    /// whoever is let down can wait again. No ticket can be created later than this after its id was made, so
    /// that one that has ended never comes back.
    pub const RETENTION_MS: u64 = 10 * 60_000;

    /// Tickets that a pool holds at most, ended ones that can still be read among them: some 600 bytes each.
    pub const POOL_MAX: usize = 1_000_000;

    /// Whether its player waits.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        matches!(self.state, TicketState::Waiting { .. })
    }
}

/// A ticket, and what there is to know beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenTicket {
    /// The ticket.
    pub ticket: Ticket,
    /// The pool's time.
    pub now: Stamp,
    /// The match that it was claimed for, if that may not have been made yet: whoever sees it makes it.
    pub owed: Option<NewMatch>,
    /// How long those who were matched last in this pool had waited, ms, as a running mean; none if nobody was.
    pub usual_wait_ms: Option<u64>,
}

/// What became of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// All tickets are matched, and the match is owed.
    Claimed,
    /// Nothing changed: these tickets do not wait any more.
    Gone(Vec<TicketId>),
}

/// How far somebody has read the changes of a pool. The default is the beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct PoolCursor(pub u64);

/// What has changed in a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolPage {
    /// Tickets as they are now, in the order of their last change: each once, the waiting ones and those that
    /// ended lately.
    pub changed: Vec<Ticket>,
    /// Where the next page begins.
    pub next: PoolCursor,
    /// Whether there is more to read already.
    pub more: bool,
    /// The pool has fewer changes than the cursor says: a part of them is lost. The page is the first one then.
    pub restarted: bool,
    /// Matches that were claimed for a while and may not have been made: whoever sees them makes them.
    pub owed: Vec<NewMatch>,
    /// The pool's time.
    pub now: Stamp,
}

impl PoolPage {
    /// Tickets on a page at most: reading them must not keep a server from everything else.
    pub const TICKETS_MAX: usize = 500;

    /// Claimed matches on a page at most.
    pub const OWED_MAX: usize = 100;

    /// How long a claimed match is left to whoever claimed it, ms: he makes it within a round trip or two.
    pub const OWED_AFTER_MS: u64 = 1_000;
}

/// Where tickets are kept. All of a pool changes in one step at a time, by one clock: that of the pool.
///
/// A ticket waits, and ends once: matched, cancelled or expired. Only a matched one may come to wait again,
/// [once](TicketStore::requeue) for each match that was aborted.
#[async_trait]
pub trait TicketStore: Send + Sync + 'static {
    /// Stores a new ticket that waits, or finds the one with its name: the answer is what is stored. Its lease
    /// and age begin now.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none and its id was made more than [`Ticket::RETENTION_MS`] ago;
    /// [`StoreError::Full`] if the pool is.
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError>;

    /// Reads a ticket. One whose lease has passed is expired, whether anybody has noticed or not.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none.
    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError>;

    /// Renews the lease of a ticket that waits; of any other nothing changes. The answer is what is stored.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none.
    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError>;

    /// The player leaves a ticket for good: one that waits is cancelled, a matched one never waits again. One
    /// that is not there yet is stored as cancelled, so that no creation that is still on its way brings it
    /// back. The answer is what is stored then; of [a creation that comes too late anyway](Self::create_ticket)
    /// nothing need be stored.
    ///
    /// # Errors
    /// [`StoreError::Full`] if there is none and the pool has no room for more that are left before they come:
    /// there is room for some where a new ticket has none.
    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError>;

    /// Marks tickets of one pool as matched, all or none, and notes the match as owed. Each must be waiting
    /// within its lease. Claiming again for the same match changes nothing and succeeds, also once the match was
    /// made, or one of the tickets waits again.
    ///
    /// # Errors
    /// [`StoreError::Full`] if more matches are owed than the store can hold: nobody has made them for long.
    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError>;

    /// A claimed match is made, and its players know: nobody need make it any more.
    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError>;

    /// A ticket that was matched with a match that never began waits again, at its first age and with a new
    /// lease, unless its player [left](Self::leave_ticket) it. The answer is what is stored then. Again for the
    /// same match changes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none.
    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError>;

    /// What has changed in a pool since `after`, and what is owed. A renewed lease is no change. Tickets whose lease has passed are expired
    /// by it, and those that ended too long ago are forgotten.
    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError>;
}
