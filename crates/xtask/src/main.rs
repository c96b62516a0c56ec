//! What the Shell: code generation, checks and test runs.

fn main() {}
