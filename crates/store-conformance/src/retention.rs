//! How long a match can be read.

use std::sync::Arc;

use rules::Seat;

use crate::world::{World, resign};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long a finished match is kept where nothing else is set, ms.
const RETENTION_MS: u64 = 7 * DAY_MS;

/// With all its turns, and whatever is tidied up meanwhile.
pub async fn a_finished_match_can_be_read_for_its_retention(world: Arc<World>) {
    let id = world.start().await;
    world.play(id).await;
    let stored = world.act(id, resign(Seat::Black)).await;
    world.settle_all(id).await;
    let stored = store::Stored { follow_ups: Vec::new(), ..stored };
    for wait_ms in [RETENTION_MS - 1_000, 1_000] {
        world.leap_ms(wait_ms).await;
        world.due(id).await;
        world.create(world.id_in(world.shard(id))).await;
        world.sees(id, &stored).await;
        world.has_turns(id, &[1]).await;
    }
}

/// However long nobody plays.
pub async fn a_live_match_is_never_forgotten(world: Arc<World>) {
    let id = world.start().await;
    let stored = world.load(id).await.stored;
    world.leap_ms(10 * RETENTION_MS).await;
    world.due(id).await;
    world.create(world.id_in(world.shard(id))).await;
    world.sees(id, &stored).await;
}
