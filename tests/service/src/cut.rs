//! A connection that breaks after the request has arrived, or goes dead without a word.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::soon;

/// The most bytes that are passed on at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// A proxy in front of a node that can keep its answers back, cut its connections, and let them go dead.
#[derive(Debug)]
pub struct Cut {
    /// Where it listens.
    pub address: SocketAddr,
    line: Arc<watch::Sender<Line>>,
    _accepting: JoinSet<()>,
}

/// The state of the connections that are open.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    cuts: usize,
    withholds: bool,
    holds_back: bool,
    /// Bytes that clients have sent.
    sent: usize,
    /// Connections that came before so many others are dead.
    dead_before: usize,
    /// Connections that have come.
    connections: usize,
}

impl Cut {
    /// A proxy that passes everything, for now.
    pub async fn in_front_of(node: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let line = Arc::new(watch::Sender::new(Line::default()));
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, node, Arc::clone(&line)));
        Self { address, line, _accepting: accepting }
    }

    /// From now on requests arrive and answers do not.
    pub fn withhold_answers(&self) {
        self.line.send_modify(|line| line.withholds = true);
    }

    /// From now on requests arrive and answers wait here, until [`Self::let_go`].
    pub fn hold_back_answers(&self) {
        self.line.send_modify(|line| line.holds_back = true);
    }

    /// Lets the answers go that were held back, and all that follow.
    pub fn let_go(&self) {
        self.line.send_modify(|line| line.holds_back = false);
    }

    /// How many bytes clients have sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.line.borrow().sent
    }

    /// Waits until clients have sent more than so many bytes: a request has arrived since.
    pub async fn passes_more_than(&self, sent: usize) {
        let mut line = self.line.subscribe();
        let more = soon("more from a client", line.wait_for(|line| line.sent > sent)).await;
        more.expect("the proxy holds its own sender");
    }

    /// Breaks every connection there is; new ones pass everything again.
    pub fn cut(&self) {
        self.line.send_modify(|line| *line = Line { cuts: line.cuts + 1, withholds: false, ..*line });
    }

    /// Swallows from now on whatever comes on the connections that there are, both ways, and closes none
    /// of them: a network that is gone. New ones pass everything.
    pub fn swallow(&self) {
        self.line.send_modify(|line| line.dead_before = line.connections);
    }

    /// How many connections there have been.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.line.borrow().connections
    }
}

async fn accept(listener: TcpListener, node: SocketAddr, line: Arc<watch::Sender<Line>>) {
    // The connections end with this task, because the set is its own.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(node).await else { return };
        let number = line.borrow().connections;
        line.send_modify(|line| line.connections += 1);
        connections.spawn(Connection { number, line: Arc::clone(&line) }.run(client, server));
    }
}

/// One connection through the proxy.
struct Connection {
    number: usize,
    line: Arc<watch::Sender<Line>>,
}

impl Connection {
    /// Passes bytes both ways until one side is gone or the line is cut.
    async fn run(self, client: TcpStream, server: TcpStream) {
        let cuts = self.line.borrow().cuts;
        let mut line = self.line.subscribe();
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            _ = line.wait_for(|line| line.cuts > cuts) => {}
            () = self.requests(from_client, to_server) => {}
            () = self.answers(from_server, to_client) => {}
        }
    }

    fn lives(&self) -> bool {
        self.number >= self.line.borrow().dead_before
    }

    async fn requests(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; BUFFER_BYTES];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            if self.lives() && to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
            self.line.send_modify(|line| line.sent += count);
        }
    }

    async fn answers(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut line = self.line.subscribe();
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            // The sender is ours, so the wait ends only by what it waits for.
            let _ = line.wait_for(|line| !line.holds_back).await;
            let passes = self.lives() && !self.line.borrow().withholds;
            if passes && to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    }
}
