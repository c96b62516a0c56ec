//! What the screens promise, drawn into memory at given times.

use crossterm::event::{KeyCode, KeyModifiers};
use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use whattheshell::prost_types::{Duration, Timestamp};
use whattheshell::sealing::{Digest, EndReason, Ending, MatchResult};

use super::*;

mod documented;
mod opponents;
mod stepping;

/// When turns open, seconds since 1970.
const OPENED_S: i64 = 1_000_000;

fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds: OPENED_S + seconds, nanos: 0 })
}

fn now_ms(after_opening_ms: u64) -> u64 {
    OPENED_S as u64 * 1_000 + after_opening_ms
}

fn cell(name: &str) -> Cell {
    name.parse().unwrap()
}

/// A screen and what has happened on it.
struct Play(Screen);

impl Play {
    fn new(viewer: Viewer) -> Self {
        Self::with(viewer, v1::SealMode::ServerSealed)
    }

    fn with(viewer: Viewer, mode: v1::SealMode) -> Self {
        let mut screen = Screen::new(viewer, "matches/m1", Palette::Plain);
        let settings = v1::MatchSettings {
            time_control: Some(v1::match_settings::TimeControl::TurnTime(Duration {
                seconds: 300,
                nanos: 0,
            })),
            seal_mode: mode.into(),
            ..Default::default()
        };
        let seat = |player: &str| Some(v1::MatchSeat { player: player.to_owned(), ..Default::default() });
        screen.update(Event::Connected(true));
        screen.update(Event::Update(Box::new(Update::Snapshot(v1::MatchSnapshot {
            settings: Some(settings),
            black: seat("players/ann"),
            white: seat("players/bob"),
            ..Default::default()
        }))));
        Self(screen)
    }

    fn turn(&mut self, black: &str, white: &str) {
        let played = self.0.position().resolve(cell(black), cell(white)).unwrap();
        let opening = |seconds| Some(v1::SealedOpening { seal_time: at(seconds), ..Default::default() });
        self.0.update(Event::Update(Box::new(Update::Turn(VerifiedTurn {
            turn: self.0.next_turn(),
            cells: PerSeat { black: played.black, white: played.white },
            events: played.events,
            position: played.position,
            hash: Digest::try_from(&[0; 32][..]).unwrap(),
            message: v1::ResolvedTurn {
                open_time: at(0),
                black: opening(3),
                white: opening(75),
                ..Default::default()
            },
        }))));
    }

    /// The next turn is open, with each seat as it is changed to be.
    fn open(&mut self, change: impl FnOnce(&mut v1::MatchStatus)) {
        let seat =
            || v1::SeatStatus { joined: true, sealed: Some(false), deadline: at(300), ..Default::default() };
        let mut status = v1::MatchStatus {
            state: v1::MatchState::Open.into(),
            turn: self.0.next_turn(),
            open_time: at(0),
            black: Some(seat()),
            white: Some(seat()),
            ..Default::default()
        };
        change(&mut status);
        self.0.update(Event::Update(Box::new(Update::Status(status))));
    }

    fn finish(&mut self, result: MatchResult, reason: EndReason) {
        let unresolved = PerSeat { black: None, white: None };
        let ending = Ending { result, reason, time_ms: 0, unresolved };
        let finish = Finish { message: v1::MatchFinished::default(), ending: Some(ending) };
        self.0.update(Event::Update(Box::new(Update::Finished(finish))));
    }

    /// Presses the keys of a text, then this one.
    fn press(&mut self, text: &str, last: KeyCode) -> Option<Intent> {
        for letter in text.chars() {
            self.0.update(Event::Key(KeyCode::Char(letter).into()));
        }
        self.0.update(Event::Key(last.into()))
    }

