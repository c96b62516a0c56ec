//! What pairing and ratings promise, one file a group of promises.

mod model;
mod pairs;
mod policies;
mod properties;
mod ratings;
mod script;
mod speed_classes;
mod tickets;
mod waiting;
