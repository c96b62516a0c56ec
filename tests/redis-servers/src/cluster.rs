//! A cluster of primaries with replicas.

use std::net::SocketAddr;
use std::time::Duration;

use crate::ground::Ground;
use crate::members::{Member, SLOTS, members};
use crate::patience::until;
use crate::server::Place;
use crate::{Error, FaultProxy, Flavor, Life, Options, Server, Servers};

/// How long a server does not answer before the others take it for dead, in ms. Short, because tests wait for
/// it; much longer than a busy machine keeps a healthy server waiting.
const NODE_TIMEOUT_MS: u32 = 2_000;

/// The longest a cluster may take until it serves: a new primary waits 2 s by itself.
const START_MAX: Duration = Duration::from_secs(60);

/// The longest a failover may take that is asked for.
const FAILOVER_MAX: Duration = Duration::from_secs(30);

/// How a replica takes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takeover {
    /// The primary stops writing and hands over: nothing is lost.
    Agreed,
    /// The other primaries vote; the old one is not asked, whatever it still writes.
    Forced,
    /// Nobody is asked.
    Seized,
}

/// A cluster: some primaries, as many replicas for each.
///
/// Dropping it ends the processes and removes their files.
#[derive(Debug)]
pub struct ClusterServers {
    // Dropped in this order: the processes end before their files go.
    servers: Vec<Server>,
    ground: Ground,
}

impl ClusterServers {
    /// Starts `primaries` with `replicas_each`, and waits until all slots are served and every replica follows.
    ///
    /// The first of [`Servers::servers`] are the primaries, each with an equal share of the slots in their
    /// order; then the replicas of the first, of the second, and so on.
    ///
    /// # Errors
    /// The program is missing, or something does not start.
    pub async fn start(
        flavor: Flavor,
        primaries: u16,
        replicas_each: u16,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut ground = Ground::claim()?;
        let options = options.over(&[
            ("cluster-enabled", "yes".to_owned()),
            ("cluster-node-timeout", NODE_TIMEOUT_MS.to_string()),
            // The shape stays as it was made.
            ("cluster-allow-replica-migration", "no".to_owned()),
        ]);
        let mut servers = Vec::new();
        for number in 0..primaries * (1 + replicas_each) {
            let Place { address, public } = ground.place(number, &options);
            let announced = options.over(&[
                ("cluster-announce-port", public.port().to_string()),
                ("cluster-announce-bus-port", bus_port(address).to_string()),
            ]);
            servers.push(ground.server(flavor, number, &announced).await?);
        }
        let cluster = Self { servers, ground };
        cluster.form(usize::from(primaries), usize::from(replicas_each)).await?;
        cluster.wait_until_ok(START_MAX).await?;
        Ok(cluster)
    }

    /// `redis+cluster://address:port,…`, with every server.
    #[must_use]
    pub fn url(&self) -> String {
        let places: Vec<_> = self.servers.iter().map(|server| server.public().to_string()).collect();
        format!("redis+cluster://{}", places.join(","))
    }

    /// The primary of a slot, as the running servers see it; during a failover, perhaps the one before.
    ///
    /// # Errors
    /// Nobody claims the slot, or no server answers.
    pub async fn primary_of(&self, slot: u16) -> Result<&Server, Error> {
        let owner = self.owner_of(slot).await?;
        self.server_at(&owner.address).ok_or_else(|| Error::Nobody(format!("server at {}", owner.address)))
    }

    /// The replicas of a slot's primary, whatever their processes do.
    ///
    /// # Errors
    /// As [`Self::primary_of`].
    pub async fn replicas_of(&self, slot: u16) -> Result<Vec<&Server>, Error> {
        let (owner, view) = (self.owner_of(slot).await?, self.view().await?);
        let replicas = view.iter().filter(|member| member.follows.as_ref() == Some(&owner.id));
        Ok(replicas.filter_map(|replica| self.server_at(&replica.address)).collect())
    }

    /// The running primaries, in the order of their addresses.
    ///
    /// # Errors
    /// No server answers.
    pub async fn primaries(&self) -> Result<Vec<&Server>, Error> {
        let view = self.view().await?;
        let primaries = view.iter().filter(|member| member.primary && !member.slots.is_empty());
        let servers = primaries.filter_map(|primary| self.server_at(&primary.address));
        Ok(servers.filter(|server| server.life() == Life::Running).collect())
    }

    /// Makes a running replica of the slot's primary its successor, and waits until it is.
    ///
    /// # Errors
    /// There is no such replica, or it does not come to that in time.
    pub async fn failover(&self, slot: u16, takeover: Takeover) -> Result<&Server, Error> {
        let old = self.primary_of(slot).await?;
        let replicas = self.replicas_of(slot).await?;
        let replica = replicas.into_iter().find(|replica| replica.life() == Life::Running);
        let replica = replica.ok_or_else(|| Error::Nobody(format!("running replica of slot {slot}")))?;
        let command: &[&str] = match takeover {
            Takeover::Agreed => &["CLUSTER", "FAILOVER"],
            Takeover::Forced => &["CLUSTER", "FAILOVER", "FORCE"],
            Takeover::Seized => &["CLUSTER", "FAILOVER", "TAKEOVER"],
        };
        replica.ask(command).await?;
        self.replaced(slot, old, FAILOVER_MAX).await
    }

