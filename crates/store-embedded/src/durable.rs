//! The disk behind the memory: what is written, what is read from it, and what leaves it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use referee::{Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::codec::{CodecError, Keyring};
use store::{Clock, Indexed, PageKey, StoreError, Stored};
use tokio::sync::oneshot;

use crate::directory::Directory;
use crate::disk::{Disk, Space, View, Write};
use crate::error::OpenError;
use crate::memory::{Memory, SHARDS, lock};
use crate::open::Open;
use crate::options::Options;
use crate::shard::Behind;
use crate::single_node::SingleNode;
use crate::writer::{Submission, Writer};
use crate::{access, feed_on_disk, key, lists, pool_on_disk, record};

/// Pause between two looks for what has outlived its retention, ms.
const SWEEP_PAUSE_MS: u64 = 10_000;

/// Matches forgotten in one look: some 30,000 keys at most, written at once.
const SWEEP_MAX: usize = 64;

/// A directory of records, open.
pub struct Durable {
    /// The first to go: it writes what waits.
    writer: Writer,
    reader: Reader,
    pub(crate) keyring: Keyring,
    /// How long a finished match can be read, ms.
    pub(crate) retention_ms: u64,
    next_sweep_ms: AtomicU64,
    /// The last to go: the next process may come now.
    _open: Open,
}

/// Reads records; cheap to clone.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) disk: Disk,
    pub(crate) keyring: Keyring,
}

impl SingleNode<Durable> {
    /// Opens the store in a directory, or begins one there. Every match goes on where it was; the time
    /// since the last process was there counts as an outage. `keyring` opens the boxes of unresolved
    /// moves and makes new ones.
    ///
    /// # Errors
    /// If another process has the directory open, a newer program wrote it, or it cannot be read.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, keyring: Keyring) -> Result<Self, OpenError> {
        Self::open_with(path, clock, keyring, Options::default())
    }

    /// [`SingleNode::open`], as `options` say; a [`Durability`](crate::Durability) is one of them.
    ///
    /// # Errors
    /// As [`SingleNode::open`].
    pub fn open_with(
        path: &Path,
        clock: Arc<dyn Clock>,
        keyring: Keyring,
        options: impl Into<Options>,
    ) -> Result<Self, OpenError> {
        let options = options.into();
        let directory = Directory::open_or_begin(path, |path| Disk::open(path).map(drop))?;
        let (open, disk) = Open::new(directory)?;
        let reader = Reader { disk, keyring: keyring.clone() };
        let memory = Arc::new(reader.restore(clock, options)?);
        // Only now, as a store that cannot be opened stays as it is.
        open.raise_format()?;
        let writer = Writer::new(reader.disk.clone(), options.durability, Arc::clone(&memory));
        let behind = Durable {
            writer,
            reader,
            keyring,
            retention_ms: options.retention_ms,
            next_sweep_ms: AtomicU64::new(0),
            _open: open,
        };
        Ok(Self { memory, behind })
    }
}

impl Behind for Durable {
    const KEEPS: bool = true;

    fn resting(&self, id: MatchId) -> Result<Option<Stored>, StoreError> {
        self.reader.resting(id)
    }
}

impl Behind for Reader {
    const KEEPS: bool = true;

    fn resting(&self, id: MatchId) -> Result<Option<Stored>, StoreError> {
        self.resting(id)
    }
}

