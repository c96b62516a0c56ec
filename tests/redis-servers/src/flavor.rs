//! Which server: Redis or Valkey.

use std::path::{Path, PathBuf};

use crate::Error;

/// The servers that the store must work with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flavor {
    /// Debian's Redis 7.0: the oldest that is supported.
    Redis,
    /// Valkey 9.
    Valkey,
}

impl Flavor {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// In lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Valkey => "valkey",
        }
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// The server's program: where `cargo xtask set-up` puts it, else of the `PATH`.
    ///
    /// # Errors
    /// [`Error::Missing`] if it is in neither place.
    pub fn binary(self) -> Result<PathBuf, Error> {
        let program = self.program();
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(match self {
            Self::Redis => "redis/bin",
            Self::Valkey => "valkey/bin",
        });
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::iter::once(own)
            .chain(std::env::split_paths(&path))
            .map(|folder| folder.join(program))
            .find(|candidate| candidate.is_file())
            .ok_or(Error::Missing { program, command: "cargo xtask set-up" })
    }
}
