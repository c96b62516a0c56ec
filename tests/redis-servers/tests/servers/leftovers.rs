//! Nothing stays behind.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use redis_servers::{Flavor, Options, Single};

/// Set in the process that is to be killed.
const VICTIM: &str = "WTS_REDIS_SERVERS_VICTIM";

/// How long the kernel may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_killed_test_process_leaves_no_server_behind() {
    if std::env::var_os(VICTIM).is_some() {
        let single = Single::start(Flavor::Redis, &Options::new()).await.unwrap();
        writeln!(std::io::stderr(), "{VICTIM} {}", single.server().process_id().unwrap()).unwrap();
        return std::future::pending().await;
    }
    let name = "servers::leftovers::a_killed_test_process_leaves_no_server_behind";
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stderr.take().unwrap()).lines();
    let server =
        lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix(VICTIM)?.trim().to_owned()));
    let process = std::path::PathBuf::from(format!("/proc/{}/cmdline", server.expect("the victim's server")));
    assert!(std::fs::read_to_string(&process).unwrap().contains("redis-server"));

    victim.kill().unwrap();
    victim.wait().unwrap();
    // A process that only its new parent has to wait for has no command line any more.
    let gone = async {
        while std::fs::read_to_string(&process).is_ok_and(|line| !line.is_empty()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("the server is gone");
}
