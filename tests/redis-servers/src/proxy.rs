//! A network that fails on demand.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::Error;

/// What is read at once, in bytes.
const CHUNK_BYTES: usize = 16 << 10;

/// Chunks of one direction that a delay may hold: 1 MiB. A sender that is faster is made to wait.
const CHUNKS_MAX: usize = 64;

/// What happens to the bytes of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// They pass.
    Pass,
    /// Each passes this much later, in order.
    Delay(Duration),
    /// They are not even read: a network that is gone. Connections are accepted and stay open; what was sent
    /// arrives when the mode changes, as after a stalled route.
    BlackHole,
    /// Every connection is closed in good order, and so is each new one.
    Drop,
    /// Every connection is reset, and so is each new one.
    Cut,
}

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Requests.
    ToServer,
    /// Answers.
    ToClient,
}

/// What happens each way.
#[derive(Clone, Copy, Debug)]
struct Modes {
    to_server: Mode,
    to_client: Mode,
}

impl Modes {
    const fn of(self, direction: Direction) -> Mode {
        match direction {
            Direction::ToServer => self.to_server,
            Direction::ToClient => self.to_client,
        }
    }

    /// How connections end, if they do. A connection has no halves here: one direction's end is its own.
    fn end(self) -> Option<End> {
        let modes = [self.to_server, self.to_client];
        let has = |mode| modes.contains(&mode);
        if has(Mode::Cut) {
            return Some(End::Reset);
        }
        has(Mode::Drop).then_some(End::Close)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Close,
    Reset,
}

/// A proxy in front of a server. It passes everything at first, and ends every connection when it is dropped.
///
/// It works as long as the runtime in which it was made.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    modes: Arc<watch::Sender<Modes>>,
    accepted: watch::Receiver<u64>,
    _accepting: JoinSet<()>,
}

impl FaultProxy {
    /// A proxy on a free port in front of whoever listens at `server`, now or later.
    ///
    /// # Errors
    /// No port is free.
    pub async fn in_front_of(server: SocketAddr) -> Result<Self, Error> {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), server).await
    }

    /// A proxy that listens here.
    pub(crate) async fn listen(on: SocketAddr, server: SocketAddr) -> Result<Self, Error> {
        let listener = TcpListener::bind(on).await.map_err(Error::io("opening a port"))?;
        let address = listener.local_addr().map_err(Error::io("opening a port"))?;
        let modes = Arc::new(watch::Sender::new(Modes { to_server: Mode::Pass, to_client: Mode::Pass }));
        let (count, accepted) = watch::channel(0);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, server, modes.subscribe(), count));
        Ok(Self { address, modes, accepted, _accepting: accepting })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Both directions are in this mode from now on, on connections that are open and on new ones.
    pub fn set(&self, mode: Mode) {
        self.modes.send_replace(Modes { to_server: mode, to_client: mode });
    }

    /// One direction is in this mode from now on.
    pub fn set_one(&self, direction: Direction, mode: Mode) {
        self.modes.send_modify(|modes| match direction {
            Direction::ToServer => modes.to_server = mode,
            Direction::ToClient => modes.to_client = mode,
        });
    }

    /// How many connections have come so far.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        *self.accepted.borrow()
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    modes: watch::Receiver<Modes>,
    count: watch::Sender<u64>,
) {
    // The connections end with this task, because the set is its own.
    let mut connections = JoinSet::new();
    loop {
        // Out of file descriptors, perhaps: the next one may have one.
        let Ok((client, _)) = listener.accept().await else { continue };
        count.send_modify(|count| *count += 1);
        connections.spawn(connection(client, server, modes.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// Passes bytes both ways until both sides have ended, one is gone, or a mode ends it.
async fn connection(mut client: TcpStream, server: SocketAddr, mut modes: watch::Receiver<Modes>) {
    let mut upstream = None;
    let watched = modes.clone();
    let end = tokio::select! {
        biased;
        changed = modes.wait_for(|modes| modes.end().is_some()) => changed.ok().and_then(|modes| modes.end()),
        passed = through(&mut client, server, &mut upstream, &watched) => match passed {
            Ok(()) => Some(End::Close),
            // A reset or refused connection is reset on its other side too.
            Err(_) => Some(End::Reset),
        },
    };
    if end == Some(End::Reset) {
        // They fail only for sockets that are gone already.
        drop(client.set_zero_linger());
        drop(upstream.map(|upstream| upstream.set_zero_linger()));
    }
}

async fn through(
    client: &mut TcpStream,
    server: SocketAddr,
    upstream: &mut Option<TcpStream>,
    modes: &watch::Receiver<Modes>,
) -> io::Result<()> {
    let upstream = upstream.insert(TcpStream::connect(server).await?);
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = upstream.split();
    tokio::try_join!(
        pass(from_client, to_server, Direction::ToServer, modes.clone()),
        pass(from_server, to_client, Direction::ToClient, modes.clone()),
    )?;
    Ok(())
}

/// Passes one direction on until its sender has no more to say.
async fn pass(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    direction: Direction,
    mut modes: watch::Receiver<Modes>,
) -> io::Result<()> {
    let mut held: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut ended = false;
    while !ended || !held.is_empty() {
        let mode = modes.borrow_and_update().of(direction);
        let swallows = mode == Mode::BlackHole;
        let due = held.front().map(|(due, _)| *due);
        tokio::select! {
            biased;
            changed = modes.changed() => changed.map_err(io::Error::other)?,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() && !swallows => {
                if let Some((_, bytes)) = held.pop_front() {
                    to.write_all(&bytes).await?;
                }
            }
            count = from.read(&mut buffer), if !ended && !swallows && held.len() < CHUNKS_MAX => {
                let count = count?;
                ended = count == 0;
                if count > 0 {
                    let delay = if let Mode::Delay(delay) = mode { delay } else { Duration::ZERO };
                    held.push_back((Instant::now() + delay, buffer[..count].to_vec()));
                }
            }
        }
    }
    to.shutdown().await
}
