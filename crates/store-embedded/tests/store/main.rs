//! The single-node store: in memory, in a directory, and through restarts.

mod conformance;
mod copies;
mod damage;
mod feed;
mod game;
mod lost_key;
mod older;
mod place;
mod players;
mod queue;
mod reopened;
mod restart;
mod tickets;
