//! How much of a feed is kept, and that it can be switched off.

use rules::Seat;
use store::{FeedLimits, FeedPage, FeedPosition, FeedStore as _, MatchStore as _, Shard};
use store_embedded::EmbeddedStore;

use crate::game::{self, id};
use crate::place;

/// Longer than the pause between two looks for what is to be forgotten, ms.
const LOOK_PAUSE_MS: u64 = 11_000;

fn shard(store: &EmbeddedStore) -> Shard {
    Shard::of(id(1), store.shard_count())
}

async fn read(store: &EmbeddedStore, after: FeedPosition) -> Option<Vec<FeedPosition>> {
    match store.feed(shard(store), after, usize::MAX).await.expect("the feed can be read") {
        FeedPage::Entries(entries) => Some(entries.into_iter().map(|(place, _)| place).collect()),
        FeedPage::Trimmed => None,
    }
}

/// From the oldest entry on.
async fn read_all(store: &EmbeddedStore) -> Option<Vec<FeedPosition>> {
    read(store, store.feed_begin(shard(store)).await.expect("the feed can be read")).await
}

#[tokio::test]
async fn of_too_many_entries_the_oldest_are_trimmed_also_through_a_restart() {
    let (directory, clock) = (place::directory(), place::clock());
    let limits = FeedLimits { entries_max: 3 * 16, ..FeedLimits::default() };
    let store = place::open(directory.path(), &clock).with_feed(Some(limits));
    game::played(&store, id(1), 5).await;
    let all = read_all(&store).await.expect("nothing was read before");
    assert_eq!(all.len(), 6, "a start and five turns");
    clock.advance_ms(LOOK_PAUSE_MS);
    store.due(shard(&store), 1).await.expect("what is due can be asked");
    assert_eq!(read_all(&store).await, Some(all[3..].to_vec()));
    drop(store);

    let store = place::open(directory.path(), &clock).with_feed(Some(limits));
    assert_eq!(read(&store, all[1]).await, None, "he has missed one");
    assert_eq!(read(&store, all[2]).await, Some(all[3..].to_vec()));
    for seat in Seat::BOTH {
        game::act(&store, id(1), game::seal(seat, 6)).await;
    }
    let more = read(&store, all[5]).await.expect("he has missed nothing");
    assert_eq!(more.len(), 1);
    assert!(more[0].order() > all[5].order());
}

#[tokio::test]
async fn a_feed_that_is_switched_off_is_not_written() {
    let (directory, clock) = (place::directory(), place::clock());
    let store = place::open(directory.path(), &clock).with_feed(None);
    assert!(!store.has_feed());
    game::played(&store, id(1), 2).await;
    assert_eq!(read_all(&store).await, Some(Vec::new()));
}
