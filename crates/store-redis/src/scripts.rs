//! The scripts, put together: what they have in common first, then their own text.

use std::sync::Arc;

use store::{Access, AccessPage, Commit, FeedLimits, OUTAGE_MIN_MS, PoolPage, Ticket};

use crate::start::SHARDS;
use crate::stored_ticket::Stage;

/// The shortest time to live that anything is given, ms: a clock that runs on by a little between two
/// nodes must not take away what was just written.
const KEPT_MIN_MS: u64 = 60_000;

/// How long a write that is there to be waited for is kept, ms: it holds nothing.
const FENCE_MS: u64 = 1_000;

/// Entries that leave a player's list in one step at most, so that none is slow after a long pause.
const FORGOTTEN_MAX: usize = 64;

/// Entries of a shard's feed between two looks at whether they are too many: few beside those that are kept, and
/// a look is cheap beside so many commits.
const FEED_TRIM_EVERY: u64 = 64;

/// Tickets of a pool that one look at it expires or forgets at most, and players that one look at their access
/// forgets: whoever looks does so again and again.
const SWEPT_MAX: usize = 500;

/// Claimed matches that a pool holds at most until they are made, some 700 bytes each: a pool that cannot make this
/// many has no use for more.
pub(crate) const OWING_MAX: usize = 100_000;

/// Players on a leaderboard at most, some 200 bytes each.
pub(crate) const RANKED_MAX: usize = 1_000_000;

/// Open invites that a player's list holds at most, 36 bytes and some each; older ones leave it.
pub(crate) const LISTED_INVITES_MAX: usize = 1_000;

/// What a script says of a step on a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    NotFound = 0,
    Committed = 1,
    Conflict = 2,
    Restamp = 3,
    TooLate = 4,
}

impl Status {
    const ALL: [Self; 5] = [Self::NotFound, Self::Committed, Self::Conflict, Self::Restamp, Self::TooLate];

    pub(crate) fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as i64 == number)
    }
}

/// What the scripts of a store have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    /// The caller gives the time, as the last argument.
    pub(crate) time_given: bool,
    /// Channels belong to slots.
    pub(crate) sharded: bool,
    /// Writes are waited for: hints come after that, and reads write.
    pub(crate) waits: bool,
    /// How much of a feed each shard keeps.
    pub(crate) feed: FeedLimits,
}

/// A script: its text and the name a server knows it by.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha1: String,
}

/// All scripts of a store.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) meta: Arc<Script>,
    pub(crate) now: Arc<Script>,
    pub(crate) create: Arc<Script>,
    pub(crate) load: Arc<Script>,
    pub(crate) commit: Arc<Script>,
    pub(crate) settle: Arc<Script>,
    pub(crate) postpone: Arc<Script>,
    pub(crate) due: Arc<Script>,
    pub(crate) turns: Arc<Script>,
    pub(crate) feed: Arc<Script>,
    pub(crate) versions: Arc<Script>,
    pub(crate) create_invite: Arc<Script>,
    pub(crate) invite: Arc<Script>,
    pub(crate) close_invite: Arc<Script>,
    pub(crate) remember: Arc<Script>,
    pub(crate) index: Arc<Script>,
    pub(crate) page: Arc<Script>,
    pub(crate) note_invite: Arc<Script>,
    pub(crate) open_invites: Arc<Script>,
    pub(crate) nodes: Arc<Script>,
    pub(crate) told: Arc<Script>,
    pub(crate) keys: Arc<Script>,
    pub(crate) import: Arc<Script>,
    pub(crate) import_begins: Arc<Script>,
    pub(crate) import_ends: Arc<Script>,
    pub(crate) create_ticket: Arc<Script>,
    pub(crate) ticket: Arc<Script>,
    pub(crate) leave_ticket: Arc<Script>,
    pub(crate) requeue_ticket: Arc<Script>,
    pub(crate) claim: Arc<Script>,
    pub(crate) made: Arc<Script>,
    pub(crate) pool: Arc<Script>,
    pub(crate) reservation: Arc<Script>,
    pub(crate) reserve: Arc<Script>,
    pub(crate) enter: Arc<Script>,
    pub(crate) record: Arc<Script>,
    pub(crate) put_record: Arc<Script>,
    pub(crate) rank: Arc<Script>,
    pub(crate) leaderboard: Arc<Script>,
    pub(crate) leaderboard_place: Arc<Script>,
    pub(crate) forget_lists: Arc<Script>,
    pub(crate) remove_record: Arc<Script>,
    pub(crate) unrank: Arc<Script>,
    pub(crate) access: Arc<Script>,
    pub(crate) put_access: Arc<Script>,
    pub(crate) access_changes: Arc<Script>,
}

