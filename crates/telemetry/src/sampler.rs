//! Which calls are traced.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::trace::{Link, SpanKind, TraceContextExt as _, TraceId, TraceState};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, ShouldSample};

/// Calls a second that are traced because their callers say so, of each node. Everyone can say so, and a traced
/// call costs about as much again as the rest of its telemetry.
pub const ASKED_PER_SECOND_MAX: u32 = 100;

/// Spans follow the span above them in this process. What a caller asks to be traced is, up to a bound; beyond
/// that, and where nobody has decided, the trace's id does, so that all nodes decide alike.
#[derive(Clone, Debug)]
pub(crate) struct HeadSampler {
    by_id: Sampler,
    asked: Arc<Mutex<Asked>>,
}

/// What was granted in this second.
#[derive(Debug)]
struct Asked {
    since: Instant,
    granted: u32,
}

impl HeadSampler {
    pub(crate) fn new(ratio: f64) -> Self {
        let asked = Arc::new(Mutex::new(Asked { since: Instant::now(), granted: 0 }));
        Self { by_id: Sampler::TraceIdRatioBased(ratio), asked }
    }

    /// Whether one more that is asked for may be traced now.
    fn grants(&self, now: Instant) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(asked.since) >= Duration::from_secs(1) {
            *asked = Asked { since: now, granted: 0 };
        }
        asked.granted += u32::from(asked.granted <= ASKED_PER_SECOND_MAX);
        asked.granted <= ASKED_PER_SECOND_MAX
    }
}

impl ShouldSample for HeadSampler {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace_id: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let decided = |samples| SamplingResult {
            decision: if samples { SamplingDecision::RecordAndSample } else { SamplingDecision::Drop },
            attributes: Vec::new(),
            trace_state: TraceState::default(),
        };
        let above = parent.map(|parent| parent.span().span_context().clone());
        match above.filter(|above| above.is_valid()) {
            Some(above) if !above.is_remote() || !above.is_sampled() => decided(above.is_sampled()),
            Some(_) if self.grants(Instant::now()) => decided(true),
            // Its parent says yes, and would be asked again.
            Some(_) | None => self.by_id.should_sample(None, trace_id, name, kind, attributes, links),
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags};

    use super::*;

    fn under(flags: TraceFlags, is_remote: bool) -> Context {
        let (trace, span) = (TraceId::from(u128::MAX), SpanId::from(1_u64));
        let above = SpanContext::new(trace, span, flags, is_remote, TraceState::default());
        Context::new().with_remote_span_context(above)
    }

    fn samples(sampler: &HeadSampler, parent: &Context) -> bool {
        let kind = SpanKind::Server;
        let result = sampler.should_sample(Some(parent), TraceId::from(u128::MAX), "call", &kind, &[], &[]);
        result.decision == SamplingDecision::RecordAndSample
    }

    #[test]
    fn a_span_follows_the_one_above_it_in_this_process() {
        let never = HeadSampler::new(0.0);
        assert!(samples(&never, &under(TraceFlags::SAMPLED, false)));
        let always = HeadSampler::new(1.0);
        assert!(!samples(&always, &under(TraceFlags::NOT_SAMPLED, false)));
        assert!(!samples(&always, &under(TraceFlags::NOT_SAMPLED, true)));
    }

    #[test]
    fn callers_are_given_what_they_ask_for_up_to_a_bound() {
        let sampler = HeadSampler::new(0.0);
        let asked = under(TraceFlags::SAMPLED, true);
        let given = (0..2 * ASKED_PER_SECOND_MAX).filter(|_| samples(&sampler, &asked)).count();
        // The test may see a second begin.
        assert!((100..=200).contains(&given), "{given}");
        let start = Instant::now() + Duration::from_secs(2);
        assert_eq!((0..1_000).filter(|_| sampler.grants(start)).count(), ASKED_PER_SECOND_MAX as usize);
        assert!(sampler.grants(start + Duration::from_secs(1)));
    }

    #[test]
    fn where_nobody_asks_the_ratio_decides() {
        assert!(!samples(&HeadSampler::new(0.0), &Context::new()));
        assert!(samples(&HeadSampler::new(1.0), &Context::new()));
    }
}
