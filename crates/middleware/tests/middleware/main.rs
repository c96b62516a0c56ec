//! What the layers promise, checked through their public surface.

mod auth;
mod calls;
mod deadline;
mod limits;
mod policy;
mod reason;
mod tokens;
mod trace;
mod trusted;
