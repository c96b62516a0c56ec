//! Tokens: what is minted is taken, and nothing else is.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use ed25519_dalek::{Signer as _, SigningKey};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use middleware::{
    AgeMark, MintError, NewToken, PlayerPrincipal, Scope, TOKEN_BYTES_MAX, TOKEN_LEEWAY_MS,
    TOKEN_TTL_DEFAULT_MS, TOKEN_TTL_MAX_MS, TOKEN_TTL_MIN_MS, TokenError, TokenIssuer, TokenVerifier,
};
use serde_json::{Value, json};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::calls::{AUDIENCE, ISSUER, NOW_MS, SEED, issuer};

const NOW_S: u64 = NOW_MS / 1_000;

/// The claims of a token that is valid now.
fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "p1", "aud": AUDIENCE, "iat": NOW_S, "nbf": NOW_S, "exp": NOW_S + 600,
        "scope": "play watch",
    })
}

fn with(claim: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[claim] = value;
    claims
}

fn without(claim: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("claims are an object").remove(claim);
    claims
}

/// A token as this header and these claims make it, signed with the issuer's key.
fn signed(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64URL.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = SigningKey::from_bytes(&SEED).sign(message.as_bytes());
    format!("{message}.{}", BASE64URL.encode(signature.to_bytes()))
}

fn header() -> Value {
    json!({ "typ": "JWT", "alg": "EdDSA", "kid": issuer().key_id() })
}

fn verify(token: &str) -> Result<PlayerPrincipal, TokenError> {
    issuer().verifier().verify(token, NOW_MS)
}

fn check_refused(token: &str, expected: TokenError) {
    assert_eq!(verify(token), Err(expected));
    let reason =
        if expected == TokenError::Expired { ErrorReason::TokenExpired } else { ErrorReason::TokenInvalid };
    assert_eq!(ApiError::from(expected), ApiError::new(reason), "it tells more than the table does");
}

#[test]
fn a_token_names_its_player_with_all_that_was_asked_for() {
    let asked = NewToken {
        player: "players/Ann.b-1_2".to_owned(),
        ttl_ms: Some(90_000),
        scopes: vec![Scope::Watch, Scope::Play],
        public_key: Some([9; 32]),
        age: Some(AgeMark::Guardian),
        issued_from_ms: None,
    };
    let (token, expires_ms) = issuer().mint(&asked, NOW_MS).expect("it can be made");
    assert_eq!(expires_ms, NOW_MS + 90_000);
    let expected = PlayerPrincipal {
        player: "players/Ann.b-1_2".to_owned(),
        scopes: vec![Scope::Play, Scope::Watch],
        public_key: Some([9; 32]),
        issued_ms: NOW_MS / 1_000 * 1_000,
        expires_ms: expires_ms + TOKEN_LEEWAY_MS,
        age: Some(AgeMark::Guardian),
        is_sheltered: false,
    };
    assert_eq!(verify(&token), Ok(expected));
}

#[test]
fn a_token_allows_everything_for_an_hour_unless_asked_otherwise() {
    let (token, expires_ms) =
        issuer().mint(&NewToken::for_player("players/p1"), NOW_MS).expect("it can be made");
    assert_eq!(expires_ms, NOW_MS + TOKEN_TTL_DEFAULT_MS);
    let player = verify(&token).expect("it is valid");
    assert_eq!((player.scopes, player.public_key, player.age), (Scope::ALL.to_vec(), None, None));
}

#[test]
fn a_token_is_valid_from_its_making_to_its_end_and_a_leeway_more() {
    let (token, expires_ms) =
        issuer().mint(&NewToken::for_player("players/p1"), NOW_MS).expect("it can be made");
    let at = |now_ms| issuer().verifier().verify(&token, now_ms).map(|player| player.player);
    let valid = Ok("players/p1".to_owned());
    // A node whose clock is a minute behind takes it, too.
    assert_eq!(at(NOW_MS - 60_000), valid);
    assert_eq!(at(expires_ms + TOKEN_LEEWAY_MS - 1), valid);
    assert_eq!(at(expires_ms + TOKEN_LEEWAY_MS), Err(TokenError::Expired));
    assert_eq!(at(u64::MAX), Err(TokenError::Expired));
    assert_eq!(at(0), Err(TokenError::NotYetValid));
}

/// So that it is told apart from those that were called back, whichever node's clock made them.
#[test]
fn a_token_says_it_was_issued_no_earlier_than_is_asked_and_is_valid_all_the_same() {
    let mint = |issued_from_ms| {
        let token = NewToken { issued_from_ms: Some(issued_from_ms), ..NewToken::for_player("players/p1") };
        let (token, expires_ms) = issuer().mint(&token, NOW_MS).expect("it can be made");
        assert_eq!(expires_ms, NOW_MS + TOKEN_TTL_DEFAULT_MS);
        verify(&token).expect("it is valid").issued_ms
    };
    assert_eq!(mint(0), NOW_MS / 1_000 * 1_000);
    assert_eq!(mint(NOW_MS - 60_000), NOW_MS / 1_000 * 1_000);
    let ahead_ms = (NOW_MS + 5_001).div_ceil(1_000) * 1_000;
    assert_eq!(mint(NOW_MS + 5_001), ahead_ms);
}

