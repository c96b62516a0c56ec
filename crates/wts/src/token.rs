//! `wts token`: a token for a player.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use whattheshell::{prost_types, v1};

use crate::dial::Dial;
use crate::seating;

/// Options of `wts token`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The server, http://HOST:PORT or https://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

    #[command(flatten)]
    dial: Dial,

    /// Who the token is for
    #[arg(long = "as", value_name = "PLAYER")]
    player: String,

    /// Seconds that it is valid, 60 to 86400
    #[arg(long, default_value_t = 3_600, value_parser = clap::value_parser!(u32).range(60..=86_400))]
    ttl_s: u32,

    /// The API key of a back end; a server in development mode mints without one
    #[arg(long, env = "WTS_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

/// Prints the token, and nothing else, on stdout.
///
/// # Errors
/// The server does not answer, or mints no token for this caller.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let ttl = prost_types::Duration { seconds: arguments.ttl_s.into(), nanos: 0 };
    let player = seating::player_name(&arguments.player)?;
    let request = v1::MintPlayerTokenRequest { player, ttl: Some(ttl), ..Default::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let minted = runtime.block_on(async {
        let client = arguments.dial.connect(&arguments.server).await?;
        let minted = match &arguments.api_key {
            Some(key) => client.backend(key).map_err(seating::explain)?.mint_token(request).await,
            None => client.mint_token_with(request).await,
        };
        minted.map_err(seating::explain)
    })?;
    writeln!(std::io::stdout().lock(), "{}", minted.token)?;
    Ok(ExitCode::SUCCESS)
}
