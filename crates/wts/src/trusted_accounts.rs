//! The operator's own accounts: an issuer whose tokens the server takes, and the keys that it publishes.

use std::convert::Infallible;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use http::Uri;
use middleware::{TokenAlgorithm, TrustedIssuer, TrustedIssuerConfig};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::{info, warn};
use ureq::tls::{RootCerts, TlsConfig};

/// How often a file of keys is looked at.
const FILE_EVERY: Duration = Duration::from_secs(2);

/// How often published keys are fetched: issuers publish a new key long before they use it, and a key that they take
/// back is to be worth nothing soon.
const FETCH_EVERY: Duration = Duration::from_secs(5 * 60);

/// The pause after a fetch, whatever asks for the next: anybody can show a token that names an unknown key.
const FETCH_PAUSE: Duration = Duration::from_secs(30);

/// How long a fetch may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest key set, bytes: the most keys of 4,096 bits, with their certificates.
const KEY_SET_BYTES_MAX: u64 = 256 * 1024;

/// What is taken if not said otherwise: what makers of accounts sign with.
const ALGORITHMS_DEFAULT: &str = "EdDSA,ES256,RS256";

/// Options that name the operator's issuer.
#[derive(Args)]
pub(crate) struct TrustedAccounts {
    /// The keys of an issuer whose tokens are taken beside the server's own: a JSON Web Key Set, a file or `https://…`.
    /// The server notices when they change
    #[arg(long, env = "WTS_JWKS", value_name = "FILE or URL", requires_all = ["jwks_issuer", "jwks_audience"])]
    jwks: Option<Source>,

    /// The issuer: `iss` of its tokens
    #[arg(long, env = "WTS_JWKS_ISSUER", value_name = "ISSUER", requires = "jwks")]
    jwks_issuer: Option<String>,

    /// Whom its tokens are for: one of `aud`
    #[arg(long, env = "WTS_JWKS_AUDIENCE", value_name = "AUDIENCE", requires = "jwks")]
    jwks_audience: Option<String>,

    /// What its tokens may be signed with, of EdDSA, ES256, RS256, PS256
    #[arg(
        long,
        env = "WTS_JWKS_ALGORITHMS",
        value_name = "ALGORITHMS",
        value_delimiter = ',',
        default_value = ALGORITHMS_DEFAULT,
        value_parser = parse_algorithm
    )]
    jwks_algorithms: Vec<TokenAlgorithm>,

    /// The claim that has a player's name without `players/`: 1 to 64 of A-Z a-z 0-9 . _ -
    #[arg(long, env = "WTS_JWKS_PLAYER_CLAIM", value_name = "CLAIM", default_value = "sub")]
    jwks_player_claim: String,
}

fn parse_algorithm(text: &str) -> Result<TokenAlgorithm, &'static str> {
    TokenAlgorithm::parse(text).ok_or("it is EdDSA, ES256, RS256 or PS256")
}

/// Where keys are.
#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    Url(Uri),
}

impl FromStr for Source {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if !text.contains("://") {
            return Ok(Self::File(text.into()));
        }
        let url: Uri = text.parse().context("it is no URL")?;
        let host = url.host().context("the URL names no host")?;
        let is_near = host == "localhost"
            || host.trim_matches(['[', ']']).parse().is_ok_and(|address: IpAddr| address.is_loopback());
        match url.scheme_str() {
            Some("https") => Ok(Self::Url(url)),
            // Whoever can change the answer on its way can be any player.
            Some("http") if is_near => Ok(Self::Url(url)),
            _ => bail!("keys are fetched by https, or by http from this machine"),
        }
    }
}

