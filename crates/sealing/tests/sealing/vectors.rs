//! The committed vectors hold, and they cover the format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use sealing::{Claim, EndReason, Transcript};

/// The rows of a file of `tests/vectors`.
pub(crate) fn rows(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Every match of the vectors that verifies.
pub(crate) fn matches() -> &'static [Transcript] {
    static MATCHES: LazyLock<Vec<Transcript>> = LazyLock::new(|| {
        let rows = rows("transcripts.jsonl");
        let transcripts = rows.iter().map(|row| vectors::transcript_of(row).unwrap());
        transcripts.filter(|transcript| transcript.verify().is_ok()).collect()
    });
    &MATCHES
}

fn check_all(file: &str, rows_min: usize) {
    let rows = rows(file);
    assert!(rows.len() >= rows_min, "{file} has {} rows", rows.len());
    for row in rows {
        let shown = row.chars().take(80).collect::<String>();
        assert_eq!(vectors::check_line(&row), Ok(()), "{shown}");
    }
}

#[test]
fn another_implementation_makes_the_same_digests() {
    check_all("commitments.jsonl", 100);
}

#[test]
fn another_implementation_judges_whole_matches_alike() {
    check_all("transcripts.jsonl", 80);
}

#[test]
fn every_ending_is_among_the_matches() {
    let reasons: BTreeSet<_> =
        matches().iter().filter_map(|transcript| Some(transcript.ending.as_ref()?.reason)).collect();
    assert_eq!(reasons, BTreeSet::from(EndReason::ALL));
}

#[test]
fn every_claim_is_broken_by_a_row() {
    let broken: BTreeSet<_> = rows("transcripts.jsonl")
        .iter()
        .filter_map(|row| Some(vectors::transcript_of(row).unwrap().verify().err()?.claim))
        .collect();
    assert_eq!(broken, BTreeSet::from(Claim::ALL));
}

#[test]
fn a_row_that_says_something_else_fails() {
    for row in rows("commitments.jsonl") {
        let other = match row.split_once(r#""digest": ""#) {
            Some((before, digest)) => {
                let digit = if digest.starts_with('0') { '1' } else { '0' };
                format!(r#"{before}"digest": "{digit}{}"#, &digest[1..])
            }
            None if row.contains(r#""opens": true"#) => row.replace(r#""opens": true"#, r#""opens": false"#),
            None => row.replace(r#""opens": false"#, r#""opens": true"#),
        };
        assert!(vectors::check_line(&other).is_err(), "{other}");
    }
}
