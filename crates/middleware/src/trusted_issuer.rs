//! An issuer of players' tokens other than this server: the operator's own accounts.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::Notify;

use crate::claims::choose_provider;
use crate::principal::{PlayerPrincipal, Scope};
use crate::token_issuer::TOKEN_TTL_MAX_MS;
use crate::token_verifier::{TokenError, Verified, player, reason};

/// Keys of one issuer, at most: one in use and some that come or go. More is no key set of an issuer.
pub const ISSUER_KEYS_MAX: usize = 32;

/// Bytes of the shortest RSA modulus that is taken: 2,048 bits.
const RSA_BYTES_MIN: usize = 256;

/// An algorithm that tokens may be signed with. All have a public key: a secret that issuer and server share could
/// make tokens as well as verify them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenAlgorithm {
    /// Ed25519.
    EdDsa,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// RSA, PKCS #1 v1.5, with SHA-256.
    Rs256,
    /// RSA-PSS with SHA-256.
    Ps256,
}

impl TokenAlgorithm {
    /// All that there are.
    pub const ALL: [Self; 4] = [Self::EdDsa, Self::Es256, Self::Rs256, Self::Ps256];

    /// As tokens name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
        }
    }

    /// The one that is written so.
    ///
    /// ```
    /// # use middleware::TokenAlgorithm;
    /// assert_eq!(TokenAlgorithm::parse("ES256"), Some(TokenAlgorithm::Es256));
    /// assert_eq!(TokenAlgorithm::parse("HS256"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == text)
    }

    const fn signs_with(self) -> Algorithm {
        match self {
            Self::EdDsa => Algorithm::EdDSA,
            Self::Es256 => Algorithm::ES256,
            Self::Rs256 => Algorithm::RS256,
            Self::Ps256 => Algorithm::PS256,
        }
    }

    /// Whether a key of this kind is one of this algorithm.
    fn fits(self, key: &Jwk) -> bool {
        let named = match key.common.key_algorithm {
            None => None,
            Some(KeyAlgorithm::EdDSA) => Some(Self::EdDsa),
            Some(KeyAlgorithm::ES256) => Some(Self::Es256),
            Some(KeyAlgorithm::RS256) => Some(Self::Rs256),
            Some(KeyAlgorithm::PS256) => Some(Self::Ps256),
            // One of those that are never taken.
            Some(_) => return false,
        };
        let fits_kind = match (&key.algorithm, self) {
            (AlgorithmParameters::OctetKeyPair(key), Self::EdDsa) => key.curve == EllipticCurve::Ed25519,
            (AlgorithmParameters::EllipticCurve(key), Self::Es256) => key.curve == EllipticCurve::P256,
            (AlgorithmParameters::RSA(key), Self::Rs256 | Self::Ps256) => is_long_enough(&key.n),
            _ => false,
        };
        fits_kind && named.is_none_or(|named| named == self)
    }
}

fn is_long_enough(modulus: &str) -> bool {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(modulus).unwrap_or_default();
    bytes.iter().skip_while(|byte| **byte == 0).count() >= RSA_BYTES_MIN
}

/// What an issuer is, and what its tokens are to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrustedIssuerConfig {
    /// `iss` of its tokens.
    pub issuer: String,
    /// `aud` of its tokens; one of several is enough.
    pub audience: String,
    /// What they may be signed with, whatever they say themselves.
    pub algorithms: Vec<TokenAlgorithm>,
    /// The claim that has the `{player}` part of the player's name: `sub`, unless that has other characters.
    pub player_claim: String,
}

/// An issuer whose tokens are taken beside this server's own. Its keys come from outside, as a key set (RFC 7517),
/// and can be replaced while tokens are verified.
///
/// `kid`, `iss`, `aud`, `iat` and `exp` are required, `nbf` counts where it is there. A token is taken for
/// [`TOKEN_TTL_MAX_MS`] after its `iat` at most, as this server's own are. One with a `scope` grants those
/// of [`Scope`] that it names; one without grants all: most issuers of accounts know no scopes of a game.
pub struct TrustedIssuer {
    config: TrustedIssuerConfig,
    keys: ArcSwap<Keys>,
    unknown_key: Notify,
}

#[derive(Default)]
struct Keys {
    /// How many sets there were before: what was verified under another one is verified again.
    generation: u64,
    keys: Vec<Key>,
}

