//! The crate and the plain model play the same games.

use proptest::prelude::*;
use rules::{Cell, Event, Position};

use crate::boards::{any_position, choose, game, legal_turn};
use crate::plain::Plain;

fn plain_of(position: &Position) -> Plain {
    let mut plain = Plain::new();
    for cell in Cell::all() {
        plain.board[usize::from(cell.index())] = position.piece(cell);
    }
    plain.eggs = position.eggs().to_vec();
    plain.judge();
    plain
}

/// Plays the turn in both and compares all there is.
fn agree(
    position: &Position,
    plain: &mut Plain,
    black: Cell,
    white: Cell,
) -> Result<Position, TestCaseError> {
    let mut events: Vec<Event> = Vec::new();
    plain.play(black, white, |event| events.push(event));
    let turn = position.resolve(black, white).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&turn.events, &events, "{} {} {}", position, black, white);
    same_board(&turn.position, plain)?;
    Ok(turn.position)
}

fn same_board(position: &Position, plain: &Plain) -> Result<(), TestCaseError> {
    for cell in Cell::all() {
        prop_assert_eq!(position.piece(cell), plain.board[usize::from(cell.index())]);
    }
    prop_assert!(Cell::all().filter(|&cell| position.is_empty(cell)).eq(plain.empty_cells()));
    prop_assert_eq!(position.eggs(), plain.eggs.as_slice());
    prop_assert_eq!(position.outcome().status, plain.status);
    prop_assert_eq!(position.outcome().winning_turtles, plain.winning_turtles);
    Ok(())
}

proptest! {

    #[test]
    fn any_board_is_judged_as_the_model_judges_it(position in any_position()) {
        same_board(&position, &plain_of(&position))?;
    }

    #[test]
    fn a_turn_on_any_board_agrees((position, black, white) in legal_turn()) {
        agree(&position, &mut plain_of(&position), black, white)?;
    }

    #[test]
    fn a_game_agrees_turn_by_turn((turns, window) in game()) {
        let mut position = Position::initial();
        let mut plain = Plain::new();
        for bytes in turns {
            if position.outcome().status.is_over() {
                break;
            }
            let (black, white) = choose(&position, bytes, window);
            position = agree(&position, &mut plain, black, white)?;
        }
    }
}
