//! The names of keys and channels. Nobody else builds one.
//!
//! What one step touches carries one hash tag, the part in braces, and so lies in one slot of a cluster:
//! `{s007}` for a shard, `{p:ann}` for a player, `{a:…}` for a caller who is none, `{q:eu}` for a pool of tickets,
//! `{b:1}` for the leaderboard of a speed, `{access}` for who may not play.

use std::fmt::Write as _;
use std::sync::Arc;

use sealing::MatchId;
use sha2::{Digest as _, Sha256};
use store::{InviteId, PoolName, RequestKey, Shard, Speed};

use crate::start::SHARDS;

/// Slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// Bytes of the hash that stands for a name that cannot be part of a key.
const HASHED_BYTES: usize = 16;

/// Bytes that most names have behind the tag, with what stands around it: an id and its kind. Others grow.
const NAME_BYTES: usize = 48;

/// What keys of a player begin with in the API.
const PLAYERS: &str = "players/";

/// Where a key lies: its hash tag and the slot of that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    tag: Arc<str>,
    slot: u16,
}

impl Place {
    fn new(tag: String) -> Self {
        let slot = crc16(tag.as_bytes()) % SLOTS;
        Self { tag: tag.into(), slot }
    }

    fn of_shard(shard: u16) -> Self {
        Self::new(format!("s{shard:03}"))
    }

    pub(crate) fn slot(&self) -> u16 {
        self.slot
    }
}

/// All names of one store.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    namespace: String,
    /// Where each shard lies: every call asks.
    shards: Arc<[Place]>,
}

