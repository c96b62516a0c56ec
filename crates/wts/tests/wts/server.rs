//! A server as a process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// `wts serve` on a directory; killed when it is dropped.
pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    pub(crate) fn start(directory: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_wts"))
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--log", "off", "--data"])
            .arg(directory)
            .stdout(Stdio::piped())
            .spawn()
            .expect("wts runs");
        let mut line = String::new();
        let out = process.stdout.as_mut().expect("its output is piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("it says where").to_owned();
        Self { process, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What an orchestrator does first.
    pub(crate) fn terminate(&self) {
        let told = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", self.process.id())).status();
        assert!(told.expect("there is a shell").success());
    }

    /// How it ends, and how long that takes from now on.
    pub(crate) fn end(&mut self) -> (ExitStatus, Duration) {
        let started = Instant::now();
        let ended = self.process.wait().expect("it ends");
        (ended, started.elapsed())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
