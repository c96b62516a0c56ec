//! What operators are told.

use referee::{FollowUp, Match, Now, Phase, SealStatus};
use rules::Seat;
use store::keys::{KeyFacts, KeyState, Role};
use store::{SeenNode, Shard, Stored};
use wire::admin::v1::{self, NodeState};
use wire::v1::ErrorReason;
use wire::{ApiError, is_id};

use super::time::{duration, timestamp};
use crate::stats::{Count, Snapshot};

/// The longest explanation of an operator, bytes: a few sentences and a link.
const EXPLANATION_BYTES_MAX: usize = 500;

/// What nodes' names begin with.
const NODES: &str = "nodes/";

/// How the store keeps a match. Each commit moves the version and the stamp, and so would tell of a seal that is to
/// stay hidden: where there may be one all that it would move is left out, whether there is one or not.
pub(crate) fn stored(stored: &Stored, shard: Shard, now: Now) -> v1::StoredMatch {
    let game = &stored.head;
    let shown = v1::StoredMatch {
        shard: shard.0.into(),
        due_time: game.under_outage(now.outage_ms).due().map(timestamp),
        ..v1::StoredMatch::default()
    };
    if may_hide_a_seal(game) {
        return shown;
    }
    v1::StoredMatch {
        version: Some(stored.version.counter),
        commit_time: Some(timestamp(stored.stamp)),
        outage_sum: Some(duration(game.outage_ms)),
        follow_ups: stored.follow_ups.iter().map(|follow_up| follow_up_name(*follow_up).to_owned()).collect(),
        ..shown
    }
}

fn may_hide_a_seal(game: &Match) -> bool {
    game.settings.seal_status == SealStatus::Hidden && matches!(game.phase, Phase::Open(_))
}

const fn follow_up_name(follow_up: FollowUp) -> &'static str {
    match follow_up {
        FollowUp::Index(Seat::Black) => "index-black",
        FollowUp::Index(Seat::White) => "index-white",
        FollowUp::Record(Seat::Black) => "record-black",
        FollowUp::Record(Seat::White) => "record-white",
        FollowUp::Release(Seat::Black) => "release-black",
        FollowUp::Release(Seat::White) => "release-white",
        FollowUp::Requeue(Seat::Black) => "requeue-black",
        FollowUp::Requeue(Seat::White) => "requeue-white",
    }
}

/// Why an operator does what he does.
pub(crate) fn explanation(text: &str) -> Result<&str, ApiError> {
    match text.trim() {
        "" => Err(ApiError::required("explanation")),
        text if text.len() > EXPLANATION_BYTES_MAX => {
            let what = format!("it has {} bytes; {EXPLANATION_BYTES_MAX} are the most", text.len());
            Err(ApiError::field(ErrorReason::FieldInvalid, "explanation", &what))
        }
        text => Ok(text),
    }
}

/// The name of a node.
pub(crate) fn node_name(name: &str) -> String {
    format!("{NODES}{name}")
}

/// What a field calls a node; none if it is empty.
pub(crate) fn named_node<'a>(field: &str, name: &'a str) -> Result<Option<&'a str>, ApiError> {
    if name.is_empty() {
        return Ok(None);
    }
    let id = wire::Collection::Nodes.id(name);
    id.map(Some).map_err(|error| ApiError::field(ErrorReason::FieldInvalid, field, &error.to_string()))
}

/// A node.
pub(crate) fn node(seen: &SeenNode) -> v1::Node {
    let state = match (seen.is_alive, seen.report.draining) {
        (false, _) => NodeState::Dead,
        (true, true) => NodeState::Draining,
        (true, false) => NodeState::Serving,
    };
    v1::Node {
        name: node_name(&seen.report.name),
        state: state.into(),
        server_version: seen.report.version.clone(),
        start_time: Some(timestamp(seen.report.started)),
        heartbeat_time: Some(timestamp(seen.heard)),
        streams: seen.report.streams,
    }
}

/// What a node has counted.
pub(crate) fn stats(node: &str, now_ms: u64, read: &Snapshot) -> v1::NodeStats {
    let bucket = |(max_us, count): (Option<u64>, u64)| v1::LatencyBucket { max: max_us.map(micros), count };
    v1::NodeStats {
        node: node_name(node),
        time: Some(timestamp(referee::Stamp::from_ms(now_ms))),
        calls: read.of(Count::Calls),
        errors: read.of(Count::Errors),
        seals: read.of(Count::Seals),
        finished_matches: read.of(Count::FinishedMatches),
        conflicts: read.of(Count::Conflicts),
        restamps: read.of(Count::Restamps),
        streams: read.streams(),
        latencies: read.latencies().map(bucket).collect(),
    }
}

fn micros(us: u64) -> prost_types::Duration {
    // Both fit: a bound is below an hour.
    prost_types::Duration { seconds: (us / 1_000_000) as i64, nanos: (us % 1_000_000 * 1_000) as i32 }
}

/// A key, by its file and by what the node runs with.
pub(crate) fn key(facts: &KeyFacts, running: Option<&KeyFacts>) -> v1::Key {
    let running_state = running.map_or(v1::KeyState::Unspecified, |running| key_state(running.state()));
    v1::Key {
        role: key_role(facts.role).into(),
        id: facts.id.as_str().to_owned(),
        state: key_state(facts.state()).into(),
        start_time: facts.from.map(timestamp),
        end_time: facts.until.map(timestamp),
        public_key: facts.public_key.map(|key| key.as_bytes().to_vec()).unwrap_or_default(),
        running_state: running_state.into(),
    }
}

const fn key_role(role: Role) -> v1::KeyRole {
    match role {
        Role::Signing => v1::KeyRole::Signing,
        Role::Box => v1::KeyRole::Box,
        Role::Token => v1::KeyRole::Token,
        Role::Request => v1::KeyRole::Request,
    }
}

const fn key_state(state: KeyState) -> v1::KeyState {
    match state {
        KeyState::Prepared => v1::KeyState::Prepared,
        KeyState::InUse => v1::KeyState::InUse,
        KeyState::Ended => v1::KeyState::Ended,
    }
}

/// The role of a key that is to be rotated.
pub(crate) fn role(role: i32) -> Result<Role, ApiError> {
    match v1::KeyRole::try_from(role) {
        Ok(v1::KeyRole::Signing) => Ok(Role::Signing),
        Ok(v1::KeyRole::Box) => Ok(Role::Box),
        Ok(v1::KeyRole::Token) => Ok(Role::Token),
        Ok(v1::KeyRole::Unspecified) => Err(ApiError::required("role")),
        Ok(v1::KeyRole::Request) | Err(_) => {
            let what = "keys for signing, boxes and tokens are rotated";
            Err(ApiError::field(ErrorReason::FieldInvalid, "role", what))
        }
    }
}

/// The id of a key.
pub(crate) fn key_id(id: &str) -> Result<sealing::KeyId, ApiError> {
    if id.is_empty() {
        return Err(ApiError::required("id"));
    }
    let known = id.parse().ok().filter(|_| is_id(id));
    known
        .ok_or_else(|| ApiError::field(ErrorReason::FieldInvalid, "id", "it is 1 to 64 of A-Z a-z 0-9 . _ -"))
}