impl Durable {
    /// Hands a change to the writer. Once it is durable `show` runs, and what it returns comes out.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        writes: Vec<Write>,
        show: impl FnOnce(&Memory) -> T + Send + 'static,
    ) -> Result<Written<T>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let done = Box::new(move |memory: &Memory| {
            // Whoever asked may be gone; the change is made all the same.
            let _ = reply.send(show(memory));
        });
        self.writer.submit(Submission { writes, done })?;
        Ok(Written(answer))
    }

    /// Removes keys that nobody can ask for any more. If the disk does not keep up they are found again
    /// at the next start.
    pub(crate) fn remove(&self, writes: Vec<Write>) {
        let _ = self.writer.submit_unwatched(writes);
    }

    /// Notes on the disk that somebody is here.
    pub(crate) fn note_life(&self) {
        self.writer.note_life();
    }

    /// Everything as it is now.
    pub(crate) fn view(&self) -> View {
        self.reader.disk.view()
    }

    /// Reads from the disk, beside the threads that serve calls.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let reader = self.reader.clone();
        let read = tokio::task::spawn_blocking(move || read(&reader));
        read.await.unwrap_or_else(|_| Err(StoreError::Unavailable("a read failed".to_owned())))
    }

    /// Forgets some of the matches that have outlived their retention, if it is time to look for them.
    pub(crate) async fn sweep(&self, memory: &Memory) -> Result<(), StoreError> {
        let now = memory.stamp();
        if self.next_sweep_ms.load(Ordering::Relaxed) > now.as_ms() {
            return Ok(());
        }
        self.next_sweep_ms.store(now.plus_ms(SWEEP_PAUSE_MS).as_ms(), Ordering::Relaxed);
        if self.trim_feed(memory, now).await? {
            self.next_sweep_ms.store(0, Ordering::Relaxed);
        }
        let expired = self.read(move |reader| reader.expired(now, SWEEP_MAX)).await?;
        if expired.ids.is_empty() {
            return Ok(());
        }
        if expired.ids.len() == SWEEP_MAX {
            // There are more.
            self.next_sweep_ms.store(0, Ordering::Relaxed);
        }
        let forget = move |memory: &Memory| expired.ids.iter().for_each(|id| memory.forget(*id));
        self.write(expired.writes, forget)?.shown().await
    }
}

/// A change on its way to the disk.
pub(crate) struct Written<T>(oneshot::Receiver<T>);

impl<T> Written<T> {
    /// Waits until it is there. It arrives even if nobody waits.
    pub(crate) async fn shown(self) -> Result<T, StoreError> {
        self.0.await.map_err(|_| StoreError::Unavailable("the store was closed".to_owned()))
    }
}

/// Matches whose retention has passed.
pub(crate) struct Expired {
    ids: Vec<MatchId>,
    /// What removes all that is stored of them.
    writes: Vec<Write>,
}

impl Reader {
    /// All that is live, in memory.
    fn restore(&self, clock: Arc<dyn Clock>, options: Options) -> Result<Memory, OpenError> {
        let view = self.disk.view();
        let mut clocks = Vec::new();
        for entry in view.all(Space::Clocks) {
            clocks.push(record::read_clock(&entry?.1).map_err(|error| damaged("a clock", &error))?);
        }
        if clocks.is_empty() {
            let now = Now { stamp: Stamp::from_ms(clock.now_ms()), outage_ms: 0 };
            clocks = vec![now; usize::from(SHARDS)];
        }
        let memory = Memory::new(clock, &clocks);
        memory.retain_for(options.retention_ms);
        let mut unopenable = Vec::new();
        for entry in view.all(Space::Live) {
            let entry = entry?;
            match self.live(&entry) {
                Err(OpenError::UnknownKey { .. }) if options.ends_unopenable => unopenable.push(entry),
                stored => memory.restore(stored?),
            }
        }
        for shard in 0..memory.shard_count() {
            let (end, trimmed) = feed_on_disk::bounds(&view, shard)?;
            memory.restore_feed(shard, end, trimmed);
        }
        let mut ledger = lock(&memory.ledger);
        for entry in view.all(Space::Invites) {
            let (key, value) = entry?;
            let id = MatchId::try_from(&key[..]).map_err(|_| damaged("an invite", &CodecError::Malformed))?;
            let invite = record::read_invite(id, &value);
            let invite = invite.map_err(|error| damaged(&format!("invite {id}"), &error))?;
            ledger.note(&invite.value);
            ledger.invites.restore(id, invite);
        }
        for entry in view.all(Space::Requests) {
            let (key, value) = entry?;
            let request = record::read_request(&value).map_err(|error| damaged("a request", &error))?;
            ledger.requests.restore(key, request);
        }
        drop(ledger);
        pool_on_disk::restore(&view, &memory)?;
        access::restore(&view, &memory)?;
        let mut boards = lock(&memory.boards);
        for entry in view.all(Space::Boards) {
            let (key, value) = entry?;
            let (speed, player, score) = record::read_score(&key, &value)
                .map_err(|error| damaged("a line of a leaderboard", &error))?;
            boards.put(speed, &player, score);
        }
        drop(boards);
        self.end_unopenable(&memory, &unopenable, options.retention_ms)?;
        Ok(memory)
    }