#[test]
fn tokens_are_made_for_players_alone_and_within_the_bounds() {
    let mint = |player: &str, ttl_ms| {
        let token = NewToken { ttl_ms, ..NewToken::for_player(player) };
        issuer().mint(&token, NOW_MS).map(|(_, expires_ms)| expires_ms - NOW_MS)
    };
    assert_eq!(mint("players/p1", Some(TOKEN_TTL_MIN_MS)), Ok(60_000));
    assert_eq!(mint("players/p1", Some(TOKEN_TTL_MAX_MS)), Ok(86_400_000));
    assert_eq!(mint("players/p1", Some(TOKEN_TTL_MIN_MS - 1)), Err(MintError::TtlOutOfRange));
    assert_eq!(mint("players/p1", Some(TOKEN_TTL_MAX_MS + 1)), Err(MintError::TtlOutOfRange));
    assert_eq!(mint("players/p1", Some(u64::MAX)), Err(MintError::TtlOutOfRange));
    assert_eq!(mint("players/bot-3", None), Err(MintError::PlayerIsBot));
    for name in ["p1", "players/", "players/a b", "players/a/b", "matches/p1", "players/é", ""] {
        assert_eq!(mint(name, None), Err(MintError::PlayerInvalid), "{name}");
    }
    assert_eq!(mint(&format!("players/{}", "p".repeat(64)), None), Ok(TOKEN_TTL_DEFAULT_MS));
    assert_eq!(mint(&format!("players/{}", "p".repeat(65)), None), Err(MintError::PlayerInvalid));
}

#[test]
fn a_token_for_another_time_place_or_holder_is_refused() {
    assert!(verify(&signed(&header(), &claims())).is_ok());
    let leeway_s = TOKEN_LEEWAY_MS / 1_000;
    for (claim, value, expected) in [
        ("exp", json!(NOW_S - leeway_s), TokenError::Expired),
        ("exp", json!(0), TokenError::Expired),
        ("nbf", json!(NOW_S + leeway_s + 1), TokenError::NotYetValid),
        ("nbf", json!(u64::MAX), TokenError::NotYetValid),
        ("aud", json!("another-server"), TokenError::WrongClaims),
        ("aud", json!(""), TokenError::WrongClaims),
        ("iss", json!("https://another.example"), TokenError::WrongClaims),
        ("sub", json!("bot-1"), TokenError::WrongClaims),
        ("sub", json!("a/b"), TokenError::WrongClaims),
        ("sub", json!(""), TokenError::WrongClaims),
        ("wts_key", json!("c2hvcnQ"), TokenError::WrongClaims),
        ("wts_key", json!("not base64url"), TokenError::WrongClaims),
        ("exp", json!("soon"), TokenError::Malformed),
        ("exp", json!(-1), TokenError::Malformed),
        ("sub", json!(["p1", "p2"]), TokenError::Malformed),
    ] {
        let token = signed(&header(), &with(claim, value.clone()));
        assert_eq!(verify(&token), Err(expected), "{claim}: {value}");
    }
    for claim in ["iss", "sub", "aud", "exp", "nbf", "iat", "scope"] {
        let token = signed(&header(), &without(claim));
        assert_eq!(verify(&token), Err(TokenError::Malformed), "without {claim}");
    }
    // A wrong audience stays the same answer after the end: only a token of this server expires here.
    let mut foreign = with("aud", json!("another-server"));
    foreign["exp"] = json!(1);
    check_refused(&signed(&header(), &foreign), TokenError::WrongClaims);
}

#[test]
fn only_the_pinned_algorithm_counts_whatever_the_header_says() {
    let head = |alg: &str| json!({ "typ": "JWT", "alg": alg, "kid": issuer().key_id() });
    let part = |value: &Value| BASE64URL.encode(value.to_string());
    for alg in ["none", "None", "NONE", ""] {
        check_refused(&format!("{}.{}.", part(&head(alg)), part(&claims())), TokenError::Malformed);
        check_refused(&signed(&head(alg), &claims()), TokenError::Malformed);
    }
    for alg in ["HS256", "HS512", "RS256", "ES256"] {
        check_refused(&signed(&head(alg), &claims()), TokenError::WrongAlgorithm);
    }
    // The public key is public: it must not do as a shared secret.
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some(issuer().key_id().to_owned());
    let secret = EncodingKey::from_secret(issuer().public_key()).expect("32 bytes are a secret");
    check_refused(&encode(&header, &claims(), &secret).expect("it signs"), TokenError::WrongAlgorithm);
}

