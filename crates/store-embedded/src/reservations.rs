//! The traits' reservations: what holds each player.

use async_trait::async_trait;
use referee::Stamp;
use store::{Held, Reservation, ReservationStore, StoreError};

use crate::disk::{Space, Write};
use crate::durable::unreadable;
use crate::single_node::{Backing, SingleNode};
use crate::{key, record};

impl<B: Backing> SingleNode<B> {
    /// What holds a player, and since when.
    async fn held(&self, player: &str) -> Result<Option<(Reservation, Stamp)>, StoreError> {
        let value = self.value(Space::Reservations, key::player(player)).await?;
        let held = value.map(|value| record::read_reservation(&value)).transpose();
        held.map_err(|error| unreadable(&error))
    }
}

#[async_trait]
impl<B: Backing> ReservationStore for SingleNode<B> {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        let held = self.held(player).await?;
        let now = self.memory.stamp();
        Ok(held.map(|(by, since)| Held { by, for_ms: now.ms_since(since) }))
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        let turn = self.memory.turns.of(player).await;
        let held = self.held(player).await?.map(|(by, _)| by);
        if held.as_ref() != expected || held.as_ref() == next {
            return Ok(held);
        }
        let now = self.memory.stamp();
        let key = key::player(player);
        let write = match next {
            Some(next) => record::put_reservation(key, next, now),
            None => Ok(Write::remove(Space::Reservations, key)),
        };
        let (player, next) = (player.to_owned(), next.cloned());
        self.keep_value(write, move |memory| {
            memory.tell(&[player]);
            drop(turn);
            next
        })
        .await
    }
}
