//! The bytes of records, pinned: an accidental change of the format fails here.
//!
//! Files that a format once had are never rewritten: a build reads all of them. With a new format or
//! a new field, add files; `UPDATE_EXPECT=1` writes new ones.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use referee::{Bot, FollowUp, SealMode, Settings, Spectators, TimeControl};
use rules::{Cell, Seat};
use sealing::{MatchId, PublicKey};
use store::codec::{
    CodecError, ShardClock, decode_head, decode_indexed, decode_invite, decode_request, decode_shard_clock,
    decode_turn, encode_head, encode_indexed, encode_invite, encode_request, encode_shard_clock, encode_turn,
};
use store::{Closing, Indexed, Invite, InviteEnd, RequestRecord, Stored};

use super::played::{NONCES, Played, Step, half_revealed, half_sealed, keyring, request_id, stamp};

/// Compares a record's bytes with those committed, and what they are read as with the record.
pub(crate) fn check<T: PartialEq + Debug>(
    name: &str,
    record: &T,
    bytes: Result<Vec<u8>, CodecError>,
    read: impl Fn(&[u8]) -> Result<T, CodecError>,
) {
    let hex: String = bytes.unwrap().chunks(40).map(|line| hex(line) + "\n").collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/golden").join(format!("{name}.hex"));
    expect_file![path.clone()].assert_eq(&hex);
    let committed = unhex(&fs::read_to_string(path).unwrap());
    assert_eq!(&read(&committed).unwrap(), record);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn check_head(name: &str, stored: &Stored) {
    let bytes = encode_head(stored, &keyring(), &NONCES);
    check(name, stored, bytes, |bytes| decode_head(bytes, &keyring()));
}

fn cell(name: &str) -> Cell {
    name.parse().unwrap()
}

/// A bank match of three turns, one of them a collision, with an offer declined and a move sealed.
fn under_way() -> Played {
    let mut played = Played::started(Settings {
        time: TimeControl::Bank { initial_ms: 300_000, increment_ms: 2_000 },
        spectators: Spectators::Live,
        start_ms: Some(20_000),
        bot: Some(Bot { seat: Seat::White, level: 3 }),
        ..Settings::default()
    });
    for (black, white) in [("E5", "E5"), ("A1", "I9"), ("B1", "C7")] {
        played.take(&Step::Seal { seat: Seat::Black, cell: cell(black), signed: true });
        played.take(&Step::Draw { seat: Seat::Black, accept: None });
        played.take(&Step::Draw { seat: Seat::White, accept: Some(false) });
        played.take(&Step::Seal { seat: Seat::White, cell: cell(white), signed: false });
    }
    played.take(&Step::Seal { seat: Seat::White, cell: cell("D4"), signed: true });
    played
}

#[test]
fn heads_in_every_phase() {
    check_head("head-waiting", Played::new(Settings::default()).last());
    check_head("head-sealed", half_sealed(cell("E5")).last());
    check_head("head-revealing", half_revealed(cell("E5")).last());
    let mut played = under_way();
    check_head("head-open", played.last());
    played.take(&Step::Resign(Seat::White));
    assert_eq!(played.last().follow_ups, FollowUp::index_both());
    check_head("head-finished", played.last());
}

#[test]
fn a_head_with_claims() {
    let mut played = half_sealed(cell("E5"));
    played.take(&Step::Claim { seat: Seat::Black, turn: 2 });
    played.take(&Step::Claim { seat: Seat::White, turn: 3 });
    check_head("head-claimed", played.last());
    played.take(&Step::Claim { seat: Seat::White, turn: 2 });
    check_head("head-lost", played.last());
}

#[test]
fn turns() {
    let played = under_way();
    for turn in &played.turns {
        check(&format!("turn-{}", turn.turn), turn, encode_turn(turn), decode_turn);
    }
    let mut revealed = half_revealed(cell("E5"));
    revealed.take(&Step::Reveal(Seat::White));
    check("turn-revealed", &revealed.turns[0], encode_turn(&revealed.turns[0]), decode_turn);
}

#[test]
fn invites() {
    let open = Invite {
        id: MatchId::from_bytes([3; 16]),
        inviter: "players/ann".to_owned(),
        inviter_key: Some(PublicKey::from_bytes([5; 32])),
        invitee: None,
        secret_hash: Some([8; 32]),
        settings: Settings { seal_mode: SealMode::CommitReveal { reveal_ms: 10_000 }, ..Settings::default() },
        inviter_seat: Some(Seat::White),
        rematch_of: Some(MatchId::from_bytes([6; 16])),
        created: stamp(0),
        expires: stamp(3_600_000),
        closing: None,
    };
    check("invite-open", &open, encode_invite(&open), decode_invite);
    let end = |end| Closing {
        end,
        by: "players/bob".to_owned(),
        request_id: request_id("accept-1"),
        public_key: Some(PublicKey::from_bytes([4; 32])),
    };
    let to_bob = Invite { invitee: Some("players/bob".to_owned()), secret_hash: None, ..open };
    for (name, closing) in [
        ("accepted", InviteEnd::Accepted { match_id: MatchId::from_bytes([7; 16]) }),
        ("declined", InviteEnd::Declined),
        ("revoked", InviteEnd::Revoked),
    ] {
        let invite = Invite { closing: Some(end(closing)), ..to_bob.clone() };
        check(&format!("invite-{name}"), &invite, encode_invite(&invite), decode_invite);
    }
}

#[test]
fn small_records() {
    let request = RequestRecord { mac: [1; 32], created_id: [2; 16] };
    check("request", &request, encode_request(&request), decode_request);
    let entry = Indexed { match_id: MatchId::from_bytes([7; 16]), finished: true, created: stamp(0) };
    check("indexed", &entry, encode_indexed(&entry), decode_indexed);
    let clock = ShardClock { alive: stamp(0), outage_ms: 4_000 };
    check("shard-clock", &clock, encode_shard_clock(&clock), decode_shard_clock);
}
