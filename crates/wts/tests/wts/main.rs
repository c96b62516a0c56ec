//! The commands of the `wts` binary, run as processes.

mod demo;
mod play;
mod vectors;
mod verify;
