//! `wts feed`: what happens in all matches.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use futures::StreamExt as _;
use serde_json::{Value, json};
use whattheshell::v1::feed_event::Event;
use whattheshell::{FeedItem, v1};

use crate::dial::Dial;
use crate::hexadecimal;
use crate::lines::Lines;
use crate::seating;

/// Options of `wts feed`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The server, http://HOST:PORT or https://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

    #[command(flatten)]
    dial: Dial,

    /// The API key of a back end: nobody else may read the feed
    #[arg(long, env = "WTS_API_KEY", hide_env_values = true)]
    api_key: String,

    /// Begin after this place, a `cursor` of an earlier run with --json. With the oldest event that is kept if not
    /// given
    #[arg(long, value_name = "HEX", default_value = "", hide_default_value = true)]
    cursor: String,

    /// One JSON object a line, with the cursor after it
    #[arg(long)]
    json: bool,
}

/// Prints events until it is interrupted.
///
/// # Errors
/// The server does not answer, keeps no feed, or no longer has what follows the cursor.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let cursor = hexadecimal::decode(&arguments.cursor)
        .context("--cursor is hexadecimal digits, two for each byte")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = arguments.dial.connect(&arguments.server).await?;
        let backend = client.backend(&arguments.api_key).map_err(seating::explain)?;
        let lines = Lines { json: arguments.json };
        let mut feed = backend.feed(cursor);
        while let Some(item) = feed.next().await {
            let item = item.map_err(seating::explain)?;
            // An event of a kind that only a newer client knows is not told.
            if let Some((text, object)) = tell(&item) {
                lines.show(&text, object)?;
            }
        }
        bail!("the feed has ended")
    })
}

/// An event in words, and as an object.
fn tell(item: &FeedItem) -> Option<(String, Value)> {
    let FeedItem { event, cursor } = item;
    let (kind, words, turn) = match event.event.as_ref()? {
        Event::Started(_) => ("started", "the match has started".to_owned(), None),
        Event::TurnOpened(opened) => {
            ("turn_opened", format!("turn {} is open", opened.turn), Some(opened.turn))
        }
        Event::TurnResolved(resolved) => {
            ("turn_resolved", format!("turn {} is resolved", resolved.turn), Some(resolved.turn))
        }
        Event::Finished(finished) => ("finished", ending(finished), Some(finished.turn)),
    };
    let v1::FeedEvent { r#match: name, black_player: black, white_player: white, .. } = event;
    let mut object = json!({
        "event": kind, "match": name, "black": black, "white": white, "turn": turn,
        "time_ms": event.event_time.as_ref().map(ms), "cursor": hexadecimal::encode(cursor),
    });
    if let Some(Event::Finished(finished)) = &event.event {
        object["result"] = json!(finished.result().as_str_name());
        object["reason"] = json!(finished.reason().as_str_name());
    }
    Some((format!("{name}: {words} ({black} against {white})"), object))
}

fn ending(finished: &v1::MatchFinished) -> String {
    let (result, reason) = (finished.result().as_str_name(), finished.reason().as_str_name());
    format!("over after turn {}, {result}, {reason}", finished.turn)
}

fn ms(time: &whattheshell::prost_types::Timestamp) -> i64 {
    time.seconds.saturating_mul(1_000).saturating_add(i64::from(time.nanos) / 1_000_000)
}
