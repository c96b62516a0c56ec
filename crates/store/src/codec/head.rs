//! Heads: matches without their turns.

use std::sync::Arc;

use prost::Message as _;
use referee::{
    Finish, FollowUp, HistoryClaim, Match, OpenTurn, Phase, Revealing, SealFacts, Stamp, TurnRequests,
};
use rules::{PerSeat, Seat};
use sealing::{BoxContext, BoxNonce, Commitment, Digest, EndReason, MatchId, MatchResult};

use super::field::{
    bytes, damaged, fixed, optional, optional_request_id, optional_seat, request_text, required, seat,
    seat_number,
};
use super::record::follow_up::FollowUp as StoredFollowUp;
use super::record::head::Phase as StoredPhase;
use super::{CodecError, FORMAT, Keyring, board, origin, record, seal, settings};
use crate::{Stored, Version};

/// Writes a match as it is stored. The openings of its unresolved moves go into boxes under the current
/// key; `nonces` are drawn for this record from a secure source and never used again.
///
/// # Errors
/// It is longer than a record can be, or the cipher refuses.
pub fn encode_head(
    stored: &Stored,
    keyring: &Keyring,
    nonces: &PerSeat<BoxNonce>,
) -> Result<Vec<u8>, CodecError> {
    let game = stored.head.as_ref();
    let lock = Lock { match_id: game.id, keyring, nonces };
    let party = |seat: Seat| {
        let party = &game.parties[seat];
        Some(settings::write_party(&party.player, party.public_key.as_ref()))
    };
    super::write(&record::Head {
        format: FORMAT,
        version_counter: stored.version.counter,
        version_nonce: stored.version.nonce.to_vec(),
        stamp_ms: stored.stamp.as_ms(),
        follow_ups: stored.follow_ups.iter().map(write_follow_up).collect(),
        match_id: game.id.as_bytes().to_vec(),
        settings: Some(settings::write(&game.settings)),
        black: party(Seat::Black),
        white: party(Seat::White),
        rematch_of: bytes(game.rematch_of.as_ref().map(MatchId::as_bytes)),
        created_ms: game.created.as_ms(),
        started_ms: game.started.map(Stamp::as_ms),
        outage_ms: game.outage_ms,
        idle_by_ms: game.idle_by.as_ms(),
        resolved: game.resolved,
        board: Some(board::write(&game.position)),
        hash: game.hash.as_bytes().to_vec(),
        black_clock_ms: game.clock_ms.black,
        white_clock_ms: game.clock_ms.white,
        phase: Some(write_phase(&game.phase, &lock)?),
        black_claim: game.claims.black.as_ref().map(write_claim),
        white_claim: game.claims.white.as_ref().map(write_claim),
        origin: game.origin.as_deref().map(origin::write),
    })
}

/// Reads what [`encode_head`] wrote.
///
/// # Errors
/// The bytes are no head, or of a newer format; or one of its moves is in a box that no key of the
/// keyring opens.
pub fn decode_head(bytes: &[u8], keyring: &Keyring) -> Result<Stored, CodecError> {
    read_head(bytes, Some(keyring))
}

/// Reads what [`encode_head`] wrote, but for the moves that are sealed in it: as if none had been opened. A
/// match in this state can be ended, and cannot go on.
///
/// # Errors
/// The bytes are no head, or of a newer format.
pub fn decode_head_without_openings(bytes: &[u8]) -> Result<Stored, CodecError> {
    read_head(bytes, None)
}

fn read_head(bytes: &[u8], keyring: Option<&Keyring>) -> Result<Stored, CodecError> {
    let head = super::read(bytes, |head: &record::Head| head.format)?;
    let match_id = MatchId::from_bytes(fixed(&head.match_id, "Head.match_id")?);
    let follow_ups = head.follow_ups.iter().map(read_follow_up).collect::<Result<_, _>>()?;
    let parties = PerSeat {
        black: settings::read_party(required(head.black, "Head.black")?)?,
        white: settings::read_party(required(head.white, "Head.white")?)?,
    };
    let game = Match {
        id: match_id,
        settings: settings::read(&required(head.settings, "Head.settings")?)?,
        parties: Arc::new(parties),
        rematch_of: optional(&head.rematch_of, "Head.rematch_of", MatchId::from_bytes)?,
        origin: head.origin.map(origin::read).transpose()?.map(Arc::new),
        created: Stamp::from_ms(head.created_ms),
        started: head.started_ms.map(Stamp::from_ms),
        outage_ms: head.outage_ms,
        idle_by: Stamp::from_ms(head.idle_by_ms),
        resolved: head.resolved,
        position: board::read(&required(head.board, "Head.board")?)?,
        hash: Digest::from_bytes(fixed(&head.hash, "Head.hash")?),
        clock_ms: PerSeat { black: head.black_clock_ms, white: head.white_clock_ms },
        claims: PerSeat {
            black: head.black_claim.as_ref().map(read_claim).transpose()?,
            white: head.white_claim.as_ref().map(read_claim).transpose()?,
        },
        phase: read_phase(required(head.phase, "Head.phase")?, match_id, head.started_ms.is_some(), keyring)?,
    };
    let in_order = match (game.turn_in_play(), game.resolved.checked_add(1)) {
        (Some(open), next) => next == Some(open.turn),
        (None, next) => next.is_some(),
    };
    if !in_order {
        return Err(damaged("Head.resolved"));
    }
    let nonce = fixed(&head.version_nonce, "Head.version_nonce")?;
    Ok(Stored {
        head: Arc::new(game),
        version: Version { counter: head.version_counter, nonce },
        stamp: Stamp::from_ms(head.stamp_ms),
        follow_ups,
    })
}

