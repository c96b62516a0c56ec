//! The header by which a caller says which span a call belongs to (W3C Trace Context).

use http::{HeaderMap, HeaderName};
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

const HEADER: HeaderName = HeaderName::from_static("traceparent");

/// `00-`, a trace of 32 digits, `-`, a span of 16, `-`, flags of 2.
const BYTES: usize = 55;

/// The version that is understood. A newer one begins alike and may go on.
const VERSION: &str = "00";

/// No version.
const VERSION_NONE: &str = "ff";

/// The span that these headers name, if they name one and only one. What else a caller says of it, in
/// `tracestate`, is not taken.
pub(crate) fn remote_span(headers: &HeaderMap) -> Option<SpanContext> {
    let mut values = headers.get_all(HEADER).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let text = value.to_str().ok()?;
    let (own, rest) = text.split_at_checked(BYTES)?;
    let mut parts = own.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &&str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let lengths = [version, trace, span, flags].map(str::len);
    if lengths != [2, 32, 16, 2] || ![version, trace, span, flags].iter().all(is_hex) {
        return None;
    }
    let goes_on = version != VERSION && version != VERSION_NONE && rest.starts_with('-');
    if !(rest.is_empty() && version != VERSION_NONE || goes_on) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let remote = SpanContext::new(trace, span, flags, true, TraceState::default());
    remote.is_valid().then_some(remote)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(values: &[&str]) -> Option<SpanContext> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_str(value).unwrap());
        }
        remote_span(&headers)
    }

    #[test]
    fn a_span_is_named_by_trace_span_and_flags() {
        let span = read(&[GOOD]).unwrap();
        assert_eq!(span.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.span_id().to_string(), "b7ad6b7169203331");
        assert!(span.is_sampled() && span.is_remote());
        let unsampled = read(&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"]).unwrap();
        assert!(!unsampled.is_sampled());
        let newer = read(&["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-more"]).unwrap();
        assert!(newer.is_sampled());
    }

    #[test]
    fn what_names_no_span_is_as_if_it_were_not_there() {
        for values in [
            &[][..],
            &[""],
            &[GOOD, GOOD],
            &["00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"],
            &["00-00000000000000000000000000000000-b7ad6b7169203331-01"],
            &["00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"],
            &["ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
            &["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"],
            &["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more"],
            &["00-0af7651916cd43dd8448eb211c80319cb-7ad6b7169203331-01"],
            &["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-+1"],
        ] {
            assert_eq!(read(values), None, "{values:?}");
        }
    }
}
