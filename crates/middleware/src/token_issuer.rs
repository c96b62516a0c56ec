//! Makes player tokens.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ed25519_dalek::SigningKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use thiserror::Error;
use wire::Collection;

use crate::claims::{BOT_PREFIX, Claims, choose_provider, key_id};
use crate::principal::{AgeMark, Scope};
use crate::token_verifier::TokenVerifier;

/// The shortest life of a token: less, and a client spends its time on getting new ones.
pub const TOKEN_TTL_MIN_MS: u64 = 60 * 1_000;

/// The longest life of a token: so long, and no longer, must be remembered that it was called back.
pub const TOKEN_TTL_MAX_MS: u64 = 24 * 60 * 60 * 1_000;

/// The life of a token if the request does not say: longer than most matches.
pub const TOKEN_TTL_DEFAULT_MS: u64 = 60 * 60 * 1_000;

/// How long before its making a token becomes valid, so that a node whose clock is behind takes it at
/// once.
const NBF_BACKDATE_S: u64 = 60;

/// PKCS #8 around an Ed25519 seed (RFC 8410): version 0, algorithm 1.3.101.112, an octet string of an
/// octet string of 32 bytes, which follow.
const PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// A token to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewToken {
    /// `players/{player}`.
    pub player: String,
    /// How long it is valid, ms: [`TOKEN_TTL_MIN_MS`] to [`TOKEN_TTL_MAX_MS`]. None:
    /// [`TOKEN_TTL_DEFAULT_MS`].
    pub ttl_ms: Option<u64>,
    /// What it allows. Empty: all that players can do.
    pub scopes: Vec<Scope>,
    /// The Ed25519 key by which the player signs his commitments.
    pub public_key: Option<[u8; 32]>,
    /// What is known about the player's age.
    pub age: Option<AgeMark>,
    /// The time of issue that the token says at least, ms since 1970: his tokens issued before it were called back.
    /// None: it says when it is made.
    pub issued_from_ms: Option<u64>,
}

impl NewToken {
    /// A token of default life for all that players can do.
    #[must_use]
    pub fn for_player(player: &str) -> Self {
        let player = player.to_owned();
        Self { player, ttl_ms: None, scopes: Vec::new(), public_key: None, age: None, issued_from_ms: None }
    }
}

/// Makes tokens with one Ed25519 key. Its `Debug` does not show the key.
///
/// ```
/// use middleware::{NewToken, TokenIssuer};
///
/// let issuer = TokenIssuer::new(&[7; 32], "wts", "wts");
/// let (token, expires_ms) = issuer.mint(&NewToken::for_player("players/p1"), 1_000_000)?;
/// assert_eq!(expires_ms, 1_000_000 + 60 * 60 * 1_000);
/// let player = issuer.verifier().verify(&token, 1_000_000).expect("it was made just now");
/// assert_eq!(player.player, "players/p1");
/// # Ok::<(), middleware::MintError>(())
/// ```
pub struct TokenIssuer {
    signing_key: EncodingKey,
    public_key: [u8; 32],
    key_id: String,
    issuer: String,
    audience: String,
    /// Public keys of other seeds whose tokens are taken as well.
    accepted: Vec<[u8; 32]>,
}

impl TokenIssuer {
    /// An issuer by the 32 bytes of an Ed25519 seed. `issuer` and `audience` become `iss` and `aud` of
    /// its tokens, and are what verifiers ask for.
    #[must_use]
    pub fn new(seed: &[u8; 32], issuer: &str, audience: &str) -> Self {
        choose_provider();
        let public_key = SigningKey::from_bytes(seed).verifying_key().to_bytes();
        let der = [PKCS8_PREFIX.as_slice(), seed].concat();
        Self {
            signing_key: EncodingKey::from_ed_der(&der),
            public_key,
            key_id: key_id(&public_key),
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            accepted: Vec::new(),
        }
    }

    /// The public key, which verifiers need.
    #[must_use]
    pub fn public_key(&self) -> &[u8; 32] {
        &self.public_key
    }

    /// The `kid` of the tokens: derived from the public key.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The same issuer, whose verifier also takes the tokens made by this seed: one that this issuer's
    /// own has replaced, or will.
    #[must_use]
    pub fn accepting(mut self, seed: &[u8; 32]) -> Self {
        self.accepted.push(SigningKey::from_bytes(seed).verifying_key().to_bytes());
        self
    }

    /// A verifier that takes the tokens of this issuer and no others.
    #[must_use]
    pub fn verifier(&self) -> TokenVerifier {
        let keys: Vec<_> = std::iter::once(self.public_key).chain(self.accepted.iter().copied()).collect();
        TokenVerifier::new(&self.issuer, &self.audience, &keys)
    }

    /// Makes a token and says until when it is valid, both times in ms since 1970. It stores nothing.
    ///
    /// # Errors
    /// See [`MintError`]; all but the last are the asker's fault.
    pub fn mint(&self, token: &NewToken, now_ms: u64) -> Result<(String, u64), MintError> {
        let sub = Collection::Players.id(&token.player).map_err(|_| MintError::PlayerInvalid)?;
        if sub.starts_with(BOT_PREFIX) {
            return Err(MintError::PlayerIsBot);
        }
        let ttl_ms = token.ttl_ms.unwrap_or(TOKEN_TTL_DEFAULT_MS);
        if !(TOKEN_TTL_MIN_MS..=TOKEN_TTL_MAX_MS).contains(&ttl_ms) {
            return Err(MintError::TtlOutOfRange);
        }
        let scopes = if token.scopes.is_empty() { &Scope::ALL[..] } else { &token.scopes };
        let now_s = now_ms / 1_000;
        // Rounded up: a token lives at least as long as was asked.
        let exp = now_ms.saturating_add(ttl_ms).div_ceil(1_000);
        let claims = Claims {
            iss: self.issuer.clone(),
            sub: sub.to_owned(),
            aud: self.audience.clone(),
            exp,
            nbf: now_s.saturating_sub(NBF_BACKDATE_S),
            iat: now_s.max(token.issued_from_ms.unwrap_or(0).div_ceil(1_000)),
            scope: scope_claim(scopes),
            wts_key: token.public_key.map(|key| BASE64_URL_SAFE_NO_PAD.encode(key)),
            wts_age: token.age.map(|age| age.as_str().to_owned()),
        };
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.key_id.clone());
        let text = encode(&header, &claims, &self.signing_key).map_err(|_| MintError::Signing)?;
        Ok((text, exp.saturating_mul(1_000)))
    }
}

/// The scopes, each once and always in the same order.
fn scope_claim(scopes: &[Scope]) -> String {
    let held = Scope::ALL.into_iter().filter(|scope| scopes.contains(scope));
    held.map(Scope::as_str).collect::<Vec<_>>().join(" ")
}

impl fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenIssuer")
            .field("key_id", &self.key_id)
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// Why no token was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum MintError {
    /// The player's name is not `players/{player}` with 1 to 64 characters of `[A-Za-z0-9._-]`.
    #[error("must be players/{{player}}, the part after the slash 1 to 64 characters of [A-Za-z0-9._-]")]
    PlayerInvalid,
    /// The name is a bot's.
    #[error("names that begin with `bot-` are the bots'")]
    PlayerIsBot,
    /// The life is not within [`TOKEN_TTL_MIN_MS`] and [`TOKEN_TTL_MAX_MS`].
    #[error("must be from 1 minute to 24 hours")]
    TtlOutOfRange,
    /// The signature failed: a fault of the server.
    #[error("the token could not be signed")]
    Signing,
}
