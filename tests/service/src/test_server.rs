//! One node in this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use service::{ServeError, Server};
use store::Store;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{Faults, FaultyStore, Subscriptions, soon};

/// A node that serves on a free port of this machine until it is dropped.
#[derive(Debug)]
pub struct TestServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it listens to operators.
    pub operators: SocketAddr,
    /// What goes wrong between this node and the store.
    pub faults: Faults,
    /// Who is subscribed to a match through this node.
    pub subscriptions: Subscriptions,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl TestServer {
    /// Starts a node at this address; port 0 is a free one. Its store is reached through [`FaultyStore`].
    pub(crate) async fn start(mut server: Server, address: SocketAddr) -> Self {
        let faults = Faults::default();
        let store: Arc<dyn Store> = Arc::clone(&server.store);
        let faulty = FaultyStore::new(store, faults.clone());
        let subscriptions = faulty.subscriptions();
        server.store = Arc::new(faulty);
        let listener = TcpListener::bind(address).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let for_operators = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let operators = for_operators.local_addr().expect("a listener has an address");
        server.operators.listener = Some(for_operators);
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(listener, async {
            // Dropping the sender stops the server as well.
            let _ = stopped.await;
        }));
        Self { address, operators, faults, subscriptions, stop: Some(stop), serving }
    }

    /// Tells the node to stop, as SIGTERM does, and returns at once.
    pub fn stop(&mut self) {
        self.stop.take();
    }

    /// Waits until the node has stopped.
    ///
    /// # Errors
    /// What it ended with.
    pub async fn stopped(&mut self) -> Result<(), ServeError> {
        soon("the end of the server", &mut self.serving).await.expect("a server does not panic")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
