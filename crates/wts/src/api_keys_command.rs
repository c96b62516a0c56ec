//! `wts keys create` and `wts keys revoke`: the API keys of back ends and operators.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::json;
use store::{Clock as _, SystemClock};

use crate::api_key_file::{ApiKey, ApiKeyFile, Kind};
use crate::keys_command::utc_ms;
use crate::time_text::TimeText;

/// What a running server does with a change.
const NOTICED: &str = "A server that runs with this file notices within seconds.";

/// Where API keys are kept.
#[derive(Args)]
pub(crate) struct ApiKeysPlace {
    /// The file of API keys. `api-keys` in the directory of `--data` if not given
    #[arg(long, env = "WTS_API_KEYS", value_name = "FILE")]
    api_keys: Option<PathBuf>,

    /// The directory that the server keeps its matches in
    #[arg(long, env = "WTS_DATA", value_name = "DIR", default_value = "wts-data")]
    data: PathBuf,
}

impl ApiKeysPlace {
    fn file(&self) -> ApiKeyFile {
        ApiKeyFile::of(self.api_keys.as_deref(), &self.data)
    }
}

/// Options of `wts keys create`.
#[derive(Args)]
pub(crate) struct Create {
    /// Whose key it is
    #[arg(value_enum)]
    kind: Kind,

    /// The holder's name, as logs show it. One holder may have several keys while one replaces another
    name: String,

    /// How long it is taken, like 90d; without end if not given
    #[arg(long, value_name = "TIME")]
    ttl: Option<TimeText>,

    #[command(flatten)]
    place: ApiKeysPlace,
}

/// Options of `wts keys revoke`.
#[derive(Args)]
pub(crate) struct Revoke {
    /// The id of the key, as `wts keys list` shows it
    id: String,

    #[command(flatten)]
    place: ApiKeysPlace,
}

/// Makes a key. It alone is on stdout, and nowhere else.
pub(crate) fn create(out: &mut impl Write, Create { kind, name, ttl, place }: &Create) -> anyhow::Result<()> {
    ensure!(wire::is_id(name), "{name:?} is no name: it is 1 to 64 of A-Z a-z 0-9 . _ -");
    let now_ms = SystemClock::start().now_ms();
    let until_ms = ttl.map(|TimeText(ttl_ms)| now_ms.saturating_add(ttl_ms));
    let (key, text) = ApiKey::make(*kind, name, now_ms, until_ms);
    let (file, id) = (place.file(), key.id.clone());
    file.change(|keys| {
        keys.push(key);
        Ok(())
    })?;
    writeln!(out, "{text}")?;
    let mut told = std::io::stderr().lock();
    writeln!(told, "Key {id} of {} {name} is in {}, as a hash.", kind.name(), file.path().display())?;
    writeln!(told, "Keep what is printed above: it cannot be shown again. {NOTICED}")?;
    Ok(())
}

/// Takes a key away for good.
pub(crate) fn revoke(out: &mut impl Write, Revoke { id, place }: &Revoke) -> anyhow::Result<()> {
    let file = place.file();
    let revoked = file.change(|keys| {
        let at = keys.iter().position(|key| key.id == *id);
        let at = at.with_context(|| format!("{} has no key {id}", file.path().display()))?;
        Ok(keys.remove(at))
    })?;
    writeln!(out, "Key {id} of {} {} is revoked. {NOTICED}", revoked.kind.name(), revoked.name)?;
    Ok(())
}

/// The API keys in a file, if there are any, as a table.
pub(crate) fn list(out: &mut impl Write, file: &ApiKeyFile) -> anyhow::Result<()> {
    let Some(keys) = file.load()?.filter(|keys| !keys.is_empty()) else { return Ok(()) };
    writeln!(out, "\n{:<8} {:<20} {:<9} {:<24} UNTIL", "API KEY", "HOLDER", "ID", "MADE")?;
    for ApiKey { kind, name, id, made_ms, until_ms, .. } in &keys {
        let until = until_ms.map_or_else(|| "-".to_owned(), utc_ms);
        writeln!(out, "{:<8} {name:<20} {id:<9} {:<24} {until}", kind.name(), utc_ms(*made_ms))?;
    }
    Ok(())
}

/// The same for programs.
pub(crate) fn list_json(file: &ApiKeyFile) -> anyhow::Result<Vec<serde_json::Value>> {
    let keys = file.load()?.unwrap_or_default();
    let json = |ApiKey { kind, name, id, made_ms, until_ms, .. }: &ApiKey| json!({ "kind": kind.name(), "holder": name, "id": id, "made_ms": made_ms, "until_ms": until_ms });
    Ok(keys.iter().map(json).collect())
}
