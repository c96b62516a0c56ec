//! `wts keys`: what an operator does with the secret keys of a server, and with the API keys of its callers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use referee::Stamp;
use serde_json::json;
use store::keys::{KeyFacts, KeySource, KeyState, Keys, Role};
use store::{Clock as _, SystemClock};
use whattheshell::prost_types::Timestamp;
use whattheshell::sealing::KeyId;

use crate::api_key_file::ApiKeyFile;
use crate::api_keys_command;

/// What a running server has to do with a change.
const RESTART: &str = "A running server has the keys that it started with: restart it, and every other node \
                       of its store, with the same file.";

/// How one rotates.
const ROTATION: &str = "To rotate a key: `prepare` one and restart, so that every node can open what the new \
                        key locks; then `promote` it and restart. With a single node one restart after both \
                        is enough. Old keys go on opening sealed moves and vouching for receipts until they \
                        are retired.";

/// Options of `wts keys`.
#[derive(Args)]
#[command(after_help = format!("{ROTATION}\n\n{RESTART}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make the keys of a new store that nodes share, in a file that is not there yet. Give it to every node
    New {
        /// The file
        file: PathBuf,
    },
    /// Make an API key for a back end or an operator. It is shown once; its hash is kept
    Create(api_keys_command::Create),
    /// Take an API key away
    Revoke(api_keys_command::Revoke),
    /// Every key: its role, id, state and times, and the public key of those that sign; and every API key. No
    /// secrets
    List {
        #[command(flatten)]
        place: Place,

        /// The file of API keys. `api-keys` in the directory of `--data` if not given
        #[arg(long, env = "WTS_API_KEYS", value_name = "FILE")]
        api_keys: Option<PathBuf>,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Add a key that opens and verifies, and is not used yet
    Prepare {
        /// What the key is for
        #[arg(value_parser = role())]
        role: Role,

        #[command(flatten)]
        place: Place,
    },
    /// Take a prepared key into use. The one before it goes on opening and verifying
    Promote {
        #[command(flatten)]
        key: Key,

        #[command(flatten)]
        place: Place,
    },
    /// Remove a key that is not in use, for good
    Retire {
        #[command(flatten)]
        key: Key,

        /// The key was in use, and what still needs it may be lost
        #[arg(long)]
        accept_loss: bool,

        #[command(flatten)]
        place: Place,
    },
}

#[derive(Args)]
struct Key {
    /// What the key is for
    #[arg(value_parser = role())]
    role: Role,

    /// Its id, as `wts keys list` shows it
    id: KeyId,
}

#[derive(Args)]
struct Place {
    /// Where the server keeps its keys
    #[arg(long, env = "WTS_DATA", value_name = "DIR", default_value = "wts-data")]
    data: PathBuf,

    /// The file that nodes of one store share, instead of one in a directory
    #[arg(long, env = "WTS_KEYS", value_name = "FILE", conflicts_with = "data")]
    keys: Option<PathBuf>,
}

impl Place {
    fn file(&self) -> PathBuf {
        self.keys.clone().unwrap_or_else(|| self.data.join(KeySource::FILE_NAME))
    }

    /// The option that says the same.
    fn option(&self) -> String {
        match &self.keys {
            Some(file) => format!("--keys {}", file.display()),
            None => format!("--data {}", self.data.display()),
        }
    }
}

/// The roles whose keys are rotated.
fn role() -> impl TypedValueParser<Value = Role> {
    let rotated = || Role::ALL.into_iter().filter(|role| *role != Role::Request);
    PossibleValuesParser::new(rotated().map(Role::name))
        .try_map(move |name| rotated().find(|role| role.name() == name).context("these keys are not rotated"))
}

/// Does one of the tasks.
///
/// # Errors
/// The file of keys is missing, damaged, open to others or being changed; the key is not one that this can
/// be done to; stdout is closed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match &arguments.task {
        Task::New { file } => make(&mut out, file)?,
        Task::Create(create) => api_keys_command::create(&mut out, create)?,
        Task::Revoke(revoke) => api_keys_command::revoke(&mut out, revoke)?,
        Task::List { place, api_keys, json } => list(&mut out, place, api_keys.as_deref(), *json)?,
        Task::Prepare { role, place } => prepare(&mut out, place, *role)?,
        Task::Promote { key, place } => promote(&mut out, place, key)?,
        Task::Retire { key, accept_loss, place } => retire(&mut out, place, key, *accept_loss)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make(out: &mut impl Write, file: &Path) -> anyhow::Result<()> {
    if file.try_exists().with_context(|| file.display().to_string())? {
        bail!("{} exists: keys are made for a new store only", file.display());
    }
    Keys::load_or_create(file, Stamp::from_ms(SystemClock::start().now_ms()))?;
    writeln!(out, "new keys are in {}", file.display())?;
    writeln!(
        out,
        "Give this file to every node of the store, and keep a copy in a safe place: what is sealed opens \
         with these keys alone."
    )?;
    Ok(())
}

