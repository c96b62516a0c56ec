//! The store on real servers, and what it does when they fail.

mod conformance;
mod damage;
mod durable;
mod failover;
mod game;
mod hints;
mod nodes;
mod open;
mod place;
mod runtimes;
mod scripts;
mod stall;
mod turnstile;
