//! The account of a run: every answer that a client got, judged as it comes.
//!
//! It trusts nothing that a node says, but what other answers have said before.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use whattheshell::prost_types::Timestamp;
use whattheshell::rules::Seat;
use whattheshell::v1;

use crate::scenario::Goal;
use crate::secrets::{SALT_BYTES, Secrets, Who};

/// Broken promises that are told in words; all are counted.
const SHOWN_MAX: usize = 40;

/// Calls closer together than this are made at the same instant: less than one takes to be answered.
const AT_ONCE_MAX: Duration = Duration::from_millis(1);

/// How a promise breaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Break {
    /// What was acknowledged or told is gone.
    Lost,
    /// Something happened, was decided or was told in two ways.
    Duplicated,
    /// Something does not go on.
    Stuck,
    /// A decision that the stamps do not lead to, or a refused request with an effect.
    Misjudged,
}

/// What a match was agreed to be.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// A token of black's, to ask for the match.
    pub(crate) token: String,
    /// Neither player knows whether the other has sealed.
    pub(crate) is_hidden: bool,
    pub(crate) is_commit_reveal: bool,
    pub(crate) turn_time: Duration,
    /// Nobody plays it.
    pub(crate) is_abandoned: bool,
}

/// A match, as it was told.
pub(crate) struct Told {
    pub(crate) terms: Terms,
    /// Receipts by turn and seat, as they were given first.
    pub(crate) seals: BTreeMap<(u32, i32), v1::SealReceipt>,
    /// Turns as they were told first.
    pub(crate) turns: BTreeMap<u32, v1::ResolvedTurn>,
    pub(crate) finish: Option<v1::MatchFinished>,
    /// When its first turn opened.
    pub(crate) opened: Option<Timestamp>,
    /// Salts of moves that must never be taken.
    pub(crate) hopeless: Vec<[u8; SALT_BYTES]>,
    /// Somebody was told that history was lost.
    pub(crate) is_regressed: bool,
    /// The turn that each reader of a stream has come to.
    readers: HashMap<Who, u32>,
    /// The turn that must be reached once nothing goes wrong any more.
    goal: Option<u32>,
    /// For which turn each seat has asked last to seal, and when.
    asked: BTreeMap<i32, (u32, Instant)>,
}

#[derive(Default)]
struct State {
    games: BTreeMap<String, Told>,
    calls: usize,
    failed: usize,
    first_failed: Vec<String>,
    reached: Goal,
    faults: usize,
    broken: BTreeMap<Break, usize>,
    shown: Vec<String>,
    /// When a fault came that a player has not recovered from yet.
    waiting: HashMap<Who, Instant>,
    players: Vec<Who>,
    recoveries: Vec<Duration>,
}

/// Everything that clients were told.
pub(crate) struct Account {
    state: Mutex<State>,
    secrets: Arc<Secrets>,
    is_lossless: bool,
}

/// The counts of a run.
pub(crate) struct Counts {
    pub(crate) calls: usize,
    /// Calls of the Rust client that got no answer, however often it repeated them.
    pub(crate) failed: usize,
    /// The first of them, in words.
    pub(crate) first_failed: Vec<String>,
    pub(crate) reached: Goal,
    pub(crate) faults: usize,
    pub(crate) broken: BTreeMap<Break, usize>,
    pub(crate) shown: Vec<String>,
    pub(crate) recoveries: Vec<Duration>,
}

