//! `wts store migrate`: from a directory to a Redis that nodes share.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::Args;
use store::keys::{KeySource, Keys};
use store::{Indexed, InviteStore as _, PlayerStore as _, RequestStore as _, Reservation, StoreError};
use store_embedded::Export;
use store_redis::{Import, RedisStore};

use crate::store_options::{self, RedisOptions};

/// Entries of a list read back at once.
const PAGE: usize = 500;

/// Options of `wts store migrate`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The directory of the server, which must be stopped. Nothing in it changes
    #[arg(long, value_name = "DIR")]
    from: PathBuf,

    /// The Redis: an address as `wts serve --store` takes it, of a store that has never been served
    #[arg(id = "store", long = "to", env = "WTS_STORE", value_name = "URL", hide_env_values = true)]
    to: String,

    #[command(flatten)]
    redis: RedisOptions,
}

/// How much was taken over.
#[derive(Default)]
struct Taken {
    matches: u64,
    turns: u64,
    listed: u64,
    invites: u64,
    requests: u64,
    records: u64,
    ranked: u64,
    restricted: u64,
}

/// Takes over everything, and reads all of it back.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let file = arguments.from.join(KeySource::FILE_NAME);
    let keys = Keys::load(&file)?;
    let export = store_embedded::export(&arguments.from, &keys.keyring())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let taken = runtime.block_on(async {
        // What is taken over is no event, and the events of the directory are not: its cursors have places in other
        // shards, and are told that those are gone.
        let store = arguments.redis.open(store_options::location(&arguments.to)?, &keys, None).await?;
        let import = store.import().await?;
        let taken = take_over(&export, &import, &store).await.context(
            "the migration broke off; what is stored so far is not served. Start it again: it goes on",
        )?;
        import.end(&store_options::lasting_id(&keys)).await?;
        anyhow::Ok(taken)
    })?;
    say(&taken, &file)
}

async fn take_over(export: &Export, import: &Import<'_>, store: &RedisStore) -> anyhow::Result<Taken> {
    let mut taken = Taken::default();
    for exported in export.matches() {
        let exported = exported?;
        import.take(&exported.stored, &exported.turns, exported.last_alive).await?;
        taken.matches += 1;
        taken.turns += exported.turns.len() as u64;
    }
    for request in export.requests() {
        let (key, record) = request?;
        let kept = store.remember(key, record).await?;
        ensure!(kept == record, "a request was remembered otherwise");
        taken.requests += 1;
    }
    for invite in export.invites() {
        let (invite, _) = invite?;
        store.create_invite(invite.clone()).await?;
        match store.invite(invite.id).await {
            Ok((read, _)) => ensure!(read == invite, "invite {} was stored otherwise", invite.id),
            // Its time was over, and nobody had cleared it away yet.
            Err(StoreError::NotFound) => continue,
            Err(error) => return Err(error.into()),
        }
        taken.invites += 1;
    }
    taken.listed = take_lists(export, store).await?;
    take_players(export, import, &mut taken).await?;
    Ok(taken)
}

/// What players have achieved, and which matches hold them. Tickets stay behind: whoever waits queues again.
async fn take_players(export: &Export, import: &Import<'_>, taken: &mut Taken) -> anyhow::Result<()> {
    for record in export.records() {
        let (player, record) = record?;
        import.take_record(&player, &record).await?;
        taken.records += 1;
    }
    for line in export.ranked() {
        let line = line?;
        import.take_rank(line.speed, &line.player, line.points_micro, line.matches).await?;
        taken.ranked += 1;
    }
    for access in export.accesses() {
        let (player, access) = access?;
        import.take_access(&player, &access).await?;
        taken.restricted += 1;
    }
    for held in export.held() {
        let (player, match_id) = held?;
        import.take_reservation(&player, &Reservation::Match(match_id)).await?;
    }
    Ok(())
}

/// Entries come player by player, so one player's are in memory at a time.
async fn take_lists(export: &Export, store: &RedisStore) -> anyhow::Result<u64> {
    let (mut player, mut entries, mut count) = (String::new(), HashMap::new(), 0);
    for listed in export.listed() {
        let (of, entry) = listed?;
        if of != player {
            read_back(store, &player, std::mem::take(&mut entries)).await?;
            player = of;
        }
        store.index_match(&player, entry).await?;
        entries.insert(entry.match_id, entry);
        count += 1;
    }
    read_back(store, &player, entries).await?;
    Ok(count)
}

async fn read_back(
    store: &RedisStore,
    player: &str,
    mut expected: HashMap<whattheshell::sealing::MatchId, Indexed>,
) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let page = store.matches_of(player, None, after, PAGE).await?;
        for entry in &page {
            let is_there = expected.remove(&entry.match_id).is_some_and(|wanted| wanted == *entry);
            ensure!(is_there, "the list of {player} has match {}", entry.match_id);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => {
                after = Some(store::PageKey { created: last.created, match_id: last.match_id });
            }
            _ => break,
        }
    }
    ensure!(expected.is_empty(), "the list of {player} lacks {} matches", expected.len());
    Ok(())
}

fn say(taken: &Taken, keys: &Path) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "matches            {}", taken.matches)?;
    writeln!(out, "resolved turns     {}", taken.turns)?;
    writeln!(out, "entries of lists   {}", taken.listed)?;
    writeln!(out, "invites            {}", taken.invites)?;
    writeln!(out, "requests           {}", taken.requests)?;
    writeln!(out, "players' records   {}", taken.records)?;
    writeln!(out, "lines of boards    {}", taken.ranked)?;
    writeln!(out, "bans and the like  {}", taken.restricted)?;
    writeln!(out, "all of it is in the new store and was read back")?;
    writeln!(
        out,
        "give {} to every node: wts serve --store … --keys FILE. Do not serve the directory any more",
        keys.display()
    )?;
    Ok(ExitCode::SUCCESS)
}
