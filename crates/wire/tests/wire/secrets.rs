//! No message prints what must not show: `{:?}` is the same whatever the secret is.

use std::fmt::Debug;

use wire::admin::v1::InspectMatchResponse;
use wire::v1::seal_move_request::Move;
use wire::v1::watch_match_response::Update;
use wire::v1::{
    AcceptInviteRequest, AnswerDrawResponse, CreateBotMatchResponse, CreateInviteResponse, GetInviteRequest,
    GetMatchResponse, JoinMatchResponse, Match, MatchStatus, MintPlayerTokenResponse, OfferDrawResponse,
    OpenMove, OwnSeal, ResignResponse, RevealMoveRequest, SealMoveRequest, WatchMatchResponse,
};

use crate::api;

/// One choice of every secret.
struct Secret {
    cell: u32,
    byte: u8,
    text: &'static str,
}

const ONE: Secret = Secret { cell: 77, byte: 0xA7, text: "hush" };
const OTHER: Secret = Secret { cell: 3, byte: 0x15, text: "a longer one" };

#[track_caller]
fn check<M: Debug>(message: impl Fn(&Secret) -> M) {
    let (one, other) = (format!("{:?}", message(&ONE)), format!("{:?}", message(&OTHER)));
    assert_eq!(one, other);
    for mark in ["77", "167", "hush"] {
        assert!(!one.contains(mark), "{one} shows {mark}");
    }
}

fn open(secret: &Secret) -> OpenMove {
    OpenMove { cell: secret.cell, salt: vec![secret.byte; 32] }
}

fn status(secret: &Secret) -> MatchStatus {
    let seal = OwnSeal { commitment: vec![secret.byte; 32], cell: Some(secret.cell), seal_time: None };
    MatchStatus { turn: 4, own_seal: Some(seal), ..MatchStatus::default() }
}

fn game(secret: &Secret) -> Option<Match> {
    Some(Match { name: "matches/m1".to_owned(), status: Some(status(secret)), ..Match::default() })
}

#[test]
fn a_move_is_not_shown_on_its_way_in() {
    check(open);
    check(|secret| SealMoveRequest { r#move: Some(Move::Open(open(secret))), ..SealMoveRequest::default() });
    check(|secret| RevealMoveRequest { open: Some(open(secret)), ..RevealMoveRequest::default() });
}

#[test]
fn a_sealed_move_is_not_shown_on_its_way_back_to_its_sealer() {
    check(status);
    check(game);
    check(|secret| WatchMatchResponse { update: Some(Update::Status(status(secret))) });
    check(|secret| GetMatchResponse { r#match: game(secret) });
    check(|secret| JoinMatchResponse { r#match: game(secret) });
    check(|secret| ResignResponse { r#match: game(secret) });
    check(|secret| OfferDrawResponse { r#match: game(secret) });
    check(|secret| AnswerDrawResponse { r#match: game(secret) });
    check(|secret| CreateBotMatchResponse { r#match: game(secret) });
    check(|secret| InspectMatchResponse { r#match: game(secret), ..InspectMatchResponse::default() });
    check(|secret| tonic::Request::new(RevealMoveRequest { open: Some(open(secret)), ..Default::default() }));
}

#[test]
fn a_token_and_a_join_secret_are_not_shown() {
    check(|secret| MintPlayerTokenResponse { token: secret.text.to_owned(), expire_time: None });
    check(|secret| CreateInviteResponse { invite: None, join_secret: secret.text.to_owned() });
    check(|secret| GetInviteRequest { join_secret: secret.text.to_owned(), ..GetInviteRequest::default() });
    check(|secret| AcceptInviteRequest { join_secret: secret.text.to_owned(), ..Default::default() });
}

#[test]
fn what_is_public_in_such_a_message_still_helps() {
    let request = AcceptInviteRequest { name: "invites/i1".to_owned(), ..AcceptInviteRequest::default() };
    assert!(format!("{request:?}").contains("invites/i1"));
    assert!(format!("{:?}", game(&ONE)).contains("matches/m1"));
}

/// The checks above know the messages of today. A new one with such a field has to be added to them, and
/// to the generator's list.
#[test]
fn no_other_message_has_a_field_that_must_not_show() {
    let secret = |field: &str| ["salt", "join_secret", "token"].contains(&field);
    let mut found = Vec::new();
    for (descriptors, package) in [
        (wire::FILE_DESCRIPTOR_SET, "whattheshell.v1"),
        (wire::admin::FILE_DESCRIPTOR_SET, "whattheshell.admin.v1"),
    ] {
        let messages = api::messages(descriptors, package);
        let with_secret =
            messages.into_iter().filter(|message| message.field.iter().any(|field| secret(field.name())));
        found.extend(with_secret.map(|message| message.name().to_owned()));
    }
    found.sort_unstable();
    // A `SealedOpening` is part of a resolved turn: public.
    let expected = [
        "AcceptInviteRequest",
        "CreateInviteResponse",
        "GetInviteRequest",
        "MintPlayerTokenResponse",
        "OpenMove",
        "SealedOpening",
    ];
    assert_eq!(found, expected);
}
