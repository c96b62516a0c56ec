//! Leaderboards: who is best, and where a player stands.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::{Ranked, Speed, Store};

use crate::world::World;

const BLITZ: Speed = Speed(1);
const RAPID: Speed = Speed(2);

/// Players of a board of some length.
const PLAYERS: u64 = 60;

async fn rank(node: &Arc<dyn Store>, player: &str, points_micro: u64, matches: u64) {
    node.rank(BLITZ, player, points_micro, matches).await.expect("a player can be ranked");
}

/// All lines of a board; every node shows the same.
async fn lines(world: &World, speed: Speed) -> Vec<Ranked> {
    let mut boards = Vec::new();
    for node in world.nodes() {
        boards.push(node.leaderboard(speed, 0, usize::MAX).await.expect("a board can be read"));
    }
    assert_eq!(boards[0], boards[1]);
    boards.swap_remove(0)
}

async fn place(node: &Arc<dyn Store>, player: &str) -> Option<u64> {
    node.leaderboard_place(BLITZ, player).await.expect("a place can be asked for")
}

/// Who has which rating: what can be said of a board whatever the order of names.
fn ratings(lines: &[Ranked]) -> BTreeSet<(u64, String)> {
    lines.iter().map(|line| (line.points_micro, line.player.clone())).collect()
}

/// And equal ratings share a rank, by the last millionth of a point.
pub async fn a_leaderboard_shows_the_best_first(world: Arc<World>) {
    assert_eq!(lines(&world, BLITZ).await, []);
    let ranked = [
        ("players/cid", 1_500_000_000),
        ("players/ann", 1_700_000_000),
        ("players/dan", 1_500_000_001),
        ("players/bob", 1_500_000_000),
        ("players/eve", 0),
        ("players/fay", 4_000_000_000),
    ];
    for (number, (player, points_micro)) in ranked.into_iter().enumerate() {
        rank(world.nodes()[number % 2], player, points_micro, 1).await;
    }
    let lines = lines(&world, BLITZ).await;
    let order: Vec<(u64, u64)> = lines.iter().map(|line| (line.rank, line.points_micro)).collect();
    let expected = [
        (1, 4_000_000_000),
        (2, 1_700_000_000),
        (3, 1_500_000_001),
        (4, 1_500_000_000),
        (4, 1_500_000_000),
        (6, 0),
    ];
    assert_eq!(order, expected);
    assert_eq!(ratings(&lines), ranked.map(|(player, points)| (points, player.to_owned())).into());
}

/// A word of fewer matches came late; one of as many is the same again; one of more is news.
pub async fn a_player_stands_by_the_rating_after_the_most_matches(world: Arc<World>) {
    rank(&world.store, "players/bob", 1_500_000_000, 4).await;
    for (points_micro, matches, stands_micro) in [
        (1_600_000_000, 7, 1_600_000_000),
        (1_600_000_000, 7, 1_600_000_000),
        (1_900_000_000, 6, 1_600_000_000),
        (1_400_000_000, 1, 1_600_000_000),
        (1_450_000_000, 8, 1_450_000_000),
        (1_450_000_777, 10, 1_450_000_777),
    ] {
        rank(&world.other, "players/ann", points_micro, matches).await;
        let players = ratings(&lines(&world, BLITZ).await);
        let expected = [(stands_micro, "players/ann"), (1_500_000_000, "players/bob")];
        assert_eq!(players, expected.map(|(points, player)| (points, player.to_owned())).into());
    }
}