const CLOCK: &str = include_str!("../scripts/shared/clock.lua");
const ENVELOPE: &str = include_str!("../scripts/shared/envelope.lua");
const FEED: &str = include_str!("../scripts/shared/feed.lua");
const FENCE: &str = include_str!("../scripts/shared/fence.lua");
const ACCESS: &str = include_str!("../scripts/shared/access.lua");
const TICKET: &str = include_str!("../scripts/shared/ticket.lua");

impl Scripts {
    pub(crate) fn new(variant: Variant) -> Self {
        let (time, tell) = (variant.time(), variant.tell());
        let script = |shared: &[&str], text: &str| variant.script(shared, text);
        let on_match = [time, CLOCK, ENVELOPE];
        let on_shard = [time, CLOCK];
        let on_pool = [time, FENCE, TICKET];
        let on_access = [time, FENCE, ACCESS];
        Self {
            meta: script(&[], include_str!("../scripts/meta.lua")),
            now: script(&on_shard, include_str!("../scripts/now.lua")),
            create: script(&on_match, include_str!("../scripts/create.lua")),
            load: script(&on_match, include_str!("../scripts/load.lua")),
            commit: script(&[time, tell, CLOCK, ENVELOPE, FEED], include_str!("../scripts/commit.lua")),
            settle: script(&on_match, include_str!("../scripts/settle.lua")),
            postpone: script(&on_match, include_str!("../scripts/postpone.lua")),
            due: script(&on_shard, include_str!("../scripts/due.lua")),
            turns: script(&on_shard, include_str!("../scripts/turns.lua")),
            feed: script(&on_shard, include_str!("../scripts/feed.lua")),
            versions: script(&on_shard, include_str!("../scripts/versions.lua")),
            create_invite: script(&on_shard, include_str!("../scripts/create_invite.lua")),
            invite: script(&on_shard, include_str!("../scripts/invite.lua")),
            close_invite: script(&on_shard, include_str!("../scripts/close_invite.lua")),
            remember: script(&[FENCE], include_str!("../scripts/remember.lua")),
            index: script(&[time, tell, FENCE], include_str!("../scripts/index.lua")),
            page: script(&[time, FENCE], include_str!("../scripts/page.lua")),
            note_invite: script(&[tell, FENCE], include_str!("../scripts/note_invite.lua")),
            open_invites: script(&[time, FENCE], include_str!("../scripts/open_invites.lua")),
            nodes: script(&[time], include_str!("../scripts/nodes.lua")),
            told: script(&[time], include_str!("../scripts/told.lua")),
            keys: script(&[], include_str!("../scripts/keys.lua")),
            import: script(&on_match, include_str!("../scripts/import.lua")),
            import_begins: script(&[], include_str!("../scripts/import_begins.lua")),
            import_ends: script(&[], include_str!("../scripts/import_ends.lua")),
            create_ticket: script(&on_pool, include_str!("../scripts/create_ticket.lua")),
            ticket: script(&on_pool, include_str!("../scripts/ticket.lua")),
            leave_ticket: script(&on_pool, include_str!("../scripts/leave_ticket.lua")),
            requeue_ticket: script(&on_pool, include_str!("../scripts/requeue_ticket.lua")),
            claim: script(&on_pool, include_str!("../scripts/claim.lua")),
            made: script(&on_pool, include_str!("../scripts/made.lua")),
            pool: script(&on_pool, include_str!("../scripts/pool.lua")),
            reservation: script(&[time, FENCE], include_str!("../scripts/reservation.lua")),
            reserve: script(&[time, tell, FENCE], include_str!("../scripts/reserve.lua")),
            enter: script(&[time, tell, FENCE], include_str!("../scripts/enter.lua")),
            record: script(&[FENCE], include_str!("../scripts/record.lua")),
            put_record: script(&[FENCE], include_str!("../scripts/put_record.lua")),
            rank: script(&[FENCE], include_str!("../scripts/rank.lua")),
            leaderboard: script(&[FENCE], include_str!("../scripts/leaderboard.lua")),
            leaderboard_place: script(&[FENCE], include_str!("../scripts/leaderboard_place.lua")),
            forget_lists: script(&[tell, FENCE], include_str!("../scripts/forget_lists.lua")),
            remove_record: script(&[FENCE], include_str!("../scripts/remove_record.lua")),
            unrank: script(&[FENCE], include_str!("../scripts/unrank.lua")),
            access: script(&on_access, include_str!("../scripts/access.lua")),
            put_access: script(&on_access, include_str!("../scripts/put_access.lua")),
            access_changes: script(&on_access, include_str!("../scripts/access_changes.lua")),
        }
    }
}

