//! Sealed moves that this machine has to reveal later, in a file: a lost terminal must not lose the match.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rules::{Cell, Seat};
use whattheshell::{Collection, Error, MatchHandle, v1};

/// The most openings that are kept of a match: one an attempt to seal the open turn.
const OPENINGS_MAX: usize = 64;

/// The longest file that is read, bytes: each opening is a line of less than 256.
const FILE_BYTES_MAX: u64 = 256 * OPENINGS_MAX as u64;

/// Where players' files are, if not told otherwise.
///
/// # Errors
/// The environment names no home.
pub(crate) fn state_directory(told: Option<&Path>) -> anyhow::Result<PathBuf> {
    let of_environment = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(told) = told {
        return Ok(told.to_owned());
    }
    let state = of_environment("XDG_STATE_HOME")
        .or_else(|| of_environment("HOME").map(|home| home.join(".local").join("state")));
    let state = state.context("say where sealed moves are to be kept: --state DIRECTORY")?;
    Ok(state.join("whattheshell"))
}

/// Why a move was not sealed.
pub(crate) enum Unsealed {
    /// It could not be kept, and nothing was sent.
    Unkept(anyhow::Error),
    /// The call failed.
    Failed(Error),
}

/// Seals a move. One that is to be revealed later is kept in a file first.
pub(crate) async fn seal(
    game: &MatchHandle,
    openings: Option<&Openings>,
    turn: u32,
    cell: Cell,
) -> Result<(), Unsealed> {
    if let Some(openings) = openings {
        let opening = game.export_opening(turn, cell).await.map_err(Unsealed::Failed)?;
        openings.keep(opening.as_str()).map_err(Unsealed::Unkept)?;
    }
    game.seal(turn, cell).await.map(drop).map_err(Unsealed::Failed)
}

/// The openings of one seat's sealed moves, in a file that only its owner can read. Cheap to clone; no
/// `Debug` of it shows a move.
#[derive(Clone, Debug)]
pub(crate) struct Openings {
    path: PathBuf,
}

impl Openings {
    /// Those of this match and seat, in a directory that is made if it is not there.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub(crate) fn of(directory: &Path, name: &str, seat: Seat) -> anyhow::Result<Self> {
        let id = Collection::Matches.id(name).map_err(|_| anyhow::anyhow!("`{name}` is no match"))?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .with_context(|| format!("{} cannot be made", directory.display()))?;
        Ok(Self { path: directory.join(format!("{id}.{seat}.openings")) })
    }

    /// Where they are.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the match what was kept of it, to be revealed when it is due: turns and cells.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn restore(&self, game: &MatchHandle) -> anyhow::Result<Vec<(u32, Cell)>> {
        let damaged =
            || format!("{} is damaged: what it keeps cannot be revealed from here", self.path.display());
        let openings = self.read().with_context(damaged)?;
        let import = |opening: &String| game.import_opening(opening).with_context(damaged);
        openings.iter().map(import).collect()
    }

    /// Whether the player is bound to a move in the turn that is played, and it is not kept here.
    pub(crate) fn lack(&self, game: &MatchHandle, status: &v1::MatchStatus) -> bool {
        let is_of_turn = |opening: &String| turn_of(opening) == Some(status.turn);
        // What cannot be read is not there.
        game.is_to_reveal(status) && !self.read().unwrap_or_default().iter().any(is_of_turn)
    }

    /// Keeps one more. When this returns it is on the disk.
    fn keep(&self, opening: &str) -> anyhow::Result<()> {
        let cannot = || format!("the move cannot be kept in {}, and is not sealed", self.path.display());
        let mut openings = self.read().with_context(cannot)?;
        if openings.iter().any(|kept| kept == opening) {
            return Ok(());
        }
        if openings.len() >= OPENINGS_MAX {
            bail!("{} is full: too many moves were tried in one turn", self.path.display());
        }
        openings.push(opening.to_owned());
        self.write(&openings).with_context(cannot)
    }

    /// Forgets the moves of turns that have resolved: they are public.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub(crate) fn forget_until(&self, turn: u32) -> io::Result<()> {
        let mut openings = self.read()?;
        let count = openings.len();
        openings.retain(|opening| turn_of(opening).is_some_and(|of| of > turn));
        match openings.len() {
            0 => self.forget(),
            left if left < count => self.write(&openings),
            _ => Ok(()),
        }
    }

    /// Forgets all of them: the match is over.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub(crate) fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn read(&self) -> io::Result<Vec<String>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Replaces the file at once: whoever reads it finds the old openings or the new ones, whole.
    fn write(&self, openings: &[String]) -> io::Result<()> {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{}", std::process::id()));
        let new = PathBuf::from(name);
        // One that a process with this number left behind may be open to others.
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        for opening in openings {
            writeln!(file, "{opening}")?;
        }
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        match self.path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// The turn of an opening: its third word.
fn turn_of(opening: &str) -> Option<u32> {
    opening.split(' ').nth(2)?.parse().ok()
}
