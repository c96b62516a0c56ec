//! What the fuzzers found worth keeping holds on every toolchain.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use fuzz::{TARGETS, Target};
use tonic::Code;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)
}

/// Runs a target on every file of its corpus.
#[track_caller]
fn replay(target: Target, name: &str) {
    let mut files = 0;
    for entry in fs::read_dir(corpus(name)).expect("the corpus is there") {
        let path = entry.expect("the corpus can be listed").path();
        let data = fs::read(&path).expect("the corpus can be read");
        assert!(catch_unwind(|| target(&data)).is_ok(), "{}", path.display());
        files += 1;
    }
    assert!(files > 0, "no input for {name}");
}

#[test]
fn every_target_holds_on_its_corpus() {
    for (name, target) in TARGETS {
        replay(target, name);
    }
}

/// `UPDATE_EXPECT=1` writes them.
#[test]
fn the_seeds_are_in_the_corpus() {
    let service = fuzz::service_seeds().into_iter().map(|(name, seed)| ("service", name.to_owned(), seed));
    let transcripts = fuzz::transcript_seeds().into_iter().map(|(name, seed)| ("transcripts", name, seed));
    for (target, name, seed) in service.chain(transcripts) {
        let path = corpus(target).join(&name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::create_dir_all(corpus(target)).expect("a folder");
            fs::write(&path, &seed).expect("it is written");
        }
        assert_eq!(fs::read(&path).ok(), Some(seed), "{name} has changed; UPDATE_EXPECT=1 writes it");
    }
}

/// A seed that is refused at once shows nothing.
#[test]
fn the_seeds_reach_what_they_are_named_for() {
    let seeds = fuzz::service_seeds();
    for (name, method, successes) in [
        ("played", "SealMove", 6),
        ("played", "Resign", 1),
        ("repeated", "SealMove", 2),
        ("flagged", "SealMove", 1),
        ("flagged", "WatchMatch", 4),
        ("out-of-service", "SealMove", 2),
        ("revealed", "RevealMove", 2),
        ("withheld", "SealMove", 2),
        ("drawn", "AnswerDraw", 1),
        ("never-joined", "GetMatch", 8),
        ("matchmaking", "CreateTicket", 2),
        ("matchmaking", "CreateInvite", 1),
        ("matchmaking", "CreateBotMatch", 1),
        ("players", "MintPlayerToken", 1),
    ] {
        let (_, seed) = seeds.iter().find(|(seed, _)| *seed == name).expect("a seed of this name");
        let answers = fuzz::run(seed).answers;
        let made = answers.iter().filter(|answer| **answer == (method, Code::Ok)).count();
        assert_eq!(made, successes, "{name}: {answers:?}");
    }
}