impl Variant {
    fn time(self) -> &'static str {
        match self.time_given {
            true => include_str!("../scripts/shared/time_given.lua"),
            false => include_str!("../scripts/shared/time_of_server.lua"),
        }
    }

    fn tell(self) -> &'static str {
        match self.waits {
            true => include_str!("../scripts/shared/tell_later.lua"),
            false => include_str!("../scripts/shared/tell_at_once.lua"),
        }
    }

    /// The command that tells a channel.
    pub(crate) fn publish(self) -> &'static str {
        if self.sharded { "SPUBLISH" } else { "PUBLISH" }
    }

    fn script(self, shared: &[&str], text: &str) -> Arc<Script> {
        let mut whole = self.constants();
        for part in shared.iter().chain([&text]) {
            whole.push_str(part);
        }
        let sha1 = redis::Script::new(&whole).get_hash().to_owned();
        Arc::new(Script { text: whole, sha1 })
    }

    /// Numbers that this side knows too, so that they stand in one place.
    fn constants(self) -> String {
        format!(
            "local NOT_FOUND, COMMITTED, CONFLICT, RESTAMP, TOO_LATE = {}, {}, {}, {}, {}\n\
             local STAMP_AGE_MAX_MS, OUTAGE_MIN_MS = {}, {OUTAGE_MIN_MS}\n\
             local KEPT_MIN_MS, FENCE_MS = {KEPT_MIN_MS}, {FENCE_MS}\n\
             local FORGOTTEN_MAX, LISTED_INVITES_MAX = {FORGOTTEN_MAX}, {LISTED_INVITES_MAX}\n\
             local FEED_TRIM_EVERY, FEED_RETENTION_MS, FEED_ENTRIES_MAX = {FEED_TRIM_EVERY}, {}, {}\n\
             local WAITS, WAITS_AGAIN, MATCHED, LEFT, CANCELLED, EXPIRED = {}, {}, {}, {}, {}, {}\n\
             local LEASE_MS, TICKET_RETENTION_MS, POOL_MAX, SWEPT_MAX = {}, {}, {}, {SWEPT_MAX}\n\
             local TICKETS_MAX, OWED_MAX, OWED_AFTER_MS = {}, {}, {}\n\
             local OWING_MAX, RANKED_MAX = {OWING_MAX}, {RANKED_MAX}\n\
             local RESTRICTED_MAX, RESTRICTED_PAGE_MAX = {}, {}\n\
             local ALWAYS_WRITES, PUBLISH = {}, '{}'\n",
            Status::NotFound as i64,
            Status::Committed as i64,
            Status::Conflict as i64,
            Status::Restamp as i64,
            Status::TooLate as i64,
            Commit::STAMP_AGE_MAX_MS,
            self.feed.retention_ms,
            self.feed.entries_a_shard(SHARDS),
            Stage::Waits as u8,
            Stage::WaitsAgain as u8,
            Stage::Matched as u8,
            Stage::Left as u8,
            Stage::Cancelled as u8,
            Stage::Expired as u8,
            Ticket::LEASE_MS,
            Ticket::RETENTION_MS,
            Ticket::POOL_MAX,
            PoolPage::TICKETS_MAX,
            PoolPage::OWED_MAX,
            PoolPage::OWED_AFTER_MS,
            Access::PLAYERS_MAX,
            AccessPage::PLAYERS_MAX,
            self.waits,
            self.publish(),
        )
    }
}
