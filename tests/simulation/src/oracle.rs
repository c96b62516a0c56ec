//! The independent judge: it keeps what was asked, what was answered and what the store has made of it, and
//! says which invariant of the design a run has broken.
//!
//! It trusts nothing that the service says, and of the store only what its primary has really done. What it
//! says of a violation names matches, turns and seats by number, never a value that is drawn at random.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use prost::Message as _;
use referee::{Match, TurnRecord};
use rules::Seat;
use sealing::{Digest, EndReason, MatchId};
use wire::v1;

use crate::feed_account::{FeedAccount, Taken};
use crate::ledger;
use crate::model::Entry;
use crate::primary::Made;
use crate::scheduler::lock;

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The number of the invariant, as the design counts them.
    pub invariant: u8,
    /// What happened.
    pub what: String,
}

/// A salt that only its player knows yet.
struct Secret {
    salt: [u8; 32],
    game: usize,
    turn: u32,
}

/// An acknowledged seal.
struct Acknowledged {
    request_id: String,
    receipt: v1::SealReceipt,
}

/// What is known of one match.
#[derive(Default)]
struct Account {
    id: Option<MatchId>,
    seals: BTreeMap<(u32, Seat), Acknowledged>,
    /// Turns as they were told first, encoded.
    told: BTreeMap<u32, Vec<u8>>,
    finish: Option<Vec<u8>>,
    /// Answers that were not refusals, by request.
    done: BTreeSet<String>,
    /// Requests that must never have an effect.
    hopeless: BTreeSet<String>,
    /// Requests that have had one.
    effects: BTreeSet<String>,
    /// The h before each h that was ever stored.
    previous: HashMap<Digest, Digest>,
}

#[derive(Default)]
struct State {
    violation: Option<Violation>,
    secrets: Vec<Secret>,
    accounts: Vec<Account>,
    games: HashMap<MatchId, usize>,
    /// What the feed must tell, and what it has told each reader.
    taken: Taken,
    feeds: Vec<FeedAccount>,
}

/// The judge of one run.
pub(crate) struct Oracle {
    state: Mutex<State>,
    /// Nothing acknowledged may be lost. Else only what is *silently* decided again is wrong.
    lossless: bool,
}

