//! The commands of the `wts` binary, run as processes.

mod configuration;
mod demo;
mod descriptors;
mod keys;
mod lobby;
mod play;
mod pseudo_terminal;
mod server;
mod store;
mod terminated;
mod vectors;
mod verify;
mod watching;
