//! `wts serve` where few files may be open and many strangers connect.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use whattheshell::Client;
use wire::v1::CreateInviteRequest;

/// Descriptors that the server may have, and silent connections that come.
const DESCRIPTORS: usize = 200;
const SILENT: usize = 400;

/// Clock ticks that the server may use while the silent connections take all its places, 100 a second for
/// at least 10 s. Spinning takes a whole core.
const TICKS_MAX: u64 = 400;

/// How long anything here may take before it counts as missing.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server(Child);

impl Server {
    /// A server in development mode that may open few files, with its store in a directory.
    fn start(data: &std::path::Path) -> Self {
        let script = format!("ulimit -n {DESCRIPTORS}; exec \"$@\"");
        let mut command = Command::new("bash");
        command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_wts"), "serve", "--dev"]);
        command.args(["--listen", "127.0.0.1:0", "--log", "off", "--data"]).arg(data);
        Self(command.stdout(Stdio::piped()).spawn().expect("bash runs"))
    }

    fn address(&mut self) -> String {
        let out = self.0.stdout.as_mut().expect("its output is piped");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("it says text");
        line.trim().strip_prefix("listening on http://").expect("it says where").to_owned()
    }

    /// What it has used of the processors so far, ticks.
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it runs");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
        let used = fields.split(' ').skip(11).take(2);
        used.map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A connection that says nothing until the server closes it.
async fn silent(address: String) {
    let mut stream = TcpStream::connect(address).await.expect("the kernel takes it");
    // A reset is an end as well.
    assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0, "nobody asked anything");
}

/// Something that is to be stored.
async fn invite(client: &Client, player: &str) -> String {
    let name = format!("players/{player}");
    let inviting = async {
        let token = client.mint_token(&name).await.expect("a token").token;
        let request = CreateInviteRequest { player: name, ..Default::default() };
        client.player(&token).expect("a token").invite(request).await.expect("an invite")
    };
    let made = tokio::time::timeout(PATIENCE, inviting).await.expect("an answer in time");
    made.invite.expect("the invite").name
}

#[tokio::test]
async fn silent_connections_neither_end_the_server_nor_keep_it_busy_nor_disturb_a_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let mut server = Server::start(&data);
    let address = server.address();
    let client = Client::connect(&format!("http://{address}")).await.expect("the server answers");
    invite(&client, "ann").await;

    let ticks = server.ticks();
    let first = tokio::spawn(silent(address.clone()));
    let mut others = JoinSet::new();
    for _ in 1..SILENT {
        others.spawn(silent(address.clone()));
    }
    let invited = invite(&client, "ann").await;
    assert!(invited.starts_with("invites/"), "{invited}");
    let file = folder.path().join("backup");
    let mut backup = Command::new(env!("CARGO_BIN_EXE_wts"));
    let backup = backup.args(["store", "backup"]).arg(&file).arg("--data").arg(&data);
    assert!(backup.output().expect("wts runs").status.success(), "files can still be opened");

    // The server has then waited long enough for a word, and did little else.
    tokio::time::timeout(PATIENCE, first).await.expect("it ends in time").expect("no panic");
    let used = server.ticks() - ticks;
    assert!(used < TICKS_MAX, "{used} ticks for connections that say nothing");
    invite(&client, "ann").await;
    assert!(server.0.try_wait().expect("it is ours").is_none(), "it runs");
}
