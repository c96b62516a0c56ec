//! Rows that hold whole matches with their chain of hashes.

use rules::Position;
use sealing::{
    Digest, PublicKey, ServerKey, Signature, Transcript, TranscriptError, TranscriptSignature, Verified,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Mismatch;
use crate::row::Row;
use crate::sealed::{EndingForm, Hex, SettingsForm, TurnForm, digest, match_id, parties, read};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let transcript = transcript(row)?;
    match verify(row, &transcript)? {
        Ok(verified) => {
            row.expect("refused", &Value::Null)?;
            row.expect("positions", &json!(positions(&transcript)?))?;
            let last = transcript.end_hash.as_ref().or(transcript.turn_hashes.last());
            let last = last.unwrap_or(&transcript.first_hash);
            if verified.last == *last { Ok(()) } else { Err(Mismatch::differs("last", last, &verified.last)) }
        }
        Err(error) => {
            let claim = error.claim.name();
            let seat = error.seat.map(|seat| seat.to_string());
            row.expect("refused", &json!({"claim": claim, "turn": error.turn, "seat": seat}))
        }
    }
}

/// The service's signature in a row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureForm {
    key_id: String,
    signature: Hex<64>,
}

/// One of the keys that the verifier knows the service by.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyForm {
    key_id: String,
    public_key: Hex<32>,
}

/// The service's signature of a match, and the keys that the verifier knows the service by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceSignature {
    /// The signature.
    pub signature: TranscriptSignature,
    /// The keys.
    pub keys: Vec<ServerKey>,
}

/// The service's signature in a row, if it has one.
///
/// # Errors
///
/// The row is not JSON or its signature is malformed.
pub fn signature_of(line: &str) -> Result<Option<ServiceSignature>, Mismatch> {
    signature(&Row::parse(line)?)
}

fn signature(row: &Row) -> Result<Option<ServiceSignature>, Mismatch> {
    let form: Option<SignatureForm> = if row.has("signature") { read(row, "signature")? } else { None };
    let Some(SignatureForm { key_id, signature: Hex(signature) }) = form else { return Ok(None) };
    let keys = read::<Vec<KeyForm>>(row, "server_keys")?.into_iter().map(|key| {
        let id = key.key_id.parse().map_err(Mismatch::unreadable)?;
        Ok(ServerKey { id, public_key: PublicKey::from_bytes(key.public_key.0) })
    });
    let signature = TranscriptSignature { key_id, signature: Signature::from_bytes(signature) };
    Ok(Some(ServiceSignature { signature, keys: keys.collect::<Result<_, _>>()? }))
}

/// What comes of the match, with the service's signature where the row has one.
fn verify(row: &Row, transcript: &Transcript) -> Result<Result<Verified, TranscriptError>, Mismatch> {
    Ok(match signature(row)? {
        Some(signed) => transcript.verify_signed(&signed.signature, &signed.keys),
        None => transcript.verify(),
    })
}

/// The match that a row holds, whether it verifies or not.
///
/// # Errors
///
/// The row is not JSON or holds no match.
pub fn transcript_of(line: &str) -> Result<Transcript, Mismatch> {
    transcript(&Row::parse(line)?)
}

fn transcript(row: &Row) -> Result<Transcript, Mismatch> {
    let hash = |Hex(bytes)| Digest::from_bytes(bytes);
    Ok(Transcript {
        match_id: match_id(row)?,
        settings: read::<SettingsForm>(row, "settings")?.into(),
        parties: parties(row)?,
        first_hash: digest(row, "first_hash")?,
        turns: read::<Vec<TurnForm>>(row, "turns")?.into_iter().map(Into::into).collect(),
        turn_hashes: read::<Vec<Hex<32>>>(row, "turn_hashes")?.into_iter().map(hash).collect(),
        ending: read::<Option<EndingForm>>(row, "ending")?.map(Into::into),
        end_hash: read::<Option<Hex<32>>>(row, "end_hash")?.map(hash),
    })
}

/// The canonical line of the position after each turn.
fn positions(transcript: &Transcript) -> Result<Vec<String>, Mismatch> {
    let mut position = Position::initial();
    let lines = transcript.turns.iter().map(|facts| {
        let cells = facts.openings.as_ref().map(|opening| opening.cell);
        position = position.play(cells.black, cells.white).map_err(Mismatch::unreadable)?;
        Ok(position.canonical_line())
    });
    lines.collect()
}
