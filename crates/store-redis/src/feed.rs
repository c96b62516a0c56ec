//! The feed.

use store::FeedStore;

use crate::redis_store::RedisStore;

impl FeedStore for RedisStore {}
