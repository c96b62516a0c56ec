//! One primary with two replicas, watched by three sentinels.

use std::time::Duration;

use crate::ground::Ground;
use crate::patience::until;
use crate::{Error, FaultProxy, Flavor, Life, Options, Reply, Server, Servers};

/// The name under which the sentinels know the primary.
const NAME: &str = "wts";

const SERVERS: u16 = 3;
const SENTINELS: u16 = 3;

/// Sentinels that must agree that the primary is gone.
const QUORUM: usize = 2;

/// How long a primary does not answer before a sentinel takes it for dead, in ms. Short, because tests wait for
/// it; much longer than a busy machine keeps a healthy server waiting.
const DOWN_AFTER_MS: u32 = 1_000;

/// How often a sentinel pings, in ms. By default every second, and a new primary first after the first one: it
/// would be taken for dead before it was asked, and replaced in its turn while it lives.
const PING_PERIOD_MS: u32 = 200;

/// How often a sentinel asks servers for their role and their replicas, in ms. By default every 10 s, which
/// would be most of the time that a test waits.
const INFO_PERIOD_MS: u32 = 1_000;

/// How often sentinels greet each other, in ms. By default every 2 s; four times that, a primary that comes back
/// may go on as one before they make it a replica.
const GREETING_PERIOD_MS: u32 = 500;

/// The longest a step of a failover may take, in ms; the next failover waits twice as long.
const FAILOVER_TIMEOUT_MS: u32 = 3_000;

/// The longest all may take until they know each other: usually two seconds.
const START_MAX: Duration = Duration::from_secs(60);

/// The longest a failover may take that is asked for.
const FAILOVER_MAX: Duration = Duration::from_secs(30);

/// One primary, two replicas, three sentinels.
///
/// Dropping it ends the processes and removes their files.
#[derive(Debug)]
pub struct Sentinel {
    // Dropped in this order: nobody replaces a primary that is only dropped, and files go last.
    sentinels: Vec<Server>,
    servers: Vec<Server>,
    ground: Ground,
}

impl Sentinel {
    /// Starts all, and waits until the replicas follow and every sentinel knows everybody.
    ///
    /// # Errors
    /// A program is missing, or does not start.
    pub async fn start(flavor: Flavor, options: &Options) -> Result<Self, Error> {
        let mut ground = Ground::claim()?;
        let primary = ground.place(0, options).public;
        let follow = options.over(&[("replicaof", format!("{} {}", primary.ip(), primary.port()))]);
        let mut servers = Vec::new();
        for number in 0..SERVERS {
            let own = if number == 0 { options } else { &follow };
            servers.push(ground.server(flavor, number, own).await?);
        }
        let mut set = Self { sentinels: Vec::new(), servers, ground };
        // A sentinel that comes before the replicas sees them only when it looks again.
        until("replicas that follow", START_MAX, async || set.followed(&set.servers[0]).await).await?;

        let watch = Options::new()
            .set("sentinel monitor", &format!("{NAME} {} {} {QUORUM}", primary.ip(), primary.port()))
            .set("sentinel down-after-milliseconds", &format!("{NAME} {DOWN_AFTER_MS}"))
            .set("sentinel failover-timeout", &format!("{NAME} {FAILOVER_TIMEOUT_MS}"));
        for number in SERVERS..SERVERS + SENTINELS {
            let sentinel = set.ground.sentinel(flavor, number, &watch).await?;
            let periods = [
                ("PING-PERIOD", PING_PERIOD_MS),
                ("INFO-PERIOD", INFO_PERIOD_MS),
                ("PUBLISH-PERIOD", GREETING_PERIOD_MS),
            ];
            for (period, ms) in periods {
                sentinel.ask(&["SENTINEL", "DEBUG", period, &ms.to_string()]).await?;
            }
            set.sentinels.push(sentinel);
        }
        set.wait_until_ok(START_MAX).await?;
        Ok(set)
    }

    /// The sentinels, to be asked and to meet faults. One that is started again greets and asks as seldom as by
    /// default.
    #[must_use]
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// `redis+sentinel://address:port,…/name`, with every sentinel.
    #[must_use]
    pub fn url(&self) -> String {
        let places: Vec<_> = self.sentinels.iter().map(|sentinel| sentinel.address().to_string()).collect();
        format!("redis+sentinel://{}/{NAME}", places.join(","))
    }

