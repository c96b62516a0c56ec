//! The file of API keys: who holds them, and their hashes. A key itself is shown once, when it is made.
//!
//! A line a key: what it is for (`backend` or `operator`), its holder's name, its id, when it was made and until
//! when it is taken (both ms since 1970, `-`: without end), and the SHA-256 of the key. Empty lines and those that
//! begin with `#` are passed over.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use clap::ValueEnum;
use middleware::{ApiKeys, BackendPrincipal, OperatorPrincipal, Principal};

use crate::hexadecimal;

/// The name of the file in a data directory.
const FILE_NAME: &str = "api-keys";

/// The first line of a file.
const HEADER: &str = "# API keys of What the Shell: KIND NAME ID MADE UNTIL SHA256";

/// The longest file that is read, bytes: some thousand keys. Every call of a back end looks at all of them.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Hashes of random keys tell nothing, and the server may run as another user than whoever makes a key.
const MODE: u32 = 0o644;

/// What every key begins with, so that it is recognised where it must not be, as in a repository.
const KEY_PREFIX: &str = "wts_";

/// Random bytes of a key, and of its id.
const SECRET_BYTES: usize = 32;
const ID_BYTES: usize = 4;

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// A game's own server: acts for any player it names
    Backend,
    /// Someone who runs the server
    Operator,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Operator => "operator",
        }
    }
}

/// A key, without itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ApiKey {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) id: String,
    /// Ms since 1970.
    pub(crate) made_ms: u64,
    /// From when it is taken no more, ms since 1970.
    pub(crate) until_ms: Option<u64>,
    digest: [u8; 32],
}

impl ApiKey {
    /// A new key with its secret.
    pub(crate) fn make(kind: Kind, name: &str, made_ms: u64, until_ms: Option<u64>) -> (Self, String) {
        let id = hexadecimal::encode(&rand::random::<[u8; ID_BYTES]>());
        let secret = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>());
        let text = format!("{KEY_PREFIX}{id}_{secret}");
        let digest = ApiKeys::digest(text.as_bytes());
        (Self { kind, name: name.to_owned(), id, made_ms, until_ms, digest }, text)
    }

    fn principal(&self) -> Principal {
        match self.kind {
            Kind::Backend => Principal::Backend(BackendPrincipal { name: self.name.as_str().into() }),
            Kind::Operator => Principal::Operator(OperatorPrincipal { name: self.name.clone() }),
        }
    }
}

impl FromStr for ApiKey {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> anyhow::Result<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, name, id, made, until, digest] = words[..] else { bail!("it has six words") };
        let kind = [Kind::Backend, Kind::Operator].into_iter().find(|known| known.name() == kind);
        ensure!(wire::is_id(name) && wire::is_id(id), "names and ids are 1 to 64 of A-Z a-z 0-9 . _ -");
        Ok(Self {
            kind: kind.context("a key is a `backend`'s or an `operator`'s")?,
            name: name.to_owned(),
            id: id.to_owned(),
            made_ms: made.parse().context("MADE is ms since 1970")?,
            until_ms: match until {
                "-" => None,
                until => Some(until.parse().context("UNTIL is ms since 1970, or -")?),
            },
            digest: parse_digest(digest)?,
        })
    }
}

/// A SHA-256 in hexadecimal digits.
pub(crate) fn parse_digest(hex: &str) -> anyhow::Result<[u8; 32]> {
    let digest = hexadecimal::decode(hex).and_then(|digest| digest.try_into().ok());
    digest.context("a SHA-256 has 64 digits")
}

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct ApiKeyFile(PathBuf);

impl ApiKeyFile {
    /// The one that is named, or that of a data directory.
    pub(crate) fn of(named: Option<&Path>, data: &Path) -> Self {
        Self(named.map_or_else(|| data.join(FILE_NAME), Path::to_owned))
    }

    /// The one at this path.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What is in the file; none if it is not there.
    ///
    /// # Errors
    /// It cannot be read, is too long, or a line is no key.
    pub(crate) fn load(&self) -> anyhow::Result<Option<Vec<ApiKey>>> {
        let text = match fs::metadata(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(found) if found.len() > FILE_BYTES_MAX => {
                bail!("{} is longer than {FILE_BYTES_MAX} bytes", self.0.display())
            }
            _ => fs::read_to_string(&self.0).with_context(|| self.0.display().to_string())?,
        };
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let read = lines
            .map(|(number, line)| line.parse().with_context(|| format!("{}:{number}", self.0.display())));
        read.collect::<anyhow::Result<Vec<_>>>().map(Some)
    }

    /// Changes what is in the file: whole or not at all, and not while another process does.
    ///
    /// # Errors
    /// As [`Self::load`]; it cannot be written; `change` refuses.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<ApiKey>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let directory = match self.0.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        let locked = File::open(directory).with_context(|| directory.display().to_string())?;
        locked.lock().with_context(|| directory.display().to_string())?;
        let mut keys = self.load()?.unwrap_or_default();
        let changed = change(&mut keys)?;
        let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
        writeln!(fresh, "{HEADER}")?;
        for ApiKey { kind, name, id, made_ms, until_ms, digest } in &keys {
            let until = until_ms.map_or_else(|| "-".to_owned(), |until_ms| until_ms.to_string());
            writeln!(fresh, "{} {name} {id} {made_ms} {until} {}", kind.name(), hexadecimal::encode(digest))?;
        }
        fresh.as_file().set_permissions(Permissions::from_mode(MODE))?;
        fresh.as_file().sync_all()?;
        fresh.persist(&self.0)?;
        locked.sync_all()?;
        Ok(changed)
    }
}

/// These keys beside those that are there already.
pub(crate) fn with(keys: ApiKeys, more: &[ApiKey]) -> ApiKeys {
    more.iter().fold(keys, |keys, key| keys.with(key.principal(), key.digest, key.until_ms))
}