impl Account {
    /// `is_lossless`: nothing acknowledged may be gone. Else what is gone must be owned up to.
    pub(crate) fn new(secrets: Arc<Secrets>, is_lossless: bool) -> Self {
        Self { state: Mutex::default(), secrets, is_lossless }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn is_lossless(&self) -> bool {
        self.is_lossless
    }

    /// A promise is broken.
    pub(crate) fn complain(&self, how: Break, what: String) {
        self.state().complain(how, what);
    }

    /// Somebody plays, and has to recover from every fault.
    pub(crate) fn plays(&self, who: Who) {
        self.state().players.push(who);
    }

    pub(crate) fn call(&self) {
        self.state().calls += 1;
    }

    /// A call of the Rust client got no answer, for all its retries.
    pub(crate) fn failed(&self, what: impl FnOnce() -> String) {
        let mut state = self.state();
        state.failed += 1;
        if state.first_failed.len() < SHOWN_MAX {
            state.first_failed.push(what());
        }
    }

    /// Something is made to go wrong now.
    pub(crate) fn fault(&self) {
        let mut state = self.state();
        state.faults += 1;
        let now = Instant::now();
        for who in state.players.clone() {
            state.waiting.entry(who).or_insert(now);
        }
    }

    /// Something is made to go wrong that nobody has to recover from.
    pub(crate) fn struck(&self) {
        self.state().faults += 1;
    }

    /// How many turns were told and seals acknowledged so far.
    pub(crate) fn told(&self) -> (usize, usize) {
        let state = self.state();
        (state.games.values().map(|told| told.turns.len()).sum(), state.reached.acknowledged)
    }

    /// Whether enough has happened.
    pub(crate) fn has_come_to(&self, goal: Goal) -> bool {
        self.state().reached.covers(goal)
    }

    /// A match was made.
    pub(crate) fn made(&self, name: &str, terms: Terms) {
        let told = Told {
            terms,
            seals: BTreeMap::new(),
            turns: BTreeMap::new(),
            finish: None,
            opened: None,
            hopeless: Vec::new(),
            is_regressed: false,
            readers: HashMap::new(),
            goal: None,
            asked: BTreeMap::new(),
        };
        self.state().games.insert(name.to_owned(), told);
    }

    /// Both have joined, and the first turn has opened.
    pub(crate) fn opened(&self, name: &str, opened: Option<Timestamp>) {
        if let Some(told) = self.state().games.get_mut(name) {
            told.opened = opened;
        }
    }

    /// A seal that was asked for at `begun` is acknowledged.
    pub(crate) fn sealed(&self, who: Who, begun: Instant, receipt: &v1::SealReceipt) {
        let mut state = self.state();
        if state.waiting.get(&who).is_some_and(|fault| *fault <= begun)
            && let Some(fault) = state.waiting.remove(&who)
        {
            state.recoveries.push(fault.elapsed());
        }
        let is_lossless = self.is_lossless;
        let Some(told) = state.games.get_mut(&receipt.r#match) else { return };
        let key = (receipt.turn, receipt.seat);
        let other = match told.seals.get(&key) {
            None => {
                told.seals.insert(key, receipt.clone());
                told.asked.insert(receipt.seat, (receipt.turn, begun));
                let is_at_once = told.is_at_once(receipt.turn);
                state.reached.acknowledged += 1;
                state.reached.at_once += usize::from(is_at_once);
                return;
            }
            // What was lost and sealed again has a new stamp.
            Some(first) if !is_lossless => first.commitment != receipt.commitment,
            Some(first) => first != receipt,
        };
        if other {
            let what = format!(
                "{}: turn {} of seat {} has two receipts",
                receipt.r#match, receipt.turn, receipt.seat
            );
            state.complain(Break::Duplicated, what);
        }
    }

    /// Whether a seal is acknowledged.
    pub(crate) fn has_sealed(&self, game: &str, turn: u32, seat: Seat) -> bool {
        let state = self.state();
        state.games.get(game).is_some_and(|told| told.seals.contains_key(&(turn, i32::from(seat.number()))))
    }

    /// Whether moves of a match are committed to first and revealed later.
    pub(crate) fn is_commit_reveal(&self, game: &str) -> bool {
        self.state().games.get(game).is_some_and(|told| told.terms.is_commit_reveal)
    }

    /// A move with this salt must be refused and never be taken.
    pub(crate) fn hopeless(&self, game: &str, salt: [u8; SALT_BYTES]) {
        if let Some(told) = self.state().games.get_mut(game) {
            told.hopeless.push(salt);
        }
    }

    /// Somebody was told that the history of a match was lost.
    pub(crate) fn regressed(&self, game: &str) {
        let mut state = self.state();
        let Some(told) = state.games.get_mut(game) else { return };
        let is_first = !std::mem::replace(&mut told.is_regressed, true);
        if is_first && self.is_lossless {
            state.complain(Break::Lost, format!("{game}: its history is said to be lost"));
        }
    }

    /// Whether somebody was told that the history of a match was lost.
    pub(crate) fn is_regressed(&self, game: &str) -> bool {
        self.state().games.get(game).is_some_and(|told| told.is_regressed)
    }

    /// A reader begins after this turn.
    pub(crate) fn reads(&self, who: Who, game: &str, after_turn: u32) {
        if let Some(told) = self.state().games.get_mut(game) {
            told.readers.insert(who, after_turn);
        }
    }

    /// A stream has delivered a turn.
    pub(crate) fn told_turn(&self, who: Who, game: &str, turn: &v1::ResolvedTurn) {
        let is_lossless = self.is_lossless;
        let mut state = self.state();
        let Some(told) = state.games.get_mut(game) else { return };
        let before = told.readers.insert(who, turn.turn).unwrap_or_default();
        let first = told.turns.entry(turn.turn).or_insert_with(|| turn.clone());
        let other = *first != *turn;
        if before + 1 != turn.turn {
            state.complain(
                Break::Duplicated,
                format!("{game}: turn {} came to {who} after turn {before}", turn.turn),
            );
        }
        if other && is_lossless {
            state.complain(Break::Duplicated, format!("{game}: turn {} was told in two ways", turn.turn));
        }
    }

    /// Somebody was told the end.
    pub(crate) fn told_finish(&self, game: &str, finish: &v1::MatchFinished) {
        let is_lossless = self.is_lossless;
        let mut state = self.state();
        let Some(told) = state.games.get_mut(game) else { return };
        let other = told.finish.get_or_insert_with(|| finish.clone()) != finish;
        if other && is_lossless {
            state.complain(Break::Duplicated, format!("{game}: its end was told in two ways"));
        }
    }

    /// Somebody was told how a match stands: nothing that he may not know.
    pub(crate) fn told_status(&self, who: Who, seat: Option<Seat>, game: &str, status: &v1::MatchStatus) {
        let is_hidden = {
            let state = self.state();
            let Some(told) = state.games.get(game) else { return };
            told.terms.is_hidden && status.state() != v1::MatchState::Revealing
        };
        if seat.is_none() && status.own_seal.is_some() {
            self.secrets.leak(format!("{game}: {who} has no seat and is shown a seal as his own"));
        }
        let sides = [(Seat::Black, &status.black), (Seat::White, &status.white)];
        for (other, side) in sides.into_iter().filter(|(other, _)| is_hidden && Some(*other) != seat) {
            if side.as_ref().is_some_and(|side| side.sealed.is_some() || side.commitment.is_some()) {
                self.secrets.leak(format!("{game}: {who} is shown a hidden seal of {other}"));
            }
        }
    }

    /// Every reader of a live match that has not been told a turn which is resolved.
    pub(crate) fn behind(&self) -> Vec<String> {
        let state = self.state();
        let mut behind = Vec::new();
        for (game, told) in state.games.iter().filter(|(_, told)| told.finish.is_none() && !told.is_regressed)
        {
            let resolved = told.resolved();
            let late = told.readers.iter().filter(|(_, turn)| **turn < resolved);
            behind.extend(late.map(|(who, turn)| format!("{game}: {who} is at turn {turn} of {resolved}")));
        }
        behind
    }

    /// Whether a player has come as far as both must once nothing goes wrong any more.
    pub(crate) fn is_at_goal(&self, who: Who, game: &str) -> bool {
        let mut state = self.state();
        let Some(told) = state.games.get_mut(game) else { return true };
        let farthest = told.resolved();
        let goal = *told.goal.get_or_insert(farthest + 1);
        told.readers.get(&who).is_some_and(|turn| *turn >= goal)
    }

    /// Matches whose players have not come as far as they must, and what is known of each.
    pub(crate) fn held_up(&self) -> Vec<String> {
        let state = self.state();
        let mut held_up = Vec::new();
        for (game, told) in state.games.iter().filter(|(_, told)| told.finish.is_none()) {
            let Some(goal) = told.goal else { continue };
            let sealed: Vec<_> = told.seals.keys().rev().take(2).collect();
            held_up.push(format!(
                "{game}: readers {:?} are to come to turn {goal}; the last seals (turn, seat) are {sealed:?}; \
                 commit-reveal {}, said to be lost {}",
                told.readers, told.terms.is_commit_reveal, told.is_regressed
            ));
        }
        held_up
    }

    /// All matches, to be audited: they are not told of any more.
    pub(crate) fn take_games(&self) -> BTreeMap<String, Told> {
        std::mem::take(&mut self.state().games)
    }

    pub(crate) fn counts(&self) -> Counts {
        let state = self.state();
        Counts {
            calls: state.calls,
            failed: state.failed,
            first_failed: state.first_failed.clone(),
            reached: state.reached,
            faults: state.faults,
            broken: state.broken.clone(),
            shown: state.shown.clone(),
            recoveries: state.recoveries.clone(),
        }
    }
}

impl State {
    fn complain(&mut self, how: Break, what: String) {
        *self.broken.entry(how).or_default() += 1;
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(format!("{how:?}: {what}"));
        }
    }
}

impl Told {
    /// Whether both have asked at the same instant to seal this turn.
    fn is_at_once(&self, turn: u32) -> bool {
        let asked: Vec<Instant> =
            self.asked.values().filter(|(asked, _)| *asked == turn).map(|(_, at)| *at).collect();
        matches!(asked[..], [one, other] if one.max(other) - one.min(other) < AT_ONCE_MAX)
    }

    /// The last turn that is known to be resolved: somebody was told it, or both seals are acknowledged and
    /// nothing else is needed.
    fn resolved(&self) -> u32 {
        let told = self.turns.keys().next_back().copied().unwrap_or_default();
        let both = |turn: &u32| [1, 2].iter().all(|seat| self.seals.contains_key(&(*turn, *seat)));
        let sealed = self.seals.keys().next_back().map(|(turn, _)| *turn).filter(both);
        told.max(sealed.filter(|_| !self.terms.is_commit_reveal).unwrap_or_default())
    }
}
