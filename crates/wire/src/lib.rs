//! What the Shell: the generated API and the error table.
//!
//! - [`v1`] and [`admin::v1`] are generated from `proto/` by `cargo xtask generate` and committed.
//!   The server side is always there, the client side behind the feature `client`.
//! - [`ApiError`] is every error of the API, and the only table of reasons, codes and delays.
//! - [`Collection`] reads and writes resource names.
//!
//! This crate knows no domain type: `service` converts, and nobody else. A message that holds a sealed
//! cell, a salt, a token or a secret has a `Debug` that does not show it.

mod codec;
mod error;
mod names;
mod redacted;

pub use codec::SmallBuffers;
pub use error::{ApiError, ERROR_DOMAIN, ErrorRow, FieldViolation, METADATA_RETRY_PUSHBACK, error_rows};
pub use names::{Collection, NameError, is_id};

/// Package `whattheshell.v1`: what players, back ends and spectators call.
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
#[allow(rustdoc::bare_urls, rustdoc::invalid_html_tags, reason = "generated")]
pub mod v1 {
    include!("generated/whattheshell.v1.rs");
}

/// What only operators call.
pub mod admin {
    /// Package `whattheshell.admin.v1`.
    #[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
    #[allow(rustdoc::bare_urls, rustdoc::invalid_html_tags, reason = "generated")]
    pub mod v1 {
        include!("generated/whattheshell.admin.v1.rs");
    }

    /// The encoded `FileDescriptorSet` of `whattheshell.admin.v1` and all it imports, for the
    /// reflection of the operators' listener.
    pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/whattheshell.admin.bin");
}

/// The encoded `FileDescriptorSet` of `whattheshell.v1` and all it imports, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/whattheshell.bin");

/// The gRPC service config (JSON) that every client is to use: time-outs and retries for all calls of
/// `whattheshell.v1`; none for streams, which are resumed from their last turn.
pub const SERVICE_CONFIG: &str = include_str!("../../../proto/whattheshell/v1/service_config.json");
