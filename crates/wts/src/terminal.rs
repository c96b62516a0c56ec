//! The terminal as a screen: taken over, and given back whatever happens.

use std::io::{self, IsTerminal as _};

use ratatui::DefaultTerminal;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether a person sits at a terminal that a screen can be drawn on.
pub(crate) fn is_there() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

/// The terminal in raw mode on its second page. Dropping it gives it back as it was; so does a panic.
pub(crate) struct Terminal(DefaultTerminal);

impl Terminal {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// It is none, or does not do what is asked.
    pub(crate) fn take() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }

    /// Draws on it.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        self.0.draw(draw).map(drop)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // There is nobody to tell, and nothing better to try.
        let _ = ratatui::try_restore();
    }
}

/// The signals that tell a screen to go: their default would leave the terminal as the screen needs it.
pub(crate) struct Told([Signal; 3]);

impl Told {
    /// Listens from now on, within a runtime.
    ///
    /// # Errors
    /// The system does not let it.
    pub(crate) fn listen() -> io::Result<Self> {
        let [terminate, interrupt, hang_up] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self([terminate?, interrupt?, hang_up?]))
    }

    /// Waits for one of them.
    pub(crate) async fn wait(&mut self) {
        let [terminate, interrupt, hang_up] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}
