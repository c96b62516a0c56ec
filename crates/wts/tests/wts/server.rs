//! A server as a process.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// `wts serve`; killed when it is dropped.
pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// On a directory of its own.
    pub(crate) fn start(directory: &Path) -> Self {
        Self::serve(&["--data".as_ref(), directory.as_os_str()])
    }

    /// A node of a store that it shares with others, which all have this file of keys.
    pub(crate) fn over(store: &str, keys: &Path) -> Self {
        Self::serve(&["--store".as_ref(), store.as_ref(), "--keys".as_ref(), keys.as_os_str()])
    }

    fn serve(options: &[&OsStr]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_wts"))
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--log", "off"])
            .args(options)
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

    /// Ends it as a crash does.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
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