impl Oracle {
    pub(crate) fn new(games: usize, feeds: usize, lossless: bool) -> Self {
        let accounts = (0..games).map(|_| Account::default()).collect();
        let feeds = (0..feeds).map(|_| FeedAccount::default()).collect();
        Self { state: Mutex::new(State { accounts, feeds, ..State::default() }), lossless }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<Violation> {
        self.state().violation.clone()
    }

    /// Whether nothing acknowledged may be lost.
    pub(crate) const fn lossless(&self) -> bool {
        self.lossless
    }

    /// Says that something is wrong.
    pub(crate) fn complain(&self, invariant: u8, what: String) {
        self.state().complain(invariant, what);
    }

    /// Match number `game` of the run has this id.
    pub(crate) fn meet(&self, game: usize, id: MatchId) {
        let mut state = self.state();
        if state.accounts[game].id.is_some_and(|known| known != id) {
            state.complain(5, format!("match {game}: an invite led to two matches"));
        }
        state.accounts[game].id = Some(id);
        state.games.insert(id, game);
    }

    /// A player is about to seal with this salt.
    pub(crate) fn will_seal(&self, game: usize, turn: u32, salt: [u8; 32]) {
        self.state().secrets.push(Secret { salt, game, turn });
    }

    /// These bytes were sent to somebody.
    pub(crate) fn overhears(&self, bytes: &[u8]) {
        let mut state = self.state();
        let told = |secret: &&Secret| bytes.windows(secret.salt.len()).any(|part| part == secret.salt);
        if let Some(secret) = state.secrets.iter().find(told) {
            let what =
                format!("match {}: a salt of turn {} was told while it was open", secret.game, secret.turn);
            state.complain(3, what);
        }
    }

    /// A request was answered with success.
    pub(crate) fn done(&self, game: usize, request_id: &str) {
        self.state().accounts[game].done.insert(request_id.to_owned());
    }

    /// A request was refused: it must not have been answered with success before.
    pub(crate) fn refused(&self, game: usize, request_id: &str, reason: &str) {
        let mut state = self.state();
        if self.lossless && state.accounts[game].done.contains(request_id) {
            state.complain(5, format!("match {game}: {request_id} was done, and is refused now: {reason}"));
        }
    }

    /// A request was refused for what it asks: it must never have an effect.
    pub(crate) fn hopeless(&self, game: usize, request_id: &str) {
        let mut state = self.state();
        if state.accounts[game].effects.contains(request_id) {
            state.complain(9, format!("match {game}: {request_id} was refused and had an effect"));
        }
        state.accounts[game].hopeless.insert(request_id.to_owned());
    }

    /// A seal was acknowledged.
    pub(crate) fn sealed(
        &self,
        game: usize,
        seat: Seat,
        request: &v1::SealMoveRequest,
        receipt: v1::SealReceipt,
    ) {
        self.done(game, &request.request_id);
        let mut state = self.state();
        let account = &mut state.accounts[game];
        let request_id = request.request_id.clone();
        let what = match account.seals.get(&(request.turn, seat)) {
            Some(first) if first.request_id != request_id => "two requests have sealed one turn",
            Some(first) if first.receipt != receipt => "a repeated seal has another receipt",
            Some(_) => return,
            None => {
                account.seals.insert((request.turn, seat), Acknowledged { request_id, receipt });
                return;
            }
        };
        if self.lossless {
            state.complain(5, format!("match {game}, turn {}, {seat}: {what}", request.turn));
        }
    }

    /// A player was told a resolved turn by a stream. `known` is the h of the turn before, if he knows it.
    pub(crate) fn told_turn(&self, game: usize, turn: &v1::ResolvedTurn, known: Option<&[u8]>) {
        let mut state = self.state();
        let account = &mut state.accounts[game];
        let number = turn.turn;
        let hash = Digest::try_from(turn.hash.as_slice()).ok();
        let previous = hash.and_then(|hash| account.previous.get(&hash).copied());
        let Some(previous) = previous else {
            return state.complain(1, format!("match {game}: turn {number} was told and never stored"));
        };
        if known.is_some_and(|known| known != previous.as_bytes()) {
            let what = format!("match {game}: turn {number} does not follow from what its reader knows");
            return state.complain(1, what);
        }
        let bytes = turn.encode_to_vec();
        let first = account.told.entry(number).or_insert_with(|| bytes.clone());
        if self.lossless && *first != bytes {
            state.complain(1, format!("match {game}: turn {number} was told in two ways"));
        }
    }

    /// A player was told the end of a match.
    pub(crate) fn told_finish(&self, game: usize, finish: &v1::MatchFinished) {
        let mut state = self.state();
        let bytes = finish.encode_to_vec();
        let first = state.accounts[game].finish.get_or_insert_with(|| bytes.clone());
        if self.lossless && *first != bytes {
            state.complain(1, format!("match {game}: its end was told in two ways"));
        }
    }

    /// What a player sees of a match between two turns: nothing that he must not.
    pub(crate) fn told_status(
        &self,
        game: usize,
        seat: Option<Seat>,
        hidden: bool,
        status: &v1::MatchStatus,
    ) {
        let others = Seat::BOTH.into_iter().filter(|other| Some(*other) != seat);
        let revealing = status.state() == v1::MatchState::Revealing;
        for other in others {
            let shown = match other {
                Seat::Black => &status.black,
                Seat::White => &status.white,
            };
            let tells =
                shown.as_ref().is_some_and(|shown| shown.sealed.is_some() || shown.commitment.is_some());
            if hidden && tells && !revealing {
                self.complain(3, format!("match {game}: a hidden seal of {other} shows"));
            }
        }
        if seat.is_none() && status.own_seal.is_some() {
            self.complain(3, format!("match {game}: somebody without a seat is shown a seal as his own"));
        }
    }

    /// A reader of the feed was told an event.
    pub(crate) fn told_event(&self, reader: usize, event: &v1::FeedEvent) {
        let mut state = self.state();
        let state = &mut *state;
        let id = event.r#match.strip_prefix("matches/").and_then(|id| id.parse().ok());
        let Some(id) = id else {
            return state.complain(1, "the feed told of a match that has no name".to_owned());
        };
        if let Err((invariant, what)) = state.feeds[reader].told(id, event, &state.taken) {
            // A match whose invite a failover has lost has no number, and comes to its end all the same.
            let game = state.games.get(&id).map_or_else(String::new, ToString::to_string);
            state.complain(invariant, format!("match {game}, reader {reader}: {what}"));
        }
    }

    /// What a reader of the feed has not been told of a finished match.
    pub(crate) fn untold(&self, entry: &Entry) -> Option<String> {
        let lacks = |(reader, feed): (usize, &FeedAccount)| Some((reader, feed.lacks(entry)?));
        let (reader, what) = self.state().feeds.iter().enumerate().find_map(lacks)?;
        Some(format!("reader {reader} was never told {what} by the feed"))
    }

    /// The store has made a change.
    pub(crate) fn made(&self, made: &Made, entry: Option<&Entry>) {
        let mut state = self.state();
        state.taken.note(made);
        let Some(game) = state.games.get(&made.id).copied() else { return };
        for (invariant, what) in ledger::broken(made) {
            state.complain(invariant, format!("match {game}: {what}"));
        }
        let reason = made.after.finish().map(|finish| finish.reason);
        if self.lossless && reason == Some(EndReason::LostHistory) {
            state.complain(2, format!("match {game}: it was voided, and nothing was lost"));
        }
        let live = reason.is_none();
        if live && entry.is_some_and(|entry| entry.due.is_none()) {
            state.complain(7, format!("match {game}: it is live and never due"));
        }
        if let (Some(record), Some(before)) = (&made.turn, &made.before) {
            state.secrets.retain(|secret| secret.game != game || secret.turn != record.turn);
            state.accounts[game].previous.insert(record.hash, before.hash);
        }
        for request_id in ledger::requests(&made.after, made.turn.as_deref()) {
            let account = &mut state.accounts[game];
            account.effects.insert(request_id.clone());
            if account.hopeless.contains(&request_id) {
                state.complain(9, format!("match {game}: {request_id} was refused and has an effect"));
            }
        }
    }

    /// The end of a run: what is stored of a match, and what every node says of it.
    pub(crate) fn audit(&self, game: usize, entry: &Entry, transcripts: &[v1::Transcript]) {
        let mut state = self.state();
        let head = &entry.stored.head;
        if !entry.stored.follow_ups.is_empty() {
            state.complain(11, format!("match {game}: what follows from its end is never done"));
        }
        if let Err(error) = ledger::replay(head, &entry.turns) {
            state.complain(1, format!("match {game}: its history does not hold: {error}"));
        }
        if !transcripts.iter().all(|transcript| state.is_one_history(game, transcript)) {
            state.complain(1, format!("match {game}: a transcript is of two histories"));
        }
        if !self.lossless {
            return;
        }
        if transcripts.windows(2).any(|pair| pair[0] != pair[1]) {
            state.complain(1, format!("match {game}: two nodes tell two histories"));
        }
        if let Some(transcript) = transcripts.first() {
            state.compare(game, transcript, &entry.turns);
        }
        state.check_seals(game, head, &entry.turns);
    }
}

impl State {
    fn complain(&mut self, invariant: u8, what: String) {
        self.violation.get_or_insert(Violation { invariant, what });
    }

