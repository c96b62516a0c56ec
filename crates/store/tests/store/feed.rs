//! What the feed tells of a change, and how it is written.

use proptest::prelude::*;
use referee::{Change, Command, Match, Now, SealMode, Settings};
use rules::{Cell, PerSeat, Seat};
use sealing::{Commitment, Digest, EndReason, MatchId, MatchResult, Opening, Salt};
use store::codec::{decode_feed_entry, decode_feed_trimmed, encode_feed_entry, encode_feed_trimmed};
use store::{FeedEntry, FeedEvent, FeedFinish, FeedHints, FeedPosition, Shard};
use tokio::sync::watch;

use super::golden::check;
use super::played::{CREATED_MS, request_id, settings, stamp};

fn entry(events: Vec<FeedEvent>) -> FeedEntry {
    FeedEntry {
        match_id: MatchId::from_bytes([7; 16]),
        players: PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() },
        at: stamp(1_000),
        mark: 0xbeef,
        events,
    }
}

fn opened(turn: u32) -> FeedEvent {
    FeedEvent::TurnOpened { turn, deadlines: PerSeat { black: stamp(31_000), white: stamp(32_000) } }
}

fn finish(unresolved: PerSeat<Option<Commitment>>) -> FeedEvent {
    FeedEvent::Finished(FeedFinish {
        result: MatchResult::BlackWins,
        reason: EndReason::Flag,
        at: stamp(900),
        turn: 3,
        unresolved,
        end_hash: Digest::from_bytes([9; 32]),
    })
}

#[test]
fn entries_are_written_as_ever() {
    let seal_mode = SealMode::CommitReveal { reveal_ms: 10_000 };
    let settings = Box::new(Settings { seal_mode, ..Settings::default() });
    let resolved = |turn| FeedEvent::TurnResolved { turn, hash: Digest::from_bytes([8; 32]) };
    let unresolved = PerSeat { black: None, white: Some(Commitment::from_bytes([6; 32])) };
    for (name, events) in [
        ("feed-started", vec![FeedEvent::Started { settings }, opened(1)]),
        ("feed-resolved", vec![resolved(3), opened(4)]),
        ("feed-finished", vec![finish(unresolved)]),
    ] {
        let entry = entry(events);
        check(name, &entry, encode_feed_entry(&entry), decode_feed_entry);
    }
    let trimmed = (stamp(0).as_ms(), 17);
    check("feed-trimmed", &trimmed, encode_feed_trimmed(trimmed), decode_feed_trimmed);
}

proptest! {
    #[test]
    fn entries_come_back(settings in settings(), hash: [u8; 32], turn: u32, mark: u16, ms: u64) {
        let (settings, hash) = (Box::new(settings), Digest::from_bytes(hash));
        let events = vec![
            FeedEvent::Started { settings },
            FeedEvent::TurnResolved { turn, hash },
            opened(turn),
            finish(PerSeat { black: Some(Commitment::from_bytes([1; 32])), white: None }),
        ];
        let entry = FeedEntry { mark, at: referee::Stamp::from_ms(ms), ..entry(events) };
        prop_assert_eq!(decode_feed_entry(&encode_feed_entry(&entry).unwrap()).unwrap(), entry);
        prop_assert_eq!(decode_feed_trimmed(&encode_feed_trimmed((ms, 5)).unwrap()).unwrap(), (ms, 5));
    }
}

/// Plays the commands, in both seal modes, and returns what the feed tells of each.
fn told(game: &Match, commands: &[Command]) -> Vec<Option<Vec<FeedEvent>>> {
    let mut game = game.clone();
    let mut told = Vec::new();
    for (command, after_ms) in commands.iter().zip(1..) {
        let now = Now::at_ms(CREATED_MS + after_ms);
        let change: Change = game.apply(command, now).change.unwrap();
        game = change.next.as_ref().clone();
        told.push(FeedEntry::of(&change, now.stamp, [1, 2, 0, 0, 0, 0, 0, 0]).map(|entry| entry.events));
    }
    told
}

fn joined(seat: Seat) -> Command {
    Command::Join { seat }
}

fn sealed(seat: Seat, turn: u32, cell: &str) -> Command {
    Command::Seal(referee::SealCommand {
        seat,
        turn,
        sealed: referee::SealedMove::Opening(Opening {
            cell: cell.parse::<Cell>().unwrap(),
            salt: Salt::from_bytes([seat.number(); 32]),
        }),
        previous: None,
        signature: None,
        key_id: "".into(),
        request_id: request_id(&format!("seal-{turn}")),
    })
}

#[test]
fn a_change_tells_what_all_may_know_and_a_seal_tells_nothing() {
    let game = super::played::Played::new(Settings::default()).last().head.as_ref().clone();
    let commands = [
        joined(Seat::White),
        joined(Seat::Black),
        sealed(Seat::White, 1, "E5"),
        sealed(Seat::Black, 1, "A1"),
        sealed(Seat::Black, 2, "B1"),
        Command::Resign { seat: Seat::White, request_id: request_id("enough") },
    ];
    let told = told(&game, &commands);
    assert_eq!(told[0], None, "one player alone starts nothing");
    let started = told[1].as_ref().unwrap();
    assert!(matches!(started[..], [FeedEvent::Started { .. }, FeedEvent::TurnOpened { turn: 1, .. }]));
    assert_eq!(told[2], None, "a seal tells nothing");
    let resolved = told[3].as_ref().unwrap();
    let [FeedEvent::TurnResolved { turn: 1, .. }, FeedEvent::TurnOpened { turn: 2, .. }] = resolved[..]
    else {
        panic!("{resolved:?}")
    };
    assert_eq!(told[4], None, "a seal tells nothing");
    let [FeedEvent::Finished(finish)] = &told[5].as_ref().unwrap()[..] else { panic!("{told:?}") };
    assert_eq!(
        (finish.result, finish.reason, finish.turn),
        (MatchResult::BlackWins, EndReason::Resignation, 1)
    );
    assert!(finish.unresolved.black.is_some() && finish.unresolved.white.is_none());
}

/// What a failover has lost may have been read before: what came instead is no later than that.
#[test]
fn a_feed_that_ends_before_its_reader_is_hinted_at_as_one_that_goes_on() {
    let place = |ms, number| FeedPosition { at: stamp(ms), number, mark: 1 };
    let stands = [FeedPosition::START, place(9, 2), place(9, 2), place(9, 2), place(9, 2)];
    let ends = [None, Some(place(9, 2)), Some(place(9, 3)), Some(place(8, 2)), Some(place(8, 1))];
    let (sender, receiver) = watch::channel(vec![None; ends.len()]);
    let mut hints = FeedHints::new(receiver);
    assert_eq!(hints.elsewhere_than(|shard| stands[usize::from(shard.0)]), []);
    sender.send_replace(ends.to_vec());
    let elsewhere = hints.elsewhere_than(|shard| stands[usize::from(shard.0)]);
    assert_eq!(elsewhere, [Shard(2), Shard(3), Shard(4)]);
}
