//! What a position is worth where the search stops.
//!
//! The value is a logistic function of a few features, each the same count for both seats, one seat's minus the
//! other's. So what one seat gains the other loses, and neither a colour nor a side of the board is special.

use rules::{Position, Seat, Status};

use crate::lines::{self, AXES, Starts};
use crate::weights::WEIGHTS;

/// Features of a position.
pub const FEATURES: usize = 11;

/// Values of positions that go on stay this far from the value of a win: a won game is better than any chance.
const CHANCE_MAX: f32 = 0.98;

/// More cells to capture on than this are worth no more: only one can be chosen.
const CAPTURES_MAX: u32 = 4;

/// The same for cells that make a line of four.
const FOURS_MAX: u32 = 6;

/// The value of a position for a seat: the expected result, from −1 (lost) to 1 (won).
///
/// ```
/// use bot::evaluator::value;
/// use rules::{Position, Seat};
/// assert_eq!(value(&Position::initial(), Seat::Black), 0.0);
/// ```
#[must_use]
pub fn value(position: &Position, seat: Seat) -> f32 {
    match position.outcome().status {
        Status::Ongoing | Status::SuddenDeath => chance(position, seat),
        Status::Draw => 0.0,
        Status::BlackWins | Status::WhiteWins => {
            if position.outcome().status.winner() == Some(seat) {
                1.0
            } else {
                -1.0
            }
        }
    }
}

/// The features of a position for a seat, whatever its outcome. In this order: open windows of five with one,
/// two, three and four turtles; whether there is one cell that completes a row, a second, a third; cells to
/// capture on, and the same if an egg waits; windows that only an egg blocks, by their turtles; cells that
/// make a window of four.
#[must_use]
pub fn features(position: &Position, seat: Seat) -> [f32; FEATURES] {
    let (mine, theirs) = (counts(position, seat), counts(position, seat.opponent()));
    std::array::from_fn(|feature| (mine[feature] - theirs[feature]) as f32)
}

fn chance(position: &Position, seat: Seat) -> f32 {
    let features = features(position, seat);
    let sum: f32 = features.iter().zip(&WEIGHTS).map(|(feature, weight)| feature * weight).sum();
    squash(sum).clamp(-CHANCE_MAX, CHANCE_MAX)
}

fn counts(position: &Position, seat: Seat) -> [i32; FEATURES] {
    let (own, eggs) = (position.turtle_bits(seat), position.egg_bits());
    let prey = position.turtle_bits(seat.opponent()) | eggs;
    let empty = position.legal_bits();
    let mut patterns = Patterns::default();
    patterns.add::<0>(own, prey, eggs);
    patterns.add::<1>(own, prey, eggs);
    patterns.add::<2>(own, prey, eggs);
    patterns.add::<3>(own, prey, eggs);
    let [_, one, two, three, four] = &patterns.open;
    let completing = (patterns.completing & empty).count_ones();
    let captures = lines::captures(own, prey, empty).count_ones().min(CAPTURES_MAX);
    let egg_blocked = if eggs == 0 { 0 } else { patterns.egg_blocked_turtles() };
    [
        one.count(),
        two.count(),
        three.count(),
        four.count(),
        u32::from(completing > 0),
        u32::from(completing > 1),
        u32::from(completing > 2),
        captures,
        if eggs == 0 { 0 } else { captures },
        egg_blocked,
        (patterns.building & empty).count_ones().min(FOURS_MAX),
    ]
    .map(|count| count as i32)
}

/// What one side has on all axes. Windows of five are told apart by the turtles in them.
#[derive(Default)]
struct Patterns {
    open: [Starts; 5],
    /// Windows that only eggs block.
    egg_blocked: [Starts; 5],
    /// All cells of windows with four turtles, and with three.
    completing: u128,
    building: u128,
}

impl Patterns {
    /// Adds one of [`AXES`]. Which one is known when this is compiled, so that shifts are by constants: they take
    /// a third of the time of others.
    #[inline]
    fn add<const AXIS: usize>(&mut self, own: u128, prey: u128, eggs: u128) {
        let axis = AXES[AXIS];
        let open = axis.windows(own, prey);
        self.open.iter_mut().zip(open).for_each(|(all, starts)| all.add(axis, starts));
        if eggs != 0 {
            let without_eggs = axis.windows(own, prey & !eggs);
            let blocked = without_eggs.into_iter().zip(open).map(|(without, open)| without & !open);
            self.egg_blocked.iter_mut().zip(blocked).for_each(|(all, starts)| all.add(axis, starts));
        }
        self.completing |= axis.cells_of_five(open[4]);
        self.building |= axis.cells_of_five(open[3]);
    }

    fn egg_blocked_turtles(&self) -> u32 {
        (0..).zip(&self.egg_blocked).map(|(turtles, windows)| turtles * windows.count()).sum()
    }
}

/// The logistic function, scaled to −1 to 1, which is tanh(sum / 2), by its Padé approximant of degree 3 over
/// 2: the same bits on every machine, unlike the standard library's.
fn squash(sum: f32) -> f32 {
    // Where the approximant reaches 1.
    let half = (sum / 2.0).clamp(-3.0, 3.0);
    let square = half * half;
    half * (27.0 + square) / (27.0 + 9.0 * square)
}
