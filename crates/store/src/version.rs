//! Versions of a stored match, and the shards that matches are spread over.

use sealing::MatchId;
use sha2::{Digest as _, Sha256};

/// The version of a stored match: a counter and bytes that its committer drew.
///
/// Both are compared. A counter alone is not enough: after a failover that lost a write, two nodes can
/// both have written version 10, and a third could commit on top of the wrong one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// How many commits led here; the creation is 1.
    pub counter: u64,
    /// Drawn at random by whoever made this commit.
    pub nonce: [u8; 8],
}

impl Version {
    /// The version of a match that has just been created.
    #[must_use]
    pub const fn first(nonce: [u8; 8]) -> Self {
        Self { counter: 1, nonce }
    }

    /// The version that follows this one.
    #[must_use]
    pub const fn next(self, nonce: [u8; 8]) -> Self {
        Self { counter: self.counter.saturating_add(1), nonce }
    }
}

/// A part of the store with a clock and a due set of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Shard(pub u16);

impl Shard {
    /// The shard of a match: the first 4 bytes of SHA-256 of its id, big-endian, modulo `count`.
    ///
    /// `count` is fixed at a store's first start; zero is taken for one.
    #[must_use]
    pub fn of(id: MatchId, count: u16) -> Self {
        let hash = Sha256::digest(id.as_bytes());
        let head = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
        Self((head % u32::from(count.max(1))) as u16)
    }
}
