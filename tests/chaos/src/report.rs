//! What came of a scenario.

/// The figures of a scenario.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which one.
    pub scenario: &'static str,
    /// Whose servers.
    pub server: &'static str,
    /// The set of servers, and when a write is acknowledged.
    pub store: &'static str,
    /// What moves and moments were drawn from.
    pub seed: u64,
    /// What is counted, each by its name.
    pub figures: Vec<(&'static str, usize)>,
    /// The promises that broke, in words; of many, some.
    pub broken: Vec<String>,
    /// What is worth knowing and breaks no promise.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.broken.is_empty()
    }

    /// One JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        let mut object = serde_json::Map::new();
        object.insert("scenario".to_owned(), self.scenario.into());
        object.insert("server".to_owned(), self.server.into());
        object.insert("store".to_owned(), self.store.into());
        object.insert("seed".to_owned(), self.seed.into());
        for (name, value) in &self.figures {
            object.insert((*name).to_owned(), (*value).into());
        }
        serde_json::Value::Object(object).to_string()
    }

    /// One line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let figures: Vec<_> = self.figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let Self { scenario, server, store, seed, .. } = self;
        format!("{scenario:<26} {server:<6} {store:<20} seed {seed}  {}", figures.join("  "))
    }
}
