//! What must hold before a store is used.

use std::time::Duration;

use redis::Value;
use store::StoreError;
use tokio::time::Instant;

use crate::call::Call;
use crate::caller::Caller;
use crate::error::{OpenError, SCHEMA};
use crate::fault::Fault;
use crate::line::Dialer;
use crate::location::{Address, Location, Shape};
use crate::names::Names;
use crate::redis_store::{Durability, Options};
use crate::routes::{Routes, ask};
use crate::scripts::Scripts;

/// The shards of a new store: many more than a cluster has primaries, so that they spread evenly, few
/// enough that asking all of them what is due is cheap.
pub(crate) const SHARDS: u16 = 256;

/// The most shards that a store can have.
pub(crate) const SHARDS_MAX: u16 = 4_096;

/// The oldest Redis that will do.
const MAJOR_VERSION_MIN: u32 = 7;

/// How long a start waits for servers that cannot be reached yet, ms: they may be starting too.
const PATIENCE_MS: u64 = 10_000;

/// Pause between two attempts, ms.
const PAUSE_MS: u64 = 200;

/// Checks that the certificates are some.
pub(crate) fn check_certificates(dialer: &Dialer, location: &Location) -> Result<(), OpenError> {
    let address = location.addresses.first().ok_or(OpenError::Location { why: "a host is missing" })?;
    let client = dialer.client(address);
    client.map(drop).map_err(|error| OpenError::Certificates { why: error.category().to_owned() })
}

/// Finds the servers and checks them.
pub(crate) async fn find(routes: &Routes, options: &Options) -> Result<(), OpenError> {
    let began = Instant::now();
    loop {
        let checked = match routes.look().await {
            Ok(()) => check_servers(routes, options).await,
            Err(fault) => Err(unreachable(options, fault)),
        };
        match checked {
            Err(OpenError::Unreachable { .. }) if began.elapsed() < Duration::from_millis(PATIENCE_MS) => {
                tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
            }
            checked => return checked,
        }
    }
}

/// Checks every server that is written to.
pub(crate) async fn check_servers(routes: &Routes, options: &Options) -> Result<(), OpenError> {
    for address in routes.addresses() {
        check_server(routes, options, &address).await?;
    }
    Ok(())
}

async fn check_server(routes: &Routes, options: &Options, address: &Address) -> Result<(), OpenError> {
    let ask = async |command: &redis::Cmd| {
        let answer = ask(routes.dialer(), address, command).await;
        answer.map_err(|fault| unreachable(options, fault))
    };
    let server = || address.to_string();
    let info = info(&ask(&redis::cmd("INFO")).await?);
    let version = field(&info, "redis_version").unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major < MAJOR_VERSION_MIN {
        return Err(OpenError::TooOld { server: server(), version: version.to_owned() });
    }
    let policy = field(&info, "maxmemory_policy").unwrap_or_default();
    if policy != "noeviction" {
        return Err(OpenError::Evicts { server: server(), policy: policy.to_owned() });
    }
    if field(&info, "role") != Some("master") {
        return Err(unreachable(options, Fault::NotNow("it is no primary".to_owned())));
    }
    let clustered = field(&info, "cluster_enabled") == Some("1");
    if clustered != (options.location.shape == Shape::Cluster) {
        return Err(OpenError::OtherShape { server: server(), clustered });
    }
    let Durability::Replicas(needed) = options.durability else { return Ok(()) };
    let needed = needed.get();
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg("min-replicas-to-write");
    let found = setting(&ask(&command).await?).unwrap_or(0);
    if found < u32::from(needed) {
        return Err(OpenError::TooFewReplicas { server: server(), found, needed });
    }
    warn_of_others(address, &info, needed);
    Ok(())
}

/// Replicas that nobody waits for may take over without what was acknowledged. Where the primary dies the one
/// with the most does; where it lives on, one that was waited for may still follow it.
fn warn_of_others(address: &Address, info: &str, needed: u8) {
    let following = field(info, "connected_slaves").and_then(|count| count.parse().ok()).unwrap_or(0_u32);
    if following > u32::from(needed) {
        tracing::warn!(
            server = %address, following, waited_for = needed,
            "writes do not wait for all replicas: a failover that the old primary survives can lose \
             acknowledged moves (docs/redis.md)"
        );
    }
}

/// Reads what the store is made of, and writes it at the first start. Returns the number of shards.
pub(crate) async fn read_meta(
    caller: &Caller,
    names: &Names,
    scripts: &Scripts,
    options: &Options,
) -> Result<u16, OpenError> {
    let (key, place) = names.meta();
    let call = Call::new(&scripts.meta, place, vec![key]).number(SCHEMA).number(SHARDS);
    let began = Instant::now();
    let reply = loop {
        match caller.run(call.clone()).await {
            Err(StoreError::Unavailable(_)) if began.elapsed() < Duration::from_millis(PATIENCE_MS) => {
                tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
            }
            Err(error) => {
                let location = options.location.to_string();
                return Err(OpenError::Unreachable { location, why: error.to_string() });
            }
            Ok(reply) => break reply,
        }
    };
    let number = |at| reply.number(at).map_err(|_| OpenError::DamagedMeta);
    let schema = u32::try_from(number(0)?).map_err(|_| OpenError::DamagedMeta)?;
    if schema > SCHEMA {
        return Err(OpenError::NewerSchema { found: schema });
    }
    let shards = u16::try_from(number(1)?).ok().filter(|shards| (1..=SHARDS_MAX).contains(shards));
    shards.ok_or(OpenError::DamagedMeta)
}

fn unreachable(options: &Options, fault: Fault) -> OpenError {
    let why = StoreError::from(fault).to_string();
    OpenError::Unreachable { location: options.location.to_string(), why }
}

fn info(answer: &Value) -> String {
    match answer {
        Value::VerbatimString { text, .. } => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Reads the answer to CONFIG GET of one number.
fn setting(answer: &Value) -> Option<u32> {
    let value = match answer {
        Value::Map(pairs) => &pairs.first()?.1,
        Value::Array(pair) => pair.get(1)?,
        _ => return None,
    };
    let Value::BulkString(text) = value else { return None };
    std::str::from_utf8(text).ok()?.parse().ok()
}
