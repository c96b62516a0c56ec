//! Who may not play, and whose tokens count no more: a list that every node keeps in memory.

use async_trait::async_trait;
use referee::Stamp;

use crate::StoreError;

/// A ban.
#[derive(Clone, PartialEq, Eq)]
pub struct Ban {
    /// From when on, by the clock of the node that was asked.
    pub from: Stamp,
    /// The first moment at which it is over; none: it is for good.
    pub until: Option<Stamp>,
    /// Why, in the words of the back end, for its own use.
    pub reason: String,
}

/// Without the reason, which nobody but the back end is to read.
impl std::fmt::Debug for Ban {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ban").field("from", &self.from).field("until", &self.until).finish_non_exhaustive()
    }
}

impl Ban {
    /// The longest reason, bytes: a code, a sentence, a link to a case. Each takes memory as long as its ban.
    pub const REASON_BYTES_MAX: usize = 256;

    /// Whether it holds at a time.
    #[must_use]
    pub fn holds_at(&self, now: Stamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Whether a player may play, and which of his tokens count. Of most players there is none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// His ban, which may have ended.
    pub ban: Option<Ban>,
    /// Tokens issued before this are refused.
    pub tokens_from: Option<Stamp>,
    /// The requests that were carried out last, the last one last: none is carried out again.
    pub done: Vec<[u8; 16]>,
    /// When this was written.
    pub changed: Stamp,
}

impl Access {
    /// Requests remembered to have been carried out: more than back ends decide on one player while a call may be
    /// repeated.
    pub const DONE_MAX: usize = 16;

    /// How long it is kept after it has come to restrict nothing but old tokens, ms: longer than any token lives and
    /// any request is remembered (a day each), by the clocks of nodes that differ by seconds. Whoever reads the list
    /// more often than this misses no change of it.
    pub const RETENTION_MS: u64 = 25 * 60 * 60 * 1_000;

    /// Players in the list at most. Each takes some 150 bytes of every node's memory, 30 MB for all, and at most a
    /// kilobyte of the store's. It is full of bans that are for good, or of a back end gone wild.
    pub const PLAYERS_MAX: usize = 200_000;

    /// The last moment at which it is kept; none while a ban is for good.
    #[must_use]
    pub fn kept_until(&self) -> Option<Stamp> {
        let ends = match &self.ban {
            Some(Ban { until: None, .. }) => return None,
            Some(Ban { until: Some(until), .. }) => self.changed.max(*until),
            None => self.changed,
        };
        Some(ends.plus_ms(Self::RETENTION_MS))
    }
}

/// A place in the changes of the list: zero, or what a page was told to be followed by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AccessCursor(pub u64);

/// Some of what has changed in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessPage {
    /// Players whose last change is after the cursor, in the order of their last changes, each as he is now.
    pub changed: Vec<(String, Access)>,
    /// The place after these.
    pub next: AccessCursor,
    /// There are more after them.
    pub more: bool,
    /// The store knows nothing of the cursor, as it has lost what was written last: this page is the first one, and
    /// what was read before is to be forgotten once the last one is read.
    pub restarted: bool,
    /// The store's time.
    pub now: Stamp,
}

impl AccessPage {
    /// Players on a page at most: a step that reads more holds up others.
    pub const PLAYERS_MAX: usize = 500;
}

/// Where it is kept who may not play and whose tokens count no more.
#[async_trait]
pub trait AccessStore: Send + Sync + 'static {
    /// What is kept of a player; none of most.
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError>;

    /// Puts `next` in the place of `expected`, if that is there. The answer is what is there then; where `next`
    /// already was, it stays as it was, whatever was expected. It is kept until [`Access::kept_until`].
    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError>;

    /// What has changed in the list after a place in it, a page.
    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError>;
}
