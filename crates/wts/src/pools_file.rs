//! The pools of a server as its operator writes them down: a file of TOML with a `[[pools]]` for each.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use matchmaker::{Policy, PolicyNumbers};
use referee::{Mode, SealMode, Settings, Spectators, TimeControl};
use serde::Deserialize;
use service::{Pool, Pools};
use store::PoolName;

use crate::time_text::{ControlText, TimeText};

/// A field of a pool.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Its unit, or how it is written.
    pub(crate) unit: &'static str,
    /// What it does.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the documentation, which a test writes"))]
    pub(crate) help: &'static str,
    /// Its value in a pool, and whether the file gives it.
    value: fn(&Pool) -> String,
    is_given: fn(&Section) -> bool,
}

/// A pool of a server, and what of it was given.
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    pub(crate) given: Vec<bool>,
}

/// What the file has for one pool. What it leaves out is as in the pools of a server without a file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Section {
    name: String,
    region: Option<String>,
    mode: Option<ModeText>,
    time_controls: Option<Vec<String>>,
    start_time: Option<String>,
    spectators: Option<SpectatorsText>,
    seal_mode: Option<SealModeText>,
    reveal_time: Option<String>,
    window_start: Option<u32>,
    window_growth: Option<u32>,
    window_max: Option<u32>,
    deviation_percent: Option<u32>,
    rematch_after: Option<String>,
    bound: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    pools: Vec<Section>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum ModeText {
    Casual,
    Ranked,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum SpectatorsText {
    None,
    Live,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum SealModeText {
    ServerSealed,
    CommitReveal,
}

/// The fields of a pool, in the order of the documentation; the name comes before them.
pub(crate) const FIELDS: [Field; 13] = [
    Field {
        name: "region",
        unit: "TEXT",
        help: "The region it is meant for; clients are told",
        value: |pool| pool.region.clone(),
        is_given: |section| section.region.is_some(),
    },
    Field {
        name: "mode",
        unit: "casual or ranked",
        help: "Whether its matches change ratings",
        value: |pool| if pool.settings.mode == Mode::Ranked { "ranked" } else { "casual" }.to_owned(),
        is_given: |section| section.mode.is_some(),
    },
    Field {
        name: "time_controls",
        unit: "TIMES",
        help: "What players can ask for, 1 to 16: the time of each turn, like `30s` or `1d`, or a clock for \
               the whole match and what each turn adds, like `3m+2s`",
        value: |pool| pool.time_controls.iter().map(control_text).collect::<Vec<_>>().join(","),
        is_given: |section| section.time_controls.is_some(),
    },
    Field {
        name: "start_time",
        unit: "TIME",
        help: "How long both have to join their match; who was let down waits again, as long as he has",
        value: |pool| TimeText(pool.settings.start_ms.unwrap_or_default()).to_string(),
        is_given: |section| section.start_time.is_some(),
    },
    Field {
        name: "spectators",
        unit: "none or live",
        help: "Whether every player may watch its matches",
        value: |pool| if pool.settings.spectators == Spectators::Live { "live" } else { "none" }.to_owned(),
        is_given: |section| section.spectators.is_some(),
    },
    Field {
        name: "seal_mode",
        unit: "MODE",
        help: "`server-sealed`, or `commit-reveal`: the server learns no move before both are bound to theirs",
        value: |pool| match pool.settings.seal_mode {
            SealMode::ServerSealed => "server-sealed".to_owned(),
            SealMode::CommitReveal { .. } => "commit-reveal".to_owned(),
        },
        is_given: |section| section.seal_mode.is_some(),
    },
    Field {
        name: "reveal_time",
        unit: "TIME",
        help: "How long both have to reveal; `10s` with `commit-reveal`, and only there",
        value: |pool| match pool.settings.seal_mode {
            SealMode::ServerSealed => String::new(),
            SealMode::CommitReveal { reveal_ms } => TimeText(reveal_ms).to_string(),
        },
        is_given: |section| section.reveal_time.is_some(),
    },
    Field {
        name: "window_start",
        unit: "points",
        help: "How far from his own rating a player looks at first, to either side",
        value: |pool| pool.policy.numbers().window_start_points.to_string(),
        is_given: |section| section.window_start.is_some(),
    },
    Field {
        name: "window_growth",
        unit: "points a second",
        help: "How much further with each second that he waits",
        value: |pool| pool.policy.numbers().window_growth_points_per_s.to_string(),
        is_given: |section| section.window_growth.is_some(),
    },
    Field {
        name: "window_max",
        unit: "points",
        help: "How far at most, before the bound",
        value: |pool| pool.policy.numbers().window_max_points.to_string(),
        is_given: |section| section.window_max.is_some(),
    },
    Field {
        name: "deviation_percent",
        unit: "percent",
        help: "The part of a rating's deviation by which the window is wider: of a new player the rating says \
               little",
        value: |pool| pool.policy.numbers().deviation_percent.to_string(),
        is_given: |section| section.deviation_percent.is_some(),
    },
    Field {
        name: "rematch_after",
        unit: "TIME",
        help: "After how long somebody is good enough whom the player met lately",
        value: |pool| TimeText(pool.policy.numbers().rematch_after_ms).to_string(),
        is_given: |section| section.rematch_after.is_some(),
    },
    Field {
        name: "bound",
        unit: "TIME",
        help: "After how long the nearest one is good enough, however far",
        value: |pool| TimeText(pool.policy.numbers().bound_ms).to_string(),
        is_given: |section| section.bound.is_some(),
    },
];

/// The pools of a server: those of a file, or the ones that it has without.
pub(crate) fn pools(file: Option<&Path>) -> anyhow::Result<Pools> {
    let Some(path) = file else { return Ok(Pools::default()) };
    read(path)?.pools()
}

/// The same with where each value came from.
pub(crate) fn shown(file: Option<&Path>) -> anyhow::Result<Vec<Shown>> {
    let sections = file.map(read).transpose()?;
    let pools = sections.as_ref().map_or_else(|| Ok(Pools::default()), File::pools)?;
    let given = |at: usize, field: &Field| {
        let section = sections.as_ref().and_then(|file| file.pools.get(at));
        section.is_some_and(|section| (field.is_given)(section))
    };
    let shown = |(at, pool): (usize, &Pool)| Shown {
        name: pool.name.as_str().to_owned(),
        values: FIELDS.iter().map(|field| (field.value)(pool)).collect(),
        given: FIELDS.iter().map(|field| given(at, field)).collect(),
    };
    Ok(pools.iter().enumerate().map(shown).collect())
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--pools {} cannot be read", path.display()))?;
    parse(&text).with_context(|| format!("--pools {}", path.display()))
}

fn parse(text: &str) -> anyhow::Result<File> {
    // The error names the line and the field, and says which ones there are.
    toml::from_str(text).map_err(|error| anyhow!("{}", error.to_string().trim_end()))
}

impl File {
    fn pools(&self) -> anyhow::Result<Pools> {
        let pools = self.pools.iter().map(Section::pool).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Pools::new(pools)?)
    }
}

impl Section {
    fn pool(&self) -> anyhow::Result<Pool> {
        self.checked().with_context(|| format!("pool {}", self.name))
    }

    fn checked(&self) -> anyhow::Result<Pool> {
        Ok(Pool {
            name: PoolName::new(&self.name).map_err(|error| anyhow!("name: {error}"))?,
            region: self.region.clone().unwrap_or_default(),
            settings: self.settings()?,
            time_controls: self.time_controls()?,
            policy: self.policy()?,
        })
    }

    fn settings(&self) -> anyhow::Result<Settings> {
        let mode = match self.mode {
            None | Some(ModeText::Casual) => Mode::Casual,
            Some(ModeText::Ranked) => Mode::Ranked,
        };
        let spectators = match self.spectators {
            None | Some(SpectatorsText::None) => Spectators::None,
            Some(SpectatorsText::Live) => Spectators::Live,
        };
        let reveal_ms = time_ms("reveal_time", self.reveal_time.as_deref())?;
        let seal_mode = match (self.seal_mode, reveal_ms) {
            (Some(SealModeText::CommitReveal), reveal_ms) => {
                SealMode::CommitReveal { reveal_ms: reveal_ms.unwrap_or(Settings::REVEAL_DEFAULT_MS) }
            }
            (None | Some(SealModeText::ServerSealed), None) => SealMode::ServerSealed,
            (None | Some(SealModeText::ServerSealed), Some(_)) => {
                return Err(anyhow!("reveal_time: only with seal_mode = \"commit-reveal\"; leave it out"));
            }
        };
        let start_ms = time_ms("start_time", self.start_time.as_deref())?;
        let start_ms = Some(start_ms.unwrap_or(Pools::START_DEFAULT_MS));
        Ok(Settings { mode, spectators, seal_mode, start_ms, ..Settings::default() })
    }

    fn time_controls(&self) -> anyhow::Result<Vec<TimeControl>> {
        let Some(texts) = &self.time_controls else {
            let default = Pools::default();
            return Ok(default.iter().next().map(|pool| pool.time_controls.clone()).unwrap_or_default());
        };
        let read = |text: &String| match text.parse() {
            Ok(ControlText::Turn(turn_ms)) => Ok(TimeControl::PerTurn { turn_ms }),
            Ok(ControlText::Bank { initial_ms, increment_ms }) => {
                Ok(TimeControl::Bank { initial_ms, increment_ms })
            }
            Err(what) => Err(anyhow!("time_controls: `{text}`: {what}")),
        };
        texts.iter().map(read).collect()
    }

    fn policy(&self) -> anyhow::Result<Policy> {
        let default = PolicyNumbers::default();
        let rematch_after_ms = time_ms("rematch_after", self.rematch_after.as_deref())?;
        let bound_ms = time_ms("bound", self.bound.as_deref())?;
        Ok(Policy::new(PolicyNumbers {
            window_start_points: self.window_start.unwrap_or(default.window_start_points),
            window_growth_points_per_s: self.window_growth.unwrap_or(default.window_growth_points_per_s),
            window_max_points: self.window_max.unwrap_or(default.window_max_points),
            deviation_percent: self.deviation_percent.unwrap_or(default.deviation_percent),
            rematch_after_ms: rematch_after_ms.unwrap_or(default.rematch_after_ms),
            bound_ms: bound_ms.unwrap_or(default.bound_ms),
        })?)
    }
}

fn time_ms(field: &str, text: Option<&str>) -> anyhow::Result<Option<u64>> {
    let read = |text: &str| text.parse::<TimeText>().map_err(|what| anyhow!("{field}: `{text}`: {what}"));
    Ok(text.map(read).transpose()?.map(|time| time.0))
}

fn control_text(control: &TimeControl) -> String {
    let text = match *control {
        TimeControl::PerTurn { turn_ms } => ControlText::Turn(turn_ms),
        TimeControl::Bank { initial_ms, increment_ms } => ControlText::Bank { initial_ms, increment_ms },
    };
    text.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Pools> {
        parse(text)?.pools()
    }

    #[test]
    fn the_pools_of_a_server_without_a_file_can_be_written_down() {
        let text = "[[pools]]\nname = \"casual\"\n[[pools]]\nname = \"ranked\"\nmode = \"ranked\"\n";
        assert_eq!(read(text).unwrap(), Pools::default());
    }

    #[test]
    fn every_field_is_taken() {
        let text = r#"
            [[pools]]
            name = "slow"
            region = "eu"
            mode = "ranked"
            time_controls = ["1m30s", "1d", "3m+2s"]
            start_time = "1m"
            spectators = "live"
            seal_mode = "commit-reveal"
            reveal_time = "20s"
            window_start = 1
            window_growth = 2
            window_max = 3
            deviation_percent = 4
            rematch_after = "5s"
            bound = "6s"
        "#;
        let pools = read(text).unwrap();
        let pool = pools.iter().next().unwrap();
        let values: Vec<_> = FIELDS.iter().map(|field| (field.value)(pool)).collect();
        let expected = [
            "eu",
            "ranked",
            "1m30s,1d,3m+2s",
            "1m",
            "live",
            "commit-reveal",
            "20s",
            "1",
            "2",
            "3",
            "4",
            "5s",
            "6s",
        ];
        assert_eq!(values, expected);
        assert!(FIELDS.iter().all(|field| (field.is_given)(&parse(text).unwrap().pools[0])));
        assert!(!FIELDS.iter().any(|field| (field.is_given)(&Section::default())));
    }

    #[test]
    fn an_error_names_the_pool_and_the_field_and_says_what_to_do() {
        let cases = [
            ("start_time = \"20\"", "pool p: start_time: `20`: it is written like 30s"),
            ("start_time = \"1s\"", "start_time must be from 5000"),
            ("time_controls = [\"30\"]", "pool p: time_controls: `30`: it is the time of each turn"),
            ("time_controls = []", "pool p: it has 0 time controls"),
            ("time_controls = [\"1ms\"]", "turn_time must be from 1000"),
            ("mode = \"rated\"", "expected `casual` or `ranked`"),
            ("windows = 3", "unknown field `windows`, expected one of `name`, `region`"),
            ("window_start = 500", "pool p: window_start must be at most window_max"),
            ("rematch_after = \"2m\"", "pool p: rematch_after must be at most bound"),
            ("reveal_time = \"9s\"", "pool p: reveal_time: only with seal_mode"),
        ];
        for (line, expected) in cases {
            let error = read(&format!("[[pools]]\nname = \"p\"\n{line}\n")).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{line}: {error:#}");
        }
        let twice = read("[[pools]]\nname = \"p\"\n[[pools]]\nname = \"p\"\n").unwrap_err();
        assert!(format!("{twice:#}").contains("pool p: there are two of this name"));
        let unnamed = read("[[pools]]\nname = \"p q\"\n").unwrap_err();
        assert!(format!("{unnamed:#}").contains("name: a pool's name is 1 to 24"), "{unnamed:#}");
    }
}
