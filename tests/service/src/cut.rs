//! A connection that breaks after the request has arrived, or goes dead without a word.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

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
        connections.spawn(connection(client, server, number, line.subscribe()));
    }
}

/// Passes bytes both ways until one side is gone or the line is cut.
async fn connection(client: TcpStream, server: TcpStream, number: usize, mut line: watch::Receiver<Line>) {
    let cuts = line.borrow().cuts;
    let watched = line.clone();
    let lives = || number >= watched.borrow().dead_before;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        _ = line.wait_for(|line| line.cuts > cuts) => {}
        () = pass(from_client, to_server, lives) => {}
        () = pass(from_server, to_client, || lives() && !watched.borrow().withholds) => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, passes: impl Fn() -> bool) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if passes() && to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
