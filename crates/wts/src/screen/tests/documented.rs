//! The screens in docs/play.md are what is drawn; UPDATE_EXPECT=1 draws them anew.

use expect_test::expect_file;

use super::*;
use crate::lines::Lines;

const DOCUMENT: &str = include_str!("../../../../../docs/play.md");

/// The match of most screens, after its fourth turn.
fn played(viewer: Viewer) -> Play {
    let mut play = Play::new(viewer);
    play.0.name = "matches/01a229c6-42ff-7943-a0bc-2bc3203e17d7".to_owned();
    for (black, white) in [("E5", "E5"), ("A1", "B1"), ("C4", "C4"), ("H9", "C1")] {
        play.turn(black, white);
    }
    play
}

fn fifth_turn(play: &mut Play) {
    play.turn("D1", "D6");
}

fn to_choose(viewer: Viewer) -> Play {
    let mut play = played(viewer);
    play.open(|status| status.white.as_mut().unwrap().sealed = Some(true));
    play
}

fn sealed() -> Play {
    let mut play = played(Viewer::Player(Seat::White));
    play.open(|status| {
        status.own_seal = Some(v1::OwnSeal { cell: Some(cell("D6").number().into()), ..Default::default() });
    });
    play
}

fn resolved() -> Play {
    let mut play = played(Viewer::Player(Seat::Black));
    fifth_turn(&mut play);
    play.open(|_| {});
    play
}

fn in_sudden_death() -> Play {
    let mut play = ann();
    play.0.name = "matches/01a229c6-cca7-7bfe-9dba-220315f09f64".to_owned();
    sudden_death(&mut play);
    play.turn("F5", "F5");
    play.open(|_| {});
    play
}

fn ended() -> Play {
    let mut play = resolved();
    play.finish(MatchResult::BlackWins, EndReason::Resignation);
    play.0.update(Event::Answer(Answer::Checked("the transcript is verified, 5 turns".to_owned())));
    play
}

fn replayed() -> Play {
    let mut play = played(Viewer::Reader);
    fifth_turn(&mut play);
    play.finish(MatchResult::BlackWins, EndReason::Resignation);
    play
}

/// The document with the first block of text under a heading replaced.
fn with_block(document: &str, heading: &str, block: &str) -> String {
    let begin = document.find(&format!("\n## {heading}\n")).expect("the heading is there");
    let block_begin =
        begin + document[begin..].find("```text\n").expect("a block is there") + "```text\n".len();
    let block_end = block_begin + document[block_begin..].find("```").expect("the block ends");
    format!("{}{}\n{}", &document[..block_begin], block.trim_end_matches('\n'), &document[block_end..])
}

#[test]
fn the_documented_screens_are_those_that_are_drawn() {
    let black = Viewer::Player(Seat::Black);
    let mut choosing = to_choose(black);
    choosing.press("d1", KeyCode::Null);
    let mut looking_back = to_choose(black);
    looking_back.press("", KeyCode::PageUp);
    let mut lost = to_choose(black);
    lost.0.update(Event::Connected(false));
    let lost = lost.text(0);
    let drawn = [
        ("To choose", choosing.text(9_000)),
        ("A small terminal", choosing.text_in(44, 16, 9_000)),
        ("Sealed", sealed().text(9_000)),
        ("Resolved", resolved().text(1_000)),
        ("Earlier boards", looking_back.text(9_000)),
        ("Sudden death", in_sudden_death().text(1_000)),
        ("A lost connection", lost.lines().next().expect("a title").to_owned()),
        ("The end", ended().text(0)),
        ("Watching", to_choose(Viewer::Spectator).text(9_000)),
        ("Replaying", replayed().text(0)),
        ("Without a screen", Lines::turn_text(in_sudden_death().0.turns.last().expect("a turn"))),
    ];
    let document = drawn
        .iter()
        .fold(DOCUMENT.to_owned(), |document, (heading, block)| with_block(&document, heading, block));
    expect_file!["../../../../../docs/play.md"].assert_eq(&document);
}
