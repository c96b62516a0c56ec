//! What waits for a player: invites to accept or decline, matches to go on with.

use anyhow::Context as _;
use futures::StreamExt as _;
use serde_json::{Value, json};
use whattheshell::{Player, v1};

use crate::lines::{self, Lines};
use crate::person::{Person, Said};
use crate::{seating, words};

const HELP: &str = "\
  1        accept the invite, or go on with the match, that has this number
  d 1      decline the invite that has this number
  list     show the list again
  quit     leave";

/// Lets the player choose among what waits for him. None: he has left.
///
/// # Errors
/// The server is lost sight of, or the input cannot be read.
pub(crate) async fn choose(
    player: &Player,
    person: &mut Person,
    lines: Lines,
) -> anyhow::Result<Option<String>> {
    let mut states = player.watch_player();
    let mut lobby = Lobby { player, lines, choices: Vec::new(), state: v1::PlayerState::default() };
    lobby.take(states.next().await.context("the stream ended")?.map_err(seating::explain)?)?;
    loop {
        lines.prompt("choose")?;
        tokio::select! {
            state = states.next() => {
                lines.end_prompt()?;
                lobby.take(state.context("the stream ended")?.map_err(seating::explain)?)?;
            }
            said = person.next() => match said? {
                Said::End | Said::Go => return Ok(None),
                Said::Line(line) => match lobby.line(&line.to_ascii_lowercase()).await? {
                    Next::Stay => {}
                    Next::Go(game) => return Ok(Some(game)),
                    Next::Leave => return Ok(None),
                },
            },
        }
    }
}

enum Next {
    Stay,
    Go(String),
    Leave,
}

/// Something that can be chosen.
#[derive(Clone)]
enum Choice {
    Invite(v1::Invite),
    Match(v1::PlayerMatch),
}

struct Lobby<'a> {
    player: &'a Player,
    lines: Lines,
    choices: Vec<Choice>,
    state: v1::PlayerState,
}

impl Lobby<'_> {
    fn take(&mut self, state: v1::PlayerState) -> std::io::Result<()> {
        let received = state.invites.iter().filter(|invite| invite.inviter != self.player.name());
        let invites = received.cloned().map(Choice::Invite);
        self.choices = invites.chain(state.matches.iter().cloned().map(Choice::Match)).collect();
        self.state = state;
        self.show()
    }

    fn show(&self) -> std::io::Result<()> {
        let choices: Vec<Value> = self.choices.iter().zip(1..).map(|(choice, n)| choice.json(n)).collect();
        let mut text: Vec<String> = self
            .choices
            .iter()
            .zip(1..)
            .map(|(choice, n)| format!("{n:>3}  {}", self.words(choice)))
            .collect();
        if self.state.more_matches {
            text.push("     and more matches".to_owned());
        }
        let ticket = self.state.ticket.as_ref();
        if let Some(ticket) = ticket {
            text.push(format!("     and you look for an opponent: --queue {} goes on with it", ticket.pool));
        }
        if text.is_empty() {
            text.push("nothing waits for you; --queue POOL, --bot LEVEL or --invite NAME begins".to_owned());
        }
        let object = json!({ "event": "waiting", "choices": choices, "more_matches": self.state.more_matches,
                    "ticket": ticket.map(|ticket| &ticket.name) });
        self.lines.show(&text.join("\n"), object)
    }

    fn words(&self, choice: &Choice) -> String {
        let id = |player: &str| player.trim_start_matches("players/").to_owned();
        match choice {
            Choice::Invite(invite) => {
                let what = if invite.rematch_of.is_empty() { "invites you" } else { "offers you a rematch" };
                let terms = invite.settings.as_ref().map(words::terms).unwrap_or_default();
                let seat = match invite.inviter_seat() {
                    v1::Seat::Black => "you play white",
                    v1::Seat::White => "you play black",
                    _ => "seats are drawn",
                };
                format!("{} {what}: {terms}; {seat}", id(&invite.inviter))
            }
            Choice::Match(waiting) => {
                let game = waiting.r#match.clone().unwrap_or_default();
                let opponent = opponent(waiting);
                let due = if waiting.move_due { "your move is due" } else { "you wait for the other player" };
                let due = if game.state() == v1::MatchState::Waiting { "not begun yet" } else { due };
                format!("{} against {}, turn {}: {due}", game.name, id(opponent), game.turn.saturating_add(1))
            }
        }
    }

    async fn line(&mut self, line: &str) -> anyhow::Result<Next> {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) => {}
            (Some("help" | "?"), _) => self.lines.note(HELP)?,
            (Some("list"), _) => self.show()?,
            (Some("quit" | "exit" | "q"), _) => return Ok(Next::Leave),
            (Some("d" | "decline"), Some(what)) => match self.find(what) {
                Some(Choice::Invite(invite)) => self.decline(&invite.name).await?,
                Some(Choice::Match(_)) => self.lines.note("a match is not declined: go there and resign")?,
                None => self.lines.note("there is no such number; `list` shows them")?,
            },
            (Some(what), None) => match self.find(what) {
                Some(Choice::Match(waiting)) => {
                    return Ok(Next::Go(waiting.r#match.unwrap_or_default().name));
                }
                Some(Choice::Invite(invite)) => return self.accept(&invite.name).await,
                None => self.lines.note("that is no number of the list; `help` helps")?,
            },
            _ => self.lines.note("that is not understood; `help` helps")?,
        }
        Ok(Next::Stay)
    }

    /// By number or by name.
    fn find(&self, what: &str) -> Option<Choice> {
        let by_number = what.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_name = || self.choices.iter().position(|choice| choice.name() == what);
        self.choices.get(by_number.or_else(by_name)?).cloned()
    }

    async fn accept(&self, name: &str) -> anyhow::Result<Next> {
        match self.player.accept_invite(name, None).await {
            Ok(invite) => Ok(Next::Go(invite.r#match)),
            Err(error) => {
                self.lines.note(&format!("{:#}", seating::explain(error)))?;
                Ok(Next::Stay)
            }
        }
    }

    /// The list changes by itself.
    async fn decline(&self, name: &str) -> anyhow::Result<()> {
        match self.player.decline_invite(name).await {
            Ok(_) => self.lines.note("declined")?,
            Err(error) => self.lines.note(&format!("{:#}", seating::explain(error)))?,
        }
        Ok(())
    }
}

fn opponent(waiting: &v1::PlayerMatch) -> &str {
    let Some(game) = &waiting.r#match else { return "" };
    if waiting.seat() == v1::Seat::Black { &game.white_player } else { &game.black_player }
}

impl Choice {
    fn name(&self) -> &str {
        match self {
            Self::Invite(invite) => &invite.name,
            Self::Match(waiting) => waiting.r#match.as_ref().map_or("", |game| &game.name),
        }
    }

    fn json(&self, number: usize) -> Value {
        match self {
            Self::Invite(invite) => json!({
                "number": number, "invite": invite.name, "inviter": invite.inviter,
                "rematch_of": invite.rematch_of, "settings": invite.settings.as_ref().map(lines::settings),
            }),
            Self::Match(waiting) => json!({
                "number": number, "match": self.name(), "opponent": opponent(waiting),
                "seat": words::seat_name(waiting.seat()), "move_due": waiting.move_due,
                "deadline_ms": waiting.deadline.as_ref().map(words::stamp_ms),
            }),
        }
    }
}
