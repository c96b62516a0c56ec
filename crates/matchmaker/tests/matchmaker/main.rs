//! What pairing promises, one file a group of promises.

mod model;
mod pairs;
mod policies;
mod properties;
mod script;
mod tickets;
mod waiting;