#[test]
fn a_token_of_an_unknown_key_or_a_changed_one_is_refused() {
    let stranger = TokenIssuer::new(&[8; 32], ISSUER, AUDIENCE);
    let (token, _) = stranger.mint(&NewToken::for_player("players/p1"), NOW_MS).expect("it can be made");
    check_refused(&token, TokenError::UnknownKey);
    check_refused(&signed(&json!({ "typ": "JWT", "alg": "EdDSA" }), &claims()), TokenError::UnknownKey);

    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some(issuer().key_id().to_owned());
    let der = [
        &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20][..], //
        &[8; 32],
    ];
    let forged = encode(&header, &claims(), &EncodingKey::from_ed_der(&der.concat())).expect("it signs");
    check_refused(&forged, TokenError::Forged);

    let genuine = signed(&self::header(), &claims());
    let (message, signature) = genuine.rsplit_once('.').expect("a token has a signature");
    let (head, _) = message.split_once('.').expect("a token has a header");
    let other = BASE64URL.encode(with("sub", json!("p2")).to_string());
    check_refused(&format!("{head}.{other}.{signature}"), TokenError::Forged);
    check_refused(&format!("{message}."), TokenError::Forged);
    check_refused(&format!("{message}.{}", BASE64URL.encode([0; 64])), TokenError::Forged);
}

#[test]
fn garbage_and_oversized_tokens_are_refused() {
    let genuine = signed(&header(), &claims());
    for token in ["", ".", "..", "...", "a.b.c", "é.é.é", &genuine[1..], &format!("{genuine}.x")] {
        check_refused(token, TokenError::Malformed);
    }
    let long = signed(&header(), &with("pad", json!("x".repeat(TOKEN_BYTES_MAX))));
    check_refused(&long, TokenError::TooLong);
    // Whatever is cut off, nothing panics and nothing passes.
    for length in 0..genuine.len() {
        assert!(verify(&genuine[..length]).is_err(), "{length}");
    }
}

#[test]
fn one_key_can_replace_another_while_tokens_of_both_are_about() {
    let (old, new) =
        (TokenIssuer::new(&[1; 32], ISSUER, AUDIENCE), TokenIssuer::new(&[2; 32], ISSUER, AUDIENCE));
    assert_ne!(old.key_id(), new.key_id());
    let verifier = TokenVerifier::new(ISSUER, AUDIENCE, &[*old.public_key(), *new.public_key()]);
    for issuer in [old, new] {
        let (token, _) = issuer.mint(&NewToken::for_player("players/p1"), NOW_MS).expect("it can be made");
        assert!(verifier.verify(&token, NOW_MS).is_ok());
    }
}

#[test]
fn what_a_newer_server_allows_is_not_allowed_here() {
    let mut newer = with("scope", json!("watch administer"));
    newer["wts_age"] = json!("ancient");
    let player = verify(&signed(&header(), &newer)).expect("it is valid");
    assert_eq!((player.scopes, player.age), (vec![Scope::Watch], None));
    let none = verify(&signed(&header(), &with("scope", json!("")))).expect("it is valid");
    assert_eq!(none.scopes, []);
}

#[test]
fn an_issuer_does_not_show_its_key() {
    let seed: [u8; 32] = std::array::from_fn(|i| 100 + u8::try_from(i).expect("it is small"));
    let shown = format!("{:?}", TokenIssuer::new(&seed, ISSUER, AUDIENCE));
    for form in ["100, 101", "64656667", &BASE64URL.encode(seed)] {
        assert!(!shown.contains(form), "{shown}");
    }
}

#[test]
fn a_token_that_is_remembered_is_judged_by_the_time_like_any_other() {
    let verifier = issuer().verifier();
    let new = NewToken { ttl_ms: Some(60_000), ..NewToken::for_player("players/p1") };
    let (token, expires_ms) = issuer().mint(&new, NOW_MS).unwrap();
    for _ in 0..2 {
        assert_eq!(verifier.verify(&token, NOW_MS).unwrap().player, "players/p1");
        assert_eq!(verifier.verify(&token, NOW_MS - 120_000), Err(TokenError::NotYetValid));
        assert_eq!(verifier.verify(&token, expires_ms + 5_000), Err(TokenError::Expired));
    }
    let mut forged = token.into_bytes();
    let last = forged.len() - 2;
    forged[last] ^= 1;
    let forged = String::from_utf8(forged).unwrap();
    assert!(verifier.verify(&forged, NOW_MS).is_err(), "one that is nearly remembered is checked");
}

#[test]
fn an_issuer_takes_the_tokens_of_the_seeds_it_accepts_and_of_no_others() {
    let (old, other) =
        (TokenIssuer::new(&[8; 32], ISSUER, AUDIENCE), TokenIssuer::new(&[9; 32], ISSUER, AUDIENCE));
    let verifier = issuer().accepting(&[8; 32]).verifier();
    let token = |issuer: &TokenIssuer| issuer.mint(&NewToken::for_player("players/p1"), NOW_MS).unwrap().0;
    for issuer in [&issuer(), &old] {
        assert!(verifier.verify(&token(issuer), NOW_MS).is_ok());
    }
    assert_eq!(verifier.verify(&token(&other), NOW_MS), Err(TokenError::UnknownKey));
}
