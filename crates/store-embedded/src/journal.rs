//! The engine's journal, read before the engine reads it.
//!
//! The engine takes the first batch that is not whole for the journal's end and cuts off what follows. After
//! a crash that is right: what was written last may be torn. Of a damaged file it would lose, without a word,
//! what was acknowledged. What tells the two apart is how the writer writes: one batch after the other, and
//! none while an fsync of the one before is waited for. Only the clocks that are written while nothing else
//! happens have none of their own. So
//!
//! - a batch that others follow, and with them a whole one that is more than clocks and is not the last, was
//!   on the disk as a whole once: it is damaged now, and the store is not opened;
//! - otherwise whatever follows the last whole batch may be what a crash left: it is cut off. It was not
//!   acknowledged, unless the damage is in the very last batch of a process that crashed, which nobody can
//!   tell from a torn one;
//! - all but the last file were synced when the next one was begun;
//! - after a clean close there is a note of what the journal holds ([`Journal::to_note`]), and less is damage.
//!
//! A batch is a start (tag 1, count of its items (u32), sequence number (u64)), its items (tag 2, kind,
//! compression, space (u64), lengths of the key (u16), of the value (u32) and of the value as it is written
//! (u32), key, value; or tag 4, space (u64)) and an end (tag 3, XXH3 of the items (u64), [`TRAILER`]). Numbers
//! are little-endian. A file may end in zeros.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::OpenError;
use crate::key;

/// What the names of its files end with; before that comes a number.
const EXTENSION: &str = "jnl";

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;

/// The last bytes of a batch.
const TRAILER: &[u8; 4] = b"FJL\x03";

/// What is compared with zeros at once, bytes.
const BLOCK_BYTES: usize = 4_096;

/// One file of the journal.
#[derive(PartialEq, Eq, Debug)]
struct File {
    number: u64,
    /// Bytes of the whole batches that it begins with.
    whole_bytes: u64,
    /// XXH3 of them: the engine's own covers the items alone.
    hash: u64,
    /// Whether something comes after them that is not to be read.
    torn: bool,
}

/// The files of the journal, in the order they were written in.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Journal {
    engine: PathBuf,
    files: Vec<File>,
}

impl Journal {
    /// Reads the journal of an engine that nobody has open; changes nothing.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn read(engine: &Path) -> Result<Self, OpenError> {
        let mut numbers = Vec::new();
        let entries = std::fs::read_dir(engine).map_err(|error| OpenError::io(engine, error))?;
        for entry in entries {
            let path = entry.map_err(|error| OpenError::io(engine, error))?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
                numbers.push(number.ok_or_else(|| {
                    OpenError::Damaged(format!("{} is no name that the engine gives", path.display()))
                })?);
            }
        }
        numbers.sort_unstable();
        let Some(last) = numbers.last().copied() else {
            return Err(OpenError::Damaged(format!("there is no journal in {}", engine.display())));
        };
        let files = numbers.into_iter().map(|number| File::read(engine, number, number == last));
        Ok(Self { engine: engine.to_owned(), files: files.collect::<Result<_, _>>()? })
    }

    /// What it holds, as a text that [`Journal::check_note`] reads.
    pub(crate) fn to_note(&self) -> String {
        self.files
            .iter()
            .map(|file| format!("{} {} {}\n", file.number, file.whole_bytes, file.hash))
            .collect()
    }

    /// Checks that it still holds what a note says. More is what another program has written since.
    ///
    /// # Errors
    /// It does not, or the note cannot be read.
    pub(crate) fn check_note(&self, note: &str) -> Result<(), OpenError> {
        for line in note.lines() {
            let words: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
            let Ok(&[number, noted, hash]) = words.as_deref() else {
                return Err(OpenError::Damaged("the note of the last close cannot be read".to_owned()));
            };
            let found = self.files.iter().find(|file| file.number == number);
            let holds = found.is_some_and(|file| {
                file.whole_bytes > noted || (file.whole_bytes == noted && file.hash == hash)
            });
            if !holds {
                return Err(OpenError::Damaged(format!(
                    "{} is not what it was when the store was closed: of {noted} bytes {} can be read",
                    path(&self.engine, number).display(),
                    found.map_or(0, |file| file.whole_bytes)
                )));
            }
        }
        Ok(())
    }

    /// Whether a crash has left something that is not whole.
    pub(crate) fn is_torn(&self) -> bool {
        self.files.iter().any(|file| file.torn)
    }

    /// Cuts off what is not whole, durably.
    pub(crate) fn mend(&self) -> Result<(), OpenError> {
        for file in self.files.iter().filter(|file| file.torn) {
            let path = path(&self.engine, file.number);
            let cut = || {
                let open = OpenOptions::new().write(true).open(&path)?;
                open.set_len(file.whole_bytes)?;
                open.sync_all()
            };
            cut().map_err(|error| OpenError::io(&path, error))?;
            tracing::warn!(
                path = %path.display(),
                bytes = file.whole_bytes,
                "the journal ends in what was not written to its end: it is cut off"
            );
        }
        Ok(())
    }

    /// Writes what is whole of it into another directory.
    pub(crate) fn copy_to(&self, directory: &Path) -> std::io::Result<()> {
        for file in &self.files {
            let bytes = std::fs::read(path(&self.engine, file.number))?;
            let whole = usize::try_from(file.whole_bytes).unwrap_or(usize::MAX).min(bytes.len());
            std::fs::write(path(directory, file.number), &bytes[..whole])?;
        }
        Ok(())
    }
}

