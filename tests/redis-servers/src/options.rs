//! How servers are configured.

/// Settings beyond those that every server of a test has: `noeviction`, no snapshots, no password.
///
/// ```
/// use redis_servers::Options;
///
/// let options = Options::new().append_only("everysec").min_replicas_to_write(1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) proxied: bool,
    settings: Vec<(String, String)>,
}

impl Options {
    /// Nothing special: no file, so a server that is killed has forgotten everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps an append-only file, synchronised `always`, `everysec` or `no`.
    #[must_use]
    pub fn append_only(self, fsync: &str) -> Self {
        self.set("appendonly", "yes").set("appendfsync", fsync)
    }

    /// A primary refuses writes while fewer replicas than this follow it.
    #[must_use]
    pub fn min_replicas_to_write(self, replicas: u16) -> Self {
        self.set("min-replicas-to-write", &replicas.to_string())
    }

    /// Puts a [`FaultProxy`](crate::FaultProxy) in front of each server, and makes the servers name the proxies'
    /// addresses wherever they name their own: to sentinels, to replicas, in redirections. So clients reach a
    /// server through its proxy only, and replicas their primary too; the cluster bus does not go through it.
    #[must_use]
    pub fn behind_proxies(mut self) -> Self {
        self.proxied = true;
        self
    }

    /// Any line of the configuration file. The last value of a setting holds, also over a setting that every
    /// server of a test has.
    #[must_use]
    pub fn set(mut self, setting: &str, value: &str) -> Self {
        self.settings.push((setting.to_owned(), value.to_owned()));
        self
    }

    /// The lines of a configuration file.
    pub(crate) fn lines(&self) -> String {
        self.settings.iter().map(|(setting, value)| format!("{setting} {value}\n")).collect()
    }

    /// These settings, with others before them that they may replace.
    #[must_use]
    pub(crate) fn over(&self, defaults: &[(&str, String)]) -> Self {
        let defaults = defaults.iter().map(|(setting, value)| ((*setting).to_owned(), value.clone()));
        Self { settings: defaults.chain(self.settings.iter().cloned()).collect(), ..*self }
    }
}
