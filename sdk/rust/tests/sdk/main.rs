//! The client against a server that says what it is told to: also what a right one never says.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

mod bots;
mod draws;
mod fake;
mod history;
mod lists;
mod lobby;
mod reveals;
mod seals;
mod tickets;
mod transcripts;
mod watching;