    /// Each turn of a transcript was stored, after the one before it.
    fn is_one_history(&self, game: usize, transcript: &v1::Transcript) -> bool {
        let mut last = transcript.first_hash.as_slice();
        transcript.turns.iter().all(|turn| {
            let hash = Digest::try_from(turn.hash.as_slice()).ok();
            let previous = hash.and_then(|hash| self.accounts[game].previous.get(&hash));
            let follows = previous.is_some_and(|previous| previous.as_bytes() == last);
            last = &turn.hash;
            follows
        })
    }

    /// A transcript has what is stored, and what the streams have told.
    fn compare(&mut self, game: usize, transcript: &v1::Transcript, turns: &[Arc<TurnRecord>]) {
        let account = &self.accounts[game];
        let stored = turns.iter().map(|record| record.hash.as_bytes().as_slice());
        let mut wrong = Vec::new();
        if !stored.eq(transcript.turns.iter().map(|turn| turn.hash.as_slice())) {
            wrong.push(format!("match {game}: the transcript has other turns than the store"));
        }
        for turn in &transcript.turns {
            if account.told.get(&turn.turn).is_some_and(|told| *told != turn.encode_to_vec()) {
                wrong.push(format!("match {game}: turn {} was told otherwise by a stream", turn.turn));
            }
        }
        let last = account.told.keys().next_back().copied().unwrap_or_default();
        if last as usize > turns.len() {
            wrong.push(format!("match {game}: turn {last} was told and is gone"));
        }
        let finish = transcript.finish.as_ref().map(prost::Message::encode_to_vec);
        if account.finish.is_some() && account.finish != finish {
            wrong.push(format!("match {game}: its end was told otherwise by a stream"));
        }
        wrong.into_iter().for_each(|what| self.complain(1, what));
    }

    /// Every acknowledged seal is in the history of its turn, or in the turn that the end has cut off.
    fn check_seals(&mut self, game: usize, head: &Match, turns: &[Arc<TurnRecord>]) {
        let mut lost = Vec::new();
        for ((turn, seat), seal) in &self.accounts[game].seals {
            let kept = match turns.get(*turn as usize - 1) {
                Some(record) => Some(record.facts.commitments[*seat]),
                None if *turn == head.resolved + 1 => {
                    let facts = head.finish().and_then(|finish| finish.unresolved[*seat].as_ref());
                    facts.map(|facts| facts.commitment)
                }
                None => None,
            };
            if kept.is_none_or(|kept| kept.as_bytes().as_slice() != seal.receipt.commitment) {
                lost.push(format!("match {game}: the acknowledged seal of {seat} in turn {turn} is lost"));
            }
        }
        lost.into_iter().for_each(|what| self.complain(2, what));
    }
}