/// Whatever the page's size, and a rank that began on an earlier page goes on.
pub async fn pages_of_a_leaderboard_show_every_line_once(world: Arc<World>) {
    for number in 0..PLAYERS {
        // Some ratings are shared by several, some whole points by several ratings.
        let points_micro = 1_000_000_000 + (number * 7 % 20) * 400_000;
        rank(&world.store, &format!("players/p{number}"), points_micro, 1).await;
    }
    let all = lines(&world, BLITZ).await;
    assert_eq!(all.len() as u64, PLAYERS);
    for (index, line) in all.iter().enumerate() {
        let better = all.iter().filter(|other| other.points_micro > line.points_micro).count() as u64;
        assert_eq!(line.rank, better + 1);
        assert!(index == 0 || all[index - 1].points_micro >= line.points_micro);
    }
    for limit in [1, 7, 60, 61] {
        let mut paged = Vec::new();
        while paged.len() < all.len() {
            let page = world.other.leaderboard(BLITZ, paged.len() as u64, limit).await;
            let page = page.expect("a board can be read");
            assert!(!page.is_empty() && page.len() <= limit);
            paged.extend(page);
        }
        assert_eq!(paged, all, "pages of {limit}");
    }
    for skip in [PLAYERS, PLAYERS + 5] {
        assert_eq!(world.other.leaderboard(BLITZ, skip, 10).await, Ok(Vec::new()));
    }
    assert_eq!(world.other.leaderboard(BLITZ, 3, 0).await, Ok(Vec::new()));
    for (index, line) in all.iter().enumerate() {
        assert_eq!(place(&world.store, &line.player).await, Some(index as u64));
    }
}

/// So that the lines around him can be read.
pub async fn a_players_place_is_where_his_line_is(world: Arc<World>) {
    for (player, points_micro) in
        [("players/ann", 3_000_000), ("players/bob", 2_000_000), ("players/cid", 1_000_000)]
    {
        assert_eq!(place(&world.other, player).await, None);
        rank(&world.store, player, points_micro, 1).await;
    }
    assert_eq!(place(&world.other, "players/cid").await, Some(2));
    rank(&world.store, "players/cid", 2_500_000, 2).await;
    for (player, expected) in [("players/ann", 0), ("players/cid", 1), ("players/bob", 2)] {
        for node in world.nodes() {
            assert_eq!(place(node, player).await, Some(expected), "{player}");
        }
        let line = world.store.leaderboard(BLITZ, expected, 1).await.expect("a board can be read");
        assert_eq!(line[0].player, player);
    }
    assert_eq!(place(&world.other, "players/eve").await, None);
}

/// A player stands on each by himself.
pub async fn leaderboards_of_different_speeds_are_apart(world: Arc<World>) {
    rank(&world.store, "players/ann", 1_500_000_000, 9).await;
    assert_eq!(lines(&world, RAPID).await, []);
    assert_eq!(world.store.leaderboard_place(RAPID, "players/ann").await, Ok(None));
    world.store.rank(RAPID, "players/ann", 1_300_000_000, 1).await.expect("a player can be ranked");
    for (speed, points_micro) in [(BLITZ, 1_500_000_000), (RAPID, 1_300_000_000)] {
        let line = Ranked { rank: 1, player: "players/ann".to_owned(), points_micro };
        assert_eq!(lines(&world, speed).await, [line]);
    }
}

/// Whatever the order in which the words come in.
pub async fn of_many_words_of_a_rating_at_once_the_last_one_stands(world: Arc<World>) {
    let mut words = Vec::new();
    for matches in 1..=20_u64 {
        let world = Arc::clone(&world);
        words.push(tokio::spawn(async move {
            let node = world.nodes()[usize::from(matches % 2 == 0)];
            rank(node, "players/ann", 1_500_000_000 + matches, matches).await;
        }));
    }
    for word in words {
        word.await.expect("a word does not panic");
    }
    let line = Ranked { rank: 1, player: "players/ann".to_owned(), points_micro: 1_500_000_020 };
    assert_eq!(lines(&world, BLITZ).await, [line]);
    assert_eq!(place(&world.other, "players/ann").await, Some(0));
}

/// Others move up; and he can be ranked again, after however few matches.
pub async fn whoever_is_taken_off_a_leaderboard_is_not_on_it(world: Arc<World>) {
    rank(&world.store, "players/ann", 1_600_000_000, 9).await;
    rank(&world.store, "players/bob", 1_500_000_000, 9).await;
    for _ in 0..2 {
        world.other.unrank(BLITZ, "players/ann").await.expect("a player can be taken off");
        world.other.unrank(RAPID, "players/bob").await.expect("he is not on that one");
        let line = Ranked { rank: 1, player: "players/bob".to_owned(), points_micro: 1_500_000_000 };
        assert_eq!(lines(&world, BLITZ).await, [line]);
        assert_eq!(place(&world.store, "players/ann").await, None);
    }
    rank(&world.store, "players/ann", 1_400_000_000, 1).await;
    assert_eq!(place(&world.other, "players/ann").await, Some(1));
}
