//! What all who take part in a run share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tonic::transport::Channel;
use whattheshell::{Client, Error, Player};

use crate::account::Account;
use crate::fleet::Fleet;
use crate::secrets::{Secrets, Who};
use crate::tap;

/// How long a call may take, its retries included.
pub(crate) const CALL_MAX: Duration = Duration::from_secs(5);

/// The pause before something is tried again that got no answer.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What the players are to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Play.
    Play,
    /// Begin no turn: whatever is under way is the last for now.
    Hush,
    /// Nothing goes wrong any more: play one turn on, and come to an end.
    Finish,
}

/// How matches are played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) turn_time: Duration,
    /// Turns after which a match is a draw.
    pub(crate) turn_limit: u32,
    /// How late a turn may come on a stream.
    pub(crate) late_max: Duration,
    /// Silence after which a stream is dead.
    pub(crate) silence_max: Duration,
    /// Both players seal at the same instant.
    pub(crate) is_in_step: bool,
}

/// A run.
pub(crate) struct Arena {
    pub(crate) fleet: Fleet,
    pub(crate) account: Account,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) manner: Manner,
}

impl Arena {
    /// A connection to the nodes that begins with this one.
    pub(crate) fn channel(&self, first: usize, who: Who) -> Channel {
        tap::channel(&self.fleet.addresses(), first, who, &self.secrets)
    }

    /// A client over such a connection.
    pub(crate) fn client(&self, first: usize, who: Who) -> Client {
        Client::builder().deadline(CALL_MAX).over(self.channel(first, who))
    }

    /// A session of `players/{id}` and its token.
    pub(crate) async fn player(&self, first: usize, who: Who, id: &str) -> Result<(Player, String), Error> {
        let client = self.client(first, who);
        let token = client.mint_token(&format!("players/{id}")).await?.token;
        Ok((client.player(&token)?, token))
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }
}
