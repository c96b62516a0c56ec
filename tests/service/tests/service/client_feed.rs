//! The feed through the Rust client: a whole match in order, resumed after any event without a gap.

use futures::StreamExt as _;
use rules::Seat;
use service_tests::{API_KEY, Cluster, Duel, seconds, soon};
use store::FeedLimits;
use whattheshell::{Backend, Client, FeedItem, FeedStream};
use wire::v1::{self, ErrorReason, match_settings};

use super::feed::{WHOLE, words};

async fn backend(cluster: &Cluster, node: usize) -> Backend {
    let url = format!("http://{}", cluster.nodes[node].address);
    soon("a connection", Client::connect(&url)).await.unwrap().backend(API_KEY).unwrap()
}

async fn items(feed: &mut FeedStream, count: usize) -> Vec<FeedItem> {
    let mut items = Vec::new();
    while items.len() < count {
        items.push(soon("an event", feed.next()).await.expect("a feed has no end").unwrap());
    }
    items
}

#[tokio::test]
async fn a_back_end_reads_a_whole_match_and_goes_on_after_any_event() {
    let cluster = Cluster::of_two().await;
    let mut live = backend(&cluster, 0).await.feed(Vec::new());
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.play(1, "A1", "I9").await;
    duel.play(2, "C1", "G9").await;
    duel.resign(Seat::Black).await.unwrap();
    let all = items(&mut live, WHOLE.len()).await;
    assert_eq!(all.iter().map(|item| words(&item.event)).collect::<Vec<_>>(), WHOLE);
    assert!(all.iter().all(|item| item.event.r#match == duel.name));
    let elsewhere = backend(&cluster, 1).await;
    for (at, item) in all[..all.len() - 1].iter().enumerate() {
        let mut resumed = elsewhere.feed(item.cursor.clone());
        let mut again = Vec::new();
        while again.last() != all.last().map(|item| words(&item.event)).as_ref() {
            again.extend(items(&mut resumed, 1).await.iter().map(|item| words(&item.event)));
        }
        assert!(again.ends_with(&WHOLE[at + 1..].iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()));
        assert!(again.len() <= WHOLE.len() - at, "at most one event comes again: {again:?}");
    }
}

#[tokio::test]
async fn a_cursor_that_is_too_old_ends_the_stream_with_feed_trimmed() {
    let cluster = Cluster::of_one().await;
    let turn_time = match_settings::TimeControl::TurnTime(seconds(14 * 24 * 60 * 60));
    let settings = v1::MatchSettings { time_control: Some(turn_time), ..Default::default() };
    let duel = cluster.duel(settings).await;
    // In the midst of the first entry, which tells of the match and of its first turn.
    let within = items(&mut backend(&cluster, 0).await.feed(Vec::new()), 2).await;
    duel.play(1, "A1", "I9").await;
    cluster.clock.advance_ms(FeedLimits::default().retention_ms + 1_000);
    let (black, white) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    Duel { black, white, ..duel }.play(2, "C1", "G9").await;
    for item in within {
        let mut behind = backend(&cluster, 0).await.feed(item.cursor.clone());
        let ended = soon("the end", behind.next()).await.unwrap().unwrap_err();
        assert_eq!(ended.reason(), Some(ErrorReason::FeedTrimmed), "after {}", words(&item.event));
        assert!(soon("nothing more", behind.next()).await.is_none());
    }
}
