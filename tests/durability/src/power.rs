//! Power cuts: what a process did to its files is written down by `shim/power.c`, and what it had not
//! synced is undone as a disk might.
//!
//! What may be lost: of a file's changes since its last sync any subset, each torn at any sector or with
//! any of its pages missing; of the names made, changed and removed since a directory was last synced all
//! after some moment. That is a journaling file system at its strictest: syncing a file does not save its
//! name.
//!
//! The syncs of the store's journal can be ignored, which a test of the tests needs, or one of them can
//! fail. What a failed sync was to save may be lost for good: Linux forgets that it could not write it, so
//! that a later sync succeeds and does not save it either.

use std::collections::{BTreeMap, HashMap};
use std::fs::Permissions;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::process::Command;

/// What writes the trace, built with the compiler that links this program.
const SHIM: &str = include_str!("../shim/power.c");

/// What a disk writes as a whole, bytes.
const SECTOR: u64 = 512;

/// What an operating system writes as a whole, bytes; of several, in whatever order it likes.
const PAGE: u64 = 4096;

/// What the names of the journal's files end with.
const JOURNAL: &str = ".jnl";

/// Bytes of a record without its two texts.
const RECORD_BYTES: usize = 25;

/// Cuts the power of one process after the other.
pub(crate) struct Power {
    /// The directory of the store.
    data: PathBuf,
    shim: PathBuf,
    trace: PathBuf,
    /// Whether the journal's syncs do nothing.
    ignore_syncs: bool,
    /// Which of the journal's syncs fails in the next process.
    failing_sync: Option<u32>,
    /// After which of them it is killed.
    killing_sync: Option<u32>,
    /// The disk as the running process found it.
    disk: Disk,
}

impl Power {
    /// Builds the shim. `place` is for files of its own. With `ignore_syncs`, no process syncs its journal.
    pub(crate) fn prepare(place: &Path, data: &Path, ignore_syncs: bool) -> anyhow::Result<Self> {
        let (source, shim) = (place.join("power.c"), place.join("power.so"));
        std::fs::write(&source, SHIM)?;
        let built = std::process::Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .args([&shim, &source])
            .status()
            .context("cannot start cc")?;
        ensure!(built.success(), "the shim does not compile");
        let (data, trace) = (data.canonicalize()?, place.join("trace"));
        Ok(Self {
            data,
            shim,
            trace,
            ignore_syncs,
            failing_sync: None,
            killing_sync: None,
            disk: Disk::default(),
        })
    }

    /// Has this one of the syncs of the next process's journal fail; the first is 1.
    pub(crate) fn fail_sync(&mut self, number: u32) {
        self.failing_sync = Some(number);
    }

    /// Has the next process killed right after this one of its journal's syncs; the first is 1.
    pub(crate) fn kill_after_sync(&mut self, number: u32) {
        self.killing_sync = Some(number);
    }

    /// Has the process that `command` starts write down what it does.
    pub(crate) fn attach(&mut self, command: &mut Command) -> anyhow::Result<()> {
        std::fs::write(&self.trace, [])?;
        self.disk = Disk::read(&self.data)?;
        command.env("LD_PRELOAD", &self.shim).env("POWER_ROOT", &self.data).env("POWER_TRACE", &self.trace);
        command.env("POWER_JOURNAL", JOURNAL);
        if self.ignore_syncs {
            command.env("POWER_IGNORED", "1");
        }
        if let Some(number) = self.failing_sync.take() {
            command.env("POWER_FAILING", number.to_string());
        }
        if let Some(number) = self.killing_sync.take() {
            command.env("POWER_KILLING", number.to_string());
        }
        Ok(())
    }

    /// Leaves in the directory what is there when the power comes back. The process is dead. Returns
    /// whether a sync of it had failed.
    pub(crate) fn cut(&mut self, random: &mut StdRng) -> anyhow::Result<bool> {
        let trace = std::fs::read(&self.trace)?;
        let mut disk = std::mem::take(&mut self.disk);
        let mut rest = &trace[..];
        while let Some((record, after)) = Record::read(rest) {
            disk.play(&record).with_context(|| format!("record {}", record.kind as char))?;
            rest = after;
        }
        let failed = disk.failed;
        disk.lose(random, self.ignore_syncs).write(&self.data)?;
        Ok(failed)
    }
}

