//! Bad connections: each does one kind of harm, again and again, and comes back when it is thrown out.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::frames;

/// From one blow of a connection to its next one, and before it comes back. All attackers together do then as much
/// as leaves this machine, which they share with the server and the honest, some time for those.
const PACE: Duration = Duration::from_secs(2);

/// Addresses that the attackers come from, so that each has fewer connections than a peer may: else the server's
/// limit for that would end the attack before it has begun.
const ADDRESSES: u8 = 4;

/// Calls that are opened and taken back with one blow.
const RESETS: u32 = 20;

/// How long a connection waits for what the server says before it goes on.
const LISTEN: Duration = Duration::from_millis(1);

/// A kind of harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Headers that come byte by byte and do not end.
    SlowHeaders,
    /// Calls that are taken back as soon as they are opened.
    Resets,
    /// Messages that say to be 4 GiB long.
    HugeMessages,
    /// Messages that become large when they are unpacked.
    Bombs,
    /// Tokens that nobody has signed.
    BadTokens,
}

impl Kind {
    fn all() -> &'static [Self] {
        Self::value_variants()
    }
}

/// What attackers send.
pub(crate) struct Arsenal {
    /// A token of a player, for what only players can reach.
    token: String,
    forged: String,
    bomb: Vec<u8>,
}

impl Arsenal {
    /// `token` is one that the server takes.
    pub(crate) fn new(token: &str) -> Self {
        // The same claims, and the signature of something else.
        let (claims, signature) = token.rsplit_once('.').unwrap_or((token, ""));
        let forged = format!("{claims}.{}", signature.chars().rev().collect::<String>());
        Self { token: token.to_owned(), forged, bomb: frames::bomb(20_000) }
    }

    /// What a connection that has opened calls up to this stream sends next, and which stream comes after it.
    fn blow(&self, kind: Kind, stream: u32) -> (Vec<u8>, u32) {
        let token = format!("Bearer {}", self.token);
        match kind {
            Kind::SlowHeaders if stream == 1 => {
                (frames::open_slowly(1, &frames::call("MatchService/GetMatch", &[])), 3)
            }
            Kind::SlowHeaders => (frames::go_on_slowly(1), stream),
            Kind::Resets => {
                let block = frames::call("MatchService/ListMatches", &[("authorization", &token)]);
                let streams = (0..RESETS).map(|nth| stream + 2 * nth);
                let frames = streams.flat_map(|stream| {
                    let mut both = frames::open(stream, &block);
                    both.extend(frames::take_back(stream));
                    both
                });
                (frames.collect(), stream + 2 * RESETS)
            }
            Kind::HugeMessages => {
                let block = frames::call("MatchService/SealMove", &[("authorization", &token)]);
                let mut frames = frames::open(stream, &block);
                frames.extend(frames::message(stream, false, u32::MAX, &[0; 32 * 1024]));
                (frames, stream + 2)
            }
            Kind::Bombs => {
                let more = [("authorization", token.as_str()), ("grpc-encoding", "gzip")];
                let mut frames = frames::open(stream, &frames::call("MatchService/GetMatch", &more));
                let bytes = u32::try_from(self.bomb.len()).unwrap_or_default();
                frames.extend(frames::message(stream, true, bytes, &self.bomb));
                (frames, stream + 2)
            }
            Kind::BadTokens => {
                let forged = format!("Bearer {}", self.forged);
                let block = frames::call("MatchService/ListMatches", &[("authorization", &forged)]);
                let mut frames = frames::open(stream, &block);
                frames.extend(frames::message(stream, false, 0, &[]));
                (frames, stream + 2)
            }
        }
    }
}

/// The bad connection of this number, until it is dropped.
pub(crate) async fn attack(server: SocketAddr, number: usize, arsenal: Arc<Arsenal>) {
    let kinds = Kind::all();
    let kind = kinds[number % kinds.len()];
    let from = Ipv4Addr::new(127, 0, 0, 2 + (number % usize::from(ADDRESSES)) as u8);
    sleep(PACE.mul_f64(rand::random())).await;
    loop {
        // Whatever the server does with it, it comes back.
        let _ = once(server, from, kind, &arsenal).await;
        sleep(PACE).await;
    }
}

/// One connection, until the server ends it.
async fn once(server: SocketAddr, from: Ipv4Addr, kind: Kind, arsenal: &Arsenal) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let mut connection = socket.connect(server).await?;
    connection.write_all(&frames::preface()).await?;
    let mut stream = 1;
    loop {
        let (bytes, next) = arsenal.blow(kind, stream);
        stream = next;
        timeout(PACE, connection.write_all(&bytes)).await??;
        listen(&mut connection).await?;
        sleep(PACE).await;
    }
}

/// Takes what the server has said, so that it can say more.
async fn listen(connection: &mut TcpStream) -> std::io::Result<()> {
    let mut heard = [0; 4_096];
    while let Ok(read) = timeout(LISTEN, connection.read(&mut heard)).await {
        if read? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
