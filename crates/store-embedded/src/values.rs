//! Records of players: read from the disk each time, or from memory where there is none.

use std::collections::HashMap;

use store::StoreError;
use store::codec::CodecError;

use crate::disk::{Space, Write};
use crate::memory::{Memory, lock};
use crate::single_node::{Backing, SingleNode, unwritable};

/// Records in memory at most; one takes some two kilobytes where a player has met many others.
const VALUES_MAX: usize = 1_000_000;

/// The records that a disk would have, by their keys.
#[derive(Default)]
pub(crate) struct Values {
    values: HashMap<(Space, Vec<u8>), Vec<u8>>,
}

impl Values {
    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Option<Vec<u8>> {
        self.values.get(&(space, key.to_vec())).cloned()
    }

    /// Makes a write.
    pub(crate) fn write(&mut self, write: Write) -> Result<(), StoreError> {
        let key = (write.space, write.key.to_vec());
        match write.value {
            None => {
                self.values.remove(&key);
            }
            Some(_) if self.values.len() >= VALUES_MAX && !self.values.contains_key(&key) => {
                return Err(StoreError::Full { limit: VALUES_MAX, what: "records of players" });
            }
            Some(value) => {
                self.values.insert(key, value);
            }
        }
        Ok(())
    }
}

impl<B: Backing> SingleNode<B> {
    /// The record under a key of players: read from the disk, or from memory where there is none.
    pub(crate) async fn value(&self, space: Space, key: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
        match self.behind.durable() {
            None => Ok(lock(&self.memory.values).get(space, &key)),
            Some(durable) => durable.read(move |reader| reader.value(space, &key)).await,
        }
    }

    /// Writes a record of a player, then shows what it says.
    pub(crate) async fn keep_value<T: Send + 'static>(
        &self,
        write: Result<Write, CodecError>,
        show: impl FnOnce(&Memory) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let write = write.map_err(|error| unwritable(&error))?;
        match self.behind.durable() {
            None => {
                lock(&self.memory.values).write(write)?;
                Ok(show(&self.memory))
            }
            Some(_) => self.show_once_written(vec![write], show).await,
        }
    }
}
