//! What came of a scenario.

use std::time::Duration;

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
    /// Things that were made to go wrong.
    pub faults: usize,
    /// Calls of clients; a call that its client repeats by itself is one.
    pub calls: usize,
    /// Seals that were acknowledged.
    pub acknowledged: usize,
    /// Turns in which both players asked to seal at the same instant.
    pub at_once: usize,
    /// What was acknowledged or told and is gone, without a word about it.
    pub lost: usize,
    /// What happened, was decided or was told in two ways.
    pub duplicated: usize,
    /// What somebody was told of another's unresolved move.
    pub leaked: usize,
    /// Matches, streams and follow-ups that did not go on.
    pub stuck: usize,
    /// Decisions that the stamps do not lead to, and refused requests that had an effect.
    pub misjudged: usize,
    /// From a fault until a player's next acknowledged seal; half of them took less.
    pub recovery_p50: Duration,
    /// The longest of these.
    pub recovery_max: Duration,
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

    fn figures(&self) -> [(&'static str, usize); 12] {
        let ms = |duration: Duration| usize::try_from(duration.as_millis()).unwrap_or(usize::MAX);
        [
            ("seed", usize::try_from(self.seed).unwrap_or(usize::MAX)),
            ("faults", self.faults),
            ("calls", self.calls),
            ("acknowledged", self.acknowledged),
            ("at_once", self.at_once),
            ("lost", self.lost),
            ("duplicated", self.duplicated),
            ("leaked", self.leaked),
            ("stuck", self.stuck),
            ("misjudged", self.misjudged),
            ("recovery_ms_p50", ms(self.recovery_p50)),
            ("recovery_ms_max", ms(self.recovery_max)),
        ]
    }

    /// One JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        let mut object = serde_json::Map::new();
        object.insert("scenario".to_owned(), self.scenario.into());
        object.insert("server".to_owned(), self.server.into());
        object.insert("store".to_owned(), self.store.into());
        for (name, value) in self.figures() {
            object.insert(name.to_owned(), value.into());
        }
        serde_json::Value::Object(object).to_string()
    }

    /// One line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let figures = self.figures().map(|(name, value)| format!("{name} {value}"));
        format!("{:<26} {:<6} {:<20} {}", self.scenario, self.server, self.store, figures.join("  "))
    }
}
