//! Every instrument of a node, in one place.
//!
//! The names are those of `docs/telemetry.md`. Labels are words of this program, numbers of bots' levels, and
//! pools, which whoever runs the node names: never a match, a player or a ticket, so that the number of series
//! has a bound. Nothing here depends on a cell, and nobody but operators sees it: a count may rise with a seal
//! that the opponent must not know of.
//!
//! A node instruments by OpenTelemetry's API. Where the process has set no SDK up, measuring costs some
//! nanoseconds and goes nowhere.

use std::sync::Arc;
use std::time::Duration;

use middleware::CallInstruments;
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};
use opentelemetry::{InstrumentationScope, KeyValue};
use referee::FollowUp;
use sealing::EndReason;

/// The name of what instruments here.
const SCOPE: &str = "whattheshell";

/// What an instrument measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A sum that only grows.
    Counter,
    /// A sum that grows and shrinks.
    UpDownCounter,
    /// A value that is as it was measured last.
    Gauge,
    /// How values are spread.
    Histogram,
}

/// An instrument, as it is documented.
#[derive(Clone, Copy, Debug)]
pub struct Instrument {
    /// By OpenTelemetry's rules.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// In UCUM.
    pub unit: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What is counted or measured.
    pub what: &'static str,
    /// The upper bounds of a histogram's buckets.
    bounds: &'static [f64],
}

/// Bounds for what a node does itself or asks its store for, s: from a step in memory to the longest a call
/// may take.
const WORK_S: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
    60.0,
];

/// Bounds for what players wait for, s: from an answer at once to correspondence chess.
const WAIT_S: &[f64] = &[0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 3_600.0, 86_400.0];

/// The labels' names.
mod label {
    pub(super) const BY: &str = "wts.by";
    pub(super) const FOLLOW_UP: &str = "wts.follow_up";
    pub(super) const LEVEL: &str = "wts.bot.level";
    pub(super) const MODE: &str = "wts.mode";
    pub(super) const OPERATION: &str = "wts.operation";
    pub(super) const OPPONENT: &str = "wts.opponent";
    pub(super) const OUTCOME: &str = "wts.outcome";
    pub(super) const POOL: &str = "wts.pool";
    pub(super) const REASON: &str = "wts.reason";
}

const fn count(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    what: &'static str,
) -> Instrument {
    Instrument { name, kind: Kind::Counter, unit, labels, what, bounds: &[] }
}

const fn spread(
    name: &'static str,
    labels: &'static [&'static str],
    what: &'static str,
    bounds: &'static [f64],
) -> Instrument {
    Instrument { name, kind: Kind::Histogram, unit: "s", labels, what, bounds }
}

const CALL_DURATION: Instrument = spread(
    "rpc.server.call.duration",
    &["rpc.method", "rpc.response.status_code", "rpc.system.name", "wts.principal"],
    "Calls, from their headers to the end of their answer; of a stream, its life",
    WORK_S,
);
const CALLS_REFUSED: Instrument =
    count("wts.calls.refused", "{call}", &[label::REASON], "Calls and streams that ended with an error");
const STREAMS_OPEN: Instrument = Instrument {
    kind: Kind::UpDownCounter,
    ..count("wts.streams.open", "{stream}", &["rpc.method"], "Streams that are open now")
};
const STREAM_GAPS: Instrument = count(
    "wts.stream.gaps",
    "{gap}",
    &[],
    "Changes of a match that no hint told a stream of and a look of its own found",
);
const STORE_DURATION: Instrument = spread(
    "wts.store.duration",
    &[label::OPERATION, label::OUTCOME],
    "Operations of the store, as the node sees them",
    WORK_S,
);
const COMMITS: Instrument =
    count("wts.commits", "{commit}", &[label::OUTCOME], "Changes of matches that were to be stored");
const MATCHES_STARTED: Instrument = count(
    "wts.matches.started",
    "{match}",
    &[label::MODE, label::OPPONENT],
    "Matches whose first turn opened",
);
const MATCHES_FINISHED: Instrument = count(
    "wts.matches.finished",
    "{match}",
    &[label::MODE, label::OPPONENT, label::REASON],
    "Matches that ended",
);
const SEALS: Instrument =
    count("wts.seals.acknowledged", "{seal}", &[label::BY], "Seals that are stored and answered");
