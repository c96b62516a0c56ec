//! What the screen shows of whom one plays: ratings, bots.

use super::*;

/// A screen of black's, whose match has these settings and was made with these ratings.
fn against(settings: v1::MatchSettings, ratings: Option<(f64, f64)>) -> Play {
    let mut play = Play::new(Viewer::Player(Seat::Black));
    let seat = |player: &str, rating: Option<f64>| {
        Some(v1::MatchSeat { player: player.to_owned(), rating, ..Default::default() })
    };
    play.0.update(Event::Update(Box::new(Update::Snapshot(v1::MatchSnapshot {
        settings: Some(settings),
        black: seat("players/ann", ratings.map(|(black, _)| black)),
        white: seat("players/bob", ratings.map(|(_, white)| white)),
        ..Default::default()
    }))));
    play
}

#[test]
fn a_ranked_match_shows_both_ratings_and_how_they_have_moved() {
    let ranked = v1::MatchSettings { mode: v1::MatchMode::Ranked.into(), ..Default::default() };
    let mut play = against(ranked, Some((1_500.4, 1_611.6)));
    play.open(|_| {});
    play.shows(&["ann (you), 1500", "bob, 1612"]);
    play.finish(MatchResult::BlackWins, EndReason::Resignation);
    play.hides(&["→"]);
    play.0.update(Event::Answer(Answer::Rated(PerSeat { black: 1_523.0, white: 1_590.0 })));
    play.shows(&["1500 → 1523", "1612 → 1590"]);
    assert!(play.text_in(44, 16, 0).contains("B 1500 → 1523"), "a small terminal shows them too");
    assert_eq!(play.0.rated().unwrap(), "ratings: ann 1500 → 1523, bob 1612 → 1590");
}

#[test]
fn a_casual_match_shows_no_ratings() {
    let mut play = against(v1::MatchSettings::default(), None);
    play.open(|_| {});
    assert!(play.0.ratings().is_none());
    play.shows(&["ann (you) "]);
}

#[test]
fn a_bot_is_marked_and_awaited_and_offered_no_rematch() {
    let bot = v1::BotSeat { seat: v1::Seat::White.into(), level: v1::BotLevel::BotLevel3.into() };
    let mut play = against(v1::MatchSettings { bot: Some(bot), ..Default::default() }, None);
    play.open(|status| {
        status.state = v1::MatchState::BotDue.into();
        status.turn = 0;
    });
    play.shows(&["against a bot of level 3", "chooses first", "wait> "]);
    assert!(play.press("a1", KeyCode::Enter).is_none(), "nothing is to be sealed before the bot's move");
    play.finish(MatchResult::BlackWins, EndReason::Resignation);
    play.hides(&["rematch"]);
    assert!(play.press("", KeyCode::Char('m')).is_none());
}
