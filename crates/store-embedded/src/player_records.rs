//! The traits' records and leaderboards.

use async_trait::async_trait;
use store::{PlayerRecord, Ranked, RecordStore, Speed, StoreError, Version};

use crate::board::Score;
use crate::disk::{Space, Write};
use crate::durable::unreadable;
use crate::memory::lock;
use crate::single_node::{Backing, SingleNode};
use crate::{key, record};

#[async_trait]
impl<B: Backing> RecordStore for SingleNode<B> {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        let Some(value) = self.value(Space::Records, key::player(player)).await? else {
            return Ok((PlayerRecord::default(), None));
        };
        let (record, version) = record::read_player(&value).map_err(|error| unreadable(&error))?;
        Ok((record, Some(version)))
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        let turn = self.memory.turns.of(player).await;
        let (_, version) = self.record(player).await?;
        if version != expected {
            return Ok(false);
        }
        let next = version.map_or_else(|| Version::first(nonce), |version| version.next(nonce));
        let write = record::put_player(key::player(player), record, next);
        self.keep_value(write, move |_| {
            drop(turn);
            true
        })
        .await
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        let turn = self.memory.turns.of(player).await;
        let removal = Write::remove(Space::Records, key::player(player));
        self.keep_value(Ok(removal), move |_| drop(turn)).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        let turn = self.memory.turns.of(player).await;
        let score = Score { points_micro, matches };
        if !lock(&self.memory.boards).takes(speed, player, score)? {
            return Ok(());
        }
        let writes = vec![record::put_score(speed, player, score)];
        let player = player.to_owned();
        self.show_once_written(writes, move |memory| {
            lock(&memory.boards).put(speed, &player, score);
            drop(turn);
        })
        .await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        let turn = self.memory.turns.of(player).await;
        let writes = vec![Write::remove(Space::Boards, key::ranked(speed, player))];
        let player = player.to_owned();
        self.show_once_written(writes, move |memory| {
            lock(&memory.boards).take(speed, &player);
            drop(turn);
        })
        .await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        Ok(lock(&self.memory.boards).page(speed, skip, limit))
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        Ok(lock(&self.memory.boards).place(speed, player))
    }
}
