//! What the Shell: serve, demo, play and check.

fn main() {}