fn path(engine: &Path, number: u64) -> PathBuf {
    engine.join(format!("{number}.{EXTENSION}"))
}

impl File {
    fn read(engine: &Path, number: u64, is_last: bool) -> Result<Self, OpenError> {
        let path = path(engine, number);
        // The engine takes all of it into memory as well.
        let bytes = std::fs::read(&path).map_err(|error| OpenError::io(&path, error))?;
        let bytes = without_zeros(&bytes);
        let whole = whole_batches(bytes);
        let (kept, rest) = bytes.split_at(whole);
        let ends_here = rest.is_empty() || (is_last && may_be_torn(rest));
        if !ends_here {
            return Err(OpenError::Damaged(format!(
                "{} cannot be read from byte {whole} on, and was written beyond it",
                path.display()
            )));
        }
        Ok(Self { number, whole_bytes: whole as u64, hash: xxh3_64(kept), torn: !rest.is_empty() })
    }
}

/// All but the zeros at the end: room that was never written to. A batch does not end in zero.
fn without_zeros(bytes: &[u8]) -> &[u8] {
    let mut end = bytes.len();
    while end >= BLOCK_BYTES && bytes[end - BLOCK_BYTES..end] == [0; BLOCK_BYTES] {
        end -= BLOCK_BYTES;
    }
    while end > 0 && bytes[end - 1] == 0 {
        end -= 1;
    }
    &bytes[..end]
}

/// How many bytes the whole batches take that `bytes` begin with.
fn whole_batches(bytes: &[u8]) -> usize {
    let (mut at, mut last_number) = (0, None);
    while let Some(batch) = Batch::read(&bytes[at..]) {
        if last_number.is_some_and(|last| batch.number <= last) {
            break;
        }
        at += batch.length;
        last_number = Some(batch.number);
    }
    at
}

/// Whether `rest`, which begins with what cannot be read on, can be what a crash left: no batch in it was on
/// the disk for certain, as one is that is synced and followed by another.
fn may_be_torn(rest: &[u8]) -> bool {
    let mut at = 0;
    loop {
        while let Some(batch) = Batch::read(&rest[at..]) {
            at += batch.length;
            if batch.is_synced && at < rest.len() {
                return false;
            }
        }
        let Some(trailer) = rest[at..].windows(TRAILER.len()).position(|window| window == TRAILER) else {
            return true;
        };
        at += trailer + TRAILER.len();
    }
}

/// A batch that is whole.
struct Batch {
    number: u64,
    /// Its bytes.
    length: usize,
    /// Whether the next one was written only after it was on the disk.
    is_synced: bool,
}

impl Batch {
    /// The batch that `bytes` begin with, if it is whole and has anything in it.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = Bytes(bytes);
        if rest.tag()? != START {
            return None;
        }
        let (count, number) = (rest.u32()?, rest.u64()?);
        if count == 0 {
            return None;
        }
        let items = rest.0;
        let mut is_synced = false;
        for _ in 0..count {
            is_synced |= !rest.item()?;
        }
        let hash = xxh3_64(&items[..items.len() - rest.0.len()]);
        let whole = rest.tag()? == END && rest.u64()? == hash && rest.take(TRAILER.len())? == TRAILER;
        whole.then_some(Self { number, length: bytes.len() - rest.0.len(), is_synced })
    }
}

/// What is still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn tag(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Takes an item, and says whether it is a clock.
    fn item(&mut self) -> Option<bool> {
        match self.tag()? {
            CLEAR => self.take(8).map(|_| false),
            ITEM => {
                let (_kind, _compression, _space) = (self.tag()?, self.tag()?, self.u64()?);
                let (key_bytes, _value_bytes, written_bytes) = (self.u16()?, self.u32()?, self.u32()?);
                let key = self.take(usize::from(key_bytes))?;
                self.take(usize::try_from(written_bytes).ok()?)?;
                Some(key::is_clock(key))
            }
            _ => None,
        }
    }
}
