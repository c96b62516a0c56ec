//! Starts processes that end with this one, however it ends.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tokio::sync::oneshot;

use crate::Error;

/// Gives a parent's death to its child as SIGKILL; part of util-linux, so every Linux has it.
const WRAPPER: &str = "setpriv";

/// Starts that wait for the launching thread: more than one test process asks for at once.
const WAITING_MAX: usize = 64;

struct Order {
    command: Command,
    done: oneshot::Sender<io::Result<Child>>,
}

/// Starts a program. The kernel kills it when this process is gone, also after a SIGKILL that runs no
/// destructor: a wrapper asks for that (`PR_SET_PDEATHSIG`) and then becomes the program, so the child's id is
/// the program's.
///
/// # Errors
/// [`Error::Missing`] without the wrapper, [`Error::Io`] if the process cannot be started.
pub(crate) async fn launch(program: &std::path::Path, arguments: &[&str]) -> Result<Child, Error> {
    let mut command = Command::new(WRAPPER);
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (done, child) = oneshot::channel();
    let started = match launcher().try_send(Order { command, done }) {
        Ok(()) => child.await.unwrap_or_else(|_| Err(io::Error::other("the launching thread is gone"))),
        Err(_) => Err(io::Error::other("too many starts wait")),
    };
    started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing { program: WRAPPER, command: "apt-get install util-linux" },
        _ => Error::io(format!("starting {}", program.display()))(error),
    })
}

/// The kernel takes the death of the *thread* that started a child for its parent's, and a test's thread ends
/// with the test. So one thread starts all, and lives as long as the process.
fn launcher() -> &'static SyncSender<Order> {
    static LAUNCHER: OnceLock<SyncSender<Order>> = OnceLock::new();
    LAUNCHER.get_or_init(|| {
        let (orders, received) = sync_channel(WAITING_MAX);
        // Without a thread every start fails, and says so.
        drop(thread::Builder::new().name("launcher".to_owned()).spawn(move || work(&received)));
        orders
    })
}

fn work(orders: &Receiver<Order>) {
    while let Ok(Order { mut command, done }) = orders.recv() {
        if let Err(Ok(mut unwanted)) = done.send(command.spawn()) {
            // Whoever asked has been dropped: nobody else would end it.
            drop(unwanted.kill());
            drop(unwanted.wait());
        }
    }
}