impl Source {
    async fn read(&self) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::File(path) => {
                let length = fs::metadata(path).with_context(|| path.display().to_string())?.len();
                ensure!(length <= KEY_SET_BYTES_MAX, "{} is longer than a key set", path.display());
                fs::read(path).with_context(|| path.display().to_string())
            }
            Self::Url(url) => {
                let url = url.clone();
                tokio::task::spawn_blocking(move || fetch(&url)).await?
            }
        }
    }

    const fn every(&self) -> Duration {
        match self {
            Self::File(_) => FILE_EVERY,
            Self::Url(_) => FETCH_EVERY,
        }
    }

    const fn pause(&self) -> Duration {
        match self {
            Self::File(_) => FILE_EVERY,
            Self::Url(_) => FETCH_PAUSE,
        }
    }
}

fn fetch(url: &Uri) -> anyhow::Result<Vec<u8>> {
    let found = rustls_native_certs::load_native_certs();
    let roots = found.certs.iter().map(|root| ureq::tls::Certificate::from_der(root).to_owned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::from(roots))
        .build();
    // It follows no redirects: the keys are where the operator said.
    let config =
        ureq::Agent::config_builder().timeout_global(Some(FETCH_TIMEOUT)).max_redirects(0).tls_config(tls);
    let mut response = config.build().new_agent().get(url).call().with_context(|| url.to_string())?;
    let body = response.body_mut().with_config().limit(KEY_SET_BYTES_MAX).read_to_vec();
    body.with_context(|| url.to_string())
}

/// An issuer, and where its keys come from.
pub(crate) struct Followed {
    issuer: Arc<TrustedIssuer>,
    source: Source,
    last: Vec<u8>,
}

impl TrustedAccounts {
    /// Reads the keys for the first time; none if no issuer is named. Published keys that cannot be had are tried again
    /// while the server runs: its restart must not depend on another service.
    ///
    /// # Errors
    /// A file is not there or has no keys.
    pub(crate) async fn load(&self) -> anyhow::Result<Option<Followed>> {
        let (Some(source), Some(issuer), Some(audience)) =
            (&self.jwks, &self.jwks_issuer, &self.jwks_audience)
        else {
            return Ok(None);
        };
        let issuer = TrustedIssuer::new(TrustedIssuerConfig {
            issuer: issuer.clone(),
            audience: audience.clone(),
            algorithms: self.jwks_algorithms.clone(),
            player_claim: self.jwks_player_claim.clone(),
        });
        let mut followed = Followed { issuer, source: source.clone(), last: Vec::new() };
        match (followed.look().await, source) {
            (Err(error), Source::File(_)) => return Err(error.context("--jwks")),
            (Err(error), Source::Url(_)) => {
                warn!(error = format!("{error:#}"), "the issuer's keys cannot be had yet")
            }
            (Ok(()), _) => {}
        }
        Ok(Some(followed))
    }
}

impl Followed {
    pub(crate) fn issuer(&self) -> Arc<TrustedIssuer> {
        Arc::clone(&self.issuer)
    }

    /// Takes the keys that are there now, if they are others.
    async fn look(&mut self) -> anyhow::Result<()> {
        let found = self.source.read().await?;
        if found != self.last {
            let keys = self.issuer.replace_keys(&found)?;
            info!(keys, "the issuer's keys are read");
            self.last = found;
        }
        Ok(())
    }

    /// Follows the keys. Those that cannot be had change nothing: the last ones are taken.
    pub(crate) async fn follow(mut self) -> Infallible {
        let mut is_lost = false;
        loop {
            let next = Instant::now() + self.source.every();
            sleep(self.source.pause()).await;
            if self.last.is_empty() {
                // Until there is a key, nobody comes in.
            } else if timeout_at(next, self.issuer.unknown_key()).await.is_err() {
                sleep_until(next).await;
            }
            match self.look().await {
                Ok(()) => is_lost = false,
                Err(error) if !is_lost => {
                    warn!(
                        error = format!("{error:#}"),
                        "the issuer's keys cannot be read; the last ones stay"
                    );
                    is_lost = true;
                }
                Err(_) => {}
            }
        }
    }
}
