//! Looking for an opponent in a pool, until one is found or the player has enough.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use futures::StreamExt as _;
use serde_json::json;
use tokio::time::{Instant, interval, sleep_until, timeout};
use whattheshell::{Client, Player, v1};

use crate::lines::Lines;
use crate::server_clock::ServerClock;
use crate::terminal::Told;
use crate::time_text::ControlText;
use crate::{ratings, seating, words};

/// How often the line is written anew.
const TICK: Duration = Duration::from_secs(1);

/// How many ticks until the server is asked how long it may still take: the stream tells changes only.
const TICKS_A_QUESTION: u64 = 5;

/// How long a ticket is given to wait again after a match that never began: some node sees to it within seconds.
const AGAIN: Duration = Duration::from_secs(15);

/// A turn that is shorter than this is played in one sitting, ms.
const SITTING_BELOW_MS: u64 = 60 * 60 * 1_000;

/// Time controls that a ticket can name.
const CONTROLS_MAX: usize = 8;

/// What a player is looking for.
pub(crate) struct Wish<'a> {
    /// The pool.
    pub(crate) pool: &'a str,
    /// The time controls that he accepts, the best first. Empty: all of the pool's that are played in a sitting.
    pub(crate) controls: &'a [ControlText],
    /// A bot, if nobody is found.
    pub(crate) bot: Option<v1::BotFallback>,
}

/// A match that a ticket has led to.
pub(crate) struct Found {
    /// `matches/{match}`.
    pub(crate) game: String,
    /// `tickets/{ticket}`.
    pub(crate) ticket: String,
}

/// A player who queues, and how he is told of it.
pub(crate) struct Queue<'a> {
    pub(crate) client: &'a Client,
    pub(crate) player: &'a Player,
    pub(crate) lines: Lines,
    /// Whether there is a line on a terminal to write over.
    pub(crate) is_live: bool,
    /// How long he waits.
    pub(crate) patience: Duration,
}

