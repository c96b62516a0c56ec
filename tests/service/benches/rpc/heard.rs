//! What a server sends to its Redis when a move is sealed, so that a floor can send the same.

use anyhow::Context as _;
use middleware::API_KEY_HEADER;
use redis_servers::Server as Redis;
use rules::PerSeat;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

use crate::client::{self, Lane};
use crate::lobby::Lobby;
use crate::server::{API_KEY, ServerProcess};
use crate::side::SEAL_MOVE;
use crate::workload::{Script, Turn};

/// Turns played until it is listened to: the sizes are those of the middle of a match.
const TURNS: usize = 20;

/// What ends the listening.
const END: &str = "that is all";

/// Words of a command.
pub(crate) type Words = Vec<Vec<u8>>;

/// How both seals of a turn are committed.
pub(crate) struct Commits {
    /// The match.
    pub(crate) id: String,
    /// The text of the script.
    pub(crate) script: Vec<u8>,
    /// Its keys.
    pub(crate) keys: Words,
    /// The arguments that the first seal of a turn is committed with, then the second.
    pub(crate) arguments: [Words; 2],
    /// The head that the second left.
    pub(crate) head: Vec<u8>,
}

impl Commits {
    /// Plays some turns through a server that is new to its Redis, and listens.
    pub(crate) async fn hear(server: &ServerProcess, redis: &Redis, game: &[Turn]) -> anyhow::Result<Self> {
        let monitor = Monitor::on(redis).await?;
        let players = PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() };
        let lobby = Lobby::open(&server.address).await?;
        let name = lobby.matches(std::slice::from_ref(&players)).await?.pop().context("no match")?;
        let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
        let mut lane = Lane::connect(&server.address).await?;
        for turn in Script::new(game, &name, &players, false)?.into_turns().into_iter().take(TURNS) {
            lane.call(&head, turn.black).await?;
            lane.call(&head, turn.white).await?;
        }
        let id = name.trim_start_matches("matches/").to_owned();
        let channel = format!(":e:{id}");
        // A commit is what tells the match's channel; the first one that a Redis sees has the script's text.
        let mut told: Vec<_> = monitor.heard(redis).await?;
        told.retain(|words| words.iter().any(|word| word.ends_with(channel.as_bytes())));
        let whole = told.iter().find(|words| words[0] == b"EVAL").context("no script was sent whole")?;
        let script = whole.get(1).context("a script without a text")?.clone();
        let (second, first) = (told.pop(), told.pop());
        let (keys, second) = split(second.context("no commit was heard")?)?;
        let (_, first) = split(first.context("one commit only was heard")?)?;
        let head = redis.ask(&[b"GET", keys.first().context("a commit without keys")?.as_slice()]).await?;
        Ok(Self { id, script, keys, arguments: [first, second], head: head.bytes().to_vec() })
    }
}

/// The keys and the arguments of a run of a script.
fn split(mut words: Words) -> anyhow::Result<(Words, Words)> {
    let count: usize = std::str::from_utf8(words.get(2).context("a run without keys")?)?.parse()?;
    anyhow::ensure!(words.len() > 3 + count, "a run without arguments");
    let arguments = words.split_off(3 + count);
    Ok((words.split_off(3), arguments))
}

/// Hears what a Redis is sent.
struct Monitor {
    lines: Lines<BufReader<TcpStream>>,
}

impl Monitor {
    async fn on(redis: &Redis) -> anyhow::Result<Self> {
        let mut socket = TcpStream::connect(redis.address()).await?;
        socket.write_all(b"MONITOR\r\n").await?;
        let mut lines = BufReader::new(socket).lines();
        lines.next_line().await?.context("MONITOR is not answered")?;
        Ok(Self { lines })
    }

    /// All commands since, in words, but for those that scripts call.
    async fn heard(mut self, redis: &Redis) -> anyhow::Result<Vec<Words>> {
        redis.ask(&["ECHO", END]).await?;
        let mut heard = Vec::new();
        loop {
            let line = self.lines.next_line().await?.context("MONITOR ended")?;
            let (from, command) = line.split_once("] ").context("MONITOR says something else")?;
            let words = words(command);
            if words.last().is_some_and(|word| word == END.as_bytes()) {
                return Ok(heard);
            }
            if !from.ends_with(" lua") {
                heard.push(words);
            }
        }
    }
}

/// Reads a line of words in quotation marks.
fn words(line: &str) -> Words {
    let mut words = Vec::new();
    let mut bytes = line.bytes();
    while bytes.by_ref().any(|byte| byte == b'"') {
        let mut word = Vec::new();
        while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
            word.push(if byte == b'\\' { escaped(&mut bytes) } else { byte });
        }
        words.push(word);
    }
    words
}

/// The byte that stands behind a backslash.
fn escaped(bytes: &mut impl Iterator<Item = u8>) -> u8 {
    let digit = |bytes: &mut dyn Iterator<Item = u8>| {
        bytes.next().and_then(|digit| char::from(digit).to_digit(16)).unwrap_or_default() as u8
    };
    match bytes.next().unwrap_or_default() {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'a' => 7,
        b'b' => 8,
        b'x' => digit(bytes) << 4 | digit(bytes),
        byte => byte,
    }
}
