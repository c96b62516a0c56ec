//! A rematch: an invite that names the finished match. Whoever is asked second accepts.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use rules::Seat;
use serde_json::json;
use tokio::time::sleep;
use whattheshell::{Error, Player, PlayerStream, v1};

use crate::lines::Lines;
use crate::person::Person;
use crate::seating;

/// How long an offer can be accepted: while the other one may still look at the result.
pub(crate) const OFFER: Duration = Duration::from_secs(600);

/// What comes of a rematch.
pub(crate) enum Turnout {
    /// The opponent offers it.
    Offered,
    /// The opponent has taken his offer back, or let it lapse.
    Withdrawn,
    /// The player's own offer waits for the opponent.
    Waiting,
    /// The opponent does not want one.
    Declined,
    /// Its match exists: `matches/{match}`.
    Match(String),
}

/// The rematch of a finished match, as one of its players has it at hand.
pub(crate) struct Rematch {
    player: Player,
    finished: String,
    seat: Seat,
    patience: Duration,
    states: PlayerStream,
    /// The opponent's open invite.
    offered: Option<String>,
    /// The player's own one.
    made: Option<String>,
}

impl Rematch {
    /// Looks for one from now on. `seat`: the player's in the finished match; `patience`: how long an offer
    /// of his can be accepted.
    pub(crate) fn new(player: Player, finished: &str, seat: Seat, patience: Duration) -> Self {
        let states = player.watch_player();
        Self { player, finished: finished.to_owned(), seat, patience, states, offered: None, made: None }
    }

    /// What waits for the player, whenever it has changed: to be [taken in](Self::take). Nothing is lost
    /// if it is not awaited to the end.
    pub(crate) async fn next(&mut self) -> Option<Result<v1::PlayerState, Error>> {
        self.states.next().await
    }

    /// Takes in what waits for the player. None: nothing of it is new.
    ///
    /// # Errors
    /// Those of the calls.
    pub(crate) async fn take(&mut self, state: &v1::PlayerState) -> Result<Option<Turnout>, Error> {
        let is_open = |name: &str| state.invites.iter().any(|invite| invite.name == name);
        if let Some(made) = self.made.clone().filter(|made| !is_open(made)) {
            self.made = None;
            let invite = self.player.get_invite(&made, None).await?;
            return Ok(Some(match invite.state() {
                v1::InviteState::Accepted => Turnout::Match(invite.r#match),
                v1::InviteState::Open => {
                    self.made = Some(made);
                    Turnout::Waiting
                }
                _ => Turnout::Declined,
            }));
        }
        let of_opponent =
            |invite: &&v1::Invite| invite.rematch_of == self.finished && invite.inviter != self.player.name();
        let offered = state.invites.iter().find(of_opponent).map(|invite| invite.name.clone());
        let (was, is) = (self.offered.is_some(), offered.is_some());
        self.offered = offered;
        match (was, is) {
            // Both have offered at once: one of the offers is enough.
            (_, true) if self.made.is_some() && self.seat == Seat::Black => self.want().await.map(Some),
            // The other one accepts it.
            _ if self.made.is_some() => Ok(None),
            (false, true) => Ok(Some(Turnout::Offered)),
            (true, false) => Ok(Some(Turnout::Withdrawn)),
            _ => Ok(None),
        }
    }

    /// The player wants it: accepts the opponent's offer, or makes one.
    ///
    /// # Errors
    /// Those of the calls.
    pub(crate) async fn want(&mut self) -> Result<Turnout, Error> {
        let is_asked = self.made.is_none() || self.seat == Seat::Black;
        if is_asked && let Some(offered) = self.offered.take() {
            let accepted = self.player.accept_invite(&offered, None).await?;
            self.withdraw().await;
            return Ok(Turnout::Match(accepted.r#match));
        }
        if self.made.is_none() {
            let request = v1::CreateInviteRequest {
                rematch_of: self.finished.clone(),
                ttl: Some(seating::ttl(self.patience)),
                ..v1::CreateInviteRequest::default()
            };
            let invite = self.player.invite(request).await?.invite.ok_or(Error::Malformed("invite"))?;
            self.made = Some(invite.name);
        }
        Ok(Turnout::Waiting)
    }

    /// The player does not want it.
    ///
    /// # Errors
    /// Those of the calls.
    pub(crate) async fn decline(&mut self) -> Result<(), Error> {
        match self.offered.take() {
            Some(offered) => self.player.decline_invite(&offered).await.map(drop),
            None => Ok(()),
        }
    }

    /// Takes the player's own offer back: he leaves.
    pub(crate) async fn withdraw(&mut self) {
        if let Some(made) = self.made.take() {
            // It lapses by itself if this fails.
            let _ = self.player.revoke_invite(&made).await;
        }
    }
}

/// Agrees to a rematch of a finished match line by line: accepts the opponent's offer, or makes one and
/// waits, for at most `patience`. Its match.
///
/// # Errors
/// The player has no seat in the match, the opponent does not want to, or a call fails.
pub(crate) async fn agree(
    player: &Player,
    finished: &str,
    patience: Duration,
    person: &mut Person,
    lines: Lines,
) -> anyhow::Result<String> {
    let seat = player.open(finished).await.map_err(seating::explain)?.seat();
    let seat = seat.context("you have no seat in this match")?;
    let mut rematch = Rematch::new(player.clone(), finished, seat, patience);
    let why = tokio::select! {
        game = rematch.agreed(lines) => return game,
        () = sleep(patience) => format!("nobody accepted the rematch within {} s", patience.as_secs()),
        () = person.told().wait() => "interrupted".to_owned(),
    };
    rematch.withdraw().await;
    bail!("{why}; the offer is taken back")
}

impl Rematch {
    /// The match of the rematch, once the opponent has agreed.
    async fn agreed(&mut self, lines: Lines) -> anyhow::Result<String> {
        let mut is_told = false;
        loop {
            let state = self.next().await.context("the stream ended")?.map_err(seating::explain)?;
            let mut turnout = self.take(&state).await.map_err(seating::explain)?;
            if !is_told {
                turnout = Some(self.want().await.map_err(seating::explain)?);
            }
            match turnout {
                Some(Turnout::Match(game)) => return Ok(game),
                Some(Turnout::Declined) => bail!("the rematch was declined"),
                _ => {}
            }
            if !is_told && let Some(made) = &self.made {
                is_told = true;
                let finished = &self.finished;
                lines.show(
                    &format!("a rematch is offered; the other one accepts with --rematch {finished}"),
                    json!({ "event": "invited", "invite": made, "code": made }),
                )?;
            }
        }
    }
}
