//! `FeedService`: life-cycle events for back ends. No store writes them yet, so it answers
//! UNIMPLEMENTED.

use futures::stream::BoxStream;
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::v1::feed_service_server::FeedService;
use wire::v1::{self, ErrorReason};

/// The service.
pub(crate) struct Feed;

#[tonic::async_trait]
impl FeedService for Feed {
    type WatchFeedStream = BoxStream<'static, Result<v1::WatchFeedResponse, Status>>;

    async fn watch_feed(
        &self,
        _request: Request<v1::WatchFeedRequest>,
    ) -> Result<Response<Self::WatchFeedStream>, Status> {
        Err(ApiError::new(ErrorReason::Unimplemented).into())
    }
}
