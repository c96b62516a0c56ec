//! The committed vectors hold, and they cover the format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use sealing::{Claim, EndReason, Transcript, TranscriptError, Verified};

/// The rows of a file of `tests/vectors`.
pub(crate) fn rows(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Every match of the vectors that verifies.
pub(crate) fn matches() -> &'static [Transcript] {
    static MATCHES: LazyLock<Vec<Transcript>> = LazyLock::new(|| {
        let rows = rows("transcripts.jsonl");
        let whole = rows.iter().filter(|row| row.ends_with(r#""refused": null}"#));
        whole.map(|row| vectors::transcript_of(row).unwrap()).collect()
    });
    &MATCHES
}

/// What comes of a row's match, with the service's signature where it has one.
fn verify(row: &str) -> Result<Verified, TranscriptError> {
    let transcript = vectors::transcript_of(row).unwrap();
    match vectors::signature_of(row).unwrap() {
        Some(signed) => transcript.verify_signed(&signed.signature, &signed.keys),
        None => transcript.verify(),
    }
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
fn another_implementation_makes_and_judges_the_same_signatures() {
    check_all("signatures.jsonl", 30);
}

#[test]
fn another_implementation_makes_and_opens_the_same_boxes() {
    check_all("boxes.jsonl", 30);
}

#[test]
fn every_ending_is_among_the_matches() {
    let reasons: BTreeSet<_> =
        matches().iter().filter_map(|transcript| Some(transcript.ending.as_ref()?.reason)).collect();
    assert_eq!(reasons, BTreeSet::from(EndReason::ALL));
}

#[test]
fn every_claim_is_broken_by_a_row() {
    let broken: BTreeSet<_> =
        rows("transcripts.jsonl").iter().filter_map(|row| Some(verify(row).err()?.claim)).collect();
    assert_eq!(broken, BTreeSet::from(Claim::ALL));
}

/// The row that says the opposite of what opens or holds.
fn negated(row: &str) -> String {
    let said = ["opens", "holds"].into_iter().find(|said| row.contains(&format!(r#""{said}": "#))).unwrap();
    let [yes, no] = [true, false].map(|answer| format!(r#""{said}": {answer}"#));
    if row.contains(&yes) { row.replace(&yes, &no) } else { row.replace(&no, &yes) }
}

#[test]
fn a_row_that_says_something_else_fails() {
    let files = ["commitments.jsonl", "signatures.jsonl", "boxes.jsonl"];
    for row in files.into_iter().flat_map(rows) {
        let other = match row.split_once(r#""digest": ""#) {
            Some((before, digest)) => {
                let digit = if digest.starts_with('0') { '1' } else { '0' };
                format!(r#"{before}"digest": "{digit}{}"#, &digest[1..])
            }
            None => negated(&row),
        };
        assert!(vectors::check_line(&other).is_err(), "{other}");
    }
}
