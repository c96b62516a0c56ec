//! What the fuzzers found worth keeping holds on every toolchain.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

/// Runs a target on every file of its corpus.
#[track_caller]
fn replay(target: fn(&[u8]), name: &str) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut files = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is there") {
        let path = entry.expect("the corpus can be listed").path();
        let data = fs::read(&path).expect("the corpus can be read");
        assert!(catch_unwind(|| target(&data)).is_ok(), "{}", path.display());
        files += 1;
    }
    assert!(files > 0, "no input for {name}");
}

#[test]
fn rules() {
    replay(fuzz::rules, "rules");
}
