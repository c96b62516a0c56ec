//! What a client remembers of a match: where it stands, and what was sealed here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rules::{Cell, Position, Seat};
use sealing::{Commitment, Digest, Opening};
use wire::v1;

/// The most turns whose seals are kept: enough to repeat a seal whose answer was lost a while ago.
const TURNS_MAX: usize = 8;

/// The most seals that are kept for one turn; further ones push out the oldest without a receipt.
const SEALS_A_TURN_MAX: usize = 8;

/// Where a match stands: its last resolved turn, as far as is known here.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) turn: u32,
    pub(crate) hash: Digest,
    pub(crate) position: Position,
}

/// A move that was sent, or is about to be. Secret until its turn resolves.
#[derive(Clone)]
pub(crate) struct Sealed {
    pub(crate) request_id: String,
    /// The request by which it is revealed, where it has to be.
    pub(crate) reveal_request_id: String,
    pub(crate) opening: Opening,
    pub(crate) commitment: Commitment,
    pub(crate) previous: Digest,
    pub(crate) has_receipt: bool,
}

/// Shared by a match's handle and its streams. Cheap to clone; `Debug` shows nothing of what it holds.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    seat: Option<Seat>,
    head: Option<Head>,
    sealed: BTreeMap<u32, Vec<Sealed>>,
    /// What the opponent had committed himself to before a move was revealed here.
    opponent: BTreeMap<u32, Commitment>,
    /// The last receipt that the server has signed: evidence, if it loses what the receipt is for.
    last_receipt: Option<v1::SealReceipt>,
}

impl Ledger {
    pub(crate) fn new(seat: Option<Seat>, head: Head) -> Self {
        Self(Arc::new(Mutex::new(Entries { seat, head: Some(head), ..Entries::default() })))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Every change below is complete when its lock is released, also by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn seat(&self) -> Option<Seat> {
        self.entries().seat
    }

    pub(crate) fn head(&self) -> Option<Head> {
        self.entries().head
    }

    /// Notes a later turn; an earlier one changes nothing.
    pub(crate) fn advance(&self, head: Head) {
        let mut entries = self.entries();
        if entries.head.is_none_or(|known| known.turn <= head.turn) {
            entries.head = Some(head);
        }
    }

    /// The move of this cell that was sealed for the turn, if its fate is open or it has its receipt.
    pub(crate) fn find(&self, turn: u32, cell: Cell) -> Option<Sealed> {
        self.entries().sealed.get(&turn)?.iter().find(|sealed| sealed.opening.cell == cell).cloned()
    }

    /// The move that this commitment binds, if it was sealed here.
    pub(crate) fn committed(&self, turn: u32, commitment: &Commitment) -> Option<Sealed> {
        self.entries().sealed.get(&turn)?.iter().find(|sealed| sealed.commitment == *commitment).cloned()
    }

    /// Keeps a move; one with the same commitment is kept once.
    pub(crate) fn add(&self, turn: u32, sealed: Sealed) {
        let mut entries = self.entries();
        let of_turn = entries.sealed.entry(turn).or_default();
        if of_turn.iter().any(|known| known.commitment == sealed.commitment) {
            return;
        }
        if of_turn.len() >= SEALS_A_TURN_MAX
            && let Some(oldest) = of_turn.iter().position(|sealed| !sealed.has_receipt)
        {
            of_turn.remove(oldest);
        }
        of_turn.push(sealed);
        while entries.sealed.len() > TURNS_MAX {
            entries.sealed.pop_first();
        }
    }

    /// The server has given its receipt for this one.
    pub(crate) fn confirm(&self, turn: u32, request_id: &str) {
        let mut entries = self.entries();
        let of_turn = entries.sealed.get_mut(&turn);
        let sealed = of_turn.and_then(|seals| seals.iter_mut().find(|seal| seal.request_id == request_id));
        if let Some(sealed) = sealed {
            sealed.has_receipt = true;
        }
    }

    /// Keeps a receipt whose signature holds, in the place of the last one.
    pub(crate) fn keep_signed(&self, receipt: &v1::SealReceipt) {
        self.entries().last_receipt = Some(receipt.clone());
    }

    /// The last receipt whose signature held.
    pub(crate) fn last_receipt(&self) -> Option<v1::SealReceipt> {
        self.entries().last_receipt.clone()
    }

    /// The server has refused this one for good.
    pub(crate) fn remove(&self, turn: u32, request_id: &str) {
        if let Some(of_turn) = self.entries().sealed.get_mut(&turn) {
            of_turn.retain(|sealed| sealed.has_receipt || sealed.request_id != request_id);
        }
    }

    /// The seat and the commitment that the server has given a receipt for, if it has for this turn.
    pub(crate) fn receipted(&self, turn: u32) -> Option<(Seat, Commitment)> {
        let entries = self.entries();
        let sealed = entries.sealed.get(&turn)?.iter().find(|sealed| sealed.has_receipt)?;
        Some((entries.seat?, sealed.commitment))
    }
}

impl Ledger {
    /// Notes what the opponent has committed himself to in a turn. Whether it is what is known already.
    pub(crate) fn note_opponent(&self, turn: u32, commitment: Commitment) -> bool {
        let mut entries = self.entries();
        let known = *entries.opponent.entry(turn).or_insert(commitment);
        while entries.opponent.len() > TURNS_MAX {
            entries.opponent.pop_first();
        }
        known == commitment
    }

    /// The opponent's seat and what he had committed himself to in a turn, if that was seen.
    pub(crate) fn opponent(&self, turn: u32) -> Option<(Seat, Commitment)> {
        let entries = self.entries();
        Some((entries.seat?.opponent(), *entries.opponent.get(&turn)?))
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ledger(..)")
    }
}
