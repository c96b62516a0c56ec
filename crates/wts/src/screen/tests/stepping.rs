//! Earlier boards: of a replay, and of a match that is played.

use super::*;

#[test]
fn a_replay_steps_forth_and_back() {
    let mut play = Play::new(Viewer::Reader);
    play.turn("E5", "D4");
    play.turn("C3", "C3");
    play.finish(MatchResult::Draw, EndReason::AgreedDraw);
    play.0.rewind();
    play.shows(&["after turn 0 of 2", "replay, verified"]);
    play.press("", KeyCode::Right);
    play.shows(&["after turn 1 of 2", "black lands on E5", "E5 after 3.0 s", "D4 after 1:15"]);
    play.hides(&["a draw: agreed"]);
    play.press("", KeyCode::End);
    play.shows(&["after turn 2 of 2", "both chose C3", "a draw: agreed"]);
    play.press("", KeyCode::Left);
    play.shows(&["after turn 1 of 2"]);
}

#[test]
fn earlier_boards_are_shown_while_the_match_goes_on() {
    for viewer in [Viewer::Player(Seat::Black), Viewer::Spectator] {
        let mut play = Play::new(viewer);
        play.turn("E5", "D4");
        play.turn("C3", "C3");
        play.open(|_| {});
        play.shows(&[" turn 3 ─"]);
        play.press("", KeyCode::PageUp);
        play.shows(&["turn 1 of 2, End: now", "black lands on E5", "( B )", "( W )", "5:00"]);
        play.hides(&["e1", "both chose C3"]);
        play.turn("A1", "A2");
        play.shows(&["turn 1 of 3", "black lands on E5"]);
        play.press("", KeyCode::PageDown);
        play.shows(&["turn 2 of 3", "both chose C3"]);
        assert!(play.text_in(44, 16, 0).starts_with(" turn 2 of 3, End: now  "));
        play.press("", KeyCode::Home);
        play.shows(&["turn 0 of 3", "nothing yet"]);
        play.press("", KeyCode::PageUp);
        play.press("", KeyCode::End);
        play.shows(&[" turn 4 ─", "black lands on A1"]);
        play.press("", KeyCode::PageUp);
        play.press("", KeyCode::Esc);
        play.shows(&[" turn 4 ─"]);
        play.finish(MatchResult::Draw, EndReason::AgreedDraw);
        play.press("", KeyCode::PageUp);
        play.shows(&["turn 2 of 3", "a draw: agreed"]);
    }
}

#[test]
fn a_move_is_chosen_on_the_board_that_it_is_for() {
    let mut play = ann();
    play.turn("E5", "D4");
    play.open(|_| {});
    play.press("", KeyCode::PageUp);
    play.shows(&["turn 0 of 1"]);
    play.press("e5", KeyCode::Null);
    play.shows(&[" turn 2 ─", "[ B ]"]);
    assert!(play.press("", KeyCode::Enter).is_none());
    play.shows(&["E5 is taken; choose an empty cell"]);
    play.press("a1", KeyCode::PageUp);
    play.hides(&["[ . ]"]);
    assert!(play.press("", KeyCode::Enter).is_none(), "first it is shown");
    play.shows(&[" turn 2 ─", "[ . ]"]);
    assert!(matches!(play.press("", KeyCode::Enter), Some(Intent::Seal { turn: 2, .. })));
}
