//! Matches against a bot: a turn opens with the bot's seal.

use referee::{Bot, Event, FollowUp, Match, Now, Phase, Settings, TimeControl};
use rules::Seat;

use crate::script::{Played, at, check, new_match};
use crate::settings::{DEFAULT, REVEALED};

const AGAINST_WHITE: Settings = Settings { bot: Some(Bot { seat: Seat::White, level: 3 }), ..DEFAULT };

#[test]
fn a_bot_has_joined_and_its_seal_opens_the_turn_and_the_clock() {
    check(
        AGAINST_WHITE,
        "1000 join black         -> done; changed
         1500 seal black E5 as a -> refused TurnNotOpenYet { turn: 1 }
         9000 seal white D4 as b -> receipt white 1 at 9000; turn 1 until 39000
         9100 seal white D5 as c -> refused AlreadySealed { turn: 1 }
         9500 seal black E5 as a -> receipt black 1 at 9500; resolved 1
         9600 seal black E6 as d -> refused TurnNotOpenYet { turn: 2 }
         9700 seal white D6 as e -> receipt white 2 at 9700; turn 2 until 39700",
    );
}

#[test]
fn nobody_flags_while_the_bot_is_late_and_a_player_who_is_late_does() {
    let week_ms = 7 * 24 * 60 * 60 * 1_000;
    check(
        AGAINST_WHITE,
        &format!(
            "1000 join black
             {week_ms} tick -> done
             {week_ms} seal white D4 as b -> receipt white 1 at {week_ms}; turn 1 until {}
             {} tick -> done; ends WhiteWins Flag at {}",
            week_ms + 30_000,
            week_ms + 30_001,
            week_ms + 30_000,
        ),
    );
}

#[test]
fn a_bots_bank_does_not_run() {
    let time = TimeControl::Bank { initial_ms: 60_000, increment_ms: 1_000 };
    check(
        Settings { time, ..AGAINST_WHITE },
        "1000 join black
         50000 seal white D4 as b -> receipt white 1 at 50000; turn 1 until 110000
         60000 seal black E5 as a
         90000 seal white D5 as b -> receipt white 2 at 90000; turn 2 until 141000/150000",
    );
}

#[test]
fn a_bot_commits_and_its_reveal_is_held() {
    check(
        Settings { bot: Some(Bot { seat: Seat::Black, level: 1 }), ..REVEALED },
        "1000 join white
         2000 seal black D4 as b committed -> refused SealModeMismatch
         2000 seal black D4 as b open -> receipt black 1 at 2000; turn 1 until 32000
         3000 seal white E5 as w -> receipt white 1 at 3000; reveals until 13000
         4000 reveal white E5 as r -> done; resolved 1",
    );
}

#[test]
fn a_bot_never_seals_an_occupied_cell() {
    check(
        AGAINST_WHITE,
        "1000 join black
         2000 seal white D4 as a
         2000 seal black E5 as a
         3000 seal white E5 as b -> refused CellOccupied
         3000 seal white D4 as a in 1 -> receipt white 1 at 2000
         3000 seal white D5 as b knowing other -> refused HistoryRegressed",
    );
}

#[test]
fn a_match_whose_bot_is_awaited_is_due_at_once_and_ends_like_any_other() {
    let due = check(AGAINST_WHITE, "1000 join black").game;
    assert_eq!(due.phase, Phase::BotDue { since: at(1_000) });
    assert_eq!((due.due(), due.bot_due()), (Some(at(1_000)), Some(Seat::White)));
    for (command, end) in [
        ("resign black as r", "WhiteWins Resignation at 3000"),
        ("abort", "Void Operator at 3000"),
        ("lost", "Void LostHistory at 3000"),
    ] {
        check(AGAINST_WHITE, &format!("1000 join black\n3000 {command} -> done; ends {end}"));
    }
    for (command, refusal) in [
        ("offer black as o", "TurnNotOpenYet { turn: 1 }"),
        ("accept black as o", "TurnNotOpenYet { turn: 1 }"),
        ("reveal black E5 as o", "TurnNotOpenYet { turn: 1 }"),
        ("reveal black E5 as o in 0", "TurnClosed { turn: 0 }"),
    ] {
        let mut played = Played::new(AGAINST_WHITE);
        let _ = played.apply(&referee::Command::Join { seat: Seat::Black }, played.now(1_000));
        let words: Vec<_> = command.split_whitespace().collect();
        let refused = played.game.apply(&played.command(&words), played.now(3_000));
        assert_eq!(refused.answer.map_err(|refused| format!("{refused:?}")), Err(refusal.to_owned()));
        assert_eq!(refused.change, None);
    }
}

#[test]
fn a_bot_has_no_list_and_no_record() {
    let created = Match::create(new_match(AGAINST_WHITE), Now { stamp: at(0), outage_ms: 0 });
    assert_eq!(created.follow_ups, [FollowUp::Index(Seat::Black)]);
    let mut played = Played::new(AGAINST_WHITE);
    let _ = played.apply(&referee::Command::Join { seat: Seat::Black }, played.now(1_000));
    let words = ["resign", "black", "as", "r"];
    let ended = played.game.apply(&played.command(&words), played.now(3_000)).change.unwrap();
    assert_eq!((ended.events, ended.follow_ups), (vec![Event::Finished], vec![FollowUp::Index(Seat::Black)]));
}
