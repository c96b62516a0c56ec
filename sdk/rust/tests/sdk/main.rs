//! The client against a server that says what it is told to: also what a right one never says.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

mod draws;
mod fake;
mod history;
mod lists;
mod reveals;
mod seals;
mod transcripts;
mod watching;
