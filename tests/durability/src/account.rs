//! What was acknowledged, and whether it still holds.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use whattheshell::{Player, v1};

/// A confirmed seal: what its receipt says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sealed {
    pub(crate) commitment: Vec<u8>,
    pub(crate) time: Option<whattheshell::prost_types::Timestamp>,
}

/// A match, as its players were told of it.
#[derive(Default)]
struct Told {
    /// Both players, black first.
    players: Vec<Player>,
    /// By turn and seat.
    seals: BTreeMap<(u32, i32), Sealed>,
    /// h by turn.
    hashes: BTreeMap<u32, Vec<u8>>,
    finish: Option<v1::MatchFinished>,
}

#[derive(Default)]
struct Entries {
    matches: HashMap<String, Told>,
    acknowledged: usize,
    moves: usize,
    duplicated: usize,
}

/// Everything that any player was told.
#[derive(Default)]
pub(crate) struct Account(Mutex<Entries>);

impl Account {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many answers say that something was done.
    pub(crate) fn acknowledged(&self) -> usize {
        self.entries().acknowledged
    }

    /// How many of them are moves.
    pub(crate) fn moves(&self) -> usize {
        self.entries().moves
    }

    /// An invite was accepted, and this match came of it.
    pub(crate) fn made(&self, name: &str, players: &[Player; 2]) {
        let mut entries = self.entries();
        entries.acknowledged += 1;
        entries.matches.entry(name.to_owned()).or_default().players = players.to_vec();
    }

    /// Something happened a second time.
    pub(crate) fn twice(&self) {
        self.entries().duplicated += 1;
    }

    /// A seal was confirmed.
    pub(crate) fn sealed(&self, receipt: &v1::SealReceipt) {
        let mut entries = self.entries();
        entries.acknowledged += 1;
        entries.moves += 1;
        let sealed = Sealed { commitment: receipt.commitment.clone(), time: receipt.seal_time };
        let told = entries.matches.entry(receipt.r#match.clone()).or_default();
        let first = told.seals.entry((receipt.turn, receipt.seat)).or_insert_with(|| sealed.clone());
        let other = *first != sealed;
        entries.duplicated += usize::from(other);
    }

    /// A match was seen: a turn that is resolved another way than before was decided twice.
    pub(crate) fn seen(&self, game: &v1::Match) {
        let mut entries = self.entries();
        let told = entries.matches.entry(game.name.clone()).or_default();
        let first = told.hashes.entry(game.turn).or_insert_with(|| game.hash.clone());
        let other = *first != game.hash;
        if game.finish.is_some() {
            told.finish.clone_from(&game.finish);
        }
        entries.duplicated += usize::from(other);
    }

    /// How much of it is lost, and how much happened twice.
    pub(crate) async fn audit(&self) -> anyhow::Result<(usize, usize)> {
        let matches = std::mem::take(&mut self.entries().matches);
        let mut lost = 0;
        for (name, told) in matches {
            lost += told.lost(&name).await?;
        }
        Ok((lost, self.entries().duplicated))
    }
}

impl Told {
    /// What of this match is not as it was told.
    async fn lost(&self, name: &str) -> anyhow::Result<usize> {
        let Some(black) = self.players.first() else { return Ok(0) };
        let transcript = match black.transcript(name).await {
            Ok(transcript) => transcript,
            // The whole match is gone, or its history does not hold.
            Err(_) => return Ok(1 + self.seals.len()),
        };
        let mut lost = usize::from(transcript.verify().is_err());
        let history = transcript.message();
        for ((turn, seat), sealed) in &self.seals {
            let kept = in_history(history, *turn, *seat, sealed) || self.open(name, *seat, sealed).await?;
            lost += usize::from(!kept);
        }
        for (turn, hash) in self.hashes.iter().filter(|(turn, _)| **turn > 0) {
            let stored = history.turns.get(*turn as usize - 1).map(|turn| &turn.hash);
            lost += usize::from(stored != Some(hash));
        }
        lost += usize::from(self.finish.is_some() && self.finish != history.finish);
        Ok(lost)
    }

    /// Whether a seal waits in the open turn, as its player sees it.
    async fn open(&self, name: &str, seat: i32, sealed: &Sealed) -> anyhow::Result<bool> {
        let player = if seat == i32::from(v1::Seat::Black) { 0 } else { 1 };
        let game = self.players[player].get_match(name).await?;
        let own = game.status.and_then(|status| status.own_seal);
        Ok(own.is_some_and(|own| own.commitment == sealed.commitment && own.seal_time == sealed.time))
    }
}

/// Whether a seal is in its turn, or in the turn that the match ended in.
fn in_history(history: &v1::Transcript, turn: u32, seat: i32, sealed: &Sealed) -> bool {
    let black = seat == i32::from(v1::Seat::Black);
    if let Some(resolved) = history.turns.get(turn as usize - 1) {
        let side = if black { &resolved.black } else { &resolved.white };
        return resolved.turn == turn
            && side
                .as_ref()
                .is_some_and(|side| side.commitment == sealed.commitment && side.seal_time == sealed.time);
    }
    history.finish.as_ref().is_some_and(|finish| {
        let unresolved =
            if black { &finish.black_unresolved_commitment } else { &finish.white_unresolved_commitment };
        *unresolved == sealed.commitment
    })
}
