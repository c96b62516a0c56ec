//! What a server says of itself, as a process: by its options, until its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the end may take with a collector that is not there: telemetry's last export, and what a busy machine
/// adds.
const END_MAX: Duration = Duration::from_secs(8);

/// `wts serve` that tells all of itself to nobody; killed when it is dropped.
struct Told {
    process: Child,
    metrics: String,
}

impl Told {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_wts"))
            .args(["serve", "--volatile", "--listen", "127.0.0.1:0", "--log-format", "json"])
            // A port that nobody listens on.
            .args(["--metrics-listen", "127.0.0.1:0", "--otlp-endpoint", "http://127.0.0.1:9"])
            .env("OTEL_SERVICE_NAME", "marked-name")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wts runs");
        let out = BufReader::new(process.stdout.as_mut().expect("its output is piped"));
        let metrics = out.lines().map(|line| line.expect("it can be read"));
        let metrics = metrics.take(2).last().expect("it says where its metrics are");
        let address =
            metrics.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics"));
        let metrics = address.unwrap_or_else(|| panic!("{metrics}")).to_owned();
        Self { process, metrics }
    }

    /// The answer to a request.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.metrics).expect("metrics are served");
        write!(stream, "{request} HTTP/1.1\r\nhost: wts\r\nconnection: close\r\n\r\n")
            .expect("it is connected");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is answered");
        answer
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_tells_all_of_itself_and_ends_though_nobody_listens() {
    let mut told = Told::start();
    let scraped = told.ask("GET /metrics");
    assert!(scraped.starts_with("HTTP/1.1 200 "), "{scraped}");
    for part in
        ["service_name=\"marked-name\"", "wts_store_duration_seconds_bucket{", "wts_telemetry_lost_total{"]
    {
        assert!(scraped.contains(part), "{part} is missing: {scraped}");
    }
    for other in ["GET /", "POST /metrics"] {
        assert!(told.ask(other).starts_with("HTTP/1.1 404 "), "{other}");
    }
    let ended = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", told.process.id())).status();
    assert!(ended.expect("there is a shell").success());
    let began = Instant::now();
    assert!(told.process.wait().expect("it ends").success());
    assert!(began.elapsed() < END_MAX, "{:?}", began.elapsed());
    let log = told.process.stderr.take().expect("its log is piped");
    for line in BufReader::new(log).lines() {
        let line = line.expect("the log can be read");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
    }
}

#[test]
fn options_that_cannot_be_are_said_to_be_so() {
    for (option, value, why) in [
        ("--trace-ratio", "1.5", "--trace-ratio is 0 to 1"),
        ("--otlp-endpoint", "no address", "the collector's address cannot be used"),
        ("--log", "no=such=filter", "the log's filter is none"),
    ] {
        let arguments = ["serve", "--volatile", "--listen", "127.0.0.1:0", option, value];
        let refused = Command::new(env!("CARGO_BIN_EXE_wts")).args(arguments).output().expect("wts runs");
        assert!(!refused.status.success(), "{option} {value}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(why), "{refused:?}");
    }
}
