//! The person at a terminal without a screen, or the program at a pipe: lines, and signals to go.

use std::io::ErrorKind;

use anyhow::bail;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use crate::terminal::Told;

/// What a person said.
pub(crate) enum Said {
    /// A line, trimmed.
    Line(String),
    /// Nothing more will come: the input has ended.
    End,
    /// It is time to leave.
    Go,
}

/// Listens to stdin and to signals. Nothing is read before it is asked for, so a screen can have the
/// terminal instead.
pub(crate) struct Person {
    input: Lines<BufReader<Stdin>>,
    has_ended: bool,
    told: Told,
}

impl Person {
    /// Listens from now on, within a runtime.
    ///
    /// # Errors
    /// The system does not let it.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let input = BufReader::new(tokio::io::stdin()).lines();
        Ok(Self { input, has_ended: false, told: Told::listen()? })
    }

    /// What comes next; only a signal once the input has ended. Nothing is lost if it is not awaited to
    /// the end.
    ///
    /// # Errors
    /// The input is no text, or cannot be read.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Said> {
        tokio::select! {
            () = self.told.wait() => Ok(Said::Go),
            line = self.input.next_line(), if !self.has_ended => match line {
                Ok(Some(line)) => Ok(Said::Line(line.trim().to_owned())),
                Ok(None) => {
                    self.has_ended = true;
                    Ok(Said::End)
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => bail!("the input is no text"),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// The signals alone.
    pub(crate) fn told(&mut self) -> &mut Told {
        &mut self.told
    }
}