/// One line of the trace.
struct Record<'a> {
    kind: u8,
    inode: u64,
    number: u64,
    a: &'a [u8],
    b: &'a [u8],
}

impl<'a> Record<'a> {
    /// The first record, and what follows it; none if it is unfinished.
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = bytes.split_at_checked(RECORD_BYTES - 4)?;
        let a_len = u32::from_ne_bytes(header[17..21].try_into().ok()?) as usize;
        let (a, rest) = rest.split_at_checked(a_len)?;
        let (b_len, rest) = rest.split_first_chunk()?;
        let (b, rest) = rest.split_at_checked(u32::from_ne_bytes(*b_len) as usize)?;
        let number = |at: usize| Some(u64::from_ne_bytes(header[at..at + 8].try_into().ok()?));
        Some((Self { kind: header[0], inode: number(1)?, number: number(9)?, a, b }, rest))
    }
}

/// A change of a file's content.
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

/// A file: what is synced, and what is not.
#[derive(Default)]
struct File {
    synced: Vec<u8>,
    since: Vec<Change>,
    /// Whether a sync has failed.
    failed: bool,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq)]
enum Node {
    Directory,
    /// Its place in [`Disk::files`].
    File(usize),
}

/// A change of the names.
enum Naming {
    Set(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

type Names = BTreeMap<PathBuf, Node>;

/// A directory as a disk has it.
#[derive(Default)]
struct Disk {
    files: Vec<File>,
    /// The file that an inode is now.
    inodes: HashMap<u64, usize>,
    /// The names as the process sees them.
    names: Names,
    /// The names as they were when a directory was last synced.
    synced: Names,
    since: Vec<Naming>,
    /// Whether a sync failed.
    failed: bool,
}

impl Disk {
    /// Everything below a directory, all of it synced.
    fn read(root: &Path) -> anyhow::Result<Self> {
        let mut disk = Self::default();
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(&directory)? {
                let path = entry?.path();
                let metadata = path.symlink_metadata()?;
                let node = if metadata.is_dir() {
                    directories.push(path.clone());
                    Node::Directory
                } else {
                    let file = disk.add(metadata.ino());
                    disk.files[file].synced = std::fs::read(&path)?;
                    Node::File(file)
                };
                disk.names.insert(path, node);
            }
        }
        disk.synced = disk.names.clone();
        Ok(disk)
    }

    fn add(&mut self, inode: u64) -> usize {
        self.files.push(File::default());
        self.inodes.insert(inode, self.files.len() - 1);
        self.files.len() - 1
    }

    fn file(&self, inode: u64) -> anyhow::Result<usize> {
        self.inodes.get(&inode).copied().with_context(|| format!("inode {inode} was never opened"))
    }

    fn play(&mut self, record: &Record<'_>) -> anyhow::Result<()> {
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let (a, b) = (path(record.a), path(record.b));
        match record.kind {
            b'C' => {
                let file = self.add(record.inode);
                self.name(Naming::Set(a, Node::File(file)));
            }
            b'O' => self.recognise(self.file(record.inode)?, a),
            b'W' => {
                let change = Change::Write { offset: record.number, bytes: record.b.to_vec() };
                let file = self.file(record.inode)?;
                self.files[file].since.push(change);
            }
            b'T' => {
                let file = self.file(record.inode)?;
                self.files[file].since.push(Change::Length(record.number));
            }
            b'S' => {
                let file = self.file(record.inode)?;
                self.files[file].sync();
            }
            b'F' => {
                let file = self.file(record.inode)?;
                self.files[file].failed = true;
                self.failed = true;
            }
            b'D' => {
                self.synced.clone_from(&self.names);
                self.since.clear();
            }
            b'R' => self.name(Naming::Rename(a, b)),
            b'L' => {
                let node = *self.names.get(&a).with_context(|| format!("{} has no name", a.display()))?;
                self.name(Naming::Set(b, node));
            }
            b'U' => self.name(Naming::Remove(a)),
            b'M' => self.name(Naming::Set(a, Node::Directory)),
            other => bail!("{other} is no kind of record"),
        }
        Ok(())
    }

    /// A file was found under a name: if it had another one, it was renamed.
    fn recognise(&mut self, file: usize, path: PathBuf) {
        let node = Node::File(file);
        if self.names.get(&path) == Some(&node) {
            return;
        }
        let old = self.names.iter().find(|(_, named)| **named == node).map(|(old, _)| old.clone());
        self.name(match old {
            Some(old) => Naming::Rename(old, path),
            None => Naming::Set(path, node),
        });
    }

    fn name(&mut self, naming: Naming) {
        naming.apply(&mut self.names);
        self.since.push(naming);
    }

    /// What is left of it: of what was not synced something, or nothing if `all` of it is to be lost.
    fn lose(self, random: &mut StdRng, all: bool) -> Left {
        let mut names = self.synced;
        let kept = if all { 0 } else { random.random_range(0..=self.since.len()) };
        for naming in &self.since[..kept] {
            naming.apply(&mut names);
        }
        let lose = |file: File| if all { file.synced } else { file.lose(random) };
        Left { names, files: self.files.into_iter().map(lose).collect() }
    }
}

impl Naming {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Set(path, node) => {
                names.insert(path.clone(), *node);
            }
            Self::Remove(path) => {
                names.remove(path);
            }
            Self::Rename(from, to) => {
                let below: Vec<PathBuf> =
                    names.keys().filter(|path| path.starts_with(from)).cloned().collect();
                for path in below {
                    let Some(node) = names.remove(&path) else { continue };
                    let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
                    let new = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                    names.insert(new, node);
                }
            }
        }
    }
}