    fn live(&self, (key, value): &(Vec<u8>, Vec<u8>)) -> Result<Stored, OpenError> {
        let id = MatchId::try_from(&key[..]).map_err(|_| damaged("a match", &CodecError::Malformed))?;
        let stored = record::read_head(id, value, &self.keyring);
        stored.map_err(|error| match error {
            CodecError::UnknownKey { key_id } => OpenError::UnknownKey { match_id: id, key_id },
            error => damaged(&format!("match {id}"), &error),
        })
    }

    /// A match at rest.
    pub(crate) fn resting(&self, id: MatchId) -> Result<Option<Stored>, StoreError> {
        let head = self.disk.get(Space::Rest, id.as_bytes()).map_err(|error| unreadable(&error))?;
        let stored = head.map(|head| record::read_head(id, &head, &self.keyring)).transpose();
        stored.map_err(|error| unreadable(&error))
    }

    /// The record under a key.
    pub(crate) fn value(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.disk.get(space, key).map_err(|error| unreadable(&error))
    }

    /// The turns of a match from `from` to `until`, at most `limit`.
    pub(crate) fn turns(
        &self,
        id: MatchId,
        from: u32,
        until: u32,
        limit: usize,
    ) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let view = self.disk.view();
        let (from, until) = (key::turn(id, from), key::turn(id, until.saturating_add(1)));
        let mut turns = Vec::new();
        for entry in view.range(Space::Turns, &from, &until).take(limit) {
            let (key, value) = entry.map_err(|error| unreadable(&error))?;
            let (_, turn) = key::read_turn(&key).ok_or_else(|| unreadable(&CodecError::Malformed))?;
            let record = record::read_turn(turn, &value).map_err(|error| unreadable(&error))?;
            turns.push(Arc::new(record));
        }
        Ok(turns)
    }

    /// A page of a player's list.
    pub(crate) fn page(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        let page = lists::page(&self.disk.view(), player, finished, after, limit);
        page.map_err(|error| unreadable(&error))
    }

    /// What removes all of a player's lists.
    pub(crate) fn forget_lists(&self, player: &str) -> Result<Vec<Write>, StoreError> {
        lists::forget_all(&self.disk.view(), player).map_err(|error| unreadable(&error))
    }

    /// At most `limit` of the matches whose retention had passed before `now`.
    fn expired(&self, now: Stamp, limit: usize) -> Result<Expired, StoreError> {
        let view = self.disk.view();
        let (mut ids, mut writes) = (Vec::new(), Vec::new());
        let until = now.as_ms().to_be_bytes();
        for entry in view.range(Space::Expiry, &[], &until).take(limit) {
            let (key, _) = entry.map_err(|error| unreadable(&error))?;
            let (_, id) = key::read_expiry(&key).ok_or_else(|| unreadable(&CodecError::Malformed))?;
            writes.push(Write::remove(Space::Expiry, key));
            self.forget(&view, id, &mut writes).map_err(|error| unreadable(&error))?;
            ids.push(id);
        }
        Ok(Expired { ids, writes })
    }

    /// Adds what removes a match with all that is stored of it.
    fn forget(&self, view: &View, id: MatchId, writes: &mut Vec<Write>) -> Result<(), fjall::Error> {
        if let Some(head) = view.get(Space::Rest, id.as_bytes())? {
            match record::read_head(id, &head, &self.keyring) {
                Ok(stored) => writes.extend(lists::forget(&stored.head)),
                // Its entries in lists stay; they say nothing that was not said.
                Err(error) => tracing::warn!(%id, %error, "a match that is forgotten was damaged"),
            }
        }
        writes.push(Write::remove(Space::Rest, *id.as_bytes()));
        for entry in view.range(Space::Turns, &key::turn(id, 0), &key::turn(id, u32::MAX)) {
            writes.push(Write::remove(Space::Turns, entry?.0));
        }
        Ok(())
    }
}

pub(crate) fn damaged(what: &str, error: &CodecError) -> OpenError {
    OpenError::Damaged(format!("{what}: {error}"))
}

pub(crate) fn unreadable(error: &dyn std::error::Error) -> StoreError {
    tracing::error!(%error, "a record cannot be read");
    StoreError::Unavailable(format!("a record cannot be read: {error}"))
}
