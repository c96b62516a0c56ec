//! The commands of the `wts` binary, run as processes.

mod vectors;
