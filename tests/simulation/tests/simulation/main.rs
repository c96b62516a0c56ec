//! What the simulation promises, and what the product promises in it.

mod alike;
mod conformance;
mod found;
mod runs;
