//! A row and the fields it has.

use serde_json::{Map, Value};

use crate::Mismatch;

/// One vector.
#[derive(Debug)]
pub(crate) struct Row(Map<String, Value>);

impl Row {
    pub(crate) fn parse(line: &str) -> Result<Self, Mismatch> {
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(Mismatch::unreadable("not a JSON object")),
            Err(error) => Err(Mismatch::unreadable(format_args!("not JSON: {error}"))),
        }
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// What `kind` says, if it does.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.0.get("kind")?.as_str()
    }

    pub(crate) fn get(&self, field: &str) -> Result<&Value, Mismatch> {
        self.0.get(field).ok_or_else(|| Mismatch::unreadable(format_args!("{field} is missing")))
    }

    pub(crate) fn text(&self, field: &str) -> Result<&str, Mismatch> {
        let value = self.get(field)?;
        value.as_str().ok_or_else(|| Mismatch::unreadable(format_args!("{field} is not a string: {value}")))
    }

    /// Compares what the row says of a field with what is so, to the last detail.
    pub(crate) fn expect(&self, field: &str, actual: &Value) -> Result<(), Mismatch> {
        let expected = self.get(field)?;
        if expected == actual { Ok(()) } else { Err(Mismatch::differs(field, expected, actual)) }
    }
}
