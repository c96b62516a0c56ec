//! Asks a server one thing over a connection of its own.
//!
//! The protocol's few lines are written here rather than taken from a client library: what these tests try is
//! that library's behaviour too, and its reconnects and retries must not stand between a test and a server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest a server may take to answer: far longer than a healthy one needs on a busy machine, and short
/// enough that a stopped one does not hold up a test for long.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The longest bulk string that is read, in bytes: what `MIGRATE` and `INFO` need, many times over.
const BULK_BYTES_MAX: usize = 16 << 20;

/// The most elements of all arrays of an answer.
const ELEMENTS_MAX: usize = 1 << 16;

/// What a server answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A status or a string.
    Text(String),
    /// A string that is no UTF-8.
    Bytes(Vec<u8>),
    /// A number.
    Number(i64),
    /// No value.
    Nil,
    /// Several answers.
    Array(Vec<Reply>),
    /// An error, as Redis words it.
    Error(String),
}

impl Reply {
    /// The text of a status or a string, else nothing.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// The bytes of a status or a string, else none.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The number of an integer answer.
    #[must_use]
    pub const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of an array, else none.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The value of a line `field:value`, as `INFO` and `CLUSTER INFO` write them.
    #[must_use]
    pub fn field(&self, field: &str) -> &str {
        self.text().lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap_or("")
    }
}

/// Sends one command and reads its answer.
///
/// # Errors
/// The server cannot be reached, closes the connection, or does not answer in time.
pub(crate) async fn ask<W: AsRef<[u8]>>(address: SocketAddr, command: &[W]) -> io::Result<Reply> {
    let mut request = format!("*{}\r\n", command.len()).into_bytes();
    for word in command.iter().map(AsRef::as_ref) {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    timeout(ANSWER_MAX, exchange(address, &request))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn exchange(address: SocketAddr, request: &[u8]) -> io::Result<Reply> {
    let mut connection = BufReader::new(TcpStream::connect(address).await?);
    connection.write_all(request).await?;
    read(&mut connection).await
}

/// Reads an answer. Arrays are filled from a stack, so that nothing a server sends nests calls.
async fn read(connection: &mut BufReader<TcpStream>) -> io::Result<Reply> {
    let mut open: Vec<(usize, Vec<Reply>)> = Vec::new();
    let mut elements = 0;
    loop {
        let mut reply = match head(connection).await? {
            Head::Whole(reply) => reply,
            Head::Bulk(length) => bulk(connection, length).await?,
            Head::Array(length) => {
                elements += length;
                if elements > ELEMENTS_MAX {
                    return Err(unreadable("an array without an end"));
                }
                if length > 0 {
                    open.push((length, Vec::new()));
                    continue;
                }
                Reply::Array(Vec::new())
            }
        };
        loop {
            let Some((length, mut filled)) = open.pop() else { return Ok(reply) };
            filled.push(reply);
            if filled.len() < length {
                open.push((length, filled));
                break;
            }
            reply = Reply::Array(filled);
        }
    }
}

enum Head {
    Whole(Reply),
    Bulk(usize),
    Array(usize),
}

async fn head(connection: &mut BufReader<TcpStream>) -> io::Result<Head> {
    let mut line = Vec::new();
    // Bounded: an answer's first line is a number or a sentence.
    connection.take(64 << 10).read_until(b'\n', &mut line).await?;
    let line = String::from_utf8_lossy(&line);
    let Some(line) = line.strip_suffix("\r\n") else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    let mut characters = line.chars();
    let (kind, rest) = (characters.next(), characters.as_str());
    let length = || rest.parse::<i64>().map_err(|_| unreadable(line));
    Ok(match kind {
        Some('+') => Head::Whole(Reply::Text(rest.to_owned())),
        Some('-') => Head::Whole(Reply::Error(rest.to_owned())),
        Some(':') => Head::Whole(Reply::Number(length()?)),
        // A negative length is a value that is not there.
        Some('$') => usize::try_from(length()?).map_or(Head::Whole(Reply::Nil), Head::Bulk),
        Some('*') => usize::try_from(length()?).map_or(Head::Whole(Reply::Nil), Head::Array),
        _ => return Err(unreadable(line)),
    })
}

async fn bulk(connection: &mut BufReader<TcpStream>, length: usize) -> io::Result<Reply> {
    if length > BULK_BYTES_MAX {
        return Err(unreadable("a string without an end"));
    }
    let mut bytes = vec![0; length + 2];
    connection.read_exact(&mut bytes).await?;
    bytes.truncate(length);
    Ok(String::from_utf8(bytes).map_or_else(|error| Reply::Bytes(error.into_bytes()), Reply::Text))
}

fn unreadable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no answer of Redis: {what}"))
}
