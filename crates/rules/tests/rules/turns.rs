//! What holds of every turn.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rules::{Cell, Event, IllegalTurn, Piece, Position, Seat};

use crate::boards::{any_position, legal_turn};

proptest! {

    #[test]
    fn a_turn_without_its_report_is_the_same_turn((position, black, white) in legal_turn()) {
        let turn = position.resolve(black, white).unwrap();
        prop_assert_eq!(position.play(black, white), Ok(turn.position));
        let mut advanced = position;
        prop_assert_eq!(advanced.advance(black, white), Ok(()));
        prop_assert_eq!(advanced, turn.position);
        prop_assert_eq!((turn.black, turn.white), (black, white));
    }

    #[test]
    fn the_report_accounts_for_every_piece((position, black, white) in legal_turn()) {
        let turn = position.resolve(black, white).unwrap();
        let mut pieces: Vec<Option<Piece>> = Cell::all().map(|cell| position.piece(cell)).collect();
        let mut removed = BTreeSet::new();
        for event in &turn.events {
            let (cell, piece) = match *event {
                Event::Placed { seat, cell } => (cell, Some(Piece::Turtle(seat))),
                Event::Collided { cell } => (cell, Some(Piece::Egg)),
                Event::Hatched { seat, cell } => {
                    prop_assert_eq!(pieces[usize::from(cell.index())], Some(Piece::Egg));
                    (cell, Some(Piece::Turtle(seat)))
                }
                Event::Vanished { cell } => (cell, None),
                Event::Captured(capture) => {
                    // The removed pieces of placed turtles may stand in several captures.
                    for cell in capture.removed {
                        let piece = pieces[usize::from(cell.index())];
                        prop_assert!(piece.is_some() || removed.contains(&cell));
                        prop_assert!(piece != Some(Piece::Turtle(capture.by)));
                        removed.insert(cell);
                    }
                    continue;
                }
            };
            for cell in &removed {
                pieces[usize::from(cell.index())] = None;
            }
            pieces[usize::from(cell.index())] = piece;
        }
        for cell in &removed {
            pieces[usize::from(cell.index())] = None;
        }
        let after: Vec<Option<Piece>> = Cell::all().map(|cell| turn.position.piece(cell)).collect();
        prop_assert_eq!(after, pieces);
    }

    #[test]
    fn eggs_keep_their_ages((position, black, white) in legal_turn()) {
        let turn = position.resolve(black, white).unwrap();
        let mut known: Vec<Cell> = position.eggs().to_vec();
        if black == white {
            known.push(black);
        }
        known.retain(|egg| turn.position.eggs().contains(egg));
        prop_assert_eq!(turn.position.eggs(), known);
    }

    #[test]
    fn a_choice_is_refused_by_the_public_board_alone(position in any_position(), b in 0..81_u8, w in 0..81_u8) {
        let (black, white) = (Cell::from_index(b).unwrap(), Cell::from_index(w).unwrap());
        let expected = if position.outcome().status.is_over() {
            Some(IllegalTurn::GameOver)
        } else if position.piece(black).is_some() {
            Some(IllegalTurn::Occupied(Seat::Black))
        } else if position.piece(white).is_some() {
            Some(IllegalTurn::Occupied(Seat::White))
        } else {
            None
        };
        prop_assert_eq!(position.resolve(black, white).err(), expected);
        prop_assert_eq!(position.play(black, white).err(), expected);
        if expected.is_some() {
            let mut refused = position;
            prop_assert_eq!(refused.advance(black, white).err(), expected);
            prop_assert_eq!(refused, position);
        }
    }

    #[test]
    fn every_view_of_a_position_shows_the_same_board(position in any_position()) {
        for cell in Cell::all() {
            let piece = position.piece(cell);
            let bit = 1_u128 << cell.index();
            for seat in Seat::BOTH {
                let owned = piece == Some(Piece::Turtle(seat));
                prop_assert_eq!(position.turtles(seat).any(|turtle| turtle == cell), owned);
                prop_assert_eq!(position.turtle_bits(seat) & bit != 0, owned);
            }
            prop_assert_eq!(position.eggs().contains(&cell), piece == Some(Piece::Egg));
            prop_assert_eq!(position.egg_bits() & bit != 0, piece == Some(Piece::Egg));
            prop_assert_eq!(position.is_empty(cell), piece.is_none());
            let legal = piece.is_none() && !position.outcome().status.is_over();
            prop_assert_eq!(position.legal_cells().any(|legal| legal == cell), legal);
            prop_assert_eq!(position.legal_bits() & bit != 0, legal);
        }
        prop_assert_eq!(position, position.to_string().parse::<Position>().unwrap());
    }
}