impl Queue<'_> {
    /// Enters a pool and waits there.
    ///
    /// # Errors
    /// The server has no such pool, nobody was found in time, the player has enough, or a call fails.
    pub(crate) async fn enter(&self, wish: &Wish<'_>, told: &mut Told) -> anyhow::Result<Found> {
        let info = self.client.server_info().await.map_err(seating::explain)?;
        let controls = controls(&info.pools, wish)?;
        let request = v1::CreateTicketRequest {
            pool: wish.pool.to_owned(),
            time_controls: controls.iter().map(|control| control.to_wire()).collect(),
            bot_fallback: wish.bot,
            ..v1::CreateTicketRequest::default()
        };
        let ticket = self.player.create_ticket(request).await.map_err(seating::explain)?;
        let (times, rating) = (control_texts(&ticket), ratings::shown(ticket.rating));
        self.lines.show(
            &format!("you wait in {} for {}, rated {rating}; Ctrl-C stops", ticket.pool, times.join(", ")),
            json!({ "event": "queued", "ticket": ticket.name, "pool": ticket.pool, "time_controls": times,
                    "rating": ticket.rating,
                    "estimated_wait_ms": ticket.estimated_wait.as_ref().map(words::span_ms) }),
        )?;
        self.wait(ticket, told).await
    }

    /// Waits again after a match that never began, if it was not this player who did not come. None: he does not
    /// wait any more.
    ///
    /// # Errors
    /// As [`Self::enter`].
    pub(crate) async fn again(&self, found: &Found, told: &mut Told) -> anyhow::Result<Option<Found>> {
        let mut states = self.player.watch_player();
        let waits = async {
            while let Some(state) = states.next().await {
                match state.map_err(seating::explain)?.ticket {
                    Some(ticket) if ticket.name == found.ticket => return Ok(Some(ticket)),
                    _ => {}
                }
            }
            Ok(None)
        };
        let ticket = tokio::select! {
            ticket = timeout(AGAIN, waits) => ticket.unwrap_or(anyhow::Ok(None))?,
            () = told.wait() => return Err(self.give_up(&found.ticket, "interrupted").await),
        };
        let Some(ticket) = ticket else { return Ok(None) };
        self.lines.show(
            "the other player did not come; you wait again, as long as you have already",
            json!({ "event": "requeued", "ticket": ticket.name, "aborted_match": found.game }),
        )?;
        self.wait(ticket, told).await.map(Some)
    }

    /// Waits with a ticket until it has led to a match.
    async fn wait(&self, mut ticket: v1::Ticket, told: &mut Told) -> anyhow::Result<Found> {
        let clock = ServerClock::of(self.client).await.map_err(seating::explain)?;
        let mut states = self.player.watch_ticket(&ticket.name);
        let (mut tick, mut ticks) = (interval(TICK), 0_u64);
        let until = Instant::now() + self.patience;
        loop {
            tokio::select! {
                state = states.next() => {
                    ticket = state.context("the stream ended")?.map_err(seating::explain)?;
                    if let Some(found) = self.outcome(&ticket)? {
                        return Ok(found);
                    }
                }
                _ = tick.tick(), if self.is_live => {
                    ticks += 1;
                    if ticks % TICKS_A_QUESTION == 0
                        && let Ok(now) = self.player.get_ticket(&ticket.name).await
                    {
                        ticket.estimated_wait = now.estimated_wait;
                    }
                    self.lines.over(&line(&ticket, clock.now_ms(), states.is_connected()))?;
                }
                () = sleep_until(until) => {
                    let why = format!("nobody was found within {} s", self.patience.as_secs());
                    return Err(self.give_up(&ticket.name, &why).await);
                }
                () = told.wait() => return Err(self.give_up(&ticket.name, "interrupted").await),
            }
        }
    }

    /// What a ticket has come to; none while it waits.
    fn outcome(&self, ticket: &v1::Ticket) -> anyhow::Result<Option<Found>> {
        use v1::TicketState::{Cancelled, Expired, Matched};
        let over = |why: &str| -> anyhow::Result<Option<Found>> {
            self.end_line()?;
            bail!("{why}")
        };
        match ticket.state() {
            Matched => {}
            Cancelled => return over("the ticket was cancelled elsewhere"),
            Expired => return over("the ticket expired: the server was out of sight for too long"),
            _ => return Ok(None),
        }
        self.end_line()?;
        let (game, ticket) = (ticket.r#match.clone(), ticket.name.clone());
        self.lines.show(
            &format!("an opponent is found: {game}"),
            json!({ "event": "matched", "ticket": ticket, "match": game }),
        )?;
        Ok(Some(Found { game, ticket }))
    }

    /// Takes the ticket back; what to say of it.
    async fn give_up(&self, ticket: &str, why: &str) -> anyhow::Error {
        // There may be no line any more, and nobody to tell.
        let _ = self.end_line();
        match self.player.cancel_ticket(ticket).await {
            Ok(_) => anyhow!("{why}; the ticket is cancelled"),
            Err(error) if error.reason() == Some(v1::ErrorReason::TicketNotOpen) => {
                match self.player.get_ticket(ticket).await {
                    Ok(ticket) if ticket.state() == v1::TicketState::Matched => anyhow!(
                        "{why}; but an opponent was just found: go on with --match {}",
                        ticket.r#match
                    ),
                    _ => anyhow!("{why}; the ticket is over"),
                }
            }
            Err(error) => {
                seating::explain(error).context(format!("{why}; the ticket could not be cancelled"))
            }
        }
    }

    fn end_line(&self) -> std::io::Result<()> {
        if self.is_live { self.lines.end_prompt() } else { Ok(()) }
    }
}

/// The line of one who waits.
fn line(ticket: &v1::Ticket, now_ms: u64, is_connected: bool) -> String {
    let since_ms = ticket.create_time.as_ref().map_or(now_ms, words::stamp_ms);
    let minutes = |ms: u64| format!("{}:{:02}", ms / 60_000, ms / 1_000 % 60);
    let waited = minutes(now_ms.saturating_sub(since_ms));
    let estimate = match &ticket.estimated_wait {
        Some(wait) => format!("about {} more", minutes(words::span_ms(wait))),
        None => "how long is not known yet".to_owned(),
    };
    let lost = if is_connected { "" } else { "; CONNECTION LOST, resuming" };
    format!("looking in {} for {waited}, {estimate}{lost}", ticket.pool)
}

