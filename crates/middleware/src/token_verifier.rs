//! Judges player tokens.

use std::fmt;
use std::sync::Arc;

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
use crate::trusted_issuer::TrustedIssuer;

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
/// Of this server's own tokens only EdDSA is taken, whatever a token's header says; `kid`, `iss`, `sub`, `aud`, `exp`, `nbf` and
/// `scope` are required. The signature is checked before any claim is believed, so that no forged token
/// learns what would be wrong with it otherwise.
///
/// A token that was verified is remembered by its SHA-256 until it expires: a signature costs about fifty
/// times what everything else about a call's identity does. What is remembered belongs to this verifier's
/// keys; another set of keys is another verifier. What was verified by the keys of a [`TrustedIssuer`] is
/// verified again when those are replaced.
pub struct TokenVerifier {
    keys: Vec<(String, DecodingKey)>,
    validation: Validation,
    trusted: Option<Arc<TrustedIssuer>>,
    verified: Cache<[u8; 32], Verified>,
}

/// A token whose signature and claims hold, and when.
#[derive(Clone)]
pub(crate) struct Verified {
    player: PlayerPrincipal,
    valid_from_ms: u64,
    /// By which of the trusted issuer's key sets; none for tokens of this server.
    generation: Option<u64>,
}

impl Verified {
    /// `nbf` in seconds, as the token has it.
    pub(crate) fn new(player: PlayerPrincipal, nbf: u64, generation: Option<u64>) -> Self {
        let valid_from_ms = nbf.saturating_mul(1_000).saturating_sub(TOKEN_LEEWAY_MS);
        Self { player, valid_from_ms, generation }
    }

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
        Self { keys: keys.collect(), validation, trusted: None, verified: Cache::new(VERIFIED_MAX) }
    }

    /// The same, which also takes the tokens of this issuer.
    #[must_use]
    pub fn trusting(mut self, issuer: Arc<TrustedIssuer>) -> Self {
        self.trusted = Some(issuer);
        self
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
        let remembered = self.verified.get(&digest);
        if let Some(verified) = remembered.filter(|verified| self.is_current(verified)) {
            return verified.at(now_ms);
        }
        let verified = self.check(token)?;
        let player = verified.at(now_ms)?;
        self.verified.insert(digest, verified);
        Ok(player)
    }

    /// Whether the keys that it was verified by are still taken.
    fn is_current(&self, verified: &Verified) -> bool {
        let now = || self.trusted.as_ref().map(|issuer| issuer.generation());
        verified.generation.is_none() || verified.generation == now()
    }

    /// Checks all of a token that does not depend on the time.
    fn check(&self, token: &str) -> Result<Verified, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Malformed)?;
        let kid = header.kid.ok_or(TokenError::UnknownKey)?;
        let Some((_, key)) = self.keys.iter().find(|(id, _)| *id == kid) else {
            return self.trusted.as_ref().ok_or(TokenError::UnknownKey)?.check(token, &kid);
        };
        let claims = decode::<Claims>(token, key, &self.validation).map_err(|e| reason(&e))?.claims;
        let player = PlayerPrincipal {
            // One that is not known here was made by a newer server and grants nothing.
            scopes: claims.scope.split(' ').filter_map(Scope::parse).collect(),
            ..player(
                &claims.sub,
                (claims.iat, claims.exp),
                claims.wts_key.as_deref(),
                claims.wts_age.as_deref(),
            )?
        };
        Ok(Verified::new(player, claims.nbf, None))
    }
}

/// A player without scopes: the part of his name after the slash, `iat` and `exp` in seconds, his public key, his age
/// mark.
pub(crate) fn player(
    id: &str,
    (iat, exp): (u64, u64),
    key: Option<&str>,
    age: Option<&str>,
) -> Result<PlayerPrincipal, TokenError> {
    if id.starts_with(BOT_PREFIX) {
        return Err(TokenError::WrongClaims);
    }
    Ok(PlayerPrincipal {
        player: Collection::Players.name(id).map_err(|_| TokenError::WrongClaims)?,
        scopes: Vec::new(),
        public_key: key.map(public_key).transpose()?,
        issued_ms: iat.saturating_mul(1_000),
        expires_ms: exp.saturating_mul(1_000).saturating_add(TOKEN_LEEWAY_MS),
        // An age mark that is not known here was made by a newer server.
        age: age.and_then(AgeMark::parse),
        is_sheltered: false,
    })
}

fn public_key(text: &str) -> Result<[u8; 32], TokenError> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::WrongClaims)?;
    bytes.try_into().map_err(|_| TokenError::WrongClaims)
}

pub(crate) fn reason(error: &Error) -> TokenError {
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
