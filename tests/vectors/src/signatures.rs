//! Rows that hold a signature, and whether it holds.

use sealing::{
    PlayerSignature, PlayerSigningKey, PublicKey, ServerSigningKey, Signature, verify_end, verify_player,
    verify_receipt,
};
use serde_json::json;

use crate::Mismatch;
use crate::commitments::receipt;
use crate::row::Row;
use crate::sealed::{Hex, commitment, digest, read};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let Hex(signature) = read(row, "signature")?;
    let key = read(row, "public_key").map(|Hex(key)| PublicKey::from_bytes(key))?;
    let holds = match row.text("signs")? {
        "receipt" => verify_receipt(&receipt(row)?, &Signature::from_bytes(signature), &key),
        "transcript" => {
            let (end, key_id) = (digest(row, "end")?, row.text("key_id")?);
            verify_end(&end, key_id, &Signature::from_bytes(signature), &key)
        }
        "player" => verify_player(&commitment(row)?, &PlayerSignature::from_bytes(signature), &key),
        signs => return Err(Mismatch::unreadable(format_args!("nothing signs a {signs}"))),
    };
    row.expect("holds", &json!(holds))?;
    // A row that tells the seed also says that it makes this key and this signature.
    read::<Option<Hex<32>>>(row, "seed")?.map_or(Ok(()), |Hex(seed)| check_made(row, &seed))
}

fn check_made(row: &Row, seed: &[u8; 32]) -> Result<(), Mismatch> {
    let player = PlayerSigningKey::from_seed(seed);
    row.expect("public_key", &json!(player.public_key().to_string()))?;
    let made = match row.text("signs")? {
        "player" => Some(player.sign(&commitment(row)?).to_string()),
        signs => server_key(row, seed)?.and_then(|key| match signs {
            "receipt" => key.sign_receipt(&receipt(row).ok()?).map(|signature| signature.to_string()),
            _ => Some(key.sign_end(&digest(row, "end").ok()?).to_string()),
        }),
    };
    made.map_or(Ok(()), |made| row.expect("signature", &json!(made)))
}

/// The service's key of a row. None where the row's name for it is one that no key of the service has:
/// the bytes that are signed take any.
fn server_key(row: &Row, seed: &[u8; 32]) -> Result<Option<ServerSigningKey>, Mismatch> {
    Ok(row.text("key_id")?.parse().ok().map(|key_id| ServerSigningKey::from_seed(key_id, seed)))
}
