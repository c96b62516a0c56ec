//! Leaderboards in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use store::{Ranked, Speed, StoreError};

/// Players on a leaderboard at most; each takes some 250 bytes.
const PLAYERS_MAX: usize = 1_000_000;

/// A rating in millionths of a point is of a whole point.
const POINT_MICRO: u64 = 1_000_000;

/// What a player stands on a leaderboard by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Score {
    pub(crate) points_micro: u64,
    /// Rated matches after which he has them.
    pub(crate) matches: u64,
}

/// One leaderboard. A place is counted by whole points first, of which there are some thousands, and then
/// among those who share one: with a million players on a board that is below a millisecond where ratings
/// are spread, and a few where half of them have the same one.
#[derive(Default)]
struct Board {
    scores: HashMap<Arc<str>, Score>,
    /// By whole points, the best first: the lines in their order.
    lines: BTreeMap<Reverse<u64>, BTreeSet<Line>>,
}

/// A line's order: the best first, equal ones by name.
type Line = (Reverse<u64>, Arc<str>);

/// All leaderboards: of each speed one.
#[derive(Default)]
pub(crate) struct Boards {
    boards: BTreeMap<Speed, Board>,
}

impl Boards {
    /// Whether a word of a player's rating changes the board: a late one does not.
    pub(crate) fn takes(&self, speed: Speed, player: &str, score: Score) -> Result<bool, StoreError> {
        let Some(board) = self.boards.get(&speed) else { return Ok(true) };
        match board.scores.get(player) {
            Some(known) => Ok(known.matches <= score.matches && *known != score),
            None if board.scores.len() < PLAYERS_MAX => Ok(true),
            None => Err(StoreError::Full { limit: PLAYERS_MAX, what: "players a leaderboard" }),
        }
    }

    /// Puts a player in his place.
    pub(crate) fn put(&mut self, speed: Speed, player: &str, score: Score) {
        self.boards.entry(speed).or_default().put(player.into(), score);
    }

    /// Takes a player off a board.
    pub(crate) fn take(&mut self, speed: Speed, player: &str) {
        if let Some(board) = self.boards.get_mut(&speed) {
            board.take(player);
        }
    }

    pub(crate) fn page(&self, speed: Speed, skip: u64, limit: usize) -> Vec<Ranked> {
        self.boards.get(&speed).map(|board| board.page(skip, limit)).unwrap_or_default()
    }

    pub(crate) fn place(&self, speed: Speed, player: &str) -> Option<u64> {
        let board = self.boards.get(&speed)?;
        let (player, score) = board.scores.get_key_value(player)?;
        Some(board.before(&(Reverse(score.points_micro), Arc::clone(player))))
    }
}

fn whole_points(points_micro: u64) -> Reverse<u64> {
    Reverse(points_micro / POINT_MICRO)
}

impl Board {
    fn put(&mut self, player: Arc<str>, score: Score) {
        self.take(&player);
        self.scores.insert(Arc::clone(&player), score);
        let lines = self.lines.entry(whole_points(score.points_micro)).or_default();
        lines.insert((Reverse(score.points_micro), player));
    }

    fn take(&mut self, player: &str) {
        let Some((player, old)) = self.scores.remove_entry(player) else { return };
        let points = whole_points(old.points_micro);
        if let Some(lines) = self.lines.get_mut(&points) {
            lines.remove(&(Reverse(old.points_micro), player));
            if lines.is_empty() {
                self.lines.remove(&points);
            }
        }
    }

    /// How many lines come before this one.
    fn before(&self, line: &Line) -> u64 {
        let points = whole_points(line.0.0);
        let better: usize = self.lines.range(..points).map(|(_, lines)| lines.len()).sum();
        let beside = self.lines.get(&points).map_or(0, |lines| lines.range(..line).count());
        (better + beside) as u64
    }

    fn page(&self, skip: u64, limit: usize) -> Vec<Ranked> {
        let mut left = usize::try_from(skip).unwrap_or(usize::MAX);
        // Whole points that are skipped are not walked through.
        let begun = self.lines.iter().skip_while(|(_, lines)| {
            let skipped = lines.len() <= left;
            left -= if skipped { lines.len() } else { 0 };
            skipped
        });
        let lines: Vec<&BTreeSet<Line>> =
            begun.map(|(_, lines)| lines).take(limit.saturating_add(1)).collect();
        let mut page: Vec<Ranked> = Vec::new();
        for (index, (Reverse(points_micro), player)) in
            lines.into_iter().flatten().skip(left).take(limit).enumerate()
        {
            let rank = match page.last() {
                Some(last) if last.points_micro == *points_micro => last.rank,
                Some(_) => skip + index as u64 + 1,
                // The first of its rating may be on an earlier page.
                None => self.before(&(Reverse(*points_micro), "".into())) + 1,
            };
            page.push(Ranked { rank, player: player.to_string(), points_micro: *points_micro });
        }
        page
    }
}
