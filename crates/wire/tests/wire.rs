//! What the public API promises, whatever the service behind it does.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "wire/api.rs"]
mod api;
#[path = "wire/error_docs.rs"]
mod error_docs;
#[path = "wire/errors.rs"]
mod errors;
#[path = "wire/names.rs"]
mod names;
#[path = "wire/secrets.rs"]
mod secrets;