    fn terminal(&mut self, width: u16, height: u16, after_opening_ms: u64) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| self.0.draw(frame, now_ms(after_opening_ms))).unwrap();
        terminal
    }

    fn text(&mut self, after_opening_ms: u64) -> String {
        self.text_in(80, 24, after_opening_ms)
    }

    fn text_in(&mut self, width: u16, height: u16, after_opening_ms: u64) -> String {
        let terminal = self.terminal(width, height, after_opening_ms);
        let cells: Vec<_> = terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
        let lines = cells.chunks(width.into()).map(|line| line.concat().trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn shows(&mut self, texts: &[&str]) {
        let screen = self.text(0);
        texts.iter().for_each(|text| assert!(screen.contains(text), "{text:?} is not in\n{screen}"));
    }

    #[track_caller]
    fn hides(&mut self, texts: &[&str]) {
        let screen = self.text(0);
        texts.iter().for_each(|text| assert!(!screen.contains(text), "{text:?} is in\n{screen}"));
    }

    #[track_caller]
    fn check(&mut self, after_opening_ms: u64, expected: Expect) {
        expected.assert_eq(&(self.text(after_opening_ms) + "\n"));
    }
}

fn ann() -> Play {
    Play::new(Viewer::Player(Seat::Black))
}

/// Both have a row of five and the same count: each places one turtle of its row a turn.
fn sudden_death(play: &mut Play) {
    for column in ['A', 'B', 'C', 'D', 'E'] {
        play.turn(&format!("{column}2"), &format!("{column}7"));
    }
}

#[test]
fn a_whole_match_fits_into_80_by_24() {
    let mut play = ann();
    play.turn("E5", "E5");
    play.turn("A1", "B1");
    play.turn("H9", "C1");
    play.turn("C4", "C4");
    play.turn("D1", "I9");
    play.open(|status| status.white.as_mut().unwrap().sealed = Some(true));
    play.press("f6", KeyCode::Null);
    play.check(
        28_000,
        expect![[r#"
             What the Shell  matches/m1                                           connected
            ┌ turn 6 ─────────────────────────────────┐┌ players ──────────────────────────┐
            │    A   B   C   D   E   F   G   H   I    ││B black  ann (you)             4:32│
            │9   .   .   .   .   .   .   .   B ( W ) 9││  to choose                        │
            │8   .   .   .   .   .   .   .   .   .   8││W white  bob                       │
            │7   .   .   .   .   .   .   .   .   .   7││  has sealed                       │
            │6   .   .   .   .   . [ . ] .   .   .   6││                                   │
            │5   .   .   .   .   B   .   .   .   .   5││Eggs, oldest first: e1 C4          │
            │4   .   .  e1   .   .   .   .   .   .   4││                                   │
            │3   .   .   .   .   .   .   .   .   .   3││casual, 5 min a turn, sealed by the│
            │2   .   .   .   .   .   .   .   .   .   2││server                             │
            │1   B   .   . ( B ) .   .   .   .   .   1││                                   │
            │    A   B   C   D   E   F   G   H   I    ││                                   │
            └─────────────────────────────────────────┘└───────────────────────────────────┘
            ┌ what happened in turn 5 ───────────────────┐┌ history: black, white ─────────┐
            │black lands on D1                           ││  5  D1  I9  captured  hatched  │
            │white lands on I9                           ││  4  C4  C4  egg laid           │
            │black captures C1 and B1 between D1 and A1  ││  3  H9  C1                     │
            │the egg on E5 hatches for black             ││  2  A1  B1                     │
            │                                            ││  1  E5  E5  egg laid           │
            └────────────────────────────────────────────┘└────────────────────────────────┘

             turn 6, black's cell> F6_  Enter seals F6, for good
             E5 or arrows, Enter: seal   d Enter: draw   r: resign   ?: help   q: leave
        "#]],
    );
}

#[test]
fn the_own_seal_is_shown_to_its_player_and_to_nobody_else() {
    let mut play = ann();
    play.open(|_| {});
    assert!(
        matches!(play.press("e5", KeyCode::Enter), Some(Intent::Seal { turn: 1, cell }) if cell == self::cell("E5"))
    );
    play.0.update(Event::Answer(Answer::Sealed { turn: 1, cell: cell("E5") }));
    play.shows(&[
        "sealed E5, which only you know",
        "E5 is sealed; the other player sees it when the turn resolves",
    ]);

    let sealed = |status: &mut v1::MatchStatus| {
        let black = status.black.as_mut().unwrap();
        (black.sealed, black.commitment) = (Some(true), Some(vec![7; 32]));
    };
    for viewer in [Viewer::Player(Seat::White), Viewer::Spectator] {
        let mut other = Play::new(viewer);
        other.open(sealed);
        other.shows(&["has sealed"]);
        other.hides(&["E5,", "sealed E5"]);
    }
    // Coming back on another terminal, the server tells it to its sealer alone.
    let mut back = ann();
    back.open(|status| {
        status.own_seal = Some(v1::OwnSeal { cell: Some(41), ..Default::default() });
    });
    back.shows(&["sealed E5, which only you know", "wait>"]);
}

#[test]
fn a_hidden_seal_status_shows_nothing_of_the_opponent() {
    let mut play = ann();
    play.open(|status| status.white.as_mut().unwrap().sealed = None);
    play.shows(&["hidden until both have sealed"]);
    play.hides(&["has sealed", "chooses"]);
}

#[test]
fn a_seal_is_final_and_asked_for_once() {
    let mut play = ann();
    play.open(|_| {});
    assert!(play.press("e5", KeyCode::Enter).is_some());
    assert!(play.press("", KeyCode::Enter).is_none(), "one is on its way");
    play.0.update(Event::Answer(Answer::Sealed { turn: 1, cell: cell("E5") }));
    assert!(play.press("d4", KeyCode::Enter).is_none());
    play.shows(&["you have sealed this turn, and a seal is final; wait for the other player"]);
}

#[test]
fn eggs_show_their_age() {
    let mut play = ann();
    play.turn("E5", "E5");
    play.turn("C3", "C3");
    play.shows(&["Eggs, oldest first: e1 E5, e2 C3", "(e2 )", "both chose C3", "egg laid"]);
    play.turn("A1", "B1");
    play.turn("H9", "C1");
    play.turn("D1", "I9");
    play.shows(&["Eggs, oldest first: e1 C3", "the egg on E5 hatches for black"]);
}

#[test]
fn clocks_count_down_by_the_time_that_is_given() {
    let mut play = ann();
    play.open(|status| status.white.as_mut().unwrap().sealed = Some(true));
    let mut clock = |after_ms| {
        let text = play.text(after_ms);
        let line = text.lines().find(|line| line.contains("B black")).unwrap();
        line.trim_end_matches('│').rsplit("  ").next().unwrap().trim().to_owned()
    };
    let clocks = [0, 60_500, 291_500, 299_900, 400_000].map(&mut clock);
    assert_eq!(clocks, ["5:00", "3:59", "8.5 s", "0.1 s", "0.0 s"]);
    assert_eq!(crate::view::length(90_061_000), "1 d 1 h");
    assert_eq!(crate::view::length(3_661_000), "1:01:01");
}

#[test]
fn a_bank_clock_stops_at_the_seal() {
    let mut play = ann();
    play.open(|status| {
        let white = status.white.as_mut().unwrap();
        (white.sealed, white.clock_left) = (Some(true), Some(Duration { seconds: 125, nanos: 0 }));
    });
    for after_ms in [0, 100_000] {
        let text = play.text(after_ms);
        let line = text.lines().find(|line| line.contains("W white")).unwrap();
        assert!(line.contains("2:05"), "{line}");
    }
}

#[test]
fn sudden_death_shows_its_counts() {
    let mut play = ann();
    sudden_death(&mut play);
    play.shows(&["Winning turtles: black 5, white 5", "SUDDEN DEATH: the next lead wins"]);
    let mut play = ann();
    play.hides(&["Winning turtles"]);
    play.turn("A1", "A2");
    play.hides(&["Winning turtles"]);
}

#[test]
fn the_end_says_who_won_and_whether_it_is_verified() {
    let mut play = ann();
    play.turn("E5", "D4");
    play.open(|_| {});
    play.finish(MatchResult::BlackWins, EndReason::Resignation);
    play.shows(&["you win; black wins: white resigned", "the transcript is being verified", "finished"]);
    play.hides(&["r: resign", "5:00"]);
    play.0.update(Event::Answer(Answer::Done("an answer that comes late")));
    play.shows(&["you win; black wins: white resigned"]);
    play.0.update(Event::Answer(Answer::Checked("the transcript is verified, 1 turns".to_owned())));
    play.shows(&["the transcript is verified, 1 turns"]);
    let mut loser = Play::new(Viewer::Player(Seat::White));
    loser.finish(MatchResult::BlackWins, EndReason::Flag);
    loser.shows(&["you lose; black wins: white ran out of time"]);
}

#[test]
fn a_rematch_is_offered_accepted_and_declined_by_keys() {
    let mut play = ann();
    play.press("m", KeyCode::Null);
    play.shows(&["that is no key here"]);
    play.finish(MatchResult::Draw, EndReason::AgreedDraw);
    play.shows(&["m: rematch"]);
    assert!(matches!(play.press("", KeyCode::Char('m')), Some(Intent::Rematch { want: true })));
    play.0.update(Event::Rematch(Offer::Made));
    play.shows(&["a rematch is offered; q takes it back"]);
    assert!(play.press("", KeyCode::Char('n')).is_none(), "nothing is there to decline");
    play.0.update(Event::Rematch(Offer::Received));
    play.shows(&["a rematch is offered to you", "m: accept the rematch   n: decline it"]);
    assert!(matches!(play.press("", KeyCode::Char('n')), Some(Intent::Rematch { want: false })));
    let mut spectator = Play::new(Viewer::Spectator);
    spectator.finish(MatchResult::Draw, EndReason::AgreedDraw);
    assert!(spectator.press("", KeyCode::Char('m')).is_none());
}

#[test]
fn a_lost_connection_is_told_and_so_is_its_return() {
    let mut play = ann();
    play.open(|_| {});
    play.shows(&["connected"]);
    play.0.update(Event::Connected(false));
    play.shows(&["CONNECTION LOST, resuming"]);
    play.0.update(Event::Connected(true));
    play.hides(&["LOST"]);
}

#[test]
fn what_does_not_work_says_what_to_do() {
    let mut play = ann();
    play.turn("E5", "D4");
    play.press("c3", KeyCode::Enter);
    play.shows(&["there is nothing to seal now; wait for the turn to open"]);
    play.open(|_| {});
    for (typed, said) in [("e5", "E5 is taken; choose an empty cell"), ("c", "the row is missing: 1 to 9")] {
        assert!(play.press(typed, KeyCode::Enter).is_none());
        play.shows(&[said]);
    }
    play.press("", KeyCode::Esc);
    for (typed, said) in [
        ("7", "a cell begins with its column: A to I"),
        ("x", "that is no key here; ? shows the keys"),
        ("n", "no draw is offered to you"),
    ] {
        assert!(play.press(typed, KeyCode::Null).is_none());
        play.shows(&[said]);
    }
    play.press("", KeyCode::Enter);
    play.shows(&["type a cell like E5, or choose one with the arrow keys"]);
    play.0.update(Event::Answer(Answer::Failed("no answer; seal C3 again".to_owned())));
    play.shows(&["no answer; seal C3 again"]);
    assert!(play.press("c3", KeyCode::Enter).is_some(), "a failed seal can be repeated");
}

#[test]
fn arrows_choose_a_cell_too() {
    let mut play = ann();
    play.open(|_| {});
    play.press("", KeyCode::Up);
    play.press("", KeyCode::Up);
    play.press("", KeyCode::Left);
    play.shows(&["[ . ]", "Enter seals D6, for good"]);
    assert!(
        matches!(play.press("", KeyCode::Enter), Some(Intent::Seal { turn: 1, cell }) if cell == self::cell("D6"))
    );
    for _ in 0..20 {
        play.press("", KeyCode::Right);
    }
    play.shows(&["I6"]);
}

#[test]
fn draws_are_offered_accepted_and_declined_by_keys() {
    let mut play = ann();
    play.open(|_| {});
    play.press("d", KeyCode::Null);
    play.shows(&["Enter offers a draw"]);
    assert!(matches!(play.press("", KeyCode::Enter), Some(Intent::OfferDraw(1))));
    play.open(|status| status.white.as_mut().unwrap().draw_offer = v1::DrawOffer::Open.into());
    play.shows(&[
        "the other player offers a draw: `a` and Enter accept it, `n` declines it",
        "; offers a draw",
    ]);
    assert!(matches!(
        play.press("", KeyCode::Char('n')),
        Some(Intent::AnswerDraw { turn: 1, accept: false })
    ));
    assert!(matches!(play.press("a", KeyCode::Enter), Some(Intent::AnswerDraw { turn: 1, accept: true })));
    assert!(matches!(play.press("d4", KeyCode::Enter), Some(Intent::Seal { .. })), "D is a column too");
}

#[test]
fn resigning_is_asked_about() {
    let mut play = ann();
    play.open(|_| {});
    assert!(play.press("", KeyCode::Char('r')).is_none());
    play.shows(&["You lose the match."]);
    assert!(play.press("", KeyCode::Char('x')).is_none());
    play.hides(&["You lose the match."]);
    assert!(matches!(play.press("r", KeyCode::Char('y')), Some(Intent::Resign)));
}

#[test]
fn leaving_is_asked_about_where_it_loses() {
    let mut play = ann();
    assert!(matches!(play.press("", KeyCode::Char('q')), Some(Intent::Leave)));
    let mut play = Play::with(Viewer::Player(Seat::Black), v1::SealMode::CommitReveal);
    play.open(|_| {});
    play.press("e5", KeyCode::Enter);
    play.0.update(Event::Answer(Answer::Sealed { turn: 1, cell: cell("E5") }));
    assert!(play.press("", KeyCode::Char('q')).is_none());
    play.shows(&["Your sealed move is not revealed yet."]);
    assert!(matches!(play.press("", KeyCode::Char('y')), Some(Intent::Leave)));
    let interrupt = || KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(play.0.update(Event::Key(interrupt())).is_none());
    assert!(matches!(play.0.update(Event::Key(interrupt())), Some(Intent::Leave)), "twice is meant");
}

#[test]
fn a_move_that_is_kept_is_shown_and_one_that_is_not_is_told_of() {
    let sealed = |status: &mut v1::MatchStatus| status.black.as_mut().unwrap().sealed = Some(true);
    let mut play = Play::with(Viewer::Player(Seat::Black), v1::SealMode::CommitReveal);
    play.0.update(Event::Kept { turn: 1, cell: cell("E5") });
    play.open(|_| {});
    play.hides(&["sealed E5"]);
    play.open(sealed);
    play.shows(&["sealed E5, which only you know"]);

    let mut play = Play::with(Viewer::Player(Seat::Black), v1::SealMode::CommitReveal);
    play.0.update(Event::SealedElsewhere { turn: 1 });
    play.open(sealed);
    play.shows(&["cannot be revealed from here"]);
    play.turn("E5", "D4");
    play.open(|_| {});
    play.hides(&["cannot be revealed from here"]);
}

#[test]
fn help_is_over_every_screen() {
    for (viewer, said) in [
        (Viewer::Player(Seat::White), "offer a draw; it is gone when the turn resolves"),
        (Viewer::Spectator, "e1 the egg that hatches next"),
        (Viewer::Reader, "one turn on, one turn back"),
    ] {
        let mut play = Play::new(viewer);
        play.press("", KeyCode::Char('?'));
        play.shows(&[said, "any key closes it"]);
        play.press("", KeyCode::Esc);
        play.hides(&["any key closes it"]);
    }
}

#[test]
fn a_match_by_correspondence_waits_in_the_open() {
    let mut play = ann();
    play.open(|status| {
        status.state = v1::MatchState::Waiting.into();
        status.turn = 0;
        let white = status.white.as_mut().unwrap();
        (white.joined, white.sealed) = (false, None);
    });
    play.shows(&["is here", "has not joined yet", "wait>"]);
}

#[test]
fn a_small_terminal_shows_what_cannot_be_done_without() {
    let mut play = ann();
    play.turn("E5", "E5");
    play.turn("A1", "B1");
    play.open(|status| status.white.as_mut().unwrap().sealed = Some(true));
    play.press("f6", KeyCode::Null);
    let drawn = play.text_in(44, 16, 28_000) + "\n";
    expect![[r#"
         turn 3, you play black           connected
            A   B   C   D   E   F   G   H   I
        9   .   .   .   .   .   .   .   .   .   9
        8   .   .   .   .   .   .   .   .   .   8
        7   .   .   .   .   .   .   .   .   .   7
        6   .   .   .   .   . [ . ] .   .   .   6
        5   .   .   .   .  e1   .   .   .   .   5
        4   .   .   .   .   .   .   .   .   .   4
        3   .   .   .   .   .   .   .   .   .   3
        2   .   .   .   .   .   .   .   .   .   2
        1 ( B ( W ) .   .   .   .   .   .   .   1
            A   B   C   D   E   F   G   H   I
         B 4:32 to choose              W has sealed
           2  A1  B1
         cell> F6_  Enter seals F6, for good
         E5 Enter  d draw  r resign  ? help  q leave
    "#]]
    .assert_eq(&drawn);
    assert!(matches!(play.press("", KeyCode::Enter), Some(Intent::Seal { .. })), "it is played on");
    play.press("", KeyCode::Char('?'));
    let help = play.text_in(44, 16, 0);
    assert!(
        help.contains("seal a move, for good") && help.contains("the cell that Enter would seal"),
        "{help}"
    );
    play.press("", KeyCode::Esc);
    let _ = play.text_in(60, 30, 0);
}

#[test]
fn a_terminal_that_shows_nothing_takes_no_move() {
    for mode in [v1::SealMode::ServerSealed, v1::SealMode::CommitReveal] {
        let mut play = Play::with(Viewer::Player(Seat::Black), mode);
        play.open(|_| {});
        for (width, height) in [(43, 16), (44, 15), (1, 1)] {
            let _ = play.text_in(width, height, 0);
            assert!(play.press("a1", KeyCode::Enter).is_none());
            assert!(play.press("ry", KeyCode::Null).is_none());
        }
        let said = play.text_in(43, 15, 0);
        assert!(said.contains("44 columns and 16") && said.contains("--plain"), "{said}");
        play.hides(&["A1_", "resign?"]);
        let _ = play.text_in(40, 15, 0);
        assert!(matches!(play.press("", KeyCode::Char('q')), Some(Intent::Leave)));
    }
    let mut play = Play::with(Viewer::Player(Seat::Black), v1::SealMode::CommitReveal);
    play.open(|status| status.black.as_mut().unwrap().sealed = Some(true));
    let _ = play.text_in(40, 15, 0);
    assert!(play.press("", KeyCode::Char('q')).is_none());
    assert!(play.text_in(40, 15, 0).contains("q again"));
    assert!(matches!(play.press("", KeyCode::Char('q')), Some(Intent::Leave)));
}

#[test]
fn a_large_terminal_is_used() {
    let mut play = ann();
    play.turn("E5", "D4");
    let large = play.text_in(120, 40, 0);
    assert!(large.contains("  A     B     C     D     E     F     G     H     I"), "{large}");
    assert!(large.contains("(  B  )"), "{large}");
}

#[test]
fn letters_say_what_colours_say() {
    let mut play = ann();
    play.turn("A1", "B1");
    play.turn("C1", "C1");
    let styles = |play: &mut Play| {
        let terminal = play.terminal(80, 24, 0);
        let buffer = terminal.backend().buffer();
        // The middles of A1, B1 and C1 on the screen.
        [5, 9, 12]
            .map(|x| (buffer[(x, 11)].symbol().to_owned(), buffer[(x, 11)].bg, buffer[(x, 11)].modifier))
    };
    let plain = styles(&mut play);
    assert_eq!(plain.each_ref().map(|(symbol, _, _)| symbol.as_str()), ["B", "W", "e"]);
    assert!(plain.iter().all(|(_, colour, _)| *colour == Color::Reset), "no colour where none is wanted");
    assert_eq!(
        plain.each_ref().map(|(_, _, modifier)| *modifier),
        [Modifier::BOLD, Modifier::REVERSED, Modifier::UNDERLINED]
    );
    play.0.palette = Palette::Colour;
    let colours = styles(&mut play).map(|(_, colour, _)| colour);
    assert_eq!(colours, [Color::Blue, Color::White, Color::Yellow]);
}
