//! `wts verify FILE`: whether the transcript of a match holds, and what it proves.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use rules::{PerSeat, Seat};
use serde_json::json;
use whattheshell::sealing::{PublicKey, ServerKey};
use whattheshell::{Error, Transcript, VerifiedMatch, Violation, server_keys, v1};

use crate::dial::Dial;
use crate::words;

/// The longest file that is read, bytes: the longest match there is takes less than 2 MiB.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Options of `wts verify`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A `whattheshell.v1.Transcript` in the binary encoding, as the clients write it
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// A key that you know the service by, ID=PUBLIC KEY in hex; may be repeated. The service's
    /// signature must then be there and hold
    #[arg(long = "key", value_name = "ID=HEX")]
    keys: Vec<String>,

    /// Know the service by the keys that this server lists
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    #[command(flatten)]
    dial: Dial,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Verifies. Ends with 1 if a claim does not hold.
///
/// # Errors
/// The file is no transcript, a key is malformed, or the server does not answer.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let transcript = read(&arguments.file)?;
    let keys = known_keys(arguments)?;
    let result = match &keys {
        Some(keys) => transcript.verify_signed(keys),
        None => transcript.verify(),
    };
    let message = transcript.message();
    // Nobody may read all of it, as `head` does; the verdict stays.
    let mut out = Vec::new();
    let code = match result {
        Ok(verified) => {
            let proof = Proof { message, verified: &verified, keys: keys.as_deref() };
            if arguments.json {
                writeln!(out, "{}", proof.json())?
            } else {
                proof.print(&mut out)?
            }
            ExitCode::SUCCESS
        }
        Err(Error::Verification(violation)) => {
            refuse(&mut out, message, &violation, arguments.json)?;
            ExitCode::FAILURE
        }
        Err(error) => return Err(error.into()),
    };
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(&out).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code),
    }
}

/// The transcript in a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Transcript> {
    let cannot = || format!("{} cannot be read", path.display());
    let file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        bail!("{} is longer than {FILE_BYTES_MAX} bytes: it is no transcript", path.display());
    }
    Transcript::from_bytes(&bytes).with_context(|| {
        format!("{} is no whattheshell.v1.Transcript in the binary encoding", path.display())
    })
}

/// The keys to know the service by; none if the caller names no source of any.
fn known_keys(arguments: &Arguments) -> anyhow::Result<Option<Vec<ServerKey>>> {
    if arguments.keys.is_empty() && arguments.server.is_none() {
        return Ok(None);
    }
    let mut keys = arguments.keys.iter().map(|key| parse_key(key)).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(url) = &arguments.server {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let info = runtime.block_on(async {
            Ok::<_, anyhow::Error>(arguments.dial.connect(url).await?.server_info().await?)
        });
        keys.extend(server_keys(&info.with_context(|| format!("{url} does not tell its keys"))?));
    }
    Ok(Some(keys))
}

/// `ID=HEX`.
fn parse_key(text: &str) -> anyhow::Result<ServerKey> {
    let wrong = || format!("--key {text}: it is ID=HEX, 64 hexadecimal digits after the id");
    let (id, hex) = text.split_once('=').with_context(wrong)?;
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let digits = pairs.iter().map(|pair| {
        let pair =
            std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    let bytes: Vec<u8> = digits.collect::<Option<_>>().filter(|_| rest.is_empty()).with_context(wrong)?;
    let public_key = PublicKey::try_from(&bytes[..]).with_context(wrong)?;
    Ok(ServerKey { id: id.parse().with_context(wrong)?, public_key })
}

/// Says which claim does not hold: the first one.
fn refuse(
    out: &mut impl Write,
    message: &v1::Transcript,
    violation: &Violation,
    as_json: bool,
) -> std::io::Result<()> {
    let name = message.r#match.escape_debug();
    if as_json {
        let refused = json!({
            "turn": violation.turn,
            "seat": violation.seat.map(|seat| seat.to_string()),
            "claim": violation.to_string(),
        });
        return writeln!(out, "{}", json!({"match": message.r#match, "verified": false, "refused": refused}));
    }
    writeln!(out, "{name}: refused\n  {violation}")
}

/// What a transcript that holds shows.
struct Proof<'a> {
    message: &'a v1::Transcript,
    verified: &'a VerifiedMatch,
    /// The keys that the service's signature was checked with.
    keys: Option<&'a [ServerKey]>,
}

impl Proof<'_> {
    /// How many commitments each player signed, of those who have a key.
    fn signed(&self) -> PerSeat<Option<usize>> {
        let count = |of: fn(&v1::ResolvedTurn) -> Option<&v1::SealedOpening>| {
            let sides = self.verified.turns.iter().filter_map(|turn| of(&turn.message));
            sides.filter(|side| !side.player_signature.is_empty()).count()
        };
        let has_key =
            |seat: &Option<v1::MatchSeat>| seat.as_ref().is_some_and(|seat| !seat.public_key.is_empty());
        PerSeat {
            black: has_key(&self.message.black).then(|| count(|turn| turn.black.as_ref())),
            white: has_key(&self.message.white).then(|| count(|turn| turn.white.as_ref())),
        }
    }

    /// The key that signed the transcript, once that was checked.
    fn server_key(&self) -> Option<&ServerKey> {
        self.keys?.iter().find(|key| key.id.as_str() == self.message.key_id)
    }

    fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        let turns = self.verified.turns.len();
        writeln!(out, "{}: verified", self.verified.name)?;
        match &self.verified.finish {
            Some(finish) => writeln!(out, "  {turns} turns; {}", words::finish(finish))?,
            None => writeln!(out, "  {turns} turns; still played")?,
        }
        writeln!(out, "  every commitment opens, every move is legal, the hashes form one chain up to")?;
        writeln!(out, "  {}", self.verified.last_hash)?;
        for (seat, signed) in self.signed().iter() {
            self.print_player(out, seat, *signed)?;
        }
        match (self.server_key(), self.message.signature.is_empty()) {
            (Some(key), _) => {
                writeln!(out, "  signed by the service with its key {} ({})", key.id, key.public_key)
            }
            (None, true) => writeln!(out, "  not signed by the service"),
            (None, false) => writeln!(
                out,
                "  the service's signature, by its key {}, was not checked: name the key by --key or --server",
                self.message.key_id.escape_debug(),
            ),
        }
    }

    fn print_player(&self, out: &mut impl Write, seat: Seat, signed: Option<usize>) -> std::io::Result<()> {
        let party = match seat {
            Seat::Black => &self.message.black,
            Seat::White => &self.message.white,
        };
        let player = party.as_ref().map(|party| party.player.escape_debug().to_string()).unwrap_or_default();
        let turns = self.verified.turns.len();
        match signed {
            Some(count) => {
                writeln!(out, "  {seat}, {player}, signed {count} of {turns} commitments with his own key")
            }
            None => writeln!(out, "  {seat}, {player}, has no key of his own"),
        }
    }

    fn json(&self) -> serde_json::Value {
        let finish = self.verified.finish.as_ref();
        let PerSeat { black, white } = self.signed();
        json!({
            "match": self.verified.name,
            "verified": true,
            "turns": self.verified.turns.len(),
            "result": finish.map(|finish| finish.message.result().as_str_name()),
            "reason": finish.map(|finish| finish.message.reason().as_str_name()),
            "last_hash": self.verified.last_hash.to_string(),
            "commitments_signed": {"black": black, "white": white},
            "signed_by": self.server_key().map(|key| key.id.as_str()),
        })
    }
}