/// Writes a follow-up alone, for a store that keeps them beside the head.
#[must_use]
pub fn encode_follow_up(follow_up: &FollowUp) -> Vec<u8> {
    write_follow_up(follow_up).encode_to_vec()
}

/// Reads what [`encode_follow_up`] wrote.
///
/// # Errors
/// The bytes are no follow-up, or one of a newer build.
pub fn decode_follow_up(bytes: &[u8]) -> Result<FollowUp, CodecError> {
    read_follow_up(&record::FollowUp::decode(bytes).map_err(|_| CodecError::Malformed)?)
}

fn write_follow_up(follow_up: &FollowUp) -> record::FollowUp {
    let follow_up = match follow_up {
        FollowUp::Index(seat) => StoredFollowUp::Index(seat_number(Some(*seat))),
        FollowUp::Record(seat) => StoredFollowUp::Record(seat_number(Some(*seat))),
        FollowUp::Release(seat) => StoredFollowUp::Release(seat_number(Some(*seat))),
        FollowUp::Requeue(seat) => StoredFollowUp::Requeue(seat_number(Some(*seat))),
    };
    record::FollowUp { follow_up: Some(follow_up) }
}

fn read_follow_up(follow_up: &record::FollowUp) -> Result<FollowUp, CodecError> {
    Ok(match required(follow_up.follow_up, "FollowUp.follow_up")? {
        StoredFollowUp::Index(number) => FollowUp::Index(seat(number, "FollowUp.index")?),
        StoredFollowUp::Record(number) => FollowUp::Record(seat(number, "FollowUp.record")?),
        StoredFollowUp::Release(number) => FollowUp::Release(seat(number, "FollowUp.release")?),
        StoredFollowUp::Requeue(number) => FollowUp::Requeue(seat(number, "FollowUp.requeue")?),
    })
}

fn write_claim(claim: &HistoryClaim) -> record::HistoryClaim {
    record::HistoryClaim { turn: claim.turn, hash: claim.hash.as_bytes().to_vec() }
}

fn read_claim(claim: &record::HistoryClaim) -> Result<HistoryClaim, CodecError> {
    let hash = Digest::from_bytes(fixed(&claim.hash, "HistoryClaim.hash")?);
    Ok(HistoryClaim { turn: claim.turn, hash })
}

/// What the openings of a match are locked with.
struct Lock<'a> {
    match_id: MatchId,
    keyring: &'a Keyring,
    nonces: &'a PerSeat<BoxNonce>,
}

fn write_phase(phase: &Phase, lock: &Lock<'_>) -> Result<StoredPhase, CodecError> {
    Ok(match phase {
        Phase::Waiting { joined, start_by } => StoredPhase::Waiting(record::Waiting {
            black_joined: joined.black,
            white_joined: joined.white,
            start_by_ms: start_by.map(Stamp::as_ms),
        }),
        Phase::Open(open) => StoredPhase::Open(write_open(open, lock)?),
        Phase::Revealing(revealing) => StoredPhase::Revealing(record::Revealing {
            open: Some(write_open(&revealing.open, lock)?),
            reveal_by_ms: revealing.reveal_by.as_ms(),
        }),
        Phase::BotDue { since } => StoredPhase::BotDue(record::BotDue { since_ms: since.as_ms() }),
        Phase::Finished(finish) => StoredPhase::Finish(write_finish(finish)),
    })
}

fn read_phase(
    phase: StoredPhase,
    match_id: MatchId,
    began: bool,
    keyring: Option<&Keyring>,
) -> Result<Phase, CodecError> {
    Ok(match phase {
        StoredPhase::Waiting(waiting) => Phase::Waiting {
            joined: PerSeat { black: waiting.black_joined, white: waiting.white_joined },
            start_by: waiting.start_by_ms.map(Stamp::from_ms),
        },
        StoredPhase::Open(open) => Phase::Open(read_open(open, match_id, keyring)?),
        StoredPhase::Revealing(revealing) => Phase::Revealing(Revealing {
            open: read_open(required(revealing.open, "Revealing.open")?, match_id, keyring)?,
            reveal_by: Stamp::from_ms(revealing.reveal_by_ms),
        }),
        StoredPhase::BotDue(due) => Phase::BotDue { since: Stamp::from_ms(due.since_ms) },
        StoredPhase::Finish(finish) => Phase::Finished(read_finish(finish, began)?),
    })
}

