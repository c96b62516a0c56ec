//! Rows, exhaustively.

use rules::{Cell, Outcome, PerSeat, Position, Seat, Setup, Status};

/// Judges a board on which one seat has turtles on `cells` and nothing else stands.
fn judge(seat: Seat, cells: Vec<Cell>) -> Outcome {
    let mut setup = Setup::default();
    match seat {
        Seat::Black => setup.black = cells,
        Seat::White => setup.white = cells,
    }
    Position::from_setup(&setup).expect("the cells differ").outcome()
}

#[test]
fn every_line_of_five_to_nine_wins_and_four_do_not() {
    let mut lines = 0;
    for start in Cell::all() {
        for (east, north) in [(1, 0), (0, 1), (1, 1), (-1, 1)] {
            let line: Vec<Cell> = (0..9)
                .map_while(|step| {
                    let column =
                        u8::try_from(start.column() as i8 + east * step).ok().filter(|&column| column < 9)?;
                    let row = u8::try_from(start.row() as i8 + north * step).ok().filter(|&row| row < 9)?;
                    Cell::from_index(row * 9 + column)
                })
                .collect();
            for length in 1..=line.len() {
                for seat in Seat::BOTH {
                    let outcome = judge(seat, line[..length].to_vec());
                    let count = if length < 5 { 0 } else { length as u8 };
                    lines += usize::from(length == 5);
                    assert_eq!(outcome.status.winner(), (count > 0).then_some(seat));
                    let mut counts = PerSeat { black: 0, white: 0 };
                    counts[seat] = count;
                    assert_eq!(outcome.winning_turtles, counts, "{:?}", &line[..length]);
                }
            }
        }
    }
    // Five begin on 45 cells along a side and on 25 along a diagonal.
    assert_eq!(lines, 2 * (45 + 45 + 25 + 25));
}

#[test]
fn a_line_over_the_edge_is_no_row() {
    for start in 0..81_u8 {
        for stride in [1, 8, 9, 10] {
            let Some(line) =
                (0..5).map(|step| Cell::from_index(start + step * stride)).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let straight = line.windows(2).all(|pair| pair[0].column().abs_diff(pair[1].column()) <= 1);
            let expected = if straight { Status::BlackWins } else { Status::Ongoing };
            assert_eq!(judge(Seat::Black, line).status, expected, "{start} {stride}");
        }
    }
}
