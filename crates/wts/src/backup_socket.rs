//! Backups of a store that a server has open: whoever may use the directory connects to a socket there
//! and is sent one.

use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use store_embedded::EmbeddedStore;
use tokio::net::UnixListener;
use tracing::{info, warn};

/// The socket's name in a data directory.
const FILE_NAME: &str = "backup.sock";

/// Only the directory's owner may connect.
const OWNER_ONLY: u32 = 0o600;

/// Bytes passed on at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long whoever takes a backup may take no bytes: the server does not wait for him when it stops.
const STALL_MAX: Duration = Duration::from_secs(10);

/// The pause after a failed accept. Without descriptors it fails again at once, and trying without a pause
/// takes the whole core that could free some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

fn path(data: &Path) -> PathBuf {
    data.join(FILE_NAME)
}

/// Sends backups, one after the other, until it is dropped. `data` is a directory that this process holds.
pub(crate) async fn serve(data: &Path, store: Arc<EmbeddedStore>) {
    let listener = match listen(&path(data)) {
        Ok(listener) => listener,
        Err(error) => {
            warn!(%error, "backups can be taken only while the server is stopped");
            return std::future::pending().await;
        }
    };
    loop {
        let stream = accept(&listener).await;
        let store = Arc::clone(&store);
        // One at a time: each reads the whole store.
        let sent = tokio::task::spawn_blocking(move || send(stream.into_std()?, &store)).await;
        match sent {
            Ok(Ok(entries)) => info!(entries, "a backup was taken"),
            Ok(Err(error)) => warn!(%error, "a backup could not be sent"),
            Err(error) => warn!(%error, "a backup failed"),
        }
    }
}

/// Accepts one connection, however often that fails.
async fn accept(listener: &UnixListener) -> tokio::net::UnixStream {
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if !told => {
                warn!(%error, "nobody can connect for a backup; trying again");
                told = true;
            }
            Err(_) => {}
        }
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

fn listen(path: &Path) -> std::io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(OWNER_ONLY))?;
    Ok(listener)
}

fn send(stream: UnixStream, store: &EmbeddedStore) -> anyhow::Result<u64> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(STALL_MAX))?;
    Ok(store.backup(&mut std::io::BufWriter::with_capacity(CHUNK_BYTES, stream))?)
}

/// Takes a backup from the server that has `data` open. Whether it is whole is for the caller to check.
pub(crate) fn copy(data: &Path, to: &mut impl Write) -> anyhow::Result<()> {
    let path = path(data);
    let mut from = UnixStream::connect(&path)
        .with_context(|| format!("the server does not answer at {}", path.display()))?;
    std::io::copy(&mut from, to)?;
    Ok(())
}
