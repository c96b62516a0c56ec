//! Nothing stays behind.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis_servers::{Flavor, Options, Single};

/// Set in the process that is to be killed.
const VICTIM: &str = "WTS_REDIS_SERVERS_VICTIM";

/// How long the kernel may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_killed_test_process_leaves_no_server_behind_and_no_files_for_long() {
    if std::env::var_os(VICTIM).is_some() {
        let single = Single::start(Flavor::Redis, &Options::new()).await.unwrap();
        writeln!(std::io::stderr(), "{VICTIM} {}", single.server().process_id().unwrap()).unwrap();
        return std::future::pending().await;
    }
    let files = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let (mut victim, server) = victim(files.path());
        let command = format!("/proc/{server}/cmdline");
        assert!(fs::read_to_string(&command).unwrap().contains("redis-server"));
        // Its own, and none of a victim before it.
        assert_eq!(fs::read_dir(files.path()).unwrap().count(), 1);

        victim.kill().unwrap();
        victim.wait().unwrap();
        // A process that only its new parent has to wait for has no command line any more.
        let gone = async {
            while fs::read_to_string(&command).is_ok_and(|line| !line.is_empty()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.expect("the server is gone");
    }
}

/// A process like this one that has started a server, and the id of that server's process.
fn victim(files: &Path) -> (Child, String) {
    let test = "servers::leftovers::a_killed_test_process_leaves_no_server_behind_and_no_files_for_long";
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .env("TMPDIR", files)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stderr.take().unwrap()).lines().map_while(Result::ok);
    let server = lines.find_map(|line| Some(line.strip_prefix(VICTIM)?.trim().to_owned()));
    (victim, server.expect("the victim's server"))
}
