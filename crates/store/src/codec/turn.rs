//! Resolved turns.

use referee::{SealFacts, TurnRecord, TurnRequests};
use rules::{Cell, PerSeat, Seat};
use sealing::{Digest, Opening, Salt, TurnFacts};

use super::field::{fixed, required};
use super::seal::{read_facts, read_requests, write_parts, write_requests};
use super::{CodecError, FORMAT, record};

/// Writes a resolved turn. All of it is public.
///
/// # Errors
/// It is longer than a record can be.
pub fn encode_turn(turn: &TurnRecord) -> Result<Vec<u8>, CodecError> {
    super::write(&record::Turn {
        format: FORMAT,
        turn: turn.turn,
        opened_ms: turn.facts.opened_ms,
        resolved_ms: turn.facts.resolved_ms,
        black: Some(write_side(turn, Seat::Black)),
        white: Some(write_side(turn, Seat::White)),
        hash: turn.hash.as_bytes().to_vec(),
    })
}

fn write_side(turn: &TurnRecord, seat: Seat) -> record::ResolvedSide {
    let opening = &turn.facts.openings[seat];
    record::ResolvedSide {
        facts: Some(write_parts(
            &turn.facts.commitments[seat],
            turn.facts.sealed_ms[seat],
            &turn.request_ids[seat],
            &turn.key_ids[seat],
            turn.facts.signatures[seat].as_ref(),
        )),
        cell: u32::from(opening.cell.number()),
        salt: opening.salt.as_bytes().to_vec(),
        requests: write_requests(&turn.requests[seat]),
    }
}

/// Reads what [`encode_turn`] wrote.
///
/// # Errors
/// The bytes are no turn, or of a newer format.
pub fn decode_turn(bytes: &[u8]) -> Result<TurnRecord, CodecError> {
    let turn = super::read(bytes, |turn: &record::Turn| turn.format)?;
    let black = read_side(required(turn.black, "Turn.black")?)?;
    let white = read_side(required(turn.white, "Turn.white")?)?;
    let sides = PerSeat { black, white };
    let facts = sides.as_ref().map(|side| &side.facts);
    Ok(TurnRecord {
        turn: turn.turn,
        request_ids: facts.map(|facts| facts.request_id.clone()),
        key_ids: facts.map(|facts| facts.key_id.clone()),
        hash: Digest::from_bytes(fixed(&turn.hash, "Turn.hash")?),
        facts: TurnFacts {
            commitments: facts.map(|facts| facts.commitment),
            opened_ms: turn.opened_ms,
            sealed_ms: facts.map(|facts| facts.sealed.as_ms()),
            resolved_ms: turn.resolved_ms,
            signatures: facts.map(|facts| facts.signature),
            openings: sides.as_ref().map(|side| side.opening.clone()),
        },
        requests: sides.map(|side| side.requests),
    })
}

struct Side {
    facts: SealFacts,
    opening: Opening,
    requests: TurnRequests,
}

fn read_side(side: record::ResolvedSide) -> Result<Side, CodecError> {
    let cell = u8::try_from(side.cell).ok().and_then(Cell::from_number);
    Ok(Side {
        facts: read_facts(required(side.facts, "ResolvedSide.facts")?)?,
        opening: Opening {
            cell: required(cell, "ResolvedSide.cell")?,
            salt: Salt::from_bytes(fixed(&side.salt, "ResolvedSide.salt")?),
        },
        requests: read_requests(side.requests)?,
    })
}
