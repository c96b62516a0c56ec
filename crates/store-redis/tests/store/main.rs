//! The store on real servers, and what it does when they fail.

mod conformance;
mod damage;
mod durable;
mod failover;
mod game;
mod hints;
mod import;
mod nodes;
mod open;
mod place;
mod queue;
mod runtimes;
mod scripts;
mod stall;
mod tickets;
mod turnstile;
