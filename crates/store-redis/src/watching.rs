//! Hints for whoever watches, and looks at what no hint came of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sealing::MatchId;
use store::{Hints, PlayerHints, Shard, StoreError};
use tokio::sync::watch;

use crate::call::Call;
use crate::caller::Caller;
use crate::envelope;
use crate::fault::Fault;
use crate::hub::{Check, Epoch, Hub};
use crate::names::Names;
use crate::recent::Recent;
use crate::redis_store::RedisStore;
use crate::scripts::Scripts;

/// How long a subscription may take, ms.
const HEARD_MS: u64 = 2_000;

/// Pause between two rounds of looks, ms: a lost hint is made up for within this and the answer's time.
const ROUND_MS: u64 = 250;

/// Looks in one round at most: after a loss, 50,000 watched matches are looked at within 13 s.
const ROUND_MAX: usize = 1_024;

/// Matches that one script looks at, at most.
const TOGETHER_MAX: usize = 64;

impl RedisStore {
    pub(crate) async fn watch_match(&self, id: MatchId) -> Result<Hints, StoreError> {
        let place = self.place(id);
        let channel = self.names.match_channel(&place, id);
        let listening = self.hub.listen_to_match(&channel, place.slot(), (id, self.shard(id)))?;
        let known = listening.heard.borrow().is_some() && listening.told.borrow().version.counter > 0;
        if known {
            return Ok(Hints::new(listening.told));
        }
        self.hear(channel.clone(), place.slot(), listening.heard).await?;
        // Only now: what is stored from here on is hinted at.
        let loaded = store::MatchStore::load(self, id).await?;
        let told = self.hub.begin(&channel, loaded.stored.version);
        drop(listening.told);
        told.map(Hints::new).ok_or(StoreError::NotFound)
    }

    pub(crate) async fn hints_for_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        let place = self.names.player(player);
        let channel = self.names.player_channel(&place);
        let listening = self.hub.listen_to_player(&channel, place.slot())?;
        self.hear(channel, place.slot(), listening.heard).await?;
        Ok(PlayerHints::new(listening.told))
    }

    /// Waits until the hints of a channel come.
    async fn hear(
        &self,
        channel: String,
        slot: u16,
        mut heard: watch::Receiver<Option<Epoch>>,
    ) -> Result<(), StoreError> {
        if heard.borrow_and_update().is_some() {
            return Ok(());
        }
        let server = self.caller.routes.server(slot)?;
        if server.lines.first().is_down() {
            return Err(Fault::Down.into());
        }
        server.bus.add(channel);
        let heard = heard.wait_for(Option::is_some);
        match tokio::time::timeout(Duration::from_millis(HEARD_MS), heard).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(StoreError::Unavailable("no hints can be had now".to_owned())),
        }
    }
}

/// What looks need.
pub(crate) struct Lookout {
    pub(crate) caller: Arc<Caller>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) recent: Arc<Recent>,
    pub(crate) scripts: Arc<Scripts>,
    pub(crate) names: Names,
}

impl Lookout {
    /// Looks, for ever.
    pub(crate) async fn keep(self) {
        loop {
            tokio::time::sleep(Duration::from_millis(ROUND_MS)).await;
            let mut by_shard: BTreeMap<Shard, Vec<Check>> = BTreeMap::new();
            for check in self.hub.checks(ROUND_MAX) {
                by_shard.entry(check.shard).or_default().push(check);
            }
            for (shard, checks) in by_shard {
                for checks in checks.chunks(TOGETHER_MAX) {
                    if let Err(error) = self.look(shard, checks).await {
                        tracing::debug!(%error, "cannot look at watched matches");
                        self.hub.check_again(checks);
                    }
                }
            }
        }
    }

    async fn look(&self, shard: Shard, checks: &[Check]) -> Result<(), StoreError> {
        let place = self.names.shard(shard);
        let mut keys = vec![self.names.clock(&place)];
        keys.extend(checks.iter().map(|check| self.names.head(&place, check.id)));
        let reply = self.caller.run(Call::new(&self.scripts.versions, place, keys)).await?;
        self.recent.read_time(shard, reply.now()?);
        for (check, found) in checks.iter().zip(reply.list(2)?) {
            match found {
                [] => self.hub.checked(check, None),
                found => match envelope::read_summary(found) {
                    Ok(summary) => self.hub.checked(check, Some(summary)),
                    Err(error) => tracing::error!(%error, "what is stored of a match cannot be read"),
                },
            }
        }
        Ok(())
    }
}
