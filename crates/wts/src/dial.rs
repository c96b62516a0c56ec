//! How the commands connect to a server.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use whattheshell::Client;

use crate::seating;

/// Whom a command believes to be the server.
#[derive(Args, Default)]
pub(crate) struct Dial {
    /// The certificates, PEM, that a server at https:// must be signed by. Those that the system trusts if not given
    #[arg(long, env = "WTS_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Dial {
    /// A connection to the server at this address.
    ///
    /// # Errors
    /// The file cannot be read, or the server does not answer.
    pub(crate) async fn connect(&self, url: &str) -> anyhow::Result<Client> {
        let mut builder = Client::builder();
        if let Some(path) = &self.ca {
            let pem = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
            builder = builder.ca_certificates(pem);
        }
        builder.connect(url).await.map_err(seating::explain)
    }
}