impl Names {
    /// Names that begin with `namespace`, so that stores can share a server.
    pub(crate) fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), shards: (0..SHARDS).map(Place::of_shard).collect() }
    }

    /// What the store is made of, and where that lies.
    pub(crate) fn meta(&self) -> (String, Place) {
        let key = format!("{}:meta", self.namespace);
        (key.clone(), Place::new(key))
    }

    /// The nodes that are there, what they told, and those that are asked to drain; and where that lies. The name
    /// of the first is the tag of the others.
    pub(crate) fn nodes(&self) -> (Vec<String>, Place) {
        let nodes = format!("{}:nodes", self.namespace);
        let place = Place::new(nodes.clone());
        let beside = ["told", "drain"].map(|key| self.key(&place, format_args!("{key}")));
        (std::iter::once(nodes).chain(beside).collect(), place)
    }

    /// Where a shard lies.
    pub(crate) fn shard(&self, shard: Shard) -> Place {
        let place = self.shards.get(usize::from(shard.0)).cloned();
        place.unwrap_or_else(|| Place::of_shard(shard.0))
    }

    /// Where all that is kept for a player lies.
    pub(crate) fn player(&self, player: &str) -> Place {
        let name = player.strip_prefix(PLAYERS).filter(|name| is_plain(name));
        Place::new(match name {
            Some(name) => format!("p:{name}"),
            // Not a character of a name, so that no player has it.
            None => format!("p:#{}", hashed(player)),
        })
    }

    /// Where the requests of a caller lie: with the player, if it is one.
    fn actor(&self, actor: &str) -> Place {
        match actor.starts_with(PLAYERS) {
            true => self.player(actor),
            false => Place::new(format!("a:{}", hashed(actor))),
        }
    }

    pub(crate) fn head(&self, place: &Place, id: MatchId) -> String {
        self.key(place, format_args!("m:{id}"))
    }

    pub(crate) fn turns(&self, place: &Place, id: MatchId) -> String {
        self.key(place, format_args!("t:{id}"))
    }

    pub(crate) fn due_set(&self, place: &Place) -> String {
        self.key(place, format_args!("due"))
    }

    pub(crate) fn clock(&self, place: &Place) -> String {
        self.key(place, format_args!("clock"))
    }

    /// The stream of a shard's feed.
    pub(crate) fn feed(&self, place: &Place) -> String {
        self.key(place, format_args!("feed"))
    }

    pub(crate) fn invite(&self, place: &Place, id: InviteId) -> String {
        self.key(place, format_args!("i:{id}"))
    }

    /// The channel of a match.
    pub(crate) fn match_channel(&self, place: &Place, id: MatchId) -> String {
        self.key(place, format_args!("e:{id}"))
    }

    /// A player's lists of matches, as the scripts take them: live ones, finished ones, when these leave, and
    /// the fence.
    pub(crate) fn lists(&self, place: &Place) -> Vec<String> {
        let mut keys = ["live", "done", "gone"].map(|list| self.key(place, format_args!("{list}"))).to_vec();
        keys.push(self.fence(place));
        keys
    }

    /// What holds a player.
    pub(crate) fn reservation(&self, place: &Place) -> String {
        self.key(place, format_args!("held"))
    }

    /// What a player has achieved.
    pub(crate) fn record(&self, place: &Place) -> String {
        self.key(place, format_args!("record"))
    }

    /// Where a pool lies. Its name can stand in a key as it is.
    pub(crate) fn pool(&self, pool: &PoolName) -> Place {
        Place::new(format!("q:{pool}"))
    }

    /// All of a pool, as its scripts take it.
    pub(crate) fn pool_keys(&self, place: &Place) -> Vec<String> {
        let kept = ["tickets", "changes", "until", "pool", "owed", "owing"];
        let mut keys = kept.map(|key| self.key(place, format_args!("{key}"))).to_vec();
        keys.push(self.fence(place));
        keys
    }

    /// Where it lies who may not play.
    pub(crate) fn access(&self) -> Place {
        Place::new("access".to_owned())
    }

    /// All of who may not play, as its scripts take it.
    pub(crate) fn access_keys(&self, place: &Place) -> Vec<String> {
        let kept = ["players", "changes", "until", "count"];
        let mut keys = kept.map(|key| self.key(place, format_args!("{key}"))).to_vec();
        keys.push(self.fence(place));
        keys
    }

    /// Where a leaderboard lies.
    pub(crate) fn board(&self, speed: Speed) -> Place {
        Place::new(format!("b:{}", speed.0))
    }

    /// The lines of a leaderboard.
    pub(crate) fn points(&self, place: &Place) -> String {
        self.key(place, format_args!("points"))
    }

    /// After how many matches each line of a leaderboard is.
    pub(crate) fn rated(&self, place: &Place) -> String {
        self.key(place, format_args!("rated"))
    }

    pub(crate) fn open_invites(&self, place: &Place) -> String {
        self.key(place, format_args!("invites"))
    }

    /// The channel of a player.
    pub(crate) fn player_channel(&self, place: &Place) -> String {
        self.key(place, format_args!("e"))
    }

    /// What is written behind reads where there is no clock.
    pub(crate) fn fence(&self, place: &Place) -> String {
        self.key(place, format_args!("fence"))
    }

    /// The key of a request, and where it lies.
    pub(crate) fn request(&self, request: &RequestKey) -> (String, Place) {
        let place = self.actor(&request.actor);
        (self.key(&place, format_args!("r:{}", request.request_id)), place)
    }

    fn key(&self, place: &Place, name: std::fmt::Arguments<'_>) -> String {
        let Self { namespace, .. } = self;
        let mut key = String::with_capacity(namespace.len() + place.tag.len() + NAME_BYTES);
        // Writing to a string does not fail.
        let _ = write!(key, "{namespace}:{{{}}}:{name}", place.tag);
        key
    }
}

/// Whether a text can stand in a key as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn hashed(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(HASHED_BYTES).fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// CRC-16/XMODEM, by which a cluster finds the slot of a tag.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_a_cluster() {
        // The check value of the cluster specification.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(Place::new("foo".to_owned()).slot(), 12_182);
    }

    #[test]
    fn no_name_reaches_into_another_slot() {
        let names = Names::new("wts");
        let player = |name: &str| names.player(name).tag;
        assert_eq!(&*player("players/ann"), "p:ann");
        for odd in ["players/", "ann", "players/a}b", "players/{s001}", ""] {
            assert!(player(odd).starts_with("p:#"), "{odd}");
        }
        let request = |actor: &str, id: &str| {
            names.request(&RequestKey { actor: actor.to_owned(), request_id: id.to_owned() }).0
        };
        assert_eq!(request("players/ann", "r{x}"), "wts:{p:ann}:r:r{x}");
        assert_ne!(request("players/ann", "r"), request("", "r"));
    }
}
