//! A turn: placing, capturing, hatching.

use alloc::vec::Vec;
use core::fmt;

use crate::pincer::Pincers;
use crate::{Cell, Outcome, PerSeat, Position, Seat};

/// Why a turn cannot be played.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IllegalTurn {
    /// The position is won or drawn.
    GameOver,
    /// This seat chose a cell that a turtle or an egg stands on. Black is looked at first.
    Occupied(Seat),
}

impl fmt::Display for IllegalTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GameOver => f.write_str("the game is over"),
            Self::Occupied(seat) => write!(f, "{seat} chose an occupied cell"),
        }
    }
}

impl core::error::Error for IllegalTurn {}

/// One closed pincer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Capture {
    /// The seat that captures.
    pub by: Seat,
    /// Where its turtle arrived, placed or hatched.
    pub from: Cell,
    /// The two cells that are cleared: next to `from`, then next to `anchor`.
    pub removed: [Cell; 2],
    /// The turtle at the other end.
    pub anchor: Cell,
}

/// Something that happens in a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A turtle landed on the cell its seat chose.
    Placed {
        /// Whose turtle.
        seat: Seat,
        /// Where.
        cell: Cell,
    },
    /// Both seats chose this cell, and an egg was laid there.
    Collided {
        /// Where.
        cell: Cell,
    },
    /// A pincer was closed. The captures of the two placed turtles remove their pieces together,
    /// so that a piece can stand in several of them.
    Captured(Capture),
    /// The oldest egg became a turtle. The captures that follow and start from its cell are its.
    Hatched {
        /// Whose turtle.
        seat: Seat,
        /// Where.
        cell: Cell,
    },
    /// Both seats claimed the oldest egg, and it left the board.
    Vanished {
        /// Where.
        cell: Cell,
    },
}

/// A resolved turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The position after the turn, its outcome included.
    pub position: Position,
    /// The cell that black chose.
    pub black: Cell,
    /// The cell that white chose.
    pub white: Cell,
    /// What happened: the placed turtles, black's first, or the collision; then the captures of
    /// black's new turtle, then white's, each in the order N, NE, E, SE, S, SW, W, NW (north is the
    /// next row); then hatchings and vanishings, each hatching followed by its captures.
    pub events: Vec<Event>,
}

impl Position {
    /// Resolves a turn and reports what happened.
    ///
    /// # Errors
    ///
    /// [`IllegalTurn`]; the position is as it was.
    ///
    /// ```
    /// use rules::{Cell, Event, IllegalTurn, Position, Seat};
    /// let (e5, a1): (Cell, Cell) = ("E5".parse()?, "A1".parse()?);
    /// let turn = Position::initial().resolve(e5, e5)?;
    /// assert_eq!(turn.events, [Event::Collided { cell: e5 }]);
    /// assert_eq!(turn.position.eggs(), [e5]);
    /// assert_eq!(turn.position.resolve(a1, e5), Err(IllegalTurn::Occupied(Seat::White)));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn resolve(&self, black: Cell, white: Cell) -> Result<Turn, IllegalTurn> {
        let mut position = *self;
        let mut events = Vec::new();
        position.apply(black, white, &mut events)?;
        Ok(Turn { position, black, white, events })
    }

    /// The position after a turn, without the report of [`Position::resolve`].
    ///
    /// # Errors
    ///
    /// [`IllegalTurn`], as for [`Position::resolve`].
    pub fn play(&self, black: Cell, white: Cell) -> Result<Self, IllegalTurn> {
        let mut position = *self;
        position.advance(black, white)?;
        Ok(position)
    }

    /// [`Position::play`] in place: the cheapest way through many turns.
    ///
    /// # Errors
    ///
    /// [`IllegalTurn`]; the position is as it was.
    pub fn advance(&mut self, black: Cell, white: Cell) -> Result<(), IllegalTurn> {
        self.apply(black, white, &mut Unwatched)
    }

    fn apply(&mut self, black: Cell, white: Cell, witness: &mut impl Witness) -> Result<(), IllegalTurn> {
        if self.outcome.status.is_over() {
            return Err(IllegalTurn::GameOver);
        }
        if !self.is_empty(black) {
            return Err(IllegalTurn::Occupied(Seat::Black));
        }
        if !self.is_empty(white) {
            return Err(IllegalTurn::Occupied(Seat::White));
        }
        if black == white {
            witness.see(Event::Collided { cell: black });
            self.eggs.lay(black);
        } else {
            self.land(PerSeat { black, white }, witness);
        }
        self.outcome = Outcome::of(self.turtles, self.eggs.bits());
        Ok(())
    }

    /// Lands both turtles, then finds all their pincers, and only then removes what they hold; what
    /// was captured hatches eggs.
    fn land(&mut self, cells: PerSeat<Cell>, witness: &mut impl Witness) {
        for seat in Seat::BOTH {
            self.turtles[seat] |= cells[seat].bit();
            witness.see(Event::Placed { seat, cell: cells[seat] });
        }
        let black = self.pincers(Seat::Black, cells.black, witness);
        let white = self.pincers(Seat::White, cells.white, witness);
        if black.any() || white.any() {
            self.remove(black.captured() | white.captured());
            self.hatch(PerSeat { black: black.count(), white: white.count() }, witness);
        }
    }

    /// Gives claims to the eggs, oldest first, until one or the other runs out.
    fn hatch(&mut self, mut claims: PerSeat<u32>, witness: &mut impl Witness) {
        while claims.black > 0 || claims.white > 0 {
            let Some(cell) = self.eggs.take_oldest() else { return };
            if claims.black > 0 && claims.white > 0 {
                witness.see(Event::Vanished { cell });
                claims = claims.map(|count| count - 1);
                continue;
            }
            let seat = if claims.black > 0 { Seat::Black } else { Seat::White };
            witness.see(Event::Hatched { seat, cell });
            self.turtles[seat] |= cell.bit();
            let chain = self.pincers(seat, cell, witness);
            self.remove(chain.captured());
            claims[seat] = claims[seat] - 1 + chain.count();
        }
    }

    /// The pincers that a seat's turtle closes by arriving on a cell. Nothing is removed yet.
    fn pincers(&self, by: Seat, from: Cell, witness: &mut impl Witness) -> Pincers {
        let prey = self.turtles[by.opponent()] | self.eggs.bits();
        let pincers = Pincers::closed_by(from, self.turtles[by], prey);
        for [near, far, anchor] in pincers.cells() {
            witness.see(Event::Captured(Capture { by, from, removed: [near, far], anchor }));
        }
        pincers
    }

    fn remove(&mut self, cells: u128) {
        self.turtles = self.turtles.map(|turtles| turtles & !cells);
        self.eggs.remove(cells);
    }
}

/// Watches a turn being resolved.
trait Witness {
    fn see(&mut self, event: Event);
}

/// Keeps no record, at no cost.
struct Unwatched;

impl Witness for Unwatched {
    fn see(&mut self, _: Event) {}
}

impl Witness for Vec<Event> {
    fn see(&mut self, event: Event) {
        self.push(event);
    }
}
