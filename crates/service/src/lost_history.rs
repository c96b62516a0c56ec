//! A store that has lost a part of a match: how a node finds out, and what it does then.
//!
//! Where writes count before replicas have them, a failover can lose turns and seals that players were told
//! of. Nothing is decided a second time: the match is void (END_REASON_LOST_HISTORY). That takes one of
//!
//! - a head that is older than, or unlike, one that this node has seen before it asked;
//! - a receipt signed by this service for a commitment that its turn and seat lack;
//! - the same turn and hash, unknown here, named by both seats.
//!
//! What one client says alone voids nothing: it is refused as HISTORY_REGRESSED.

use referee::{Command, HistoryClaim, Match};
use sealing::{Digest, EndReason, MatchId, Receipt, Signature};
use store::{StoreError, Stored};
use tracing::warn;
use wire::ApiError;

use crate::access::Caller;
use crate::convert::errors;
use crate::drive::drive;
use crate::node::Node;

/// Whether the store has lost something: what is `read` was asked for after `seen` had been seen, which was
/// durable then.
pub(crate) fn is_lost(seen: &Stored, read: &Stored) -> bool {
    let versions = (seen.version, read.version);
    let older = versions.1.counter < versions.0.counter || read.head.resolved < seen.head.resolved;
    let same_place = versions.1.counter == versions.0.counter && versions.1 != versions.0;
    let same_turn = read.head.resolved == seen.head.resolved && read.head.hash != seen.head.hash;
    older || same_place || same_turn
}

/// Ends a match of which something is lost, if it is still played.
pub(crate) async fn void(node: &Node, id: MatchId) -> Result<(), ApiError> {
    tell(id);
    drive(node.store.as_ref(), id, None, |_| Ok(Command::LostHistory)).await.map(drop)
}

/// Tells the log.
pub(crate) fn tell(id: MatchId) {
    warn!(%id, "a part of a match is lost: it is void");
}

fn tell_if_void(game: &Match) {
    if game.finish().is_some_and(|finish| finish.reason == EndReason::LostHistory) {
        tell(game.id);
    }
}

/// Ends a match whose stored history no longer goes through a turn that this node has told a client of.
pub(crate) async fn void_unless_stored(
    node: &Node,
    id: MatchId,
    (turn, hash): (u32, Digest),
) -> Result<(), ApiError> {
    let stored = match turn {
        // Settings and players never change.
        0 => return Ok(()),
        turn => node.store.turns(id, turn, 1).await.map_err(errors::store)?,
    };
    if stored.first().is_some_and(|record| record.hash == hash) { Ok(()) } else { void(node, id).await }
}

/// Takes note of what the caller says has been, if he plays. Both seats who say the same end the match.
pub(crate) async fn claim(
    node: &Node,
    (caller, player): (&Caller, &str),
    game: &Match,
    claim: HistoryClaim,
) -> Result<(), ApiError> {
    let Ok(seat) = caller.seat(player, game) else { return Ok(()) };
    let claimed = |_: &Match| Ok(Command::ClaimHistory { seat, claim });
    let driven = drive(node.store.as_ref(), game.id, caller.deadline(), claimed).await?;
    tell_if_void(&driven.stored.head);
    Ok(())
}

/// Ends a match, if it is still played, of which a receipt proves that something is lost.
///
/// A receipt that is not this service's, or of another match, proves nothing.
pub(crate) async fn weigh(
    node: &Node,
    id: MatchId,
    (receipt, signature): (Receipt, Option<Signature>),
) -> Result<(), ApiError> {
    let Some(signature) = signature else { return Ok(()) };
    if receipt.match_id != id || !node.signer.signed_receipt(&receipt, &signature) {
        return Ok(());
    }
    let store = node.store.as_ref();
    let turns = match store.turns(id, receipt.turn, 1).await {
        Ok(turns) => turns,
        // The call itself will say so.
        Err(StoreError::NotFound) => return Ok(()),
        Err(error) => return Err(errors::store(error)),
    };
    if let Some(record) = turns.first() {
        let is_lost = record.facts.commitments[receipt.seat] != receipt.commitment;
        return if is_lost { void(node, id).await } else { Ok(()) };
    }
    let judged = |game: &Match| Ok(if lacks(game, &receipt) { Command::LostHistory } else { Command::Tick });
    let driven = drive(store, id, None, judged).await?;
    tell_if_void(&driven.stored.head);
    Ok(())
}

/// Whether a match that is played lacks what a receipt for a turn that had not resolved says is in.
fn lacks(game: &Match, receipt: &Receipt) -> bool {
    // A turn that has resolved meanwhile did so with its seals.
    if game.finish().is_some() || receipt.turn <= game.resolved {
        return false;
    }
    let open = game.turn_in_play().filter(|open| open.turn == receipt.turn);
    let seal = open.and_then(|open| open.seals[receipt.seat].as_ref());
    seal.is_none_or(|seal| seal.facts.commitment != receipt.commitment)
}
