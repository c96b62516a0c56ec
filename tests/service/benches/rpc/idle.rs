//! What a stream costs that waits: memory of the server.

use std::fs;
use std::time::Duration;

use futures::future::try_join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use middleware::API_KEY_HEADER;
use rules::PerSeat;
use wire::v1;

use crate::client::{self, Lane, Messages};
use crate::figure::Figure;
use crate::lobby::Lobby;
use crate::server::{API_KEY, HEARTBEAT, Role, ServerProcess};

pub(crate) const WATCH_MATCH: &str = "/whattheshell.v1.MatchService/WatchMatch";

/// Streams open at once, where the system lets a process have so many files.
const STREAMS: usize = 10_000;

/// Connections of a server process that are not streams: its listener, its terminal, the lobby.
const FILES_RESERVED: usize = 256;

/// Streams a connection of a back end or a gateway.
pub(crate) const SHARED: usize = 100;

/// What a stream says before it waits: snapshot and status; and then, a heartbeat.
const SERVICE_MESSAGES: usize = 3;

/// The same of the floor: it begins with one message.
const FLOOR_MESSAGES: usize = 2;

/// Connections that are opened at once.
const AT_ONCE: usize = 64;

/// Bytes of a message of the floor: about a snapshot's.
const FLOOR_MESSAGE_BYTES: usize = 300;

/// How long all streams may take to have their messages.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes a stream of the server, at many streams a connection and at one.
pub(crate) async fn bytes_each() -> anyhow::Result<Vec<Figure>> {
    Ok(vec![at(SHARED).await?, at(1).await?])
}

async fn at(a_connection: usize) -> anyhow::Result<Figure> {
    let streams = if a_connection == 1 { STREAMS.min(files_max()? - FILES_RESERVED) } else { STREAMS };
    let server = ServerProcess::start(Role::Volatile).await?;
    let names = match_names(&server, streams / 2).await?;
    let floor = ServerProcess::start(Role::Floor { answer_bytes: FLOOR_MESSAGE_BYTES }).await?;
    let (each, bare) = (
        idle_bytes(&server, &names, a_connection, SERVICE_MESSAGES).await?,
        idle_bytes(&floor, &names, a_connection, FLOOR_MESSAGES).await?,
    );
    let conditions = format!(
        "growth of the server's resident memory over WatchMatch streams, after a heartbeat each; {streams} \
         streams, {a_connection} a connection, two a match, called by a back end, volatile store; floor: bare \
         tonic streams with as many heartbeats; ratio = value / floor, lower is better"
    );
    server.stop().await?;
    floor.stop().await?;
    Ok(Figure::new("bytes", &[each], &[bare], conditions))
}

/// Matches that have begun.
async fn match_names(server: &ServerProcess, matches: usize) -> anyhow::Result<Vec<String>> {
    let player = |seat, number| format!("players/{seat}-{number}");
    let pairs: Vec<_> = (0..matches)
        .map(|number| PerSeat { black: player("black", number), white: player("white", number) })
        .collect();
    Lobby::open(&server.address).await?.matches(&pairs).await
}

/// Opens two streams a match, waits until each has had its messages, and says what each has cost.
async fn idle_bytes(
    server: &ServerProcess,
    names: &[String],
    a_connection: usize,
    messages: usize,
) -> anyhow::Result<f64> {
    let before = server.resident_bytes()?;
    let watched: Vec<&str> = names.iter().chain(names).map(String::as_str).collect();
    let open = watched.chunks(a_connection).map(|names| watch_all(&server.address, names));
    let mut streams: Vec<Messages> = stream::iter(open).buffer_unordered(AT_ONCE).try_concat().await?;
    let had = streams.iter_mut().map(async |stream| {
        for _ in 0..messages {
            stream.next().await?;
        }
        anyhow::Ok(())
    });
    tokio::time::timeout(PATIENCE + HEARTBEAT, try_join_all(had)).await??;
    Ok((server.resident_bytes()? - before) / streams.len() as f64)
}

/// Opens streams of these matches on one connection.
pub(crate) async fn watch_all(address: &str, names: &[&str]) -> anyhow::Result<Vec<Messages>> {
    let head = client::head(WATCH_MATCH, (API_KEY_HEADER, API_KEY))?;
    let mut lane = Lane::connect(address).await?;
    let mut streams = Vec::with_capacity(names.len());
    for name in names {
        let request = v1::WatchMatchRequest { name: (*name).to_owned(), ..Default::default() };
        streams.push(lane.open(&head, client::frame(&request)?).await?);
    }
    Ok(streams)
}

/// Files that this process, and those it starts, may have open at once.
fn files_max() -> anyhow::Result<usize> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = files.and_then(|limits| limits.split_ascii_whitespace().next()?.parse().ok());
    // A limit that is no number is none.
    Ok(soft.unwrap_or(usize::MAX).max(2 * FILES_RESERVED))
}
