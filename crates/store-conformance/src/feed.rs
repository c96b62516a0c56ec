//! The feed: what back ends are told.
//!
//! A store without a feed keeps these promises by saying that it has none.

use std::sync::Arc;

use referee::Command;
use rules::{PerSeat, Seat};
use sealing::MatchId;
use store::{
    CommitOutcome, FeedEntry, FeedEvent, FeedLimits, FeedPage, FeedPosition, Shard, Store, StoreError,
};

use crate::world::{World, committed, conflict, resign, seal};

/// Entries that are read at once.
const PAGE: usize = 7;

/// Players who go on at once in the race.
const RACED_MATCHES: usize = 4;

/// Turns that each of them plays.
const RACED_TURNS: u32 = 10;

type Entries = Vec<(FeedPosition, FeedEntry)>;

/// A part of a feed that is not trimmed.
async fn page(node: &Arc<dyn Store>, shard: Shard, after: FeedPosition, limit: usize) -> Entries {
    match node.feed(shard, after, limit).await.expect("the feed can be read") {
        FeedPage::Entries(entries) => entries,
        FeedPage::Trimmed => panic!("nothing is trimmed yet"),
    }
}

/// Where whoever begins to read stands.
async fn begin(node: &Arc<dyn Store>, shard: Shard) -> FeedPosition {
    node.feed_begin(shard).await.expect("the feed can be read")
}

/// All of a feed that is kept.
async fn all(node: &Arc<dyn Store>, shard: Shard) -> Entries {
    all_after(node, shard, begin(node, shard).await).await
}

/// All of a feed from a place on.
async fn all_after(node: &Arc<dyn Store>, shard: Shard, mut after: FeedPosition) -> Entries {
    let mut entries = Vec::new();
    loop {
        let read = page(node, shard, after, PAGE).await;
        let Some((last, _)) = read.last() else { return entries };
        after = *last;
        entries.extend(read);
    }
}

/// Whether there is a feed. One that has none says so.
async fn has_feed(world: &World) -> bool {
    let has = world.store.has_feed();
    if !has {
        assert!(matches!(world.store.watch_feed().await, Err(StoreError::Unavailable(_))));
    }
    has
}

/// What the feed says of one match, a word for each event.
fn told(entries: &Entries, id: MatchId) -> Vec<String> {
    let of_match = entries.iter().filter(|(_, entry)| entry.match_id == id);
    let events = of_match.flat_map(|(_, entry)| &entry.events);
    events.map(word).collect()
}

fn word(event: &FeedEvent) -> String {
    match event {
        FeedEvent::Started { .. } => "started".to_owned(),
        FeedEvent::TurnOpened { turn, .. } => format!("opened {turn}"),
        FeedEvent::TurnResolved { turn, .. } => format!("resolved {turn}"),
        FeedEvent::Finished(finish) => format!("finished {}", finish.turn),
    }
}

/// What the feed says of a match that was played for so many turns.
fn whole_life(turns: u32) -> Vec<String> {
    let mut told = vec!["started".to_owned(), "opened 1".to_owned()];
    told.extend((1..=turns).flat_map(|turn| [format!("resolved {turn}"), format!("opened {}", turn + 1)]));
    told
}

/// What is not stored is not told, and what is stored is told once, whoever asks again.
pub async fn an_entry_is_in_the_feed_exactly_when_its_commit_is_stored(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let id = world.create(world.id()).await.head.id;
    let shard = world.shard(id);
    assert_eq!(all(&world.store, shard).await, [], "a match that nobody has joined has not started");
    let id = world.start_with(world.id_in(shard), 30_000).await;
    let late = world.judge(id, resign(Seat::White)).await;
    world.act(id, seal(Seat::Black, 1)).await;
    assert_eq!(told(&all(&world.store, shard).await, id), whole_life(0), "a seal tells nothing");
    let resolving = world.judge(id, seal(Seat::White, 1)).await;
    let expected = FeedEntry::of(&resolving.change, resolving.judged.stamp, resolving.nonce);
    let mut future = resolving.clone();
    future.judged.outage_ms += 1;
    let refused = world.commit(future).await;
    assert!(matches!(refused, CommitOutcome::Restamp(_)), "{refused:?}");
    committed(world.commit(resolving.clone()).await);
    for stale in [late, resolving] {
        conflict(world.other.commit(stale).await.expect("a commit is answered"));
    }
    world.settle_all(id).await;
    let entries = all(&world.other, shard).await;
    assert_eq!(told(&entries, id), whole_life(1));
    assert_eq!(entries.last().map(|(_, entry)| entry), expected.as_ref());
}