const SEAL_TO_RESULT: Instrument = spread(
    "wts.seal.to_result",
    &[],
    "From a seal to the result of its turn, by the store's clock; two a turn",
    WAIT_S,
);
const TIME_TO_MATCH: Instrument =
    spread("wts.matchmaking.wait", &[label::OPPONENT, label::POOL], "From a ticket to its match", WAIT_S);
const DEADLINE_LATENESS: Instrument = spread(
    "wts.deadline.lateness",
    &[label::REASON],
    "How long after a deadline the end that it brought was stored",
    WORK_S,
);
const OVERDUE: Instrument = Instrument {
    kind: Kind::Gauge,
    unit: "s",
    ..count(
        "wts.due.overdue",
        "s",
        &[],
        "For how long the oldest of what is due in the node's shards has been so",
    )
};
const FOLLOW_UPS: Instrument = count(
    "wts.follow_ups",
    "{follow_up}",
    &[label::FOLLOW_UP, label::OUTCOME],
    "Follow-ups that commits left, that were done, and that failed and stay",
);
const BOT_THINKING: Instrument =
    spread("wts.bot.thinking", &[label::LEVEL], "How long a bot took to find its move", WORK_S);

/// All of them.
pub const INSTRUMENTS: &[Instrument] = &[
    CALL_DURATION,
    CALLS_REFUSED,
    STREAMS_OPEN,
    STREAM_GAPS,
    STORE_DURATION,
    COMMITS,
    MATCHES_STARTED,
    MATCHES_FINISHED,
    SEALS,
    SEAL_TO_RESULT,
    TIME_TO_MATCH,
    DEADLINE_LATENESS,
    OVERDUE,
    FOLLOW_UPS,
    BOT_THINKING,
];

