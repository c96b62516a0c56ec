//! What a session shows to the server.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use wire::Collection;

use crate::Error;

/// The most characters of a token that is sent: servers refuse more than this in a header.
const TOKEN_CHARS_MAX: usize = 8 * 1024;

/// A credential; secret, so its `Debug` shows its kind only.
#[derive(Clone)]
pub(crate) enum Credential {
    /// None.
    Anonymous,
    /// A player's token, as metadata.
    Token(MetadataValue<Ascii>),
    /// A back end's key, as metadata.
    ApiKey(MetadataValue<Ascii>),
}

impl Credential {
    /// A player token, with the player that it is for.
    pub(crate) fn token(token: &str) -> Result<(Self, String), Error> {
        let player = player_of(token)?;
        let value = secret(&format!("Bearer {token}"))?;
        Ok((Self::Token(value), player))
    }

    pub(crate) fn api_key(key: &str) -> Result<Self, Error> {
        secret(key).map(Self::ApiKey)
    }

    pub(crate) fn write(&self, metadata: &mut MetadataMap) {
        match self {
            Self::Anonymous => {}
            Self::Token(value) => drop(metadata.insert("authorization", value.clone())),
            Self::ApiKey(value) => drop(metadata.insert("x-api-key", value.clone())),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Token(_) => "Token(..)",
            Self::ApiKey(_) => "ApiKey(..)",
        })
    }
}

fn secret(text: &str) -> Result<MetadataValue<Ascii>, Error> {
    let mut value: MetadataValue<Ascii> =
        text.parse().map_err(|_| Error::Credential("it has characters that cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The player in a token, `players/{player}`: the `sub` of the JWT. Whether the token is valid is for
/// the server to say; the client needs the name to commit its moves to.
fn player_of(token: &str) -> Result<String, Error> {
    const NO_TOKEN: Error = Error::Credential("it is not the token of a player");
    if token.len() > TOKEN_CHARS_MAX {
        return Err(NO_TOKEN);
    }
    let payload = token.split('.').nth(1).ok_or(NO_TOKEN)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| NO_TOKEN)?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).map_err(|_| NO_TOKEN)?;
    let player = claims.get("sub").and_then(serde_json::Value::as_str).ok_or(NO_TOKEN)?;
    Collection::Players.name(player).map_err(|_| NO_TOKEN)
}