fn write_open(open: &OpenTurn, lock: &Lock<'_>) -> Result<record::OpenTurn, CodecError> {
    let side = |seat: Seat| {
        let seal = open.seals[seat].as_ref().map(|seal| {
            let commitment = seal.facts.commitment;
            let context = BoxContext { match_id: lock.match_id, turn: open.turn, seat, commitment };
            seal::write(seal, context, lock.keyring, lock.nonces[seat])
        });
        Ok::<_, CodecError>(record::OpenSide {
            deadline_ms: open.deadlines[seat].as_ms(),
            seal: seal.transpose()?,
            requests: seal::write_requests(&open.requests[seat]),
        })
    };
    let (black, white) = (Some(side(Seat::Black)?), Some(side(Seat::White)?));
    Ok(record::OpenTurn { turn: open.turn, opened_ms: open.opened.as_ms(), black, white })
}

fn read_open(
    open: record::OpenTurn,
    match_id: MatchId,
    keyring: Option<&Keyring>,
) -> Result<OpenTurn, CodecError> {
    let turn = open.turn;
    let side = |side: record::OpenSide, seat: Seat| {
        let context = |commitment: Commitment| BoxContext { match_id, turn, seat, commitment };
        let seal = side.seal.map(|stored| seal::read(stored, context, keyring)).transpose()?;
        let requests = seal::read_requests(side.requests)?;
        Ok::<_, CodecError>((Stamp::from_ms(side.deadline_ms), seal, requests))
    };
    let black = side(required(open.black, "OpenTurn.black")?, Seat::Black)?;
    let white = side(required(open.white, "OpenTurn.white")?, Seat::White)?;
    Ok(OpenTurn {
        turn,
        opened: Stamp::from_ms(open.opened_ms),
        deadlines: PerSeat { black: black.0, white: white.0 },
        seals: PerSeat { black: black.1, white: white.1 },
        requests: PerSeat { black: black.2, white: white.2 },
    })
}

fn write_finish(finish: &Finish) -> record::Finish {
    let side = |seat: Seat| {
        Some(record::UnresolvedSide {
            facts: finish.unresolved[seat].as_ref().map(seal::write_facts),
            requests: seal::write_requests(&finish.requests[seat]),
        })
    };
    let by = finish.by.as_ref();
    record::Finish {
        result: u32::from(finish.result.number()),
        reason: u32::from(finish.reason.number()),
        at_ms: finish.at.as_ms(),
        black: side(Seat::Black),
        white: side(Seat::White),
        black_joined: finish.joined.black,
        white_joined: finish.joined.white,
        resigned_by: seat_number(by.map(|(seat, _)| *seat)),
        resigned_request: request_text(by.map(|(_, request_id)| request_id)),
        end_hash: finish.end_hash.as_bytes().to_vec(),
    }
}

/// A match that began had been joined by both; older records say no more.
fn read_finish(finish: record::Finish, began: bool) -> Result<Finish, CodecError> {
    let result = u8::try_from(finish.result).ok().and_then(MatchResult::from_number);
    let reason = u8::try_from(finish.reason).ok().and_then(EndReason::from_number);
    let by_seat = optional_seat(finish.resigned_by, "Finish.resigned_by")?;
    let by_request = optional_request_id(&finish.resigned_request, "Finish.resigned_request")?;
    let black = read_unresolved(required(finish.black, "Finish.black")?)?;
    let white = read_unresolved(required(finish.white, "Finish.white")?)?;
    Ok(Finish {
        result: required(result, "Finish.result")?,
        reason: required(reason, "Finish.reason")?,
        at: Stamp::from_ms(finish.at_ms),
        unresolved: PerSeat { black: black.0, white: white.0 },
        requests: PerSeat { black: black.1, white: white.1 },
        joined: PerSeat { black: began || finish.black_joined, white: began || finish.white_joined },
        by: match (by_seat, by_request) {
            (Some(seat), Some(request_id)) => Some((seat, request_id)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(damaged("Finish.resigned_by")),
        },
        end_hash: Digest::from_bytes(fixed(&finish.end_hash, "Finish.end_hash")?),
    })
}

fn read_unresolved(side: record::UnresolvedSide) -> Result<(Option<SealFacts>, TurnRequests), CodecError> {
    let facts = side.facts.map(seal::read_facts).transpose()?;
    Ok((facts, seal::read_requests(side.requests)?))
}
