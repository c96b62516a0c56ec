//! What holds players. It is compared as it is stored.

use async_trait::async_trait;
use store::{Entry, Held, RequestKey, RequestRecord, Reservation, ReservationStore, StoreError, codec};

use crate::call::Call;
use crate::names::Names;
use crate::records::read_record;
use crate::redis_store::RedisStore;
use crate::reply::{unreadable, unwritable};

/// A reservation as it is stored; empty where there is none.
fn written(reservation: Option<&Reservation>) -> Result<Vec<u8>, StoreError> {
    let written = reservation.map_or(Ok(Vec::new()), codec::encode_reservation);
    written.map_err(|error| unwritable(&error))
}

fn read(stored: Option<&[u8]>) -> Result<Option<Reservation>, StoreError> {
    stored.map(codec::decode_reservation).transpose().map_err(|error| unreadable(&error))
}

#[async_trait]
impl ReservationStore for RedisStore {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.reservation(&place), self.names.fence(&place)];
        let reply = self.caller.run(Call::new(&self.scripts.reservation, place, keys)).await?;
        let for_ms = reply.number(1)?;
        Ok(read(reply.optional_bytes(0)?)?.map(|by| Held { by, for_ms }))
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        let place = self.names.player(player);
        let keys = vec![self.names.reservation(&place), self.names.fence(&place)];
        let channel = self.names.player_channel(&place);
        let call = Call::new(&self.scripts.reserve, place, keys)
            .argument(written(expected)?)
            .argument(written(next)?)
            .telling(channel);
        read(self.caller.run(call).await?.optional_bytes(0)?)
    }

    async fn enter(
        &self,
        key: RequestKey,
        request: RequestRecord,
        next: &Reservation,
    ) -> Result<Entry, StoreError> {
        let (of_request, place) = self.names.request(&key);
        let names = [Names::reservation, Names::record, Names::fence].map(|name| name(&self.names, &place));
        let keys = std::iter::once(of_request).chain(names).collect();
        let channel = self.names.player_channel(&place);
        let call = Call::new(&self.scripts.enter, place, keys)
            .argument(codec::encode_request(&request).map_err(|error| unwritable(&error))?)
            .number(RequestRecord::RETENTION_MS)
            .argument(written(Some(next))?)
            .telling(channel);
        let reply = self.caller.run(call).await?;
        let (record, _) = read_record(reply.optional_bytes(2)?)?;
        Ok(Entry {
            remembered: codec::decode_request(reply.bytes(0)?).map_err(|error| unreadable(&error))?,
            held_by: read(reply.optional_bytes(1)?)?,
            record,
        })
    }
}
