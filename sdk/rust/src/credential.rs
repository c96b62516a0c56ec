//! What a session shows to the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use wire::Collection;

use crate::Error;
use crate::tokens::{Shown, Tokens};

/// The most characters of a token that is sent: servers refuse more than this in a header.
const TOKEN_CHARS_MAX: usize = 8 * 1024;

/// A credential; secret, so its `Debug` shows its kind only.
#[derive(Clone)]
pub(crate) enum Credential {
    /// None.
    Anonymous,
    /// A player's token, as metadata.
    Token(MetadataValue<Ascii>),
    /// A player's tokens, one after the other.
    Tokens(Arc<Tokens>),
    /// A back end's key, as metadata.
    ApiKey(MetadataValue<Ascii>),
}

impl Credential {
    /// A player token, with the player that it is for.
    pub(crate) fn token(token: &str) -> Result<(Self, String), Error> {
        let PlayerToken { value, player, .. } = read_token(token)?;
        Ok((Self::Token(value), player))
    }

    pub(crate) fn api_key(key: &str) -> Result<Self, Error> {
        secret(key).map(Self::ApiKey)
    }

    /// Writes it; says which token it was, where there is one after the other.
    pub(crate) fn write(&self, metadata: &mut MetadataMap) -> Option<Shown> {
        match self {
            Self::Anonymous => None,
            Self::Token(value) => {
                metadata.insert("authorization", value.clone());
                None
            }
            Self::Tokens(tokens) => {
                let (value, shown) = tokens.current();
                metadata.insert("authorization", value);
                Some(shown)
            }
            Self::ApiKey(value) => {
                metadata.insert("x-api-key", value.clone());
                None
            }
        }
    }

    /// Where the tokens come from, if there is another one after this.
    pub(crate) fn tokens(&self) -> Option<&Tokens> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            _ => None,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Token(_) => "Token(..)",
            Self::Tokens(_) => "Tokens(..)",
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

/// A player's token as far as a client can read it.
pub(crate) struct PlayerToken {
    /// As metadata.
    pub(crate) value: MetadataValue<Ascii>,
    /// `players/{player}`: the `sub` of the JWT.
    pub(crate) player: String,
    /// From `iat` to `exp`, where the token says both.
    pub(crate) life: Option<Duration>,
}

/// Whether the token is valid is for the server to say; the client needs the name to commit its moves to.
pub(crate) fn read_token(token: &str) -> Result<PlayerToken, Error> {
    const NO_TOKEN: Error = Error::Credential("it is not the token of a player");
    if token.len() > TOKEN_CHARS_MAX {
        return Err(NO_TOKEN);
    }
    let payload = token.split('.').nth(1).ok_or(NO_TOKEN)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| NO_TOKEN)?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).map_err(|_| NO_TOKEN)?;
    let player = claims.get("sub").and_then(serde_json::Value::as_str).ok_or(NO_TOKEN)?;
    let player = Collection::Players.name(player).map_err(|_| NO_TOKEN)?;
    let seconds = |claim| claims.get(claim).and_then(serde_json::Value::as_u64);
    let life = seconds("exp").zip(seconds("iat")).and_then(|(exp, iat)| exp.checked_sub(iat));
    let value = secret(&format!("Bearer {token}"))?;
    Ok(PlayerToken { value, player, life: life.map(Duration::from_secs) })
}
