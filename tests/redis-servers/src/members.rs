//! What a server of a cluster says of the others.

use std::ops::RangeInclusive;

/// The slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// One line of `CLUSTER NODES`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Member {
    /// `ip:port`
    pub(crate) address: String,
    pub(crate) id: String,
    /// It is no replica.
    pub(crate) primary: bool,
    /// Whom it follows, if it is one.
    pub(crate) follows: Option<String>,
    /// Everybody knows it, and nobody takes it for dead.
    pub(crate) healthy: bool,
    /// The larger epoch's claim to a slot holds.
    pub(crate) epoch: u64,
    /// First and last slot of each range.
    pub(crate) slots: Vec<(u16, u16)>,
}

impl Member {
    /// Whether it claims this slot.
    pub(crate) fn owns(&self, slot: u16) -> bool {
        self.slots.iter().any(|&(first, last)| RangeInclusive::new(first, last).contains(&slot))
    }
}

/// The members in the answer to `CLUSTER NODES`, by address. Lines of another form are left out.
pub(crate) fn members(answer: &str) -> Vec<Member> {
    let mut members: Vec<_> = answer.lines().filter_map(member).collect();
    members.sort();
    members
}

/// `<id> <ip:port@bus[,…]> <flags> <primary or -> <ping> <pong> <epoch> <link> <slots>…`
fn member(line: &str) -> Option<Member> {
    let mut words = line.split_ascii_whitespace();
    let id = words.next()?.to_owned();
    let address = words.next()?.split('@').next()?.to_owned();
    let flags: Vec<_> = words.next()?.split(',').collect();
    let follows = Some(words.next()?).filter(|primary| *primary != "-").map(str::to_owned);
    let epoch = words.nth(2)?.parse().ok()?;
    let healthy = !flags.iter().any(|flag| ["fail", "fail?", "handshake", "noaddr"].contains(flag));
    // Slots in migration are in brackets and belong to whom they belonged to.
    let slots = words.skip(1).filter(|slots| !slots.starts_with('[')).filter_map(range).collect();
    Some(Member { address, id, primary: flags.contains(&"master"), follows, healthy, epoch, slots })
}

fn range(slots: &str) -> Option<(u16, u16)> {
    let (first, last) = slots.split_once('-').unwrap_or((slots, slots));
    Some((first.parse().ok()?, last.parse().ok()?))
}
