//! What is on a caller's socket.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A proxy in front of a node that keeps every byte the node sent. Dropping it cuts the connections.
#[derive(Debug)]
pub struct Tap {
    /// Where it listens.
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
    _accepting: JoinSet<()>,
}

impl Tap {
    /// A tap on connections to this node.
    pub async fn on(node: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let received = Arc::default();
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, node, Arc::clone(&received)));
        Self { address, received, _accepting: accepting }
    }

    /// Every byte that the node has sent through here so far, of all connections.
    #[must_use]
    pub fn received(&self) -> Vec<u8> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(listener: TcpListener, node: SocketAddr, received: Arc<Mutex<Vec<u8>>>) {
    // The connections end with this task, because the set is its own.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(node).await else { return };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        connections.spawn(pass(from_client, to_server, None));
        connections.spawn(pass(from_server, to_client, Some(Arc::clone(&received))));
    }
}

/// Passes bytes on until one side is gone; what passes is kept first.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, keep: Option<Arc<Mutex<Vec<u8>>>>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        if let Some(kept) = &keep {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
