//! Listing matches.

use futures::TryStreamExt as _;
use whattheshell::{Error, v1};

use crate::fake::{Fake, OnList, ann};
use crate::history::History;

fn lists(on_list: OnList) -> Fake {
    Fake { on_list, ..Fake::new(&History::new()) }
}

/// A page of one match, and the token of the next one.
fn page(name: &str, next_page_token: &str) -> v1::ListMatchesResponse {
    let game = v1::MatchSummary { name: name.to_owned(), ..v1::MatchSummary::default() };
    v1::ListMatchesResponse { matches: vec![game], next_page_token: next_page_token.to_owned() }
}

#[tokio::test]
async fn all_pages_are_asked_for_by_their_tokens_and_a_lost_one_again() {
    let (fake, ann) = ann(lists(Box::new(|nth, _| match nth {
        0 => Ok(page("first", "after the first")),
        1 => Err(tonic::Status::unavailable("lost")),
        2 => Ok(v1::ListMatchesResponse { matches: Vec::new(), ..page("", "after an empty one") }),
        _ => Ok(page("last", "")),
    })))
    .await;
    let listed: Vec<_> = ann.matches(Some(false)).try_collect().await.unwrap();
    assert_eq!(listed.iter().map(|game| game.name.as_str()).collect::<Vec<_>>(), ["first", "last"]);
    let asked: Vec<_> = fake.lists().into_iter().map(|list| (list.page_token, list.finished)).collect();
    let tokens = ["", "after the first", "after the first", "after an empty one"];
    assert_eq!(asked, tokens.map(|token| (token.to_owned(), Some(false))));
}

#[tokio::test]
async fn pages_that_go_in_a_circle_end_with_an_error() {
    let (fake, ann) = ann(lists(Box::new(|_, _| Ok(page("again", "and again"))))).await;
    let error = ann.matches(None).try_collect::<Vec<_>>().await.unwrap_err();
    assert!(matches!(error, Error::Malformed("next_page_token")), "{error}");
    assert_eq!(fake.lists().len(), 2);
}
