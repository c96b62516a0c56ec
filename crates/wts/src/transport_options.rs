//! How `wts serve` meets the network: encryption, limits, and how connections go.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use middleware::{Allowance, Allowances};
use service::{BackendKeys, NodeConfig, Pems, Tls};

use crate::credentials::parse_holder;

/// More of anything a second than one node can do.
const PER_S_MAX: u64 = 1_000_000;

/// The longest that a node may take to stop: longer, and whoever runs it has lost patience.
const STOP_S_MAX: u64 = 3_600;

/// Options of the network.
#[derive(Args)]
pub(crate) struct TransportOptions {
    /// The server's certificate and those between it and one that clients know, PEM. With it the server speaks TLS
    /// alone. Read again every 10 s and at SIGHUP: what cannot be used never replaces what can, and connections
    /// that are there live on
    #[arg(long, env = "WTS_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of `--tls-cert`, PEM
    #[arg(long, env = "WTS_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// The certificates, PEM, that those of clients must be signed by. Clients may show none; one that is signed by
    /// nobody here is refused
    #[arg(long, env = "WTS_TLS_CLIENT_CA", value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// A back end that is known by its certificate, NAME=SHA256 of its public key in hex: a call over its connection
    /// that shows no credential is its own; may be repeated. Needs `--tls-client-ca`
    #[arg(
        long = "backend-cert",
        env = "WTS_BACKEND_CERTS",
        value_delimiter = ',',
        value_name = "NAME=SHA256",
        requires = "tls_client_ca"
    )]
    backend_certs: Vec<String>,

    /// Connections of one address at once (of IPv6, of one /64 network); more are closed. Behind a proxy that is all
    /// that a node sees: set it to as many as `--connections-max` there
    #[arg(
        long,
        env = "WTS_CONNECTIONS_PER_PEER_MAX",
        value_name = "CONNECTIONS",
        default_value_t = NodeConfig::default().connections_per_peer_max,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    connections_per_peer_max: usize,

    /// Unary calls in flight at once; more are refused with OVERLOADED. Health checks and operators are let through
    #[arg(
        long,
        env = "WTS_CALLS_IN_FLIGHT_MAX",
        value_name = "CALLS",
        default_value_t = NodeConfig::default().calls_in_flight_max,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    calls_in_flight_max: usize,

    /// Calls a second of one player; more are refused with RATE_LIMITED. Twice as many at once after a pause
    #[arg(
        long,
        env = "WTS_PLAYER_CALLS_PER_S",
        value_name = "CALLS A SECOND",
        default_value_t = Allowances::default().player.calls_per_s,
        value_parser = per_s()
    )]
    player_calls_per_s: u32,

    /// The same of one back end
    #[arg(
        long,
        env = "WTS_BACKEND_CALLS_PER_S",
        value_name = "CALLS A SECOND",
        default_value_t = Allowances::default().backend.calls_per_s,
        value_parser = per_s()
    )]
    backend_calls_per_s: u32,

    /// The same of all who show no credential and call from one address
    #[arg(
        long,
        env = "WTS_ANONYMOUS_CALLS_PER_S",
        value_name = "CALLS A SECOND",
        default_value_t = Allowances::default().anonymous.calls_per_s,
        value_parser = per_s()
    )]
    anonymous_calls_per_s: u32,

    /// Streams of one player at once, over all connections to a node; more are refused with STREAM_LIMIT
    #[arg(
        long,
        env = "WTS_PLAYER_STREAMS_MAX",
        value_name = "STREAMS",
        default_value_t = Allowances::default().player.streams_max,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    player_streams_max: u32,

    /// History that streams of one player begin with because they resume, KiB a minute; more is refused with
    /// RATE_LIMITED
    #[arg(
        long,
        env = "WTS_PLAYER_RESUMED_KIB_PER_MIN",
        value_name = "KIB A MINUTE",
        default_value_t = Allowances::default().player.resumed_kib_per_min,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    player_resumed_kib_per_min: u32,

    /// Seconds after which a connection is told to go and come back, which brings load to nodes that have joined
    /// since; up to a fifth sooner, so that not all go at once
    #[arg(
        long,
        env = "WTS_CONNECTION_AGE_S",
        default_value_t = NodeConfig::default().connection_age_max.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    connection_age_s: u64,

    /// Seconds for which a server that is told to stop serves on, once health checks are told NOT_SERVING: as long
    /// as a balancer takes to notice. In Kubernetes, the readiness probe's period times its failures, and some 5 s
    /// for the endpoints to spread
    #[arg(
        long,
        env = "WTS_DRAIN_DELAY_S",
        default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=STOP_S_MAX)
    )]
    drain_delay_s: u64,

    /// Seconds after that in which streams are sent elsewhere and calls finish; then what is left is cut off. Whoever
    /// ends the process (Kubernetes' terminationGracePeriodSeconds) is to give it some more than both
    #[arg(
        long,
        env = "WTS_GRACE_S",
        default_value_t = NodeConfig::default().grace.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=STOP_S_MAX)
    )]
    grace_s: u64,
}

fn per_s() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=PER_S_MAX)
}

/// The files that a server's TLS is read from.
#[derive(Clone)]
pub(crate) struct TlsFiles {
    certificates: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

impl TlsFiles {
    pub(crate) fn read(&self) -> anyhow::Result<Pems> {
        let read = |path: &PathBuf| {
            std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
        };
        Ok(Pems {
            certificates: read(&self.certificates)?,
            key: read(&self.key)?,
            client_ca: self.client_ca.as_ref().map(read).transpose()?,
        })
    }
}

impl TransportOptions {
    /// Where TLS is read from, if it is spoken.
    pub(crate) fn tls_files(&self) -> Option<TlsFiles> {
        let (certificates, key) = self.tls_cert.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles { certificates, key, client_ca: self.tls_client_ca.clone() })
    }

    /// What addresses of the server begin with.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls_cert.is_some() { "https" } else { "http" }
    }

    /// Whether a back end is named here.
    pub(crate) fn has_backend(&self) -> bool {
        !self.backend_certs.is_empty()
    }

    /// Sets a node to what the options say.
    pub(crate) fn set(&self, config: NodeConfig) -> anyhow::Result<NodeConfig> {
        let Allowances { player, backend, anonymous } = config.allowances;
        let allowances = Allowances {
            player: Allowance {
                calls_per_s: self.player_calls_per_s,
                streams_max: self.player_streams_max,
                resumed_kib_per_min: self.player_resumed_kib_per_min,
                ..player
            },
            backend: Allowance { calls_per_s: self.backend_calls_per_s, ..backend },
            anonymous: Allowance { calls_per_s: self.anonymous_calls_per_s, ..anonymous },
        };
        Ok(NodeConfig {
            tls: self.tls()?,
            connections_per_peer_max: self.connections_per_peer_max,
            calls_in_flight_max: self.calls_in_flight_max,
            allowances,
            connection_age_max: Duration::from_secs(self.connection_age_s),
            drain_delay: Duration::from_secs(self.drain_delay_s),
            grace: Duration::from_secs(self.grace_s),
            ..config
        })
    }

    fn tls(&self) -> anyhow::Result<Option<Tls>> {
        let Some(files) = self.tls_files() else { return Ok(None) };
        let mut backends = BackendKeys::new();
        for backend in &self.backend_certs {
            let (name, digest) = parse_holder("--backend-cert", backend)?;
            if backends.insert(digest, Arc::from(name)).is_some() {
                bail!("--backend-cert {backend}: this key is another back end's, too");
            }
        }
        Ok(Some(Tls::new(&files.read()?, backends).context("--tls-cert and --tls-key")?))
    }
}
