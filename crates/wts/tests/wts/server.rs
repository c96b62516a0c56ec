//! A server as a process.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// `wts serve`; killed when it is dropped.
pub(crate) struct Server {
    process: Child,
    address: String,
    /// What it logs, where somebody reads that.
    log: Option<Mutex<BufReader<ChildStderr>>>,
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

    /// In memory, over TLS, with what it logs at hand.
    pub(crate) fn encrypted(certificate: &str, key: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        command.args(["serve", "--dev", "--volatile", "--listen", "127.0.0.1:0", "--log", "info"]);
        command.args(["--tls-cert", certificate, "--tls-key", key]).stderr(Stdio::piped());
        Self::spawn(&mut command)
    }

    fn serve(options: &[&OsStr]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--log", "off"]).args(options);
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("wts runs");
        let mut line = String::new();
        let out = process.stdout.as_mut().expect("its output is piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let (_, address) = line.trim().split_once("://").expect("it says where");
        let log = process.stderr.take().map(|log| Mutex::new(BufReader::new(log)));
        Self { process, address: address.to_owned(), log }
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
        self.signal("TERM");
    }

    /// What somebody does who has written its files anew.
    pub(crate) fn hang_up(&self) {
        self.signal("HUP");
    }

    fn signal(&self, name: &str) {
        let told = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.process.id())).status();
        assert!(told.expect("there is a shell").success());
    }

    /// Reads its log up to a line with this text.
    pub(crate) fn says(&self, text: &str) {
        let mut log = self.log.as_ref().expect("it is piped").lock().expect("nobody panicked");
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(log.read_line(&mut line).expect("it is text"), 0, "it ended without `{text}`");
        }
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