/// The time controls of a ticket in words.
fn control_texts(ticket: &v1::Ticket) -> Vec<String> {
    ticket.time_controls.iter().filter_map(ControlText::of).map(|control| control.to_string()).collect()
}

/// The time controls to ask for, which the pool has.
fn controls(pools: &[v1::Pool], wish: &Wish<'_>) -> anyhow::Result<Vec<ControlText>> {
    let Some(pool) = pools.iter().find(|pool| pool.pool == wish.pool) else {
        let names: Vec<_> = pools.iter().map(|pool| pool.pool.as_str()).collect();
        bail!("the server has no pool `{}`; it has: {}", wish.pool, names.join(", "));
    };
    let has: Vec<_> = pool.time_controls.iter().filter_map(ControlText::of).collect();
    if let Some(other) = wish.controls.iter().find(|control| !has.contains(control)) {
        let has: Vec<_> = has.iter().map(ToString::to_string).collect();
        bail!("the pool {} is not played with {other}; --time takes {}", wish.pool, has.join(", "));
    }
    if !wish.controls.is_empty() {
        return Ok(wish.controls.to_vec());
    }
    let mut short: Vec<_> =
        has.iter().copied().filter(|control| control.turn_ms() < SITTING_BELOW_MS).collect();
    if short.is_empty() {
        short = has;
    }
    short.truncate(CONTROLS_MAX);
    Ok(short)
}

#[cfg(test)]
mod tests {
    use whattheshell::prost_types::Timestamp;

    use super::*;
    use crate::time_text;

    fn pool(name: &str, controls: &[&str]) -> v1::Pool {
        let controls = controls.iter().map(|text| text.parse::<ControlText>().unwrap().to_wire());
        v1::Pool { pool: name.to_owned(), time_controls: controls.collect(), ..v1::Pool::default() }
    }

    fn asked(pools: &[v1::Pool], pool: &str, wished: &[&str]) -> anyhow::Result<String> {
        let wished: Vec<ControlText> = wished.iter().map(|text| text.parse().unwrap()).collect();
        let controls = controls(pools, &Wish { pool, controls: &wished, bot: None })?;
        Ok(controls.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn what_is_asked_for_is_what_the_pool_has() {
        let pools = [pool("live", &["10s", "3m+2s", "1d"]), pool("slow", &["1d", "7d"])];
        assert_eq!(asked(&pools, "live", &[]).unwrap(), "10s,3m+2s", "what is played in a sitting");
        assert_eq!(asked(&pools, "slow", &[]).unwrap(), "1d,7d");
        assert_eq!(asked(&pools, "live", &["1d", "10s"]).unwrap(), "1d,10s");
        let no_pool = asked(&pools, "none", &[]).unwrap_err().to_string();
        assert!(no_pool.contains("no pool `none`; it has: live, slow"), "{no_pool}");
        let no_control = asked(&pools, "live", &["30s"]).unwrap_err().to_string();
        assert!(no_control.contains("not played with 30s; --time takes 10s, 3m+2s, 1d"), "{no_control}");
    }

    #[test]
    fn the_line_says_how_long_it_has_been_and_may_still_be() {
        let mut ticket = v1::Ticket {
            pool: "ranked".to_owned(),
            create_time: Some(Timestamp { seconds: 100, nanos: 0 }),
            ..v1::Ticket::default()
        };
        let said = line(&ticket, 112_345, true);
        assert_eq!(said, "looking in ranked for 0:12, how long is not known yet");
        ticket.estimated_wait = Some(time_text::span(20_000));
        let said = line(&ticket, 112_345, false);
        assert_eq!(said, "looking in ranked for 0:12, about 0:20 more; CONNECTION LOST, resuming");
    }
}
