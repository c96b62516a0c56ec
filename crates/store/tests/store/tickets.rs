//! Tickets, reservations and players' records: their names, and how they are written.

use proptest::prelude::*;
use referee::{Mode, PinnedRating, TimeControl};
use sealing::{MatchId, Party, PublicKey};
use store::codec::{
    decode_player_record, decode_reservation, decode_wish, encode_player_record, encode_reservation,
    encode_wish,
};
use store::{BotFallback, Met, PlayerRecord, PoolName, Reservation, Speed, Standing, TicketName, Wish};

use super::golden::check;
use super::played::stamp;

fn name() -> TicketName {
    "eu.ranked.0192f0c1a2b37c4d8e5f60718293a4b5".parse().unwrap()
}

fn met(player: &str, black_surplus: i8) -> Met {
    Met { player: player.to_owned(), black_surplus }
}

fn wish() -> Wish {
    Wish {
        party: Party { player: "players/ann".to_owned(), public_key: Some(PublicKey::from_bytes([5; 32])) },
        time_controls: vec![
            TimeControl::PerTurn { turn_ms: 30_000 },
            TimeControl::Bank { initial_ms: 300_000, increment_ms: 0 },
        ],
        rating_milli: 1_612_345,
        deviation_points: 87,
        excluded: vec!["players/eve".to_owned()],
        recent: vec![met("players/bob", -2), met("players/cid", 0)],
        bot_fallback: Some(BotFallback { after_ms: 30_000, level: 4 }),
    }
}

fn record() -> PlayerRecord {
    let rating =
        PinnedRating { points_micro: 1_612_345_678, deviation_micro: 87_000_000, volatility_nano: 59_999 };
    let standing = |mode, speed, rating| Standing {
        mode,
        speed: Speed(speed),
        rating,
        wins: 3,
        losses: 0,
        draws: 1,
        updated: stamp(9),
    };
    PlayerRecord {
        standings: vec![standing(Mode::Casual, 1, None), standing(Mode::Ranked, 3, Some(rating))],
        counted: vec![MatchId::from_bytes([1; 16]), MatchId::from_bytes([2; 16])],
        recent: vec![met("players/bob", 1)],
    }
}

#[test]
fn records_are_written_as_ever() {
    check("wish", &wish(), encode_wish(&wish()), decode_wish);
    let plain = Wish { excluded: Vec::new(), recent: Vec::new(), bot_fallback: None, ..wish() };
    check("wish-plain", &plain, encode_wish(&plain), decode_wish);
    for (file, reservation) in [
        ("reservation-ticket", Reservation::Ticket(name())),
        ("reservation-match", Reservation::Match(MatchId::from_bytes([7; 16]))),
    ] {
        check(file, &reservation, encode_reservation(&reservation), decode_reservation);
    }
    check("player-record", &record(), encode_player_record(&record()), decode_player_record);
    let none = PlayerRecord::default();
    check("player-record-empty", &none, encode_player_record(&none), decode_player_record);
}

/// The longest of each kind can be written: a store never meets one that cannot.
#[test]
fn the_longest_records_fit() {
    let player = |number: usize| format!("players/{number:064}");
    let longest = Wish {
        party: Party { player: player(0), public_key: Some(PublicKey::from_bytes([5; 32])) },
        time_controls: vec![TimeControl::Bank { initial_ms: u64::MAX, increment_ms: u64::MAX }; 8],
        rating_milli: u64::MAX,
        deviation_points: u32::MAX,
        excluded: (0..64).map(player).collect(),
        recent: (0..PlayerRecord::RECENT_MAX).map(|number| met(&player(number), i8::MIN)).collect(),
        bot_fallback: Some(BotFallback { after_ms: u64::MAX, level: 7 }),
    };
    assert_eq!(decode_wish(&encode_wish(&longest).unwrap()).unwrap(), longest);
    let rating =
        PinnedRating { points_micro: u64::MAX, deviation_micro: u64::MAX, volatility_nano: u64::MAX };
    let standing = Standing {
        mode: Mode::Ranked,
        speed: Speed(3),
        rating: Some(rating),
        wins: u64::MAX,
        losses: u64::MAX,
        draws: u64::MAX,
        updated: referee::Stamp::from_ms(u64::MAX),
    };
    let longest = PlayerRecord {
        standings: vec![standing; 6],
        counted: vec![MatchId::from_bytes([0xff; 16]); PlayerRecord::COUNTED_MAX],
        recent: longest.recent,
    };
    assert_eq!(decode_player_record(&encode_player_record(&longest).unwrap()).unwrap(), longest);
}

#[test]
fn a_ticket_is_named_by_its_pool_and_its_id() {
    assert_eq!(name().pool.as_str(), "eu.ranked");
    assert_eq!(name().made().as_ms(), 0x0192_f0c1_a2b3);
    assert_eq!(name().to_string().parse(), Ok(name()));
    let digits = "0192f0c1a2b37c4d8e5f60718293a4b5";
    for wrong in [
        digits,
        &format!(".{digits}"),
        &format!("a b.{digits}"),
        &format!("{}.{digits}", "p".repeat(25)),
        "pool.0192f0c1a2b37c4d8e5f60718293a4b",
        "pool.0192F0C1A2B37C4D8E5F60718293A4B5",
        "pool.+192f0c1a2b37c4d8e5f60718293a4b5",
        "",
    ] {
        assert!(wrong.parse::<TicketName>().is_err(), "{wrong}");
    }
    assert!(PoolName::new(&"p".repeat(24)).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _said = (decode_wish(&bytes), decode_reservation(&bytes), decode_player_record(&bytes));
    }

    #[test]
    fn a_changed_record_is_refused_or_is_one(at: prop::sample::Index, value: u8, cut: bool) {
        for whole in [encode_wish(&wish()), encode_player_record(&record())].map(Result::unwrap) {
            let mut bytes = whole;
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = value }
            let _said = (decode_wish(&bytes), decode_player_record(&bytes));
        }
    }
}
