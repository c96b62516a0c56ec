//! The store on real servers.

mod conformance;
mod place;