    /// Waits until another server than `old` is the slot's primary and serves it.
    ///
    /// # Errors
    /// [`Error::TooLate`] after `bound`.
    pub async fn replaced(&self, slot: u16, old: &Server, bound: Duration) -> Result<&Server, Error> {
        until(&format!("another primary of slot {slot}"), bound, async || {
            Ok(match self.primary_of(slot).await {
                Ok(primary) if primary.address() == old.address() => Err("the old one".to_owned()),
                Ok(primary) => serves(primary).await.map(|()| primary),
                Err(error) => Err(error.to_string()),
            })
        })
        .await
    }

    /// Waits until all running servers serve, agree who owns what, and every running replica follows.
    ///
    /// # Errors
    /// [`Error::TooLate`] after `bound`.
    pub async fn wait_until_ok(&self, bound: Duration) -> Result<(), Error> {
        until("a cluster in order", bound, async || Ok(self.in_order().await)).await
    }

    async fn in_order(&self) -> Result<(), String> {
        let running = self.running();
        let runs =
            |member: &Member| running.iter().any(|server| server.public().to_string() == member.address);
        let mut first: Option<Vec<Member>> = None;
        for server in &running {
            serves(server).await?;
            let mut view = view_of(server).await.map_err(|error| error.to_string())?;
            view.retain(runs);
            if view.len() != running.len() || !view.iter().all(|member| member.healthy) {
                return Err(format!("{server} sees {view:?}"));
            }
            // An epoch is news of its own; what matters is what it led to.
            view.iter_mut().for_each(|member| member.epoch = 0);
            match &first {
                Some(first) if *first != view => {
                    return Err(format!("{server} sees {view:?}, not {first:?}"));
                }
                _ => first = Some(view),
            }
        }
        Ok(())
    }

    /// Gives the first servers the slots, makes all known to each other, and the others replicas.
    async fn form(&self, primaries: usize, replicas_each: usize) -> Result<(), Error> {
        let share = |number: usize| number * usize::from(SLOTS) / primaries;
        for (number, primary) in self.servers[..primaries].iter().enumerate() {
            // Two primaries of one epoch would have to settle first whose claims hold.
            primary.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]).await?;
            let (first, last) = (share(number).to_string(), (share(number + 1) - 1).to_string());
            primary.ask(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await?;
        }
        // Everybody meets everybody: hearing of each other by and by would take seconds.
        for (number, server) in self.servers.iter().enumerate() {
            for other in &self.servers[number + 1..] {
                let (ip, port) = (other.public().ip().to_string(), other.public().port().to_string());
                server.ask(&["CLUSTER", "MEET", &ip, &port, &bus_port(other.address()).to_string()]).await?;
            }
        }
        for server in &self.servers {
            until(&format!("{server} to know all others"), START_MAX, async || {
                let view = view_of(server).await?;
                let known = view.iter().filter(|member| member.healthy).count();
                Ok(if known == self.servers.len() { Ok(()) } else { Err(format!("{known} known")) })
            })
            .await?;
        }
        for (number, replica) in self.servers[primaries..].iter().enumerate() {
            let primary = &self.servers[number / replicas_each];
            let id = primary.ask(&["CLUSTER", "MYID"]).await?;
            replica.ask(&["CLUSTER", "REPLICATE", id.text()]).await?;
        }
        Ok(())
    }

    /// The member that owns a slot.
    pub(crate) async fn owner_of(&self, slot: u16) -> Result<Member, Error> {
        let view = self.view().await?;
        let claims = view.into_iter().filter(|member| member.owns(slot));
        // Where views differ, the larger epoch's holds in the end.
        claims.max_by_key(|member| member.epoch).ok_or_else(|| Error::Nobody(format!("owner of slot {slot}")))
    }

    /// All members, each as it was seen with its largest epoch.
    async fn view(&self) -> Result<Vec<Member>, Error> {
        let mut newest: Vec<Member> = Vec::new();
        for server in self.running() {
            for member in view_of(server).await? {
                match newest.iter_mut().find(|known| known.id == member.id) {
                    Some(known) if known.epoch < member.epoch => *known = member,
                    Some(_) => {}
                    None => newest.push(member),
                }
            }
        }
        newest.sort();
        Ok(newest)
    }
}

impl Servers for ClusterServers {
    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn proxies(&self) -> &[FaultProxy] {
        &self.ground.proxies
    }
}

/// Where a server that listens here listens for the others of its cluster.
const fn bus_port(address: SocketAddr) -> u16 {
    address.port() + 10_000
}

async fn view_of(server: &Server) -> Result<Vec<Member>, Error> {
    Ok(members(server.ask(&["CLUSTER", "NODES"]).await?.text()))
}

/// Whether a server takes the cluster for complete and, if it is a replica, follows its primary.
async fn serves(server: &Server) -> Result<(), String> {
    let ask = async |command: &[&str]| server.ask(command).await.map_err(|error| error.to_string());
    let cluster = ask(&["CLUSTER", "INFO"]).await?;
    let (state, slots) = (cluster.field("cluster_state"), cluster.field("cluster_slots_ok"));
    if state != "ok" || slots != SLOTS.to_string() {
        return Err(format!("{server} is in state {state:?} and sees {slots} slots served"));
    }
    let replication = ask(&["INFO", "replication"]).await?;
    if replication.field("role") == "slave" && replication.field("master_link_status") != "up" {
        return Err(format!("{server} does not follow its primary"));
    }
    Ok(())
}
