//! A slot that moves from one primary to another while clients use it.

use crate::{ClusterServers, Error, Reply, Server};

/// Keys moved at once: few, so that a slot is between its owners for some time.
const KEYS_AT_ONCE: &str = "10";

/// The longest a server may take to hand over some keys, in ms.
const HAND_OVER_MAX_MS: &str = "5000";

impl ClusterServers {
    /// Moves a slot with its keys to another primary, key by key: meanwhile clients meet ASK and TRYAGAIN, and
    /// then MOVED.
    ///
    /// # Errors
    /// `to` is no primary, or a server refuses a step; the slot may then be between both.
    pub async fn migrate_slot(&self, slot: u16, to: &Server) -> Result<(), Error> {
        let from = self.primary_of(slot).await?;
        if from.address() == to.address() {
            return Ok(());
        }
        let number = slot.to_string();
        let (from_id, to_id) = (id(from).await?, id(to).await?);
        to.ask(&["CLUSTER", "SETSLOT", &number, "IMPORTING", &from_id]).await?;
        from.ask(&["CLUSTER", "SETSLOT", &number, "MIGRATING", &to_id]).await?;
        while hand_over(&number, from, to).await? {}
        // The new owner first: a slot has one at all times.
        to.ask(&["CLUSTER", "SETSLOT", &number, "NODE", &to_id]).await?;
        for primary in self.primaries().await? {
            primary.ask(&["CLUSTER", "SETSLOT", &number, "NODE", &to_id]).await?;
        }
        Ok(())
    }
}

/// Hands some keys over; whether there were any.
async fn hand_over(slot: &str, from: &Server, to: &Server) -> Result<bool, Error> {
    let keys = from.ask(&["CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE]).await?;
    let keys: Vec<&[u8]> = keys.elements().iter().map(Reply::bytes).collect();
    if keys.is_empty() {
        return Ok(false);
    }
    let (ip, port) = (to.address().ip().to_string(), to.address().port().to_string());
    let migrate = ["MIGRATE", &ip, &port, "", "0", HAND_OVER_MAX_MS, "KEYS"].map(str::as_bytes);
    // Keys that expired in between are nobody's loss: the answer is then NOKEY.
    from.ask(&[migrate.as_slice(), &keys].concat()).await?;
    Ok(true)
}

async fn id(server: &Server) -> Result<String, Error> {
    Ok(server.ask(&["CLUSTER", "MYID"]).await?.text().to_owned())
}
