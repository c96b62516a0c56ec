//! What players were told of their tickets and matches, judged as it comes as far as it can be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use whattheshell::prost_types::Timestamp;
use whattheshell::v1;

use super::{LEASE, name};

/// Broken promises that are told in words; all are counted.
const SHOWN_MAX: usize = 40;

/// How long a call may still have an effect that nobody waits for any more: longer than any call may take.
const LATE_EFFECT: Duration = Duration::from_secs(10);

/// How a promise breaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Breach {
    /// Two matches come from one ticket, or a player is in two places at a time.
    Double,
    /// A match comes of no ticket, of a cancelled one, or of a dead player's.
    Ghost,
    /// A player is neither matched nor queued, or a match does not end.
    Stuck,
    /// An age is lost, a match is aborted at another time than it should be, or does not count once.
    Misjudged,
}

/// A ticket, as its player was told of it.
#[derive(Clone, Default)]
pub(super) struct TicketTold {
    /// Since when he waits, as he was told first.
    created: Option<Timestamp>,
    /// When it was confirmed that it is cancelled.
    pub(super) cancelled: Option<Instant>,
    /// Matches that it was told to have.
    pub(super) matches: BTreeSet<String>,
    /// Matches after which he was told that he waits again.
    pub(super) aborted: BTreeSet<String>,
}

/// When a player wanted nothing: from a confirmed cancel until he asked again, ms since the epoch.
#[derive(Clone, Debug)]
pub(super) struct Idle {
    pub(super) since: u64,
    pub(super) until: u64,
    /// The ticket that was cancelled; none where there was nothing to cancel.
    #[expect(dead_code, reason = "read in what Debug prints of a broken promise")]
    ticket: Option<String>,
}

/// What one player was told.
#[derive(Clone, Default)]
pub(super) struct Told {
    /// His tickets by name.
    pub(super) tickets: BTreeMap<String, TicketTold>,
    /// Matches that he has joined, each with when that was confirmed, ms since the epoch.
    pub(super) joined: BTreeMap<String, u64>,
    /// When he wanted nothing.
    pub(super) idle: Vec<Idle>,
    idle_since: Option<Idle>,
    /// When he asked to be let out, ms since the epoch: whatever he is matched with then, he does not wait again.
    pub(super) cancels: Vec<u64>,
    /// Until when a request that was not answered may bring him a ticket that he does not know of.
    unsure_until: Option<Instant>,
    /// Whether there ever was such a request.
    pub(super) is_unsure: bool,
    /// When the last lease is over that he can have, ms since the epoch: he is dead.
    pub(super) gone: Option<u64>,
}

#[derive(Default)]
struct State {
    clients: Vec<Told>,
    calls: usize,
    faults: usize,
    cancelled: usize,
    placed: Vec<Duration>,
    breaches: BTreeMap<Breach, usize>,
    shown: Vec<String>,
}

/// Everything that players were told.
#[derive(Default)]
pub(super) struct Ledger(Mutex<State>);

/// The counts of a run.
pub(super) struct Counts {
    pub(super) calls: usize,
    pub(super) faults: usize,
    pub(super) queued: usize,
    pub(super) cancelled: usize,
    pub(super) died: usize,
    pub(super) requeued: usize,
    /// How long players took to be matched or queued after the last fault, the shortest first.
    pub(super) placed: Vec<Duration>,
    pub(super) breaches: BTreeMap<Breach, usize>,
    pub(super) shown: Vec<String>,
}

impl Ledger {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There are so many players.
    pub(super) fn knows(&self, count: usize) {
        self.state().clients.resize_with(count, Told::default);
    }

    /// A promise is broken.
    pub(super) fn complain(&self, how: Breach, what: String) {
        self.state().complain(how, what);
    }

    /// A node is killed.
    pub(super) fn fault(&self) {
        self.state().faults += 1;
    }

    pub(super) fn call(&self) {
        self.state().calls += 1;
    }

    /// A player is about to ask for a ticket.
    pub(super) fn asks(&self, who: usize) {
        let client = &mut self.state().clients[who];
        if let Some(idle) = client.idle_since.take() {
            client.idle.push(Idle { until: now_ms(), ..idle });
        }
    }

