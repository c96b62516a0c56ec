//! A match told line by line: in words, or as one JSON object a line.

use std::io::{ErrorKind, Write as _};

use rules::{PerSeat, Position};
use serde_json::{Value, json};
use whattheshell::{Finish, VerifiedMatch, VerifiedTurn, v1};

use crate::{board, view, words};

/// Tells a match on stdout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    /// JSON instead of words.
    pub(crate) json: bool,
}

impl Lines {
    /// Who plays, and by which settings.
    pub(crate) fn begin(
        self,
        name: &str,
        players: &PerSeat<String>,
        settings: Option<&v1::MatchSettings>,
    ) -> std::io::Result<()> {
        let PerSeat { black, white } = players;
        let terms = settings.map(words::terms).unwrap_or_default();
        self.show(
            &format!("{name}: {black} (B) against {white} (W); {terms}\n"),
            json!({ "event": "begin", "match": name, "black": black, "white": white,
                    "settings": settings.map(self::settings) }),
        )
    }

    /// A turn, with the board after it.
    ///
    /// # Errors
    /// Stdout is closed, here and below.
    pub(crate) fn turn(self, turn: &VerifiedTurn) -> std::io::Result<()> {
        self.show(&Self::turn_text(turn), Self::turn_object(turn))
    }

    /// A turn in words, and the board after it.
    pub(crate) fn turn_text(turn: &VerifiedTurn) -> String {
        let cells = [turn.cells.black, turn.cells.white];
        let board = board::draw(&turn.position, &cells);
        let mut text = format!("{}{board}", Self::story(turn));
        for line in standing(&turn.position) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// A turn without the board.
    pub(crate) fn turn_in_words(self, turn: &VerifiedTurn) -> std::io::Result<()> {
        self.show(Self::story(turn).trim_end(), Self::turn_object(turn))
    }

    fn story(turn: &VerifiedTurn) -> String {
        let mut text = format!("turn {}\n", turn.turn);
        for line in words::turn(turn) {
            text.push_str("  - ");
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn turn_object(turn: &VerifiedTurn) -> Value {
        json!({ "event": "turn", "turn": turn.turn, "black": turn.cells.black.to_string(),
                "white": turn.cells.white.to_string(), "words": words::turn(turn),
                "position": turn.position.to_string(), "hash": turn.hash.to_string() })
    }

    /// The end.
    pub(crate) fn finish(self, finish: &Finish) -> std::io::Result<()> {
        let words = words::finish(finish);
        let text = format!("after turn {}: {words}", finish.message.turn);
        self.finish_as(finish, &text)
    }

    /// The end, in words of the caller's.
    pub(crate) fn finish_as(self, finish: &Finish, text: &str) -> std::io::Result<()> {
        let message = &finish.message;
        self.show(
            text,
            json!({ "event": "finished", "turns": message.turn, "result": message.result().as_str_name(),
                    "reason": message.reason().as_str_name(), "words": words::finish(finish) }),
        )
    }

    /// The transcript holds.
    pub(crate) fn verified(self, verified: &VerifiedMatch) -> std::io::Result<()> {
        let (turns, hash) = (verified.turns.len(), verified.last_hash);
        self.verified_as(
            verified,
            &format!(
                "the transcript is verified: {turns} turns, every commitment opens, every board is what \
                 the rules say, and the chain of hashes ends in {hash}"
            ),
        )
    }

    /// The transcript holds, in words of the caller's.
    pub(crate) fn verified_as(self, verified: &VerifiedMatch, text: &str) -> std::io::Result<()> {
        let hash = verified.last_hash.to_string();
        self.show(text, json!({ "event": "verified", "turns": verified.turns.len(), "end_hash": hash }))
    }

    /// All turns so far, in short.
    pub(crate) fn history(self, turns: &[VerifiedTurn]) -> std::io::Result<()> {
        let lines: Vec<_> = turns.iter().map(words::history).collect();
        let text = if lines.is_empty() { "nothing yet".to_owned() } else { lines.join("\n") };
        let objects: Vec<_> = turns.iter().map(Self::turn_object).collect();
        self.show(&text, json!({ "event": "history", "turns": objects }))
    }

    /// Something that was asked for and not done.
    pub(crate) fn refused(
        self,
        command: &str,
        reason: Option<v1::ErrorReason>,
        text: &str,
    ) -> std::io::Result<()> {
        // As the API's errors spell it.
        let reason = reason.map(|reason| reason.as_str_name().trim_start_matches("ERROR_REASON_"));
        let object = json!({ "event": "refused", "command": command, "reason": reason, "text": text });
        self.show(text, object)
    }

    /// Asks a person for a line; a program knows.
    pub(crate) fn prompt(self, what: &str) -> std::io::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        write!(out, "{what}> ")?;
        out.flush()
    }

    /// Ends the line that a prompt waits on.
    pub(crate) fn end_prompt(self) -> std::io::Result<()> {
        if self.json { Ok(()) } else { self.note("") }
    }

    /// Writes over the line that the cursor is in, as far as it fits.
    pub(crate) fn over(self, text: &str) -> std::io::Result<()> {
        // The last column stays free: some terminals would begin another line.
        let room = crossterm::terminal::size()
            .map_or(usize::MAX, |(columns, _)| usize::from(columns.saturating_sub(1)));
        let mut out = std::io::stdout().lock();
        write!(out, "\r{}\x1b[K", text.chars().take(room).collect::<String>())?;
        out.flush()
    }

    /// Something that is said to a person.
    pub(crate) fn note(self, text: &str) -> std::io::Result<()> {
        self.show(text, json!({ "event": "note", "text": text }))
    }

    /// A line: the text, or the object.
    pub(crate) fn show(self, text: &str, object: Value) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{object}")?
        } else {
            writeln!(out, "{text}")?
        }
        out.flush()
    }
}

/// Whether nobody reads stdout any more, as `head` does once it has enough: no reason to fail.
pub(crate) fn is_unread(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// What a board says besides what stands on it: eggs by age, and counts once there are any.
pub(crate) fn standing(position: &Position) -> Vec<String> {
    let eggs = (!position.eggs().is_empty()).then(|| view::eggs(position));
    let sudden_death = view::sudden_death(position).map(str::to_owned);
    eggs.into_iter().chain(view::counts(position)).chain(sudden_death).collect()
}

/// The settings of a match, as every object has them. Times are milliseconds; what is not set is null.
pub(crate) fn settings(settings: &v1::MatchSettings) -> Value {
    use v1::match_settings::TimeControl;
    let (turn_time, bank) = match &settings.time_control {
        Some(TimeControl::TurnTime(time)) => (Some(time), None),
        Some(TimeControl::Bank(bank)) => (None, Some(bank)),
        None => (None, None),
    };
    json!({
        "rules_version": settings.rules_version,
        "turn_time_ms": turn_time.map(words::span_ms),
        "bank_initial_ms": bank.and_then(|bank| bank.initial.as_ref()).map(words::span_ms),
        "bank_increment_ms": bank.map(|bank| bank.increment.as_ref().map_or(0, words::span_ms)),
        "seal_mode": settings.seal_mode().as_str_name(),
        "reveal_time_ms": settings.reveal_time.as_ref().map(words::span_ms),
        "mode": settings.mode().as_str_name(),
        "spectators": settings.spectators().as_str_name(),
        "seal_status": settings.seal_status().as_str_name(),
        "start_time_ms": settings.start_time.as_ref().map(words::span_ms),
        "turn_limit": settings.turn_limit,
        "bot_level": words::bot_level(settings),
        "idle_limit_ms": settings.idle_limit.as_ref().map(words::span_ms),
    })
}
