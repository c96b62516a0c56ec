//! Who may call a server by a key: back ends and operators that its options name, and all whom its file of API keys does.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use middleware::{ApiKeys, LiveApiKeys};
use tracing::{info, warn};

use crate::api_key_file::{self, ApiKey, ApiKeyFile, Kind};

/// How often the file is looked at: a revoked key is to be worth nothing soon, and the file is small.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Options that name who may call by a key.
#[derive(Args)]
pub(crate) struct Credentials {
    /// A back end that may act for players and mint their tokens, NAME=SHA256 of its API key in hex;
    /// may be repeated
    #[arg(long = "backend", env = "WTS_BACKENDS", value_delimiter = ',', value_name = "NAME=SHA256")]
    backends: Vec<String>,

    /// An operator who may call at --admin-listen, NAME=SHA256 of his API key in hex; may be repeated
    #[arg(long = "operator", env = "WTS_OPERATORS", value_delimiter = ',', value_name = "NAME=SHA256")]
    operators: Vec<String>,

    /// The API keys of back ends and operators, a file that `wts keys create` and `wts keys revoke` change; a server
    /// notices. `api-keys` in the directory of `--data` if not given
    #[arg(long, env = "WTS_API_KEYS", value_name = "FILE")]
    api_keys: Option<PathBuf>,
}

/// The keys that a server takes, and where they come from.
pub(crate) struct Keys {
    live: LiveApiKeys,
    /// Those of the options.
    fixed: ApiKeys,
    file: Option<ApiKeyFile>,
    known: Vec<ApiKey>,
    has_fixed_backend: bool,
    has_fixed_operator: bool,
}

impl Credentials {
    /// Reads the options and the file. `directory`: that of the store, if it has one.
    ///
    /// # Errors
    /// An option or a line of the file is no key, or a file that was named is not there.
    pub(crate) fn load(&self, directory: Option<&Path>) -> anyhow::Result<Keys> {
        let mut fixed = ApiKeys::new();
        for backend in &self.backends {
            let (name, digest) = parse_holder("--backend", backend)?;
            fixed = fixed.backend(name, digest);
        }
        for operator in &self.operators {
            let (name, digest) = parse_holder("--operator", operator)?;
            fixed = fixed.operator(name, digest);
        }
        let named = self.api_keys.as_deref();
        let file = match directory {
            Some(directory) => Some(ApiKeyFile::of(named, directory)),
            None => named.map(ApiKeyFile::at),
        };
        let found = file.as_ref().map(ApiKeyFile::load).transpose()?.flatten();
        if let (Some(named), None) = (&self.api_keys, &found) {
            anyhow::bail!("--api-keys {}: it is not there; `wts keys create` makes it", named.display());
        }
        let known = found.unwrap_or_default();
        let live = LiveApiKeys::from(api_key_file::with(fixed.clone(), &known));
        Ok(Keys {
            live,
            fixed,
            file,
            known,
            has_fixed_backend: !self.backends.is_empty(),
            has_fixed_operator: !self.operators.is_empty(),
        })
    }
}

impl Keys {
    /// What the server asks.
    pub(crate) fn live(&self) -> LiveApiKeys {
        self.live.clone()
    }

    /// Whether there is a back end.
    pub(crate) fn has_backend(&self) -> bool {
        self.has_fixed_backend || self.known.iter().any(|key| key.kind == Kind::Backend)
    }

    /// Whether there is an operator.
    pub(crate) fn has_operator(&self) -> bool {
        self.has_fixed_operator || self.known.iter().any(|key| key.kind == Kind::Operator)
    }

    /// Follows the file. One that cannot be read changes nothing: who had a key keeps it.
    pub(crate) async fn follow(mut self) -> Infallible {
        let Some(file) = self.file.clone() else { return std::future::pending().await };
        let mut is_damaged = false;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            match file.load() {
                Ok(found) => {
                    is_damaged = false;
                    let found = found.unwrap_or_default();
                    if found != self.known {
                        info!(keys = found.len(), "the API keys have changed");
                        self.live.replace(api_key_file::with(self.fixed.clone(), &found));
                        self.known = found;
                    }
                }
                Err(error) if !is_damaged => {
                    warn!(error = format!("{error:#}"), "the API keys cannot be read; the last ones stay");
                    is_damaged = true;
                }
                Err(_) => {}
            }
        }
    }
}

/// The value `NAME=SHA256` of an option: the key itself is never told to the server.
pub(crate) fn parse_holder<'a>(option: &str, text: &'a str) -> anyhow::Result<(&'a str, [u8; 32])> {
    let wrong = || format!("{option} {text}: it is NAME=SHA256, 64 hexadecimal digits after the name");
    let (name, hex) = text.split_once('=').with_context(wrong)?;
    ensure!(wire::is_id(name), wrong());
    Ok((name, api_key_file::parse_digest(hex).with_context(wrong)?))
}
