//! A sealed move that can be found wherever it leaks.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use wire::v1;

/// D8: a number that nothing else in these tests has.
pub(crate) const CELL: u32 = 67;
const CELL_NAME: &str = "D8";

/// 32 bytes that nothing else in these tests has, none of them ASCII, so that every way to print them is
/// known.
pub(crate) const SALT: [u8; 32] = [
    0xd3, 0x91, 0xe7, 0xab, 0xf2, 0x8c, 0xc5, 0x99, 0xde, 0xb6, 0x87, 0xfa, 0x9d, 0xc1, 0xe4, 0xa8, 0xd0,
    0x95, 0xbb, 0xf6, 0x83, 0xce, 0xaa, 0xe1, 0x97, 0xdc, 0xb2, 0xf9, 0x8e, 0xc7, 0xa3, 0xed,
];

/// How many bytes of the salt count as a find: a leak may be cut off.
const WINDOW: usize = 8;

/// The marked move.
pub(crate) fn open() -> v1::OpenMove {
    v1::OpenMove { cell: CELL, salt: SALT.to_vec() }
}

/// The salt, in any form, in these bytes.
pub(crate) fn salt_in(bytes: &[u8]) -> Option<&'static str> {
    let bytes = searchable(bytes);
    forms().into_iter().find(|(_, form)| bytes.contains(&searchable(form))).map(|(name, _)| name)
}

/// The marked move, in any form: its salt, or a message that carries its cell beside a salt.
pub(crate) fn move_in(bytes: &[u8]) -> Option<&'static str> {
    let text = searchable(bytes);
    forms_of_the_move().into_iter().find(|(_, form)| text.contains(&searchable(form))).map(|(name, _)| name)
}

/// Every form in which [`move_in`] finds the move.
pub(crate) fn forms_of_the_move() -> Vec<(&'static str, Vec<u8>)> {
    // The field of the cell and the header of the salt, without the salt; in the API and in records the
    // numbers of the fields are 1 and 2.
    let message = |cell: u32| {
        let encoded = v1::OpenMove { cell, salt: SALT.to_vec() }.encode_to_vec();
        encoded[..encoded.len() - SALT.len()].to_vec()
    };
    let mut forms = forms();
    forms.push(("a message", message(CELL)));
    forms.push(("a message with the index", message(CELL - 1)));
    forms.push(("cell and salt, as they are boxed", [&[CELL as u8][..], &SALT[..4]].concat()));
    forms
}

/// Where the marked cell is written out in a text, in one of the ways that a log would.
pub(crate) fn cell_in(text: &[u8]) -> Option<String> {
    let text = searchable(text);
    spelled_cells().into_iter().find(|spelled| text.contains(spelled))
}

/// Salt or cell in a log, which is text and may be long.
pub(crate) fn in_log(text: &str) -> Option<String> {
    let salts = forms().into_iter().filter_map(|(_, form)| String::from_utf8(form).ok());
    salts.chain(spelled_cells()).find(|spelled| text.contains(spelled))
}

fn spelled_cells() -> Vec<String> {
    let mut spelled = vec![CELL_NAME.to_owned()];
    for number in [CELL, CELL - 1] {
        spelled
            .extend(["cell: ", "cell=", "cell\":", "cell\": ", "Cell("].map(|key| format!("{key}{number}")));
    }
    spelled
}

/// One character a byte: texts are searched by the optimised standard library, and a log is megabytes.
fn searchable(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn forms() -> Vec<(&'static str, Vec<u8>)> {
    let part = &SALT[..WINDOW];
    let joined = |separator: &str, form: fn(&u8) -> String| {
        part.iter().map(form).collect::<Vec<_>>().join(separator).into_bytes()
    };
    let mut forms = vec![
        ("raw", part.to_vec()),
        ("raw, backwards", part.iter().rev().copied().collect()),
        ("hexadecimal", joined("", |byte| format!("{byte:02x}"))),
        ("upper-case hexadecimal", joined("", |byte| format!("{byte:02X}"))),
        ("an array", joined(", ", |byte| byte.to_string())),
        ("an array over lines", joined(",\n", |byte| format!("    {byte}"))),
        ("JSON", joined(",", |byte| byte.to_string())),
        ("escaped", joined("", |byte| format!("\\x{byte:02x}"))),
        ("octal", joined("", |byte| format!("\\{byte:o}"))),
        ("lossy UTF-8", String::from_utf8_lossy(&SALT).into_owned().into_bytes()),
    ];
    // Inside something longer, base64 can begin at any of three places; what the neighbours touch is cut.
    for (name, skip) in [("base64", 0), ("base64 at 1", 1), ("base64 at 2", 2)] {
        let text = STANDARD_NO_PAD.encode(&SALT[skip..skip + 12]);
        forms.push((name, text.replace('+', "-").replace('/', "_").into_bytes()));
        forms.push((name, text.into_bytes()));
    }
    forms
}

static API: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(wire::FILE_DESCRIPTOR_SET).expect("the descriptors of the API hold together")
});

/// Every value of a message, nested ones included.
pub(crate) struct Values {
    pub(crate) numbers: Vec<u64>,
    pub(crate) texts: Vec<String>,
}

impl Values {
    /// The values of an encoded message of this type.
    pub(crate) fn of(message_type: &str, encoded: &[u8]) -> Self {
        let descriptor = API.get_message_by_name(message_type).expect("a message of the API");
        let message = DynamicMessage::decode(descriptor, encoded).expect("the server sends what it says");
        assert_eq!(message.unknown_fields().count(), 0, "{message_type} has fields that nobody knows");
        let mut values = Self { numbers: Vec::new(), texts: Vec::new() };
        values.add(&Value::Message(message));
        values
    }

    /// Whether the marked cell is one of them.
    pub(crate) fn have_cell(&self) -> bool {
        let cell = u64::from(CELL);
        self.numbers.iter().any(|number| [cell, cell - 1].contains(number))
            || self.texts.iter().any(|text| text == CELL_NAME || *text == CELL.to_string())
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Bool(_) | Value::F32(_) | Value::F64(_) => {}
            Value::I32(number) | Value::EnumNumber(number) => self.numbers.extend(u64::try_from(*number)),
            Value::I64(number) => self.numbers.extend(u64::try_from(*number)),
            Value::U32(number) => self.numbers.push(u64::from(*number)),
            Value::U64(number) => self.numbers.push(*number),
            Value::String(text) => self.texts.push(text.clone()),
            // A field as short as a cell would be.
            Value::Bytes(bytes) if bytes.len() <= 8 => {
                self.numbers.push(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
            }
            Value::Bytes(_) => {}
            Value::List(items) => items.iter().for_each(|item| self.add(item)),
            Value::Map(entries) => entries.values().for_each(|entry| self.add(entry)),
            Value::Message(message) => message.fields().for_each(|(_, value)| self.add(value)),
        }
    }
}

/// The type of the messages that an RPC answers with; none if the RPC is not of this API's package.
pub(crate) fn response_type(service: &str, method: &str) -> Option<String> {
    service.starts_with("whattheshell.v1.").then(|| format!("whattheshell.v1.{method}Response"))
}