/// From the start of a match to its end, and the end as it was.
pub async fn the_feed_tells_a_match_from_its_start_to_its_end(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let id = world.start().await;
    world.play(id).await;
    world.act(id, seal(Seat::White, 2)).await;
    let stored = world.act(id, resign(Seat::Black)).await;
    let entries = all(&world.store, world.shard(id)).await;
    let mut expected = whole_life(1);
    expected.push("finished 1".to_owned());
    assert_eq!(told(&entries, id), expected);
    let (_, last) = entries.last().expect("the end is told");
    let [FeedEvent::Finished(finish)] = &last.events[..] else { panic!("{last:?}") };
    let ended = stored.head.finish().expect("the match is over");
    assert_eq!((finish.result, finish.reason, finish.at), (ended.result, ended.reason, ended.at));
    assert_eq!(finish.end_hash, ended.end_hash);
    assert_eq!(
        finish.unresolved,
        ended.unresolved.as_ref().map(|facts| facts.as_ref().map(|facts| facts.commitment))
    );
    assert_eq!(last.players, PerSeat::as_ref(&stored.head.parties).map(|party| party.player.clone()));
}

/// Wherever a reader stopped, and however much he reads at once, nothing is missing and nothing comes twice.
pub async fn a_feed_is_read_on_from_any_place(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let id = world.start().await;
    for _ in 0..5 {
        world.play(id).await;
    }
    let shard = world.shard(id);
    let entries = page(&world.store, shard, begin(&world.store, shard).await, usize::MAX).await;
    assert_eq!(told(&entries, id), whole_life(5));
    for stop in 0..entries.len() {
        let (place, _) = entries[stop];
        assert_eq!(page(&world.other, shard, place, usize::MAX).await, entries[stop + 1..]);
        let next = entries.get(stop + 1..stop + 2).unwrap_or_default();
        assert_eq!(page(&world.other, shard, place, 1).await, next);
    }
}

/// Whichever node wrote it.
pub async fn every_node_reads_the_same_feed(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let (one, other) = (world.start().await, world.start().await);
    for id in [one, other, one] {
        world.play(id).await;
    }
    for id in [one, other] {
        let shard = world.shard(id);
        let entries = all(&world.store, shard).await;
        assert_eq!(entries, all(&world.other, shard).await);
        assert_eq!(told(&entries, id), whole_life(if id == one { 2 } else { 1 }));
    }
}

/// A reader who keeps reading while matches of one shard are played at once finds each match whole, in order.
pub async fn a_reader_misses_nothing_while_matches_are_played(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let shard = world.shard(world.id());
    let mut ids = Vec::new();
    for _ in 0..RACED_MATCHES {
        ids.push(world.start_with(world.id_in(shard), 600_000).await);
    }
    let players = ids.iter().map(|id| {
        let (world, id) = (Arc::clone(&world), *id);
        tokio::spawn(async move {
            for _ in 0..RACED_TURNS {
                world.play(id).await;
            }
        })
    });
    let players: Vec<_> = players.collect();
    let (mut read, mut place) = (Vec::new(), begin(&world.other, shard).await);
    loop {
        // Asked first: what is read after the last player is done is all there is.
        let over = players.iter().all(tokio::task::JoinHandle::is_finished);
        let more = page(&world.other, shard, place, PAGE).await;
        place = more.last().map_or(place, |(last, _)| *last);
        if over && more.is_empty() {
            break;
        }
        read.extend(more);
        tokio::task::yield_now().await;
    }
    for player in players {
        player.await.expect("a player does not panic");
    }
    assert!(read.is_sorted_by_key(|(place, _)| place.order()));
    for id in ids {
        assert_eq!(told(&read, id), whole_life(RACED_TURNS));
    }
}

