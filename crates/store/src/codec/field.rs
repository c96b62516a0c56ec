//! Fields of records: values of fixed length, seats, and what may be absent.

use referee::RequestId;
use rules::Seat;

use super::{CodecError, record};

/// A refusal of a field, `Message.field`.
pub(super) const fn damaged(field: &'static str) -> CodecError {
    CodecError::Field { field }
}

/// A message that is always there.
pub(super) fn required<T>(value: Option<T>, field: &'static str) -> Result<T, CodecError> {
    value.ok_or(damaged(field))
}

/// Bytes of a fixed length.
pub(super) fn fixed<const N: usize>(bytes: &[u8], field: &'static str) -> Result<[u8; N], CodecError> {
    bytes.try_into().map_err(|_| damaged(field))
}

/// Bytes of a fixed length; empty where there are none.
pub(super) fn optional<const N: usize, T>(
    bytes: &[u8],
    field: &'static str,
    value: impl FnOnce([u8; N]) -> T,
) -> Result<Option<T>, CodecError> {
    if bytes.is_empty() { Ok(None) } else { fixed(bytes, field).map(value).map(Some) }
}

/// The bytes of a value, none where it is absent.
pub(super) fn bytes(value: Option<&impl AsRef<[u8]>>) -> Vec<u8> {
    value.map(|value| value.as_ref().to_vec()).unwrap_or_default()
}

pub(super) fn request_id(text: &str, field: &'static str) -> Result<RequestId, CodecError> {
    RequestId::new(text).map_err(|_| damaged(field))
}

/// A request's id; empty where there is none.
pub(super) fn optional_request_id(text: &str, field: &'static str) -> Result<Option<RequestId>, CodecError> {
    if text.is_empty() { Ok(None) } else { request_id(text, field).map(Some) }
}

/// The text of a request's id, empty where there is none.
pub(super) fn request_text(id: Option<&RequestId>) -> String {
    id.map(|id| id.as_str().to_owned()).unwrap_or_default()
}

pub(super) const fn seat_number(seat: Option<Seat>) -> i32 {
    let seat = match seat {
        None => record::Seat::Unspecified,
        Some(Seat::Black) => record::Seat::Black,
        Some(Seat::White) => record::Seat::White,
    };
    seat as i32
}

/// A seat, or none where it is unspecified.
pub(super) fn optional_seat(number: i32, field: &'static str) -> Result<Option<Seat>, CodecError> {
    match record::Seat::try_from(number).map_err(|_| damaged(field))? {
        record::Seat::Unspecified => Ok(None),
        record::Seat::Black => Ok(Some(Seat::Black)),
        record::Seat::White => Ok(Some(Seat::White)),
    }
}

pub(super) fn seat(number: i32, field: &'static str) -> Result<Seat, CodecError> {
    required(optional_seat(number, field)?, field)
}
