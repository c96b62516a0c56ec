//! The commands of the `wts` binary, run as processes.

mod accounts;
mod admin;
mod api_keys;
mod audit_log;
mod bots;
mod configuration;
mod demo;
mod descriptors;
mod encrypted;
mod feed;
mod keys;
mod lobby;
mod migrate;
mod nodes;
mod play;
mod pseudo_terminal;
mod queue;
mod server;
mod shared_store;
mod store;
mod telemetry;
mod terminated;
mod vectors;
mod verify;
mod watching;
