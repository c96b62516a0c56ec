//! The single-node store: in memory, in a directory, and through restarts.

mod conformance;
mod place;
mod reopened;
