//! A match that an operator looks at, or ends.

use referee::Command;
use store::Shard;
use wire::ApiError;
use wire::admin::v1::{AbortMatchRequest, AbortMatchResponse, InspectMatchRequest, InspectMatchResponse};

use super::{Act, remembered};
use crate::access::Caller;
use crate::convert::view::{self, Viewer};
use crate::convert::{admin, errors, match_name, request};
use crate::drive::drive;
use crate::node::Node;

/// Ends a live match. One that an operator has ended already is answered as it is.
pub(super) async fn abort(
    node: &Node,
    operator: &str,
    caller: &Caller,
    asked: &AbortMatchRequest,
) -> Result<AbortMatchResponse, ApiError> {
    let id = request::match_id("name", &asked.name)?;
    let explanation = admin::explanation(&asked.explanation)?;
    let content = AbortMatchRequest { request_id: String::new(), ..asked.clone() };
    remembered(node, operator, &asked.request_id, &content).await?;
    let mut is_over = false;
    let driven = drive(node.store.as_ref(), id, caller.deadline(), |game| {
        is_over = game.finish().is_some();
        Ok(Command::Abort)
    })
    .await?;
    driven.answer.map_err(|refusal| errors::refusal(refusal, id))?;
    if !is_over {
        Act { operator, request_id: &asked.request_id }.audit("abort_match", &match_name(id), explanation);
    }
    let game = view::game(&driven.stored.head, driven.now, Viewer::Public);
    Ok(AbortMatchResponse { r#match: Some(game) })
}

/// A match as everyone may see it, and how it is kept. A deadline that has passed decides first, as for whoever else
/// looks.
pub(super) async fn inspect(
    node: &Node,
    caller: &Caller,
    asked: &InspectMatchRequest,
) -> Result<InspectMatchResponse, ApiError> {
    let id = request::match_id("name", &asked.name)?;
    let driven = drive(node.store.as_ref(), id, caller.deadline(), |_| Ok(Command::Tick)).await?;
    let shard = Shard::of(id, node.store.shard_count());
    Ok(InspectMatchResponse {
        r#match: Some(view::game(&driven.stored.head, driven.now, Viewer::Public)),
        stored: Some(admin::stored(&driven.stored, shard, driven.now)),
    })
}
