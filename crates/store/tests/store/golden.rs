//! The bytes of records, pinned: an accidental change of the format fails here.
//!
//! Files that a format once had are never rewritten: a build reads all of them. With a new format or
//! a new field, add files; `UPDATE_EXPECT=1` writes new ones.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use referee::{
    Bot, FollowUp, Mode, NewMatch, Origin, PinnedRating, SealMode, Settings, Spectators, TicketRef,
    TimeControl,
};
use rules::{Cell, PerSeat, Seat};
use sealing::{MatchId, PublicKey};
use store::codec::{
    CodecError, ShardClock, decode_head, decode_indexed, decode_invite, decode_new_match, decode_request,
    decode_shard_clock, decode_turn, encode_head, encode_indexed, encode_invite, encode_new_match,
    encode_request, encode_shard_clock, encode_turn,
};
use store::{Closing, Indexed, Invite, InviteEnd, RequestRecord, Stored};

use super::played::{
    NONCES, Played, Step, half_revealed, half_sealed, keyring, new_match, request_id, stamp,
};

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

/// What an older build wrote and this one would write otherwise: it is read, and comes back.
fn check_older<T: PartialEq + Debug>(
    name: &str,
    write: impl Fn(&T) -> Result<Vec<u8>, CodecError>,
    read: impl Fn(&[u8]) -> Result<T, CodecError>,
) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/golden").join(format!("{name}.hex"));
    let record = read(&unhex(&fs::read_to_string(path).unwrap())).unwrap();
    assert_eq!(read(&write(&record).unwrap()).unwrap(), record, "{name}");
    record
}

fn older_head(name: &str) -> Stored {
    let write = |stored: &Stored| encode_head(stored, &keyring(), &NONCES);
    check_older(name, write, |bytes| decode_head(bytes, &keyring()))
}

/// A bank match of three turns against a bot, one of them a collision, with an offer, and a move sealed.
fn under_way() -> Played {
    let mut played = Played::started(Settings {
        time: TimeControl::Bank { initial_ms: 300_000, increment_ms: 2_000 },
        spectators: Spectators::Live,
        start_ms: Some(20_000),
        bot: Some(Bot { seat: Seat::White, level: 3 }),
        ..Settings::default()
    });
    for (black, white) in [("E5", "E5"), ("A1", "I9"), ("B1", "C7")] {
        played.take(&Step::Seal { seat: Seat::White, cell: cell(white), signed: false });
        played.take(&Step::Draw { seat: Seat::Black, accept: None });
        played.take(&Step::Draw { seat: Seat::White, accept: Some(false) });
        played.take(&Step::Seal { seat: Seat::Black, cell: cell(black), signed: true });
    }
    played
}

#[test]
fn heads_in_every_phase() {
    check_head("head-waiting", Played::new(Settings::default()).last());
    check_head("head-sealed", half_sealed(cell("E5")).last());
    check_head("head-revealing", half_revealed(cell("E5")).last());
    let mut played = under_way();
    check_head("head-bot-due", played.last());
    played.take(&Step::Seal { seat: Seat::White, cell: cell("D4"), signed: false });
    check_head("head-bot-sealed", played.last());
    played.take(&Step::Resign(Seat::Black));
    check_head("head-bot-finished", played.last());
}

#[test]
fn heads_of_ranked_matches() {
    let rating = |points_micro| PinnedRating {
        points_micro,
        deviation_micro: 350_000_000,
        volatility_nano: 60_000_000,
    };
    let ticket = |name: &str| Some(TicketRef(name.into()));
    let origin = Origin {
        tickets: PerSeat {
            black: ticket("eu.00000000000000000000000000000001"),
            white: ticket("eu.00000000000000000000000000000002"),
        },
        ratings: Some(PerSeat { black: rating(1_500_000_000), white: rating(1_612_345_678) }),
    };
    let settings = Settings { mode: Mode::Ranked, start_ms: Some(20_000), ..Settings::default() };
    let new = NewMatch { origin: Some(origin), ..new_match(settings) };
    check("new-match", &new, encode_new_match(&new), decode_new_match);
    let mut played = Played::of(new);
    played.take(&Step::Join(Seat::Black));
    check_head("head-ranked", played.last());
    played.take(&Step::Resign(Seat::White));
    use FollowUp::{Index, Release, Requeue};
    let (black, white) = (Seat::Black, Seat::White);
    assert_eq!(played.last().follow_ups, [Index(black), Index(white), Requeue(black), Release(white)]);
    check_head("head-let-down", played.last());
}

#[test]
fn records_of_older_builds() {
    assert!(older_head("head-lost").head.finish().is_some());
    let open = older_head("head-open");
    assert_eq!(open.head.open_turn().map(|open| open.turn), Some(4));
    let finished = older_head("head-finished");
    let finish = finished.head.finish().unwrap();
    assert_eq!(finish.joined, PerSeat { black: true, white: true });
    assert_eq!(finished.follow_ups, Seat::BOTH.map(FollowUp::Index));
    for turn in 1..=3 {
        assert_eq!(check_older(&format!("turn-{turn}"), encode_turn, decode_turn).turn, turn);
    }
}

#[test]
fn a_head_with_claims() {
    let mut played = half_sealed(cell("E5"));
    played.take(&Step::Claim { seat: Seat::Black, turn: 2 });
    played.take(&Step::Claim { seat: Seat::White, turn: 3 });
    check_head("head-claimed", played.last());
    played.take(&Step::Claim { seat: Seat::White, turn: 2 });
    check_head("head-lost-joined", played.last());
}

#[test]
fn turns() {
    let played = under_way();
    for turn in &played.turns {
        check(&format!("turn-of-bot-{}", turn.turn), turn, encode_turn(turn), decode_turn);
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