    /// The primary that the running sentinels agree on; during a failover, the one before.
    ///
    /// # Errors
    /// They do not agree.
    pub async fn primary(&self) -> Result<&Server, Error> {
        let mut named: Vec<String> = Vec::new();
        for sentinel in running(&self.sentinels) {
            let reply = sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]).await?;
            if let [ip, port] = reply.elements() {
                named.push(format!("{}:{}", ip.text(), port.text()));
            }
        }
        let agree = named.first().is_some_and(|first| named.iter().all(|name| name == first));
        let primary = named.first().filter(|_| agree).and_then(|address| self.server_at(address));
        primary.ok_or_else(|| Error::Nobody(format!("primary that all sentinels name: {named:?}")))
    }

    /// The servers that are not the primary.
    ///
    /// # Errors
    /// The sentinels do not agree which one is.
    pub async fn replicas(&self) -> Result<Vec<&Server>, Error> {
        let primary = self.primary().await?;
        Ok(self.servers.iter().filter(|server| server.address() != primary.address()).collect())
    }

    /// Makes a replica the primary, although the old one lives, and waits until the sentinels agree.
    ///
    /// # Errors
    /// It does not come to that in time.
    pub async fn failover(&self) -> Result<&Server, Error> {
        let old = self.primary().await?;
        let sentinel =
            *running(&self.sentinels).first().ok_or_else(|| Error::Nobody("sentinel".to_owned()))?;
        // Refused while the sentinel does not see the replicas, or another failover goes on.
        let command = ["SENTINEL", "FAILOVER", NAME];
        sentinel.wait_for(&command, FAILOVER_MAX, |reply| reply.text() == "OK").await?;
        self.replaced(old, FAILOVER_MAX).await
    }

    /// Waits until the sentinels agree on another primary than `old` and it takes writes.
    ///
    /// # Errors
    /// [`Error::TooLate`] after `bound`.
    pub async fn replaced(&self, old: &Server, bound: Duration) -> Result<&Server, Error> {
        until("another primary", bound, async || {
            Ok(match self.primary().await {
                Ok(primary) if primary.address() == old.address() => Err("the old one".to_owned()),
                Ok(primary) if role(primary).await == "master" => Ok(primary),
                Ok(primary) => Err(format!("{primary} does not know it yet")),
                Err(error) => Err(error.to_string()),
            })
        })
        .await
    }

    /// Waits until all running servers and sentinels agree on one primary, every other one follows it, and a
    /// failover would be possible.
    ///
    /// # Errors
    /// [`Error::TooLate`] after `bound`.
    pub async fn wait_until_ok(&self, bound: Duration) -> Result<(), Error> {
        until("sentinels and replicas in order", bound, async || Ok(self.in_order().await)).await
    }

    /// Waits until every running replica has what the primary has at this moment. A replica that follows need not:
    /// one that got its first copy over a socket is sent nothing more until its first sign of life, up to a second
    /// later.
    ///
    /// # Errors
    /// [`Error::TooLate`] after `bound`; the sentinels do not agree on a primary.
    pub async fn copied(&self, bound: Duration) -> Result<(), Error> {
        let written =
            offset(&self.primary().await?.ask(&["INFO", "replication"]).await?, "master_repl_offset");
        for replica in running(&self.servers) {
            let has_it = |reply: &Reply| {
                reply.field("role") == "master" || offset(reply, "slave_repl_offset") >= written
            };
            replica.wait_for(&["INFO", "replication"], bound, has_it).await?;
        }
        Ok(())
    }

    async fn in_order(&self) -> Result<(), String> {
        let primary = self.primary().await.map_err(|error| error.to_string())?;
        if primary.life() != Life::Running {
            return Err(format!("{primary} is named and does not run"));
        }
        self.followed(primary).await.map_err(|error| error.to_string())??;
        let watching = running(&self.sentinels);
        for sentinel in &watching {
            let others = listed(sentinel, "SENTINELS").await?;
            let replicas = listed(sentinel, "REPLICAS").await?;
            if others + 1 < watching.len() || replicas + 1 < self.running().len() {
                return Err(format!("{sentinel} sees {others} other sentinels and {replicas} replicas"));
            }
        }
        Ok(())
    }

    /// Whether every other running server follows this one.
    async fn followed(&self, primary: &Server) -> Result<Result<(), String>, Error> {
        let info = primary.ask(&["INFO", "replication"]).await?;
        let online = info.text().lines().filter(|line| line.contains("state=online")).count();
        let wanted = self.running().len() - 1;
        let in_order = info.field("role") == "master" && online == wanted;
        Ok(if in_order { Ok(()) } else { Err(format!("{online} of {wanted} replicas follow {primary}")) })
    }
}

impl Servers for Sentinel {
    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn proxies(&self) -> &[FaultProxy] {
        &self.ground.proxies
    }
}

fn running(servers: &[Server]) -> Vec<&Server> {
    servers.iter().filter(|server| server.life() == Life::Running).collect()
}

/// How much a server has written, or of what another has written, in bytes.
fn offset(info: &Reply, field: &str) -> u64 {
    info.field(field).parse().unwrap_or_default()
}

async fn role(server: &Server) -> String {
    let info = server.ask(&["INFO", "replication"]).await;
    info.map_or_else(|error| error.to_string(), |info| info.field("role").to_owned())
}

/// How many healthy replicas, or other sentinels, this sentinel knows.
async fn listed(sentinel: &Server, what: &str) -> Result<usize, String> {
    let reply = sentinel.ask(&["SENTINEL", what, NAME]).await.map_err(|error| error.to_string())?;
    let healthy = |entry: &&Reply| {
        let fields = entry.elements();
        let flags = fields.chunks(2).find(|pair| pair[0].text() == "flags").and_then(|pair| pair.get(1));
        // `master_down` is what another sentinel thinks of the primary, not what it is itself.
        flags.is_some_and(|flags| {
            !flags.text().split(',').any(|flag| ["s_down", "o_down", "disconnected"].contains(&flag))
        })
    };
    Ok(reply.elements().iter().filter(healthy).count())
}
