//! What each principal may use of a node, and what he uses.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, UnitWeighter};

use crate::bucket::Bucket;
use crate::peer::Peer;
use crate::principal::Principal;

/// Principals that a node knows the use of, at most: more than call it within some seconds. One takes some 250
/// bytes. The least used goes first, and none that has a call or a stream; whoever comes back later has all that he
/// may use again.
const PRINCIPALS_MAX: usize = 100_000;

/// Seconds of calls that a principal may make at once after a pause: a client that starts makes some at once.
pub const CALLS_BURST_S: u32 = 2;

/// Seconds over which resumed history is counted.
const RESUMED_S: u32 = 60;

/// What one principal may use of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// Calls a second. After a pause he may make [`CALLS_BURST_S`] seconds' at once.
    pub calls_per_s: u32,
    /// Unary calls in flight.
    pub calls_max: u32,
    /// Streams open at once.
    pub streams_max: u32,
    /// History that streams begin with because they resume, KiB a minute.
    pub resumed_kib_per_min: u32,
}

impl Allowance {
    /// More than any node does: where something else than limits is to be seen.
    pub const UNBOUNDED: Self = Self {
        calls_per_s: 1_000_000,
        calls_max: 1_000_000,
        streams_max: 1_000_000,
        resumed_kib_per_min: 1_024 * 1_024 * 1_024,
    };
}

impl Allowances {
    /// [`Allowance::UNBOUNDED`] for everyone.
    pub const UNBOUNDED: Self =
        Self { player: Allowance::UNBOUNDED, backend: Allowance::UNBOUNDED, anonymous: Allowance::UNBOUNDED };
}

/// What principals may use of a node, by their kind. Operators may use all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowances {
    /// One player.
    pub player: Allowance,
    /// One back end.
    pub backend: Allowance,
    /// Callers without a credential, who are told apart by the address they call from.
    pub anonymous: Allowance,
}

impl Default for Allowances {
    fn default() -> Self {
        Self {
            // Ten times what a quick match takes, on some devices at once. 8 MiB are some thirty of the longest
            // matches from their first turn.
            player: Allowance {
                calls_per_s: 50,
                calls_max: 100,
                streams_max: 64,
                resumed_kib_per_min: 8 * 1_024,
            },
            // More than a node can do, so that no back end is held up; a bound for one that runs wild.
            backend: Allowance {
                calls_per_s: 50_000,
                calls_max: 20_000,
                streams_max: 50_000,
                resumed_kib_per_min: 1_024 * 1_024,
            },
            // Hundreds of players may share an address, and each asks once what the server is.
            anonymous: Allowance {
                calls_per_s: 100,
                calls_max: 200,
                streams_max: 64,
                resumed_kib_per_min: 1,
            },
        }
    }
}

/// What one principal uses. In the extensions of the requests that open streams.
#[derive(Debug)]
pub struct Usage {
    allowance: Allowance,
    calls: Bucket,
    resumed: Bucket,
    calls_open: AtomicU32,
    streams_open: AtomicU32,
}

impl Usage {
    fn new(allowance: Allowance) -> Self {
        let Allowance { calls_per_s, resumed_kib_per_min, .. } = allowance;
        Self {
            allowance,
            calls: Bucket::new(calls_per_s, calls_per_s.saturating_mul(CALLS_BURST_S)),
            resumed: Bucket::new((resumed_kib_per_min / RESUMED_S).max(1), resumed_kib_per_min),
            calls_open: AtomicU32::new(0),
            streams_open: AtomicU32::new(0),
        }
    }

    /// He makes a call.
    ///
    /// # Errors
    /// It is one too many for this second; it is none after this time.
    pub(crate) fn calls(&self) -> Result<(), Duration> {
        self.calls.take(1)
    }

    /// A place for one more open call; none where he has as many as he may.
    pub(crate) fn open(self: &Arc<Self>, streams: bool) -> Option<Open> {
        let open = Open { usage: Arc::clone(self), streams };
        let max = if streams { self.allowance.streams_max } else { self.allowance.calls_max };
        // The place is taken first and given back with it, so that two cores never take the same one.
        (open.count().fetch_add(1, Ordering::Relaxed) < max).then_some(open)
    }

    /// A stream begins with so many KiB of history.
    ///
    /// # Errors
    /// It is too much for this minute; it is not after this time.
    pub fn resumes(&self, kib: u32) -> Result<(), Duration> {
        self.resumed.take(kib)
    }

    fn is_idle(&self) -> bool {
        self.calls_open.load(Ordering::Relaxed) == 0 && self.streams_open.load(Ordering::Relaxed) == 0
    }
}

/// An open call or stream of a principal: his place is free again once it is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    usage: Arc<Usage>,
    streams: bool,
}

impl Open {
    fn count(&self) -> &AtomicU32 {
        if self.streams { &self.usage.streams_open } else { &self.usage.calls_open }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.count().fetch_sub(1, Ordering::Relaxed);
    }
}

/// What all principals use of a node. Its cores share it: each call looks its principal up, in a table that is
/// divided into parts with a lock each, which readers share.
pub struct Usages {
    allowances: Allowances,
    /// By a hash of the principal. It is keyed by a secret, so nobody can choose a name that has another's hash.
    known: Cache<u64, Arc<Usage>, UnitWeighter, DefaultHashBuilder, KeepBusy>,
    hasher: RandomState,
}

impl Usages {
    /// Nobody uses anything yet.
    #[must_use]
    pub fn new(allowances: Allowances) -> Self {
        let known = Cache::with(
            PRINCIPALS_MAX,
            PRINCIPALS_MAX as u64,
            UnitWeighter,
            DefaultHashBuilder::default(),
            KeepBusy,
        );
        Self { allowances, known, hasher: RandomState::new() }
    }

    /// What this caller uses. None: he may use all there is.
    pub(crate) fn of(&self, principal: Option<&Principal>, peer: Option<&Peer>) -> Option<Arc<Usage>> {
        // The first of each pair keeps a player from having the hash of a back end.
        let (key, allowance) = match (principal, peer) {
            (Some(Principal::Operator(_)), _) => return None,
            (Some(Principal::Player(player)), _) => {
                (self.hasher.hash_one((0, &player.player)), self.allowances.player)
            }
            (Some(Principal::Backend(backend)), _) => {
                (self.hasher.hash_one((1, &backend.name)), self.allowances.backend)
            }
            (None, Some(peer)) => (self.hasher.hash_one((2, peer.address())), self.allowances.anonymous),
            (None, None) => (self.hasher.hash_one(3), self.allowances.anonymous),
        };
        let new = || Ok::<_, std::convert::Infallible>(Arc::new(Usage::new(allowance)));
        match self.known.get_or_insert_with(&key, new) {
            Ok(usage) => Some(usage),
            Err(never) => match never {},
        }
    }
}

impl fmt::Debug for Usages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Usages").field("allowances", &self.allowances).finish_non_exhaustive()
    }
}

/// Keeps the principals that have something open. They are no more than there are calls and streams.
#[derive(Clone, Debug)]
struct KeepBusy;

impl Lifecycle<u64, Arc<Usage>> for KeepBusy {
    type RequestState = ();

    fn begin_request(&self) -> Self::RequestState {}

    fn is_pinned(&self, _key: &u64, usage: &Arc<Usage>) -> bool {
        !usage.is_idle()
    }

    fn on_evict(&self, _state: &mut Self::RequestState, _key: u64, _usage: Arc<Usage>) {}
}