impl Instrument {
    fn counter(&self, meter: &Meter) -> Counter<u64> {
        meter.u64_counter(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    fn up_down_counter(&self, meter: &Meter) -> UpDownCounter<i64> {
        meter.i64_up_down_counter(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    fn gauge(&self, meter: &Meter) -> Gauge<f64> {
        meter.f64_gauge(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    fn histogram(&self, meter: &Meter) -> Histogram<f64> {
        meter
            .f64_histogram(self.name)
            .with_unit(self.unit)
            .with_description(self.what)
            .with_boundaries(self.bounds.to_vec())
            .build()
    }
}

/// What a node measures with. Clones are the same instruments.
#[derive(Clone, Debug)]
pub struct Instruments(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    calls: CallInstruments,
    stream_gaps: Counter<u64>,
    store_duration: Histogram<f64>,
    commits: Counter<u64>,
    matches_started: Counter<u64>,
    matches_finished: Counter<u64>,
    seals: Counter<u64>,
    seal_to_result: Histogram<f64>,
    time_to_match: Histogram<f64>,
    deadline_lateness: Histogram<f64>,
    overdue: Gauge<f64>,
    follow_ups: Counter<u64>,
    bot_thinking: Histogram<f64>,
}

/// Those of the process, as they are set up by then.
impl Default for Instruments {
    fn default() -> Self {
        Self::new(&global::meter_with_scope(Self::scope()), global::tracer_with_scope(Self::scope()))
    }
}

impl Instruments {
    /// The scope that meter and tracer are made for.
    #[must_use]
    pub fn scope() -> InstrumentationScope {
        InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
    }

    /// Instruments of this meter; spans are made by the tracer.
    #[must_use]
    pub fn new(meter: &Meter, tracer: BoxedTracer) -> Self {
        Self(Arc::new(Inner {
            calls: CallInstruments {
                duration: CALL_DURATION.histogram(meter),
                refused: CALLS_REFUSED.counter(meter),
                open_streams: STREAMS_OPEN.up_down_counter(meter),
                tracer: Arc::new(tracer),
            },
            stream_gaps: STREAM_GAPS.counter(meter),
            store_duration: STORE_DURATION.histogram(meter),
            commits: COMMITS.counter(meter),
            matches_started: MATCHES_STARTED.counter(meter),
            matches_finished: MATCHES_FINISHED.counter(meter),
            seals: SEALS.counter(meter),
            seal_to_result: SEAL_TO_RESULT.histogram(meter),
            time_to_match: TIME_TO_MATCH.histogram(meter),
            deadline_lateness: DEADLINE_LATENESS.histogram(meter),
            overdue: OVERDUE.gauge(meter),
            follow_ups: FOLLOW_UPS.counter(meter),
            bot_thinking: BOT_THINKING.histogram(meter),
        }))
    }

    /// What the layers measure calls with.
    pub(crate) fn calls(&self) -> CallInstruments {
        self.0.calls.clone()
    }

    pub(crate) fn tracer(&self) -> &BoxedTracer {
        &self.0.calls.tracer
    }

    pub(crate) fn gap_repaired(&self) {
        self.0.stream_gaps.add(1, &[]);
    }

    pub(crate) fn store_call(&self, operation: &'static str, outcome: &'static str, took: Duration) {
        let labels = [KeyValue::new(label::OPERATION, operation), KeyValue::new(label::OUTCOME, outcome)];
        self.0.store_duration.record(took.as_secs_f64(), &labels);
    }

    pub(crate) fn commit(&self, outcome: &'static str) {
        self.0.commits.add(1, &[KeyValue::new(label::OUTCOME, outcome)]);
    }

    pub(crate) fn match_started(&self, game: MatchKind) {
        let labels = [KeyValue::new(label::MODE, game.mode), KeyValue::new(label::OPPONENT, game.opponent)];
        self.0.matches_started.add(1, &labels);
    }

    pub(crate) fn match_finished(&self, game: MatchKind, reason: EndReason) {
        let labels = [
            KeyValue::new(label::MODE, game.mode),
            KeyValue::new(label::OPPONENT, game.opponent),
            KeyValue::new(label::REASON, end_reason(reason)),
        ];
        self.0.matches_finished.add(1, &labels);
    }

    pub(crate) fn deadline_passed(&self, reason: EndReason, late_ms: u64) {
        let labels = [KeyValue::new(label::REASON, end_reason(reason))];
        self.0.deadline_lateness.record(seconds(late_ms), &labels);
    }

    /// `by` is `player` or `bot`.
    pub(crate) fn seal_acknowledged(&self, by: &'static str) {
        self.0.seals.add(1, &[KeyValue::new(label::BY, by)]);
    }

    pub(crate) fn seal_resolved(&self, after_ms: u64) {
        self.0.seal_to_result.record(seconds(after_ms), &[]);
    }

    pub(crate) fn ticket_matched(&self, pool: &str, opponent: &'static str, after_ms: u64) {
        let labels = [KeyValue::new(label::OPPONENT, opponent), KeyValue::new(label::POOL, pool.to_owned())];
        self.0.time_to_match.record(seconds(after_ms), &labels);
    }

    pub(crate) fn overdue(&self, overdue_ms: u64) {
        self.0.overdue.record(seconds(overdue_ms), &[]);
    }

    /// `outcome` is `left`, `done` or `failed`.
    pub(crate) fn follow_ups(&self, follow_ups: &[FollowUp], outcome: &'static str) {
        for follow_up in follow_ups {
            let kind = match follow_up {
                FollowUp::Index(_) => "index",
                FollowUp::Record(_) => "record",
                FollowUp::Release(_) => "release",
                FollowUp::Requeue(_) => "requeue",
            };
            let labels = [KeyValue::new(label::FOLLOW_UP, kind), KeyValue::new(label::OUTCOME, outcome)];
            self.0.follow_ups.add(1, &labels);
        }
    }

    pub(crate) fn bot_thought(&self, level: u8, took: Duration) {
        self.0.bot_thinking.record(took.as_secs_f64(), &[KeyValue::new(label::LEVEL, i64::from(level))]);
    }
}

/// What is told apart of matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchKind {
    /// `casual` or `ranked`.
    pub(crate) mode: &'static str,
    /// `person` or `bot`.
    pub(crate) opponent: &'static str,
}

#[allow(clippy::cast_precision_loss, reason = "no time is measured to 52 bits")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

const fn end_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Row => "row",
        EndReason::SuddenDeath => "sudden_death",
        EndReason::FullBoard => "full_board",
        EndReason::TurnLimit => "turn_limit",
        EndReason::Resignation => "resignation",
        EndReason::AgreedDraw => "agreed_draw",
        EndReason::Flag => "flag",
        EndReason::BothFlagged => "both_flagged",
        EndReason::FailedReveal => "failed_reveal",
        EndReason::NoShow => "no_show",
        EndReason::Operator => "operator",
        EndReason::Idle => "idle",
        EndReason::LostHistory => "lost_history",
    }
}
