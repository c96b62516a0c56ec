//! Requests with one field as no honest client sends it.

use std::sync::LazyLock;

use prost::Message as _;
use prost::bytes::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value};

/// A text that fills most of a request, bytes.
const LONG: usize = 60_000;

static API: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(wire::FILE_DESCRIPTOR_SET).expect("descriptors"));

/// A request with one field that is not as it should be.
pub(crate) struct Hostile {
    /// The field, and what is in it, for whoever reads that a test has failed.
    pub(crate) what: String,
    pub(crate) request: Vec<u8>,
}

/// Every request that differs from this one in one field, at any depth, by a value to be wary of. The
/// request itself is among them.
pub(crate) fn variants(message_type: &str, request: &[u8]) -> Vec<Hostile> {
    let descriptor = API.get_message_by_name(message_type).expect("a type of the API");
    let base = DynamicMessage::decode(descriptor, request).expect("it is what it says");
    let unchanged = Hostile { what: "the request itself".to_owned(), request: request.to_vec() };
    let changed = changed(&base).into_iter();
    let hostile = changed.map(|(what, message)| Hostile { what, request: message.encode_to_vec() });
    std::iter::once(unchanged).chain(hostile).collect()
}

fn changed(base: &DynamicMessage) -> Vec<(String, DynamicMessage)> {
    let mut all = Vec::new();
    for field in prost_reflect::ReflectMessage::descriptor(base).fields() {
        let mut without = base.clone();
        without.clear_field(&field);
        all.push((format!("{} unset", field.name()), without));
        for (what, value) in values(base, &field) {
            let mut with = base.clone();
            with.set_field(&field, value);
            all.push((format!("{}: {what}", field.name()), with));
        }
    }
    all
}

fn values(base: &DynamicMessage, field: &FieldDescriptor) -> Vec<(String, Value)> {
    let single = single_values(base, field);
    if !field.is_list() {
        return single;
    }
    let items: Vec<Value> = single.iter().take(100).map(|(_, value)| value.clone()).collect();
    let repeated = single.first().map(|(_, value)| vec![value.clone(); 500]).unwrap_or_default();
    let each = single.into_iter().map(|(what, value)| (format!("[{what}]"), Value::List(vec![value])));
    let many = [("many".to_owned(), Value::List(items)), ("repeated".to_owned(), Value::List(repeated))];
    each.chain(many).collect()
}

fn single_values(base: &DynamicMessage, field: &FieldDescriptor) -> Vec<(String, Value)> {
    let named = |value: Value| (described(&value), value);
    match field.kind() {
        Kind::String => texts().into_iter().map(|text| named(Value::String(text))).collect(),
        Kind::Bytes => byte_strings().into_iter().map(|bytes| named(Value::Bytes(bytes))).collect(),
        Kind::Uint32 => [0, 1, 2, 3, 81, 82, 256, 257, u32::MAX - 1, u32::MAX]
            .map(|number| named(Value::U32(number)))
            .to_vec(),
        Kind::Double => {
            [-1.0, f64::NAN, f64::INFINITY, f64::MAX].map(|number| named(Value::F64(number))).to_vec()
        }
        Kind::Bool => [false, true].map(|is| named(Value::Bool(is))).to_vec(),
        Kind::Enum(_) => {
            [-1, 0, 1, 2, 3, 99, i32::MIN, i32::MAX].map(|number| named(Value::EnumNumber(number))).to_vec()
        }
        Kind::Message(part) if part.package_name() == "google.protobuf" => {
            spans(&part).into_iter().map(|span| named(Value::Message(span))).collect()
        }
        Kind::Message(part) => {
            let given = base.has_field(field).then(|| base.get_field(field).into_owned());
            let part = match given {
                Some(Value::Message(given)) => given,
                _ => DynamicMessage::new(part),
            };
            let nested = changed(&part).into_iter().map(|(what, message)| (what, Value::Message(message)));
            std::iter::once(("as it is".to_owned(), Value::Message(part.clone()))).chain(nested).collect()
        }
        other => panic!("say here what a hostile {other:?} is"),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() > 80 => format!("{} bytes of text", text.len()),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        short => format!("{short:?}"),
    }
}

fn texts() -> Vec<String> {
    let id = "0198c5a0-0000-7000-8000-00000000002a";
    let fixed = [
        "",
        " ",
        "\0",
        "\u{202e}",
        "é",
        "🐢",
        "../../etc/passwd",
        "' OR 1=1 --",
        "%00%0a%0d",
        "a\r\nb: c",
        "{}",
        "-1",
        "18446744073709551616",
        "a.b.c",
        "0.0.0",
        "1.2.3.4",
        "matches",
        "matches/",
        "matches//",
        "matches/.",
        "matches/..",
        "matches/a/b",
        "MATCHES/a",
        "players/",
        "players/a",
        "players/ada",
        "players/bo",
        "players/bot-6",
        "players/é",
        "players/a\n",
        "invites/",
        "rook",
    ];
    let collections = ["matches", "invites", "players", "tickets"];
    let named = collections.iter().map(|collection| format!("{collection}/{id}"));
    let wrong =
        [id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}"), format!("{id}0"), "f".repeat(36)];
    let wrong = wrong.into_iter().map(|id| format!("matches/{id}"));
    let long = ["x".repeat(64), "x".repeat(65), "é".repeat(64), "x".repeat(LONG), "🐢".repeat(LONG / 4)];
    let long_names = [64, 65, LONG].map(|length| format!("matches/{}", "x".repeat(length)));
    let fixed = fixed.map(str::to_owned);
    fixed.into_iter().chain(named).chain(wrong).chain(long).chain(long_names).collect()
}

fn byte_strings() -> Vec<Bytes> {
    let of = |length: usize, byte: u8| Bytes::from(vec![byte; length]);
    vec![
        of(0, 0),
        of(1, 0),
        of(31, 1),
        of(32, 0),
        of(32, 0xff),
        of(33, 1),
        of(64, 0xff),
        of(65, 1),
        of(LONG, 0xff),
    ]
}

/// Durations and timestamps, which have the same two fields.
fn spans(descriptor: &MessageDescriptor) -> Vec<DynamicMessage> {
    let parts = [
        (0, 0),
        (-1, 0),
        (0, -1),
        (-1, -1),
        (1, -1),
        (0, 1),
        (0, 999_999),
        (0, 1_000_000),
        (1, 999_999_999),
        (1, 1_000_000_000),
        (1, i32::MAX),
        (1, i32::MIN),
        (1, 0),
        (14 * 24 * 60 * 60, 0),
        (14 * 24 * 60 * 60 + 1, 0),
        (315_576_000_000, 0),
        (315_576_000_001, 0),
        (i64::MAX / 1_000, 0),
        (i64::MAX, 999_000_000),
        (i64::MIN, 0),
    ];
    let span = |(seconds, nanos): (i64, i32)| {
        let mut span = DynamicMessage::new(descriptor.clone());
        span.set_field_by_name("seconds", Value::I64(seconds));
        span.set_field_by_name("nanos", Value::I32(nanos));
        span
    };
    parts.map(span).to_vec()
}
