//! Judges player tokens.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use moka::sync::Cache;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use wire::v1::ErrorReason;
use wire::{ApiError, Collection};

use crate::claims::{BOT_PREFIX, Claims, choose_provider, key_id};
use crate::principal::{AgeMark, PlayerPrincipal, Scope};

/// The longest token that is looked at. One with every claim has about 600 bytes; the rest is room for
/// long names of issuer and audience.
pub const TOKEN_BYTES_MAX: usize = 4 * 1_024;

/// By how much the clocks of issuer and verifier may differ, ms. More would keep tokens alive for long
/// after their end; clocks that are further off are to be set right.
pub const TOKEN_LEEWAY_MS: u64 = 5 * 1_000;

/// Tokens remembered as verified, at most: what a node's players of an hour show; one takes about half a
/// kilobyte. The least used goes first.
const VERIFIED_MAX: u64 = 20_000;

/// Judges tokens by the issuers' public keys.
///
/// Only EdDSA is taken, whatever a token's header says; `kid`, `iss`, `sub`, `aud`, `exp`, `nbf` and
/// `scope` are required. The signature is checked before any claim is believed, so that no forged token
/// learns what would be wrong with it otherwise.
///
/// A token that was verified is remembered by its SHA-256 until it expires: a signature costs about fifty
/// times what everything else about a call's identity does. What is remembered belongs to this verifier's
/// keys; another set of keys is another verifier.
pub struct TokenVerifier {
    keys: Vec<(String, DecodingKey)>,
    validation: Validation,
    verified: Cache<[u8; 32], Verified>,
}

/// A token whose signature and claims hold, and when.
#[derive(Clone)]
struct Verified {
    player: PlayerPrincipal,
    valid_from_ms: u64,
}

impl Verified {
    fn at(&self, now_ms: u64) -> Result<PlayerPrincipal, TokenError> {
        if now_ms < self.valid_from_ms {
            Err(TokenError::NotYetValid)
        } else if now_ms >= self.player.expires_ms {
            Err(TokenError::Expired)
        } else {
            Ok(self.player.clone())
        }
    }
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key_ids: Vec<_> = self.keys.iter().map(|(id, _)| id).collect();
        f.debug_struct("TokenVerifier").field("key_ids", &key_ids).finish_non_exhaustive()
    }
}

impl TokenVerifier {
    /// A verifier of tokens whose `iss` and `aud` are these, signed with any of these Ed25519 keys
    /// (several while one replaces another).
    #[must_use]
    pub fn new(issuer: &str, audience: &str, public_keys: &[[u8; 32]]) -> Self {
        choose_provider();
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["iss", "sub", "aud", "exp", "nbf"]);
        // The library would ask the machine's clock; `verify` is given the time.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        // `from_ed_der` takes the raw 32 bytes, in spite of its name.
        let keys = public_keys.iter().map(|key| (key_id(key), DecodingKey::from_ed_der(key)));
        Self { keys: keys.collect(), validation, verified: Cache::new(VERIFIED_MAX) }
    }

    /// The player that a token names, at this time (ms since 1970).
    ///
    /// # Errors
    /// The token is not valid here and now. The client learns only whether it has expired.
    pub fn verify(&self, token: &str, now_ms: u64) -> Result<PlayerPrincipal, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let digest: [u8; 32] = Sha256::digest(token).into();
        if let Some(verified) = self.verified.get(&digest) {
            return verified.at(now_ms);
        }
        let verified = self.check(token)?;
        let player = verified.at(now_ms)?;
        self.verified.insert(digest, verified);
        Ok(player)
    }

    /// Checks all of a token that does not depend on the time.
    fn check(&self, token: &str) -> Result<Verified, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Malformed)?;
        let kid = header.kid.ok_or(TokenError::UnknownKey)?;
        let (_, key) = self.keys.iter().find(|(id, _)| *id == kid).ok_or(TokenError::UnknownKey)?;
        let claims = decode::<Claims>(token, key, &self.validation).map_err(|e| reason(&e))?.claims;
        let expires_ms = claims.exp.saturating_mul(1_000).saturating_add(TOKEN_LEEWAY_MS);
        let valid_from_ms = claims.nbf.saturating_mul(1_000).saturating_sub(TOKEN_LEEWAY_MS);
        Ok(Verified { player: principal(&claims, expires_ms)?, valid_from_ms })
    }
}

fn principal(claims: &Claims, expires_ms: u64) -> Result<PlayerPrincipal, TokenError> {
    if claims.sub.starts_with(BOT_PREFIX) {
        return Err(TokenError::WrongClaims);
    }
    let player = Collection::Players.name(&claims.sub).map_err(|_| TokenError::WrongClaims)?;
    let public_key = claims.wts_key.as_deref().map(public_key).transpose()?;
    Ok(PlayerPrincipal {
        player,
        // A scope or an age mark that is not known here was made by a newer server and grants nothing.
        scopes: claims.scope.split(' ').filter_map(Scope::parse).collect(),
        public_key,
        issued_ms: claims.iat.saturating_mul(1_000),
        expires_ms,
        age: claims.wts_age.as_deref().and_then(AgeMark::parse),
    })
}

fn public_key(text: &str) -> Result<[u8; 32], TokenError> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::WrongClaims)?;
    bytes.try_into().map_err(|_| TokenError::WrongClaims)
}

fn reason(error: &Error) -> TokenError {
    match error.kind() {
        ErrorKind::InvalidSignature => TokenError::Forged,
        ErrorKind::InvalidAlgorithm => TokenError::WrongAlgorithm,
        ErrorKind::InvalidIssuer
        | ErrorKind::InvalidAudience
        | ErrorKind::InvalidClaimFormat(_)
        | ErrorKind::MissingRequiredClaim(_) => TokenError::WrongClaims,
        _ => TokenError::Malformed,
    }
}

/// Why a token is not valid here: for the log. The client gets `TOKEN_EXPIRED` for the last one and
/// `TOKEN_INVALID`, always the same, for all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum TokenError {
    /// Longer than [`TOKEN_BYTES_MAX`].
    #[error("the token is too long")]
    TooLong,
    /// Not a JWT, or not all claims are there.
    #[error("the token is malformed")]
    Malformed,
    /// `kid` names none of the verifier's keys, or is missing.
    #[error("the token names no known key")]
    UnknownKey,
    /// Another algorithm than EdDSA.
    #[error("the token is of another algorithm")]
    WrongAlgorithm,
    /// The signature is not the key's.
    #[error("the token's signature is wrong")]
    Forged,
    /// Another issuer or audience, or a claim that cannot be.
    #[error("the token's claims are not for this server")]
    WrongClaims,
    /// `nbf` lies ahead.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        Self::new(match error {
            TokenError::Expired => ErrorReason::TokenExpired,
            _ => ErrorReason::TokenInvalid,
        })
    }
}
