//! Boards, turns and texts of the rules.

use rules::{Cell, IllegalTurn, Outcome, PerSeat, Piece, Position, Seat, Setup, Status};

use crate::plain::Plain;

/// Turns that one input plays: more would only make inputs slow.
const TURNS_MAX: usize = 200;

/// Reads the bytes as a text, as turns from the empty board, or as a board and turns on it, and
/// checks what must hold of each.
///
/// # Panics
///
/// If it does not hold.
pub fn rules(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 3 {
        0 => text(&String::from_utf8_lossy(data)),
        1 => play(Position::initial(), data),
        _ => {
            let (board, turns) = data.split_at(data.len().min(Cell::COUNT));
            play(position(board), turns);
        }
    }
}

/// What is accepted is exactly what is written.
pub(crate) fn text(text: &str) {
    if let Ok(position) = text.parse::<Position>() {
        assert_eq!(position.to_string(), text);
        check_position(&position, &plain_of(&position));
    }
    if let Ok(cell) = text.parse::<Cell>() {
        assert_eq!(cell.to_string(), text);
        assert!((1..=81).contains(&cell.number()));
    }
}

/// The board on which a byte says what stands on each cell, and how old it is among the eggs.
fn position(board: &[u8]) -> Position {
    let on = |piece: u8| {
        let mut cells: Vec<(u8, Cell)> = Cell::all()
            .zip(board)
            .filter(|(_, byte)| *byte % 4 == piece)
            .map(|(cell, byte)| (byte / 4, cell))
            .collect();
        cells.sort_unstable();
        cells.into_iter().map(|(_, cell)| cell).collect::<Vec<Cell>>()
    };
    let setup = Setup { black: on(1), white: on(2), eggs: on(3) };
    let position = Position::from_setup(&setup).expect("each cell holds one piece");
    assert_eq!(position.eggs(), setup.eggs);
    position
}

/// Plays two bytes a turn and compares with the plain model and with the game of swapped colours.
fn play(mut position: Position, turns: &[u8]) {
    let mut plain = plain_of(&position);
    let mut twin = swapped(&position);
    check_position(&position, &plain);
    for bytes in turns.chunks_exact(2).take(TURNS_MAX) {
        let (black, white) = (choice(&position, bytes[0]), choice(&position, bytes[1]));
        let turn = position.resolve(black, white);
        assert_eq!(
            position.play(black, white),
            turn.as_ref().map(|turn| turn.position).map_err(|error| *error)
        );
        let turn = match turn {
            Ok(turn) => turn,
            Err(refusal) => {
                assert_eq!(refusal, expected_refusal(&plain, black));
                continue;
            }
        };
        let mut events = Vec::new();
        plain.play(black, white, |event| events.push(event));
        assert_eq!(turn.events, events);
        check_position(&turn.position, &plain);
        twin = twin.play(white, black).expect("legal for one colour is legal for the other");
        assert_eq!(swapped(&turn.position), twin);
        position = turn.position;
    }
}

/// Any cell for a low byte, a legal one for a high byte where there is one.
fn choice(position: &Position, byte: u8) -> Cell {
    let legal = position.legal_cells();
    let nth = usize::from(byte & 0x7f);
    let chosen = if byte < 0x80 || legal.len() == 0 {
        Cell::all().nth(nth % Cell::COUNT)
    } else {
        let count = legal.len();
        legal.into_iter().nth(nth % count)
    };
    chosen.expect("the remainder is below the length")
}

fn expected_refusal(plain: &Plain, black: Cell) -> IllegalTurn {
    if plain.status.is_over() {
        IllegalTurn::GameOver
    } else if plain.empty_cells().any(|cell| cell == black) {
        IllegalTurn::Occupied(Seat::White)
    } else {
        IllegalTurn::Occupied(Seat::Black)
    }
}

fn check_position(position: &Position, plain: &Plain) {
    for (cell, piece) in Cell::all().zip(plain.board) {
        assert_eq!(position.piece(cell), piece);
    }
    assert_eq!(position.eggs(), plain.eggs);
    let outcome = Outcome { status: plain.status, winning_turtles: plain.winning_turtles };
    assert_eq!(position.outcome(), outcome);
    let pieces = [position.turtle_bits(Seat::Black), position.turtle_bits(Seat::White), position.egg_bits()];
    let occupied: u32 = pieces.iter().map(|bits| bits.count_ones()).sum();
    assert_eq!(pieces.iter().fold(0, |all, bits| all | bits).count_ones(), occupied);
    assert_eq!(position.to_string().parse(), Ok(*position));
    assert_eq!(Position::from_setup(&Setup::from(position)), Ok(*position));
}

fn plain_of(position: &Position) -> Plain {
    let mut plain = Plain::new();
    for (cell, place) in Cell::all().zip(&mut plain.board) {
        *place = position.piece(cell);
    }
    plain.eggs = position.eggs().to_vec();
    plain.judge();
    plain
}

/// The same board with the colours swapped.
fn swapped(position: &Position) -> Position {
    let Setup { black, white, eggs } = Setup::from(position);
    let swapped =
        Position::from_setup(&Setup { black: white, white: black, eggs }).expect("swapping adds no piece");
    for cell in Cell::all() {
        let piece = position.piece(cell).map(|piece| match piece {
            Piece::Turtle(seat) => Piece::Turtle(seat.opponent()),
            Piece::Egg => Piece::Egg,
        });
        assert_eq!(swapped.piece(cell), piece);
    }
    let Outcome { status, winning_turtles: PerSeat { black, white } } = position.outcome();
    let status = match status {
        Status::BlackWins => Status::WhiteWins,
        Status::WhiteWins => Status::BlackWins,
        Status::Ongoing | Status::SuddenDeath | Status::Draw => status,
    };
    let winning_turtles = PerSeat { black: white, white: black };
    assert_eq!(swapped.outcome(), Outcome { status, winning_turtles });
    swapped
}
