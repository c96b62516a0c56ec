//! `wts store`: what an operator does with the directory of a server.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;
use store::keys::{KeySource, Keys};
use store_embedded::{BackupError, Checked, OpenError};

use crate::{backup_socket, migrate};

/// A backup is for its owner alone: histories are in it, and who plays whom.
const OWNER_ONLY: u32 = 0o600;

/// Options of `wts store`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Read every record, replay every match, and say what is wrong. The server must be stopped. The
    /// directory is left as it is: what is read is a copy in the place for temporary files (TMPDIR), which
    /// takes as much room as the journal, some 200 MB at most
    Check {
        #[command(flatten)]
        place: Place,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write all that is stored to a file, whether the server runs or not. Keys are not in it: keep a
    /// copy of the directory's `keys` apart
    Backup {
        /// The file; it must not exist
        file: PathBuf,

        #[command(flatten)]
        place: Place,
    },
    /// Take all that a directory holds over into a Redis that nodes share, and read it back
    Migrate(migrate::Arguments),
    /// Make a store of a backup, in a directory that has none. Copy `keys` there before you serve it
    Restore {
        /// The file
        file: PathBuf,

        #[command(flatten)]
        place: Place,
    },
}

#[derive(Args)]
struct Place {
    /// Where the server keeps its matches
    #[arg(long, env = "WTS_DATA", value_name = "DIR", default_value = "wts-data")]
    data: PathBuf,
}

/// Does one of the tasks.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.task {
        Task::Check { place, json } => check(&place.data, *json),
        Task::Backup { file, place } => backup(&place.data, file),
        Task::Migrate(arguments) => migrate::run(arguments),
        Task::Restore { file, place } => restore(&place.data, file),
    }
}

fn check(data: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let keys = Keys::load(&data.join(KeySource::FILE_NAME))?;
    let found = store_embedded::check(data, &keys.keyring())?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", as_json(&found))?;
    } else {
        for problem in &found.problems {
            writeln!(out, "{problem}")?;
        }
        writeln!(out, "live matches       {}", found.live)?;
        writeln!(out, "finished matches   {}", found.finished)?;
        writeln!(out, "resolved turns     {}", found.turns)?;
        writeln!(out, "entries of lists   {}", found.listed)?;
        writeln!(out, "invites            {}", found.invites)?;
        writeln!(out, "requests           {}", found.requests)?;
        writeln!(out, "tickets            {}", found.tickets)?;
        writeln!(out, "owed matches       {}", found.owed)?;
        writeln!(out, "players held       {}", found.reservations)?;
        writeln!(out, "players' records   {}", found.records)?;
        writeln!(out, "lines of boards    {}", found.ranked)?;
        writeln!(out, "bans and the like  {}", found.restricted)?;
        writeln!(out, "not listed         {}", found.unlisted)?;
        writeln!(out, "problems           {}", found.problem_count)?;
    }
    Ok(if found.problem_count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn as_json(found: &Checked) -> serde_json::Value {
    json!({
        "live": found.live,
        "finished": found.finished,
        "turns": found.turns,
        "listed": found.listed,
        "invites": found.invites,
        "requests": found.requests,
        "tickets": found.tickets,
        "owed": found.owed,
        "reservations": found.reservations,
        "records": found.records,
        "ranked": found.ranked,
        "restricted": found.restricted,
        "unlisted": found.unlisted,
        "problem_count": found.problem_count,
        "problems": found.problems,
    })
}

/// The file takes its name only when it is whole and on the disk.
fn backup(data: &Path, file: &Path) -> anyhow::Result<ExitCode> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".new");
    let unfinished = PathBuf::from(unfinished);
    anyhow::ensure!(!file.exists(), "{} exists: name another file", file.display());
    let new = File::options().write(true).create(true).truncate(true).mode(OWNER_ONLY).open(&unfinished);
    let mut to = BufWriter::new(new.with_context(|| unfinished.display().to_string())?);
    match store_embedded::backup(data, &mut to) {
        Err(BackupError::Store(OpenError::InUse { .. })) => backup_socket::copy(data, &mut to)?,
        taken => drop(taken?),
    }
    to.into_inner()?.sync_all()?;
    let entries = store_embedded::verify_backup(&mut BufReader::new(File::open(&unfinished)?))?;
    std::fs::rename(&unfinished, file)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{entries} entries are in {}", file.display())?;
    writeln!(
        out,
        "its keys are not: keep a copy of {} too, apart from it and secret; without them sealed moves cannot \
         be opened, and the store is not served",
        data.join(KeySource::FILE_NAME).display()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn restore(data: &Path, file: &Path) -> anyhow::Result<ExitCode> {
    let from = File::open(file).with_context(|| file.display().to_string())?;
    let entries = store_embedded::restore(data, &mut BufReader::new(from))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{entries} entries are in {}", data.display())?;
    let keys = data.join(KeySource::FILE_NAME);
    if !keys.exists() {
        writeln!(
            out,
            "before you serve it, copy the keys of the server that was backed up to {}",
            keys.display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