fn list(out: &mut impl Write, place: &Place, api_keys: Option<&Path>, json: bool) -> anyhow::Result<()> {
    let api_keys = ApiKeyFile::of(api_keys, &place.data);
    let keys = Keys::load(&place.file())?.facts();
    if json {
        let keys: Vec<_> = keys.iter().map(as_json).collect();
        let api_keys = api_keys_command::list_json(&api_keys)?;
        writeln!(out, "{}", json!({ "keys": keys, "api_keys": api_keys }))?;
        return Ok(());
    }
    let time = |stamp: Option<Stamp>| stamp.map_or_else(|| "-".to_owned(), utc);
    writeln!(out, "{:<8} {:<12} {:<9} {:<24} {:<24} PUBLIC KEY", "ROLE", "ID", "STATE", "FROM", "UNTIL")?;
    for key in keys {
        let public_key = key.public_key.map_or_else(|| "-".to_owned(), |public_key| public_key.to_string());
        writeln!(
            out,
            "{:<8} {:<12} {:<9} {:<24} {:<24} {public_key}",
            key.role.name(),
            key.id.as_str(),
            key.state(),
            time(key.from),
            time(key.until)
        )?;
    }
    api_keys_command::list(out, &api_keys)
}

fn as_json(key: &KeyFacts) -> serde_json::Value {
    json!({
        "role": key.role.name(),
        "id": key.id.as_str(),
        "state": key.state().name(),
        "from_ms": key.from.map(Stamp::as_ms),
        "until_ms": key.until.map(Stamp::as_ms),
        "public_key": key.public_key.map(|public_key| public_key.to_string()),
    })
}

fn prepare(out: &mut impl Write, place: &Place, role: Role) -> anyhow::Result<()> {
    let id = Keys::change(&place.file(), |keys| keys.prepare(role))?;
    writeln!(out, "{role} key {id} is prepared. {RESTART}")?;
    writeln!(out, "Then take it into use: wts keys promote {role} {id} {}", place.option())?;
    Ok(())
}

fn promote(out: &mut impl Write, place: &Place, Key { role, id }: &Key) -> anyhow::Result<()> {
    let now = Stamp::from_ms(SystemClock::start().now_ms());
    Keys::change(&place.file(), |keys| keys.promote(*role, id, now))?;
    writeln!(out, "{role} key {id} is the one to use. {RESTART}")?;
    writeln!(out, "What the one before it locked and signed still opens and holds.")?;
    Ok(())
}

fn retire(out: &mut impl Write, place: &Place, key: &Key, accept_loss: bool) -> anyhow::Result<()> {
    let Key { role, id } = key;
    let is_it = |known: &&KeyFacts| known.role == *role && known.id == *id;
    let known = Keys::load(&place.file())?.facts();
    let state = known.iter().find(is_it).map(KeyFacts::state);
    if state == Some(KeyState::Ended) && !accept_loss {
        bail!(
            "{role} key {id} was in use, and {}. If nothing needs it any more, add --accept-loss; keep a \
             copy of the file until the server has started without it",
            loss(*role)
        );
    }
    let retired = Keys::change(&place.file(), |keys| keys.retire(*role, id))?;
    writeln!(out, "{role} key {id} is removed. {RESTART}")?;
    if let Some(public_key) = retired.public_key {
        writeln!(out, "What it signed is verified with its public key, which the server lists no more:")?;
        writeln!(out, "  {id}={public_key}")?;
    }
    Ok(())
}

/// What goes with an old key.
const fn loss(role: Role) -> &'static str {
    match role {
        Role::Signing => {
            "receipts that name it can neither be repeated with their signature nor be verified by what the \
             server lists: finished matches are kept for 7 days"
        }
        Role::Box => {
            "moves that are sealed under it cannot be opened without it: the server does not start while a \
             match waits with one"
        }
        Role::Token => "tokens that it signed are refused without it: none lives for more than a day",
        Role::Request => "repeated requests are not recognised without it",
    }
}

/// A moment as RFC 3339 has it, in UTC.
fn utc(stamp: Stamp) -> String {
    utc_ms(stamp.as_ms())
}

/// The same of ms since 1970.
pub(crate) fn utc_ms(at_ms: u64) -> String {
    let nanos = i32::try_from(at_ms % 1_000 * 1_000_000).unwrap_or_default();
    i64::try_from(at_ms / 1_000)
        .map_or_else(|_| at_ms.to_string(), |seconds| Timestamp { seconds, nanos }.to_string())
}
