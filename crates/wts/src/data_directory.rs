//! The directory that a server works in: its keys and its store, opened together. Keys are made for a
//! store that is new, and never in silence for one that is not: what is sealed in it could not be opened.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use referee::Stamp;
use store::Clock;
use store::keys::{KeySource, Keys};
use store_embedded::{EmbeddedStore, Options};
use tracing::warn;

/// What is in a directory as soon as a store is begun there.
const STORE_MARKS: [&str; 2] = ["engine", "format"];

/// Opens what is in a directory, or begins it there. `new_keys`: the keys are lost, and new ones are to be
/// made.
///
/// # Errors
/// The directory cannot be used; the store is there and its keys are not, or the other way round for
/// `new_keys`; the keys are not those of the store.
pub(crate) fn open(
    data: &Path,
    new_keys: bool,
    clock: Arc<dyn Clock>,
    options: Options,
) -> anyhow::Result<(Keys, EmbeddedStore)> {
    std::fs::create_dir_all(data).with_context(|| format!("{} cannot be made", data.display()))?;
    let now = Stamp::from_ms(clock.now_ms());
    let path = data.join(KeySource::FILE_NAME);
    // In this order: a process that begins a store meanwhile makes its keys first.
    let has_store = STORE_MARKS.iter().any(|mark| data.join(mark).exists());
    let has_keys = path.try_exists().with_context(|| path.display().to_string())?;
    match (has_keys, new_keys) {
        (true, true) => bail!("the keys are there: {}. Start without --new-keys", path.display()),
        (false, true) => open_with_new_keys(data, &path, clock, now, options.ending_unopenable()),
        (false, false) if has_store => bail!(lost(data, &path)),
        (_, false) => {
            let keys = KeySource::DataDirectory(data.to_owned()).load(now)?;
            let store = EmbeddedStore::open_with(data, clock, keys.keyring(), options)?;
            Ok((keys, store))
        }
    }
}

/// Matches that wait with a move sealed under the lost keys are void. The keys are written once the store is
/// known to open with them: until then no file must seem to be the lost ones.
fn open_with_new_keys(
    data: &Path,
    path: &Path,
    clock: Arc<dyn Clock>,
    now: Stamp,
    options: Options,
) -> anyhow::Result<(Keys, EmbeddedStore)> {
    let keys = Keys::generate(now);
    let store = EmbeddedStore::open_with(data, clock, keys.keyring(), options)
        .context("the store does not open with new keys, and none were made")?;
    keys.save(path)?;
    warn!(path = %path.display(), "new keys are made: copy them to a safe place");
    Ok((keys, store))
}

fn lost(data: &Path, path: &Path) -> String {
    format!(
        "the store in {} has lost its keys: {} is not there. Restore that file from a backup: sealed moves \
         open with these keys alone. If they are lost for good, `wts serve --new-keys` makes new ones (its \
         help says what is lost with the old ones)",
        data.display(),
        path.display()
    )
}
