//! Keeps a server's certificates those of its files.

use std::future::pending;
use std::time::Duration;

use service::{Pems, Tls};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info};

use crate::transport_options::TlsFiles;

/// How often the files are read: soon enough after a certificate was renewed, and a few KB each time.
const READ_INTERVAL: Duration = Duration::from_secs(10);

/// Replaces the certificates whenever their files change, and what is in them can be used. It never ends. Without
/// TLS nobody listens for SIGHUP, which ends the process then.
pub(crate) struct Reload(Option<(Tls, TlsFiles, Signal)>);

impl Reload {
    /// Listens for SIGHUP from now on.
    pub(crate) fn listen(tls: Option<(Tls, TlsFiles)>) -> std::io::Result<Self> {
        let Some((tls, files)) = tls else { return Ok(Self(None)) };
        Ok(Self(Some((tls, files, signal(SignalKind::hangup())?))))
    }

    pub(crate) async fn run(self) {
        let Some((tls, files, mut hang_up)) = self.0 else { return pending().await };
        let mut reads = interval(READ_INTERVAL);
        reads.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = None;
        loop {
            let is_told = tokio::select! {
                _ = reads.tick() => false,
                _ = hang_up.recv() => true,
            };
            take(&tls, files.read(), &mut seen, is_told);
        }
    }
}

/// Takes what was read, unless it was seen before. Who has asked is told in any case.
fn take(tls: &Tls, read: anyhow::Result<Pems>, seen: &mut Option<Result<Pems, String>>, is_told: bool) {
    let read = read.map_err(|error| format!("{error:#}"));
    let is_first = seen.is_none();
    if seen.as_ref() == Some(&read) && !is_told {
        return;
    }
    let taken = match &read {
        Ok(pems) => tls.replace(pems).map_err(|error| error.to_string()),
        Err(error) => Err(error.clone()),
    };
    *seen = Some(read);
    match taken {
        // What the server started with.
        Ok(()) if is_first && !is_told => {}
        Ok(()) => info!("the certificates were read again; new connections are shown them"),
        Err(error) => error!(error, "the certificates cannot be used; those before them stay"),
    }
}
