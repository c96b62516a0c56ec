//! Matches that wait with a sealed move whose key is lost: they cannot go on, and are ended.

use std::sync::Arc;

use referee::{Command, Now};
use sealing::MatchId;
use store::codec::{self, CodecError};
use store::{Commit, Stored};

use crate::disk::{Durability, Entry};
use crate::durable::{Reader, damaged};
use crate::error::OpenError;
use crate::memory::Memory;
use crate::record;
use crate::shard::{Prepared, Shard, Step};

/// Matches ended in one batch.
const ENDED_AT_ONCE: usize = 1_000;

impl Reader {
    /// Ends live matches as an operator does and takes them into memory. What follows from their end is due.
    pub(crate) fn end_unopenable(
        &self,
        memory: &Memory,
        entries: &[Entry],
        retention_ms: u64,
    ) -> Result<(), OpenError> {
        for entries in entries.chunks(ENDED_AT_ONCE) {
            let ended = entries.iter().map(|entry| self.end(memory, entry)).collect::<Result<Vec<_>, _>>()?;
            // They are judged under the outage sums of now.
            let mut writes = memory.clock_writes();
            for prepared in &ended {
                let put = record::put_match(prepared, &self.keyring, retention_ms);
                writes.extend(put.map_err(|error| damaged("a match", &error))?);
            }
            self.disk.write(writes, Durability::Power)?;
            ended
                .into_iter()
                .for_each(|prepared| memory.apply::<Self>(memory.place(prepared.stored.head.id), prepared));
        }
        if !entries.is_empty() {
            tracing::warn!(matches = entries.len(), "matches whose sealed moves no key opens are void");
        }
        Ok(())
    }

    fn end(&self, memory: &Memory, (key, value): &Entry) -> Result<Prepared, OpenError> {
        let id = MatchId::try_from(&key[..]).map_err(|_| damaged("a match", &CodecError::Malformed))?;
        let stored = codec::decode_head_without_openings(value);
        let stored = stored.map_err(|error| damaged(&format!("match {id}"), &error))?;
        memory.restore(stored.clone());
        let step = memory.shard_of(id, |shard, now| self.abort(shard, stored, now));
        step.ok_or_else(|| OpenError::Damaged(format!("match {id} cannot be ended")))
    }

    fn abort(&self, shard: &mut Shard, stored: Stored, now: Now) -> Option<Prepared> {
        let judged = Now { stamp: now.stamp.max(stored.stamp), ..now };
        let change = Arc::clone(&stored.head).apply(&Command::Abort, judged).change?;
        let commit = Commit { expected: stored.version, nonce: rand::random(), judged, change, trace: None };
        match shard.commit(commit, judged, self) {
            Step::Prepared(prepared) => Some(prepared),
            Step::Answered(_) | Step::Busy(..) => None,
        }
    }
}
