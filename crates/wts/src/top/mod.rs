//! `wts top`: nodes, matches, calls and pools as they are, live.

mod paint;
mod poll;
mod state;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use self::poll::{Polled, Poller};
use self::state::State;
use crate::operator::{OperatorKey, SERVER_DEFAULT};
use crate::screen::Palette;
use crate::terminal::{self, Terminal, Told};

/// How often nodes are asked. What they tell of each other is as old as a heartbeat, which comes as often.
const EVERY: Duration = Duration::from_secs(1);

/// Options of `wts top`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The operators' listener of a node, http://HOST:PORT; may be repeated. Nodes that are not named are listed
    /// without what they count
    #[arg(long = "server", env = "WTS_ADMIN_SERVER", value_name = "URL", value_delimiter = ',', default_value = SERVER_DEFAULT)]
    servers: Vec<String>,

    #[command(flatten)]
    key: OperatorKey,

    /// Print one table after a second, and end
    #[arg(long)]
    once: bool,
}

/// Shows it until the person leaves.
///
/// # Errors
/// A server's address or the key is none; with --once, nobody answers.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shown = runtime.block_on(async {
        let poller = Poller::new(&arguments.key, &arguments.servers)?;
        if arguments.once {
            return once(poller).await;
        }
        if !terminal::is_there() {
            bail!("there is no terminal to draw on: --once prints one table");
        }
        watch(poller).await
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    shown.map(|()| ExitCode::SUCCESS)
}

/// Two looks, as rates need them, and one table.
async fn once(mut poller: Poller) -> anyhow::Result<()> {
    let mut state = State::default();
    let mut ticks = interval(EVERY);
    for _ in 0..2 {
        ticks.tick().await;
        state.take(poller.poll().await);
    }
    let mut out = std::io::stdout().lock();
    write!(out, "{}", state.text())?;
    out.flush()?;
    if !state.is_seen() {
        bail!("no server answers");
    }
    Ok(())
}

async fn watch(poller: Poller) -> anyhow::Result<()> {
    let mut told = Told::listen()?;
    let mut polled = spawn(poller);
    let (mut state, palette) = (State::default(), Palette::of_environment());
    let mut terminal = Terminal::take()?;
    let mut keys = EventStream::new();
    loop {
        terminal.draw(|frame| paint::paint(frame, &state, palette))?;
        tokio::select! {
            seen = polled.recv() => match seen {
                Some(seen) => state.take(seen),
                None => bail!("the looks at the servers have ended"),
            },
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) if leaves(key) => return Ok(()),
                // A terminal of another size is drawn anew.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
            () = told.wait() => return Ok(()),
        }
    }
}

/// Looks again and again, beside the screen: a server that does not answer keeps no key waiting. The next look begins
/// once the last one was taken.
fn spawn(mut poller: Poller) -> mpsc::Receiver<Polled> {
    let (sender, polled) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let seen = poller.poll().await;
            if sender.send(seen).await.is_err() {
                return;
            }
        }
    });
    polled
}

fn leaves(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_pressed = key.kind == KeyEventKind::Press;
    is_pressed
        && match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c') => is_control,
            _ => false,
        }
}