struct Key {
    id: String,
    key: DecodingKey,
    /// One algorithm a key: no token chooses another.
    validation: Validation,
}

/// Why a key set is not taken.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KeySetError {
    /// It is not JSON with a list `keys`.
    #[error("it is no JSON Web Key Set")]
    Malformed,
    /// It has more than [`ISSUER_KEYS_MAX`] keys.
    #[error("it has {0} keys; {ISSUER_KEYS_MAX} are the most")]
    TooMany(usize),
    /// None of its keys is public, has an id and fits an algorithm that is taken.
    #[error("none of its keys has a `kid` and is for signatures of an algorithm that is taken")]
    NoneUsable,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// What is read of a token; all else stays in `others`.
#[derive(Deserialize)]
struct Claims {
    exp: u64,
    iat: u64,
    #[serde(default)]
    nbf: u64,
    scope: Option<String>,
    wts_key: Option<String>,
    wts_age: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl TrustedIssuer {
    /// An issuer without keys: no token is taken until there are some.
    #[must_use]
    pub fn new(config: TrustedIssuerConfig) -> Arc<Self> {
        choose_provider();
        Arc::new(Self { config, keys: ArcSwap::default(), unknown_key: Notify::new() })
    }

    /// Takes these keys and no others from now on. Says how many there are. Those of other kinds and uses are
    /// passed over; a set that is refused changes nothing.
    ///
    /// # Errors
    /// See [`KeySetError`].
    pub fn replace_keys(&self, key_set: &[u8]) -> Result<usize, KeySetError> {
        let KeySet { keys } = serde_json::from_slice(key_set).map_err(|_| KeySetError::Malformed)?;
        if keys.len() > ISSUER_KEYS_MAX {
            return Err(KeySetError::TooMany(keys.len()));
        }
        let keys: Vec<Key> = keys.into_iter().filter_map(|key| self.key(key)).collect();
        let count = keys.len();
        if count == 0 {
            return Err(KeySetError::NoneUsable);
        }
        let generation = self.keys.load().generation + 1;
        self.keys.store(Arc::new(Keys { generation, keys }));
        Ok(count)
    }

    fn key(&self, key: Value) -> Option<Key> {
        let key: Jwk = serde_json::from_value(key).ok()?;
        if !matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let algorithm = self.config.algorithms.iter().find(|algorithm| algorithm.fits(&key))?;
        let mut validation = Validation::new(algorithm.signs_with());
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation.set_required_spec_claims(&["iss", "aud", "exp"]);
        // Judged by the time that a call is given.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        Some(Key { id: key.common.key_id.clone()?, key: DecodingKey::from_jwk(&key).ok()?, validation })
    }

    /// Resolves when a token has named a key that is not among the issuer's: it may have a new one. Whoever waits is
    /// to wait a while before he waits again, as anybody can make up such a token.
    pub async fn unknown_key(&self) {
        self.unknown_key.notified().await;
    }

    /// The set that tokens are verified by now.
    pub(crate) fn generation(&self) -> u64 {
        self.keys.load().generation
    }

    /// Checks all of a token that does not depend on the time. `key_id` is what its header says.
    pub(crate) fn check(&self, token: &str, key_id: &str) -> Result<Verified, TokenError> {
        let keys = self.keys.load();
        let Some(key) = keys.keys.iter().find(|key| key.id == key_id) else {
            self.unknown_key.notify_one();
            return Err(TokenError::UnknownKey);
        };
        let claims =
            decode::<Claims>(token, &key.key, &key.validation).map_err(|error| reason(&error))?.claims;
        let exp = claims.exp.min(claims.iat.saturating_add(TOKEN_TTL_MAX_MS / 1_000));
        let name = claims.others.get(&self.config.player_claim).and_then(Value::as_str);
        let scopes = match &claims.scope {
            None => Scope::ALL.to_vec(),
            Some(scope) => scope.split(' ').filter_map(Scope::parse).collect(),
        };
        let player = PlayerPrincipal {
            scopes,
            ..player(
                name.ok_or(TokenError::WrongClaims)?,
                (claims.iat, exp),
                claims.wts_key.as_deref(),
                claims.wts_age.as_deref(),
            )?
        };
        Ok(Verified::new(player, claims.nbf, Some(keys.generation)))
    }
}

impl fmt::Debug for TrustedIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustedIssuer").field("config", &self.config).finish_non_exhaustive()
    }
}