    /// A request for a ticket was not answered.
    pub(super) fn unsure(&self, who: usize) {
        let client = &mut self.state().clients[who];
        client.is_unsure = true;
        client.unsure_until = Some(Instant::now() + LATE_EFFECT);
    }

    /// A player was told of a ticket, by a call that was made at `asked`.
    pub(super) fn told(&self, who: usize, asked: Instant, ticket: &v1::Ticket) {
        use v1::TicketState::{Cancelled, Requeued, Waiting};
        let mut state = self.state();
        // One that was closed before it came is nobody's.
        if !ticket.player.is_empty() && ticket.player != name(who) {
            state.complain(Breach::Double, format!("{}: {who} was told of {}", ticket.name, ticket.player));
        }
        let told = state.clients[who].tickets.entry(ticket.name.clone()).or_default();
        let is_waiting = matches!(ticket.state(), Waiting | Requeued);
        let has_changed_age = is_waiting
            && *told.created.get_or_insert_with(|| ticket.create_time.unwrap_or_default())
                != ticket.create_time.unwrap_or_default();
        let after_cancel = told.cancelled.is_some_and(|cancelled| cancelled < asked);
        if !ticket.r#match.is_empty() {
            told.matches.insert(ticket.r#match.clone());
        }
        if ticket.state() == Requeued {
            told.aborted.insert(ticket.aborted_match.clone());
        }
        if has_changed_age {
            state.complain(Breach::Misjudged, format!("{}: its age has changed", ticket.name));
        }
        if after_cancel && ticket.state() != Cancelled {
            let what = format!("{}: it was cancelled, and is {:?}", ticket.name, ticket.state());
            state.complain(Breach::Ghost, what);
        }
    }

    /// A player is about to cancel.
    pub(super) fn cancels(&self, who: usize) {
        self.state().clients[who].cancels.push(now_ms());
    }

    /// It was confirmed that a ticket is cancelled.
    pub(super) fn cancelled(&self, who: usize, ticket: &str) {
        let mut state = self.state();
        let told = state.clients[who].tickets.entry(ticket.to_owned()).or_default();
        if told.cancelled.is_none() {
            told.cancelled = Some(Instant::now());
            state.cancelled += 1;
        }
    }

    /// It was confirmed that a player looks for nobody, and he has asked for nothing since.
    pub(super) fn idles(&self, who: usize, ticket: Option<&v1::Ticket>) {
        let client = &mut self.state().clients[who];
        if client.unsure_until.is_none_or(|until| until < Instant::now()) {
            let ticket = ticket.map(|ticket| ticket.name.clone());
            client.idle_since = Some(Idle { since: now_ms(), until: u64::MAX, ticket });
        }
    }

    /// A player was told that he has joined.
    pub(super) fn joined(&self, who: usize, game: &str) {
        self.state().clients[who].joined.entry(game.to_owned()).or_insert_with(now_ms);
    }

    /// A player does nothing any more.
    pub(super) fn died(&self, who: usize) {
        let client = &mut self.state().clients[who];
        let late = client.unsure_until.map(|until| until.saturating_duration_since(Instant::now()));
        let lease = LEASE + late.unwrap_or_default();
        client.gone = Some(now_ms() + u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
    }

    /// A player is matched or queued again, this long after the last fault.
    pub(super) fn placed(&self, after: Duration) {
        self.state().placed.push(after);
    }

    /// What each player was told.
    pub(super) fn clients(&self) -> Vec<Told> {
        let mut clients = self.state().clients.clone();
        for client in &mut clients {
            client.idle.extend(client.idle_since.take());
        }
        clients
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.state();
        let tickets = || state.clients.iter().flat_map(|client| client.tickets.values());
        let mut placed = state.placed.clone();
        placed.sort_unstable();
        Counts {
            calls: state.calls,
            faults: state.faults,
            queued: tickets().count(),
            cancelled: state.cancelled,
            died: state.clients.iter().filter(|client| client.gone.is_some()).count(),
            requeued: tickets().map(|ticket| ticket.aborted.len()).sum(),
            placed,
            breaches: state.breaches.clone(),
            shown: state.shown.clone(),
        }
    }
}

impl State {
    fn complain(&mut self, how: Breach, what: String) {
        *self.breaches.entry(how).or_default() += 1;
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(format!("{how:?}: {what}"));
        }
    }
}

/// Now by the clock of this machine, which the servers have, too.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
