//! The Rust client of What the Shell.
