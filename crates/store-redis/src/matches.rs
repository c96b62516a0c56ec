//! Matches.

use std::sync::Arc;

use async_trait::async_trait;
use referee::{Change, FollowUp, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::codec;
use store::{
    Commit, CommitOutcome, Due, FeedEntry, Hints, Loaded, MatchStore, Passage, Shard, StoreError, Stored,
    Version,
};

use crate::call::Call;
use crate::caller::Ran;
use crate::envelope;
use crate::names::Place;
use crate::redis_store::RedisStore;
use crate::reply::{Reply, unexpected, unreadable, unwritable};
use crate::scripts::{Script, Status};

/// Matches that are due in one answer at most.
const DUE_MAX: usize = 10_000;

/// Turns read by one script at most, some 400 bytes each: a longer answer would keep others waiting.
const TURNS_MAX: usize = 128;

impl RedisStore {
    /// A call on a match: head, turns, due set, clock; the match's id is the first argument.
    pub(crate) fn on_match(&self, script: &Arc<Script>, place: Place, id: MatchId) -> Call {
        let names = &self.names;
        let keys =
            vec![names.head(&place, id), names.turns(&place, id), names.due_set(&place), names.clock(&place)];
        Call::new(script, place, keys).number(id)
    }

    /// Takes note of the time that a reply begins with.
    pub(crate) fn note_time(&self, shard: Shard, reply: &Reply) -> Result<Now, StoreError> {
        let now = reply.now()?;
        self.recent.read_time(shard, now);
        Ok(now)
    }

    /// Reads what is stored of a match out of a reply.
    fn read_head(&self, id: MatchId, bytes: &[u8]) -> Result<Stored, StoreError> {
        let stored = envelope::read(id, bytes, &self.keyring).map_err(|error| unreadable(&error))?;
        self.recent.read_head(&stored);
        Ok(stored)
    }

    /// Takes note of where a match stands in the due set that this node has just written.
    fn note_due(&self, shard: Shard, stored: &Stored) {
        let due = if stored.follow_ups.is_empty() { stored.head.due() } else { Some(stored.stamp) };
        self.dues.changed(shard, due);
    }

    async fn ask_clock(&self, shard: Shard) -> Result<Now, StoreError> {
        let place = self.names.shard(shard);
        let clock = self.names.clock(&place);
        let reply = self.caller.run(Call::new(&self.scripts.now, place, vec![clock])).await?;
        self.note_time(shard, &reply)
    }

    /// What stores a change of a match of this shard.
    fn to_commit(&self, shard: Shard, commit: &Commit) -> Result<(Call, Stored), StoreError> {
        let Commit { expected, nonce, judged, change, trace } = commit;
        let id = change.next.id;
        let head = Arc::clone(&change.next);
        let version = expected.next(*nonce);
        let stamp = judged.stamp;
        let record = envelope::write_record(&head, version, stamp, &self.keyring);
        let turn = change.turn().map_or(Ok(Vec::new()), |turn| codec::encode_turn(turn));
        let follow_ups = envelope::write_follow_ups(&change.follow_ups);
        let place = self.names.shard(shard);
        let channel = self.names.match_channel(&place, id);
        let feed = self.names.feed(&place);
        let told = self.options().feed.and_then(|_| FeedEntry::of(change, stamp, *nonce));
        let told = told.map_or(Ok(Vec::new()), |entry| codec::encode_feed_entry(&entry));
        let not_after = change.not_after.map_or(String::new(), |at| at.as_ms().to_string());
        let call = self
            .on_match(&self.scripts.commit, place, id)
            .key(feed)
            .argument(envelope::version_bytes(*expected))
            .argument(envelope::version_bytes(version))
            .number(stamp.as_ms())
            .number(judged.outage_ms)
            .argument(not_after)
            .number(head.due().map_or(0, Stamp::as_ms))
            .number(envelope::kept_until_ms(&head))
            .telling(channel)
            .argument(record.map_err(|error| unwritable(&error))?)
            .argument(turn.map_err(|error| unwritable(&error))?)
            .argument(told.map_err(|error| unwritable(&error))?)
            .argument(envelope::write_trace(*trace))
            .list(follow_ups.map_err(|error| unwritable(&error))?);
        Ok((call, Stored { head, version, stamp, follow_ups: Vec::new() }))
    }

    /// What came of a commit that would have stored `next`.
    fn committed(&self, shard: Shard, ran: &Ran, next: Stored) -> Result<CommitOutcome, StoreError> {
        let (id, reply) = (next.head.id, &ran.reply);
        let now = self.note_time(shard, reply)?;
        match reply.status()? {
            Status::NotFound => {
                self.recent.forget(id);
                Err(StoreError::NotFound)
            }
            Status::Restamp => Ok(CommitOutcome::Restamp(now)),
            Status::TooLate => Ok(CommitOutcome::TooLate(now)),
            Status::Committed => {
                let follow_ups = envelope::read_follow_ups(reply.bytes(3)?);
                let follow_ups = follow_ups.map_err(|error| unreadable(&error))?;
                let stored = Stored { follow_ups, ..next };
                self.recent.committed(&stored);
                self.note_due(shard, &stored);
                Ok(CommitOutcome::Committed(stored))
            }
            Status::Conflict => {
                let stored = self.read_head(id, reply.bytes(3)?)?;
                if ran.repeated && stored.version == next.version {
                    // The try that was lost had been done.
                    self.note_due(shard, &stored);
                    return Ok(CommitOutcome::Committed(stored));
                }
                Ok(CommitOutcome::Conflict(Loaded { stored, now }))
            }
        }
    }

    async fn step(&self, id: MatchId, call: Call) -> Result<(), StoreError> {
        let reply = self.caller.run(call).await?;
        self.note_time(self.shard(id), &reply)?;
        match reply.status()? {
            Status::Committed => Ok(()),
            Status::NotFound => Err(StoreError::NotFound),
            Status::Conflict | Status::Restamp | Status::TooLate => Err(unexpected()),
        }
    }

    /// At most [`TURNS_MAX`] turns.
    async fn some_turns(
        &self,
        id: MatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let place = self.place(id);
        let names = &self.names;
        let keys = vec![names.head(&place, id), names.turns(&place, id), names.clock(&place)];
        let first = u64::from(from.max(1)) - 1;
        // An index of -1 would be the last turn.
        let last = (first + limit.min(TURNS_MAX) as u64).checked_sub(1).filter(|_| limit > 0);
        let Some(last) = last else { return self.load(id).await.map(|_| Vec::new()) };
        let call = Call::new(&self.scripts.turns, place, keys).number(first).number(last);
        let reply = self.caller.run(call).await?;
        self.note_time(self.shard(id), &reply)?;
        if reply.status()? == Status::NotFound {
            return Err(StoreError::NotFound);
        }
        let read = |(bytes, number): (&[u8], u64)| {
            let record = codec::decode_turn(bytes).map_err(|error| unreadable(&error))?;
            if u64::from(record.turn) == number {
                Ok(Arc::new(record))
            } else {
                Err(unreadable(&codec::CodecError::Field { field: "Turn.turn" }))
            }
        };
        reply.list(3)?.into_iter().zip(first + 1..).map(read).collect()
    }
}

#[async_trait]
impl MatchStore for RedisStore {
    fn shard_count(&self) -> u16 {
        self.shards
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.ask_clock(self.shard(id)).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        let head = change.next;
        let (id, version) = (head.id, Version::first(nonce));
        let record = envelope::write_record(&head, version, head.created, &self.keyring);
        let follow_ups = envelope::write_follow_ups(&change.follow_ups);
        let call = self
            .on_match(&self.scripts.create, self.place(id), id)
            .argument(envelope::version_bytes(version))
            .number(head.created.as_ms())
            .number(head.due().map_or(0, Stamp::as_ms))
            .argument(record.map_err(|error| unwritable(&error))?)
            .list(follow_ups.map_err(|error| unwritable(&error))?);
        let reply = self.caller.run(call).await?;
        let shard = self.shard(id);
        let now = self.note_time(shard, &reply)?;
        let stored = self.read_head(id, reply.bytes(2)?)?;
        self.note_due(shard, &stored);
        Ok(Loaded { stored, now })
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        let place = self.place(id);
        let keys = vec![self.names.head(&place, id), self.names.clock(&place)];
        let reply = self.caller.run(Call::new(&self.scripts.load, place, keys)).await?;
        let now = self.note_time(self.shard(id), &reply)?;
        match reply.optional_bytes(2)? {
            Some(bytes) => Ok(Loaded { stored: self.read_head(id, bytes)?, now }),
            None => {
                self.recent.forget(id);
                Err(StoreError::NotFound)
            }
        }
    }

    async fn pass(&self, id: MatchId) -> Passage<'_> {
        self.turnstiles.pass(id).await
    }

    fn recent(&self, id: MatchId) -> Option<Loaded> {
        self.recent.head(id, self.shard(id))
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        let shard = self.shard(commit.change.next.id);
        let (call, next) = self.to_commit(shard, &commit)?;
        let ran = self.caller.try_to_run(call).await?;
        self.committed(shard, &ran, next)
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let mut turns = self.some_turns(id, from, limit).await?;
        let mut read = turns.len();
        while read == TURNS_MAX && turns.len() < limit {
            let next = turns.last().map_or(from, |last| last.turn.saturating_add(1));
            let more = self.some_turns(id, next, limit - turns.len()).await?;
            read = more.len();
            turns.extend(more);
        }
        Ok(turns)
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.watch_match(id).await
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.ask_clock(shard).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        let place = self.names.shard(shard);
        let keys = vec![self.names.due_set(&place), self.names.clock(&place)];
        let call = Call::new(&self.scripts.due, place, keys).number(limit.min(DUE_MAX));
        let reply = self.caller.run(call).await?;
        let now = self.note_time(shard, &reply)?;
        let matches = reply.list(2)?.into_iter().map(read_id).collect::<Result<_, _>>()?;
        Ok(Due { matches, now })
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        let place = self.place(id);
        let names = &self.names;
        let keys = vec![names.head(&place, id), names.due_set(&place), names.clock(&place)];
        let call = Call::new(&self.scripts.postpone, place, keys)
            .number(id)
            .argument(envelope::version_bytes(version))
            .number(due.as_ms());
        self.step(id, call).await?;
        self.dues.changed(self.shard(id), Some(due));
        Ok(())
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        let done = envelope::write_follow_ups(done).map_err(|error| unwritable(&error))?;
        let call = self
            .on_match(&self.scripts.settle, self.place(id), id)
            .argument(envelope::version_bytes(version))
            .list(done);
        self.step(id, call).await
    }
}

/// Reads an id as keys and sets hold it.
pub(crate) fn read_id(bytes: &[u8]) -> Result<MatchId, StoreError> {
    let text = std::str::from_utf8(bytes).map_err(|_| unexpected())?;
    text.parse().map_err(|_| unexpected())
}
