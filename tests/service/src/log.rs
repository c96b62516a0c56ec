//! Everything that this thread traces.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use telemetry::Pipelines;
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Two that want to hear everything, keep nothing and never end. While `tracing` knows of one subscriber
/// only, it asks the thread that first comes upon a line whether anybody wants it, and remembers a no for
/// all threads: a test without a log, which runs beside one with it, would deafen that one.
static LISTENERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));

/// The log at TRACE of every target, spans with their fields included, of what runs on this thread while
/// it lives: on a current-thread runtime that is the servers, their connections and the clients.
pub struct Log {
    lines: Lines,
    _guard: DefaultGuard,
}

impl Log {
    /// Begins to capture.
    #[must_use]
    pub fn capture() -> Self {
        Self::capture_and_export(None)
    }

    /// Begins to capture, and to export the same at TRACE.
    #[must_use]
    pub fn capture_and_export(pipelines: Option<&Pipelines>) -> Self {
        LazyLock::force(&LISTENERS);
        let lines = Lines::default();
        let written = tracing_subscriber::fmt::layer()
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(lines.clone());
        let guard = tracing_subscriber::registry()
            .with(LevelFilter::TRACE)
            .with(written)
            .with(pipelines.and_then(Pipelines::exported_logs))
            .set_default();
        Self { lines, _guard: guard }
    }

    /// What was traced so far.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        self.lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