impl File {
    fn sync(&mut self) {
        if self.failed {
            return;
        }
        for change in std::mem::take(&mut self.since) {
            change.apply(&mut self.synced);
        }
    }

    /// The content after a power cut.
    fn lose(self, random: &mut StdRng) -> Vec<u8> {
        let mut content = self.synced;
        // All, none, the first ones, or some: whatever order the disk had chosen.
        let chance = [0.0, 0.5, 0.9, 1.0][random.random_range(0..4)];
        let first =
            if random.random() { self.since.len() } else { random.random_range(0..=self.since.len()) };
        for change in self.since.into_iter().take(first) {
            if random.random_bool(chance) {
                change.left(random).into_iter().for_each(|part| part.apply(&mut content));
            }
        }
        content
    }
}

impl Change {
    fn apply(self, content: &mut Vec<u8>) {
        match self {
            Self::Length(length) => content.resize(length as usize, 0),
            Self::Write { offset, bytes } => {
                let (from, until) = (offset as usize, offset as usize + bytes.len());
                if content.len() < until {
                    content.resize(until, 0);
                }
                content[from..until].copy_from_slice(&bytes);
            }
        }
    }

    /// What is left of it where not all of it is lost: it, its beginning, or some of its pages.
    fn left(self, random: &mut StdRng) -> Vec<Self> {
        match random.random_range(0..8) {
            0 => vec![self.torn(random)],
            1 | 2 => self.pages().into_iter().filter(|_| random.random()).collect(),
            _ => vec![self],
        }
    }

    /// Its parts that lie in one page each.
    fn pages(self) -> Vec<Self> {
        let Self::Write { mut offset, bytes } = self else { return vec![self] };
        let mut parts = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min((PAGE - offset % PAGE) as usize));
            parts.push(Self::Write { offset, bytes: part.to_vec() });
            offset += part.len() as u64;
            rest = after;
        }
        parts
    }

    /// The part of it that lies before some sector.
    fn torn(self, random: &mut StdRng) -> Self {
        match self {
            Self::Write { offset, mut bytes } => {
                let sectors = (offset + bytes.len() as u64) / SECTOR;
                let end = random.random_range(offset / SECTOR..=sectors) * SECTOR;
                bytes.truncate(end.saturating_sub(offset) as usize);
                Self::Write { offset, bytes }
            }
            length @ Self::Length(_) => length,
        }
    }
}

/// What a power cut has left.
struct Left {
    names: Names,
    files: Vec<Vec<u8>>,
}

impl Left {
    fn write(&self, root: &Path) -> anyhow::Result<()> {
        std::fs::remove_dir_all(root)?;
        std::fs::create_dir(root)?;
        for (path, node) in &self.names {
            match node {
                Node::Directory => std::fs::create_dir(path)?,
                Node::File(file) => write_sparse(path, &self.files[*file])?,
            }
        }
        Ok(())
    }
}

/// Writes a file whose end may be nothing but zeros, for its owner alone to read.
fn write_sparse(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let end = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    std::fs::write(path, &content[..end]).with_context(|| path.display().to_string())?;
    let file = std::fs::File::options().write(true).open(path)?;
    file.set_len(content.len() as u64)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(())
}
