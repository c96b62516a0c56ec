//! Tokens of another issuer: taken by its keys and its claims alone, whatever they say of themselves.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use ed25519_dalek::{Signer as _, SigningKey};
use futures::FutureExt as _;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use middleware::{
    AgeMark, KeySetError, NewToken, PlayerPrincipal, Scope, TOKEN_LEEWAY_MS, TokenAlgorithm, TokenError,
    TokenVerifier, TrustedIssuer, TrustedIssuerConfig,
};
use serde_json::{Value, json};

use crate::calls::{NOW_MS, issuer};

const NOW_S: u64 = NOW_MS / 1_000;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// The public half as a key set lists it.
fn jwk(seed: u8, id: &str) -> Value {
    let x = BASE64URL.encode(key(seed).verifying_key().to_bytes());
    json!({ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": id, "x": x })
}

fn set(keys: &[Value]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

fn claims() -> Value {
    json!({
        "iss": "https://accounts.example", "aud": ["shell", "other"], "sub": "p1", "iat": NOW_S,
        "exp": NOW_S + 600, "email": "p1@example",
    })
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut claims = claims();
    for (claim, value) in changes {
        match value {
            Value::Null => _ = claims.as_object_mut().expect("an object").remove(*claim),
            value => claims[*claim] = value.clone(),
        }
    }
    claims
}

fn signed_as(header: &Value, claims: &Value, seed: u8) -> String {
    let part = |value: &Value| BASE64URL.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = key(seed).sign(message.as_bytes());
    format!("{message}.{}", BASE64URL.encode(signature.to_bytes()))
}

fn signed(claims: &Value) -> String {
    signed_as(&json!({ "alg": "EdDSA", "kid": "one" }), claims, 1)
}

fn config() -> TrustedIssuerConfig {
    TrustedIssuerConfig {
        issuer: "https://accounts.example".to_owned(),
        audience: "shell".to_owned(),
        algorithms: vec![TokenAlgorithm::EdDsa, TokenAlgorithm::Rs256],
        player_claim: "sub".to_owned(),
    }
}

/// An issuer with one key, and a verifier that trusts it beside its own.
fn trusting() -> (Arc<TrustedIssuer>, TokenVerifier) {
    let trusted = TrustedIssuer::new(config());
    trusted.replace_keys(&set(&[jwk(1, "one")])).expect("a key set");
    (Arc::clone(&trusted), issuer().verifier().trusting(trusted))
}

fn verify(token: &str) -> Result<PlayerPrincipal, TokenError> {
    trusting().1.verify(token, NOW_MS)
}

#[test]
fn a_token_of_a_trusted_issuer_names_its_player() {
    let player = verify(&signed(&claims())).expect("it is valid");
    assert_eq!((player.player.as_str(), player.scopes), ("players/p1", Scope::ALL.to_vec()));
    assert_eq!(player.expires_ms, (NOW_S + 600) * 1_000 + TOKEN_LEEWAY_MS);
    let more =
        with(&[("scope", json!("openid watch")), ("wts_age", json!("guardian")), ("aud", json!("shell"))]);
    let player = verify(&signed(&more)).expect("it is valid");
    assert_eq!((player.scopes, player.age), (vec![Scope::Watch], Some(AgeMark::Guardian)));
    // The server's own are taken as before.
    let (_, verifier) = trusting();
    let (own, _) = issuer().mint(&NewToken::for_player("players/p2"), NOW_MS).expect("a token");
    assert_eq!(verifier.verify(&own, NOW_MS).expect("it is valid").player, "players/p2");
}

#[test]
fn the_player_is_in_the_claim_that_is_set() {
    let trusted = TrustedIssuer::new(TrustedIssuerConfig { player_claim: "shell_id".to_owned(), ..config() });
    trusted.replace_keys(&set(&[jwk(1, "one")])).expect("a key set");
    let verifier = issuer().verifier().trusting(trusted);
    let token = signed(&with(&[("sub", json!("auth0|17")), ("shell_id", json!("p9"))]));
    assert_eq!(verifier.verify(&token, NOW_MS).expect("it is valid").player, "players/p9");
    assert_eq!(verifier.verify(&signed(&claims()), NOW_MS), Err(TokenError::WrongClaims));
}

#[test]
fn what_is_not_the_issuers_for_this_server_and_now_is_refused() {
    for (changes, expected) in [
        (&[("iss", json!("https://other.example"))][..], TokenError::WrongClaims),
        (&[("aud", json!("other"))], TokenError::WrongClaims),
        (&[("sub", json!("auth0|17"))], TokenError::WrongClaims),
        (&[("sub", json!("bot-3"))], TokenError::WrongClaims),
        (&[("sub", json!(7))], TokenError::WrongClaims),
        (&[("sub", Value::Null)], TokenError::WrongClaims),
        (&[("wts_key", json!("short"))], TokenError::WrongClaims),
        (&[("exp", json!(NOW_S - 6))], TokenError::Expired),
        (&[("nbf", json!(NOW_S + 6))], TokenError::NotYetValid),
        // It would outlive what is remembered of revoked ones.
        (&[("iat", json!(NOW_S - 2 * 86_400)), ("exp", json!(NOW_S + 600))], TokenError::Expired),
        (&[("exp", Value::Null)], TokenError::Malformed),
        (&[("iat", Value::Null)], TokenError::Malformed),
    ] {
        let refused = verify(&signed(&with(changes))).expect_err("it is not valid");
        // What is missing is told in one of two ways; a client sees no difference.
        let is_alike = matches!(
            (expected, refused),
            (
                TokenError::Malformed | TokenError::WrongClaims,
                TokenError::Malformed | TokenError::WrongClaims
            )
        );
        assert!(refused == expected || is_alike, "{changes:?}: {refused}");
    }
}

#[test]
fn the_key_decides_over_the_algorithm() {
    let header = |alg: &str| json!({ "alg": alg, "kid": "one" });
    for (alg, seed) in [("RS256", 1), ("HS256", 1), ("none", 1), ("EdDSA", 2)] {
        let refused = verify(&signed_as(&header(alg), &claims(), seed));
        let refused = refused.expect_err("it is not signed as the key says");
        let expected = [TokenError::WrongAlgorithm, TokenError::Forged, TokenError::Malformed];
        assert!(expected.contains(&refused), "{alg}: {refused}");
    }
    // Signed by this server's key, a token says what this server says.
    let own = json!({ "alg": "EdDSA", "kid": issuer().key_id() });
    assert_eq!(verify(&signed_as(&own, &claims(), 1)), Err(TokenError::Forged));
}

#[test]
fn keys_come_and_go_and_with_them_what_was_verified() {
    let (trusted, verifier) = trusting();
    let first = signed(&claims());
    let second = signed_as(&json!({ "alg": "EdDSA", "kid": "two" }), &claims(), 2);
    assert!(verifier.verify(&first, NOW_MS).is_ok());
    assert_eq!(verifier.verify(&second, NOW_MS), Err(TokenError::UnknownKey));
    assert!(trusted.unknown_key().now_or_never().is_some(), "whoever follows the keys is told");
    assert_eq!(trusted.replace_keys(&set(&[jwk(1, "one"), jwk(2, "two")])), Ok(2));
    assert!(verifier.verify(&first, NOW_MS).is_ok() && verifier.verify(&second, NOW_MS).is_ok());
    trusted.replace_keys(&set(&[jwk(2, "two")])).expect("a key set");
    assert_eq!(verifier.verify(&first, NOW_MS), Err(TokenError::UnknownKey), "it is not remembered");
    assert!(verifier.verify(&second, NOW_MS).is_ok());
}

#[test]
fn a_set_without_a_key_to_take_changes_nothing() {
    let (trusted, verifier) = trusting();
    let changed = |changes: &[(&str, Value)]| {
        let mut key = jwk(2, "two");
        for (name, value) in changes {
            key[*name] = value.clone();
        }
        set(&[key])
    };
    let short_modulus = BASE64URL.encode([255; 128]);
    let rsa = json!({ "kty": "RSA", "kid": "two", "n": short_modulus, "e": "AQAB" });
    let secret = json!({ "kty": "oct", "kid": "two", "k": "c2VjcmV0" });
    let p256 = json!({ "kty": "EC", "crv": "P-256", "kid": "two", "x": "AA", "y": "AA" });
    for (unusable, expected) in [
        (b"nonsense".to_vec(), KeySetError::Malformed),
        (set(&[]), KeySetError::NoneUsable),
        (set(&[secret, rsa, p256]), KeySetError::NoneUsable),
        (changed(&[("use", json!("enc"))]), KeySetError::NoneUsable),
        (changed(&[("alg", json!("ES256"))]), KeySetError::NoneUsable),
        (changed(&[("kid", Value::Null)]), KeySetError::NoneUsable),
        (set(&vec![jwk(2, "two"); 33]), KeySetError::TooMany(33)),
    ] {
        assert_eq!(trusted.replace_keys(&unusable), Err(expected));
        assert!(verifier.verify(&signed(&claims()), NOW_MS).is_ok(), "the last keys stay");
    }
}

/// A token as accounts of common makers sign it: with the private key of this algorithm, and the set that goes with it.
fn signed_by(algorithm: Algorithm, key: &EncodingKey) -> (String, Vec<u8>) {
    let header = Header { kid: Some("one".to_owned()), ..Header::new(algorithm) };
    let token = encode(&header, &claims(), key).expect("it can be signed");
    let mut key = Jwk::from_encoding_key(key, algorithm).expect("a public key");
    key.common.key_id = Some("one".to_owned());
    (token, set(&[serde_json::to_value(key).expect("JSON")]))
}

#[test]
fn every_algorithm_that_is_pinned_is_taken_and_no_other() {
    let rsa = EncodingKey::from_rsa_der(include_bytes!("rsa_2048_test_key.der"));
    let p256 = EncodingKey::from_ec_der(include_bytes!("p256_test_key.der"));
    for (algorithm, signs_with, key) in [
        (TokenAlgorithm::Rs256, Algorithm::RS256, &rsa),
        (TokenAlgorithm::Ps256, Algorithm::PS256, &rsa),
        (TokenAlgorithm::Es256, Algorithm::ES256, &p256),
    ] {
        let (token, keys) = signed_by(signs_with, key);
        for pinned in TokenAlgorithm::ALL {
            let trusted = TrustedIssuer::new(TrustedIssuerConfig { algorithms: vec![pinned], ..config() });
            let taken = trusted.replace_keys(&keys);
            let verifier = issuer().verifier().trusting(trusted);
            let verified = verifier.verify(&token, NOW_MS);
            assert_eq!(
                (taken.is_ok(), verified.is_ok()),
                (pinned == algorithm, pinned == algorithm),
                "{pinned:?}"
            );
        }
    }
}