/// Subscribe, then read: what comes after that is hinted at, with the shard that it is in.
pub async fn whoever_watches_the_feed_is_told_where_it_goes_on(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let mut hints = world.other.watch_feed().await.expect("the feed can be watched");
    let id = world.start().await;
    let shard = world.shard(id);
    let mut place = begin(&world.other, shard).await;
    for turn in 0..3 {
        let stands = |of| if of == shard { place } else { FeedPosition::START };
        while !hints.elsewhere_than(stands).contains(&shard) {
            hints.changed().await.expect("the store is there");
        }
        let entries = all_after(&world.other, shard, place).await;
        place = entries.last().map_or(place, |(last, _)| *last);
        let last = format!("opened {}", turn + 1);
        assert_eq!(told(&entries, id).last(), Some(&last));
        world.play(id).await;
    }
}

/// A failover can lose the entry that a reader saw last. He cannot know what came instead, and sees some again.
pub async fn a_reader_whose_place_was_lost_is_sent_back(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let id = world.start().await;
    world.play(id).await;
    let shard = world.shard(id);
    let entries = all(&world.store, shard).await;
    for (place, _) in &entries {
        let lost = FeedPosition { mark: place.mark ^ 1, ..*place };
        assert_eq!(page(&world.other, shard, lost, usize::MAX).await, entries);
    }
    let (last, _) = entries[entries.len() - 1];
    let lost = FeedPosition { number: last.number + 1, ..last };
    assert_eq!(page(&world.other, shard, lost, usize::MAX).await, entries);
}

/// Who reads in time misses nothing; who comes later is told; who begins anew gets what is kept.
pub async fn a_feed_is_kept_for_its_retention_and_whoever_comes_later_is_told(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let id = world.start_with(world.id(), 14 * 24 * 60 * 60 * 1_000).await;
    let shard = world.shard(id);
    world.play(id).await;
    let old = all(&world.store, shard).await;
    let retention_ms = FeedLimits::default().retention_ms;
    world.leap_ms(retention_ms - 60_000).await;
    world.due(id).await;
    world.play(id).await;
    let kept = all(&world.other, shard).await;
    assert_eq!(kept.len(), old.len() + 1, "all is kept for its time");

    world.leap_ms(61_000).await;
    world.act(id, Command::Resign { seat: Seat::Black, request_id: crate::world::request_id("end") }).await;
    world.due(id).await;
    for node in world.nodes() {
        let entries = all(node, shard).await;
        assert_eq!(told(&entries, id), ["resolved 2", "opened 3", "finished 2"]);
        let (behind, last_seen) = (old[0].0, old[old.len() - 1].0);
        let answer = node.feed(shard, behind, PAGE).await;
        assert_eq!(answer, Ok(FeedPage::Trimmed), "he has missed something");
        assert_eq!(all_after(node, shard, last_seen).await, entries, "he has missed nothing");
    }
}

/// Who has begun is told, also if there was nothing yet when he did, or nothing any more.
pub async fn whoever_has_begun_is_told_what_was_trimmed_before_he_read_it(world: Arc<World>) {
    if !has_feed(&world).await {
        return;
    }
    let shard = world.shard(world.id());
    let before_anything = begin(&world.store, shard).await;
    let id = world.start_with(world.id_in(shard), 14 * 24 * 60 * 60 * 1_000).await;
    world.play(id).await;
    let before_the_oldest = begin(&world.store, shard).await;
    let old = all(&world.store, shard).await;
    for place in [before_anything, before_the_oldest] {
        assert_eq!(all_after(&world.other, shard, place).await, old, "he has missed nothing yet");
    }

    world.leap_ms(FeedLimits::default().retention_ms + 60_000).await;
    world.due(id).await;
    // A store may keep the last entries until there is another one.
    let after_a_while = begin(&world.store, shard).await;
    let is_empty = all(&world.store, shard).await.is_empty();
    world.act(id, Command::Resign { seat: Seat::Black, request_id: crate::world::request_id("end") }).await;
    world.due(id).await;
    for node in world.nodes() {
        for place in [before_anything, before_the_oldest] {
            assert_eq!(node.feed(shard, place, PAGE).await, Ok(FeedPage::Trimmed));
        }
        if is_empty {
            assert_eq!(told(&all_after(node, shard, after_a_while).await, id), ["finished 1"]);
        }
        assert_eq!(told(&all(node, shard).await, id), ["finished 1"]);
    }
}
