//! What the rounds come to.

use crate::workload::Round;

/// One side's rounds.
#[derive(Default)]
pub(crate) struct Samples {
    calls_per_s: Vec<f64>,
    cpu_us: Vec<f64>,
    redis_cpu_us: Vec<f64>,
    redis_scripts: Vec<f64>,
    redis_commands: Vec<f64>,
}

/// What a round took of those who serve it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// The server's CPU time, µs.
    pub(crate) cpu_us: f64,
    /// That of the Redis behind it, µs.
    pub(crate) redis_cpu_us: f64,
    /// Scripts that it ran.
    pub(crate) redis_scripts: f64,
    /// Commands that it was sent, those included.
    pub(crate) redis_commands: f64,
}

impl Samples {
    /// Adds a round.
    pub(crate) fn add(&mut self, round: &Round, spent: Spent) {
        let calls = round.calls as f64;
        self.calls_per_s.push(calls / round.took.as_secs_f64());
        self.cpu_us.push(spent.cpu_us / calls);
        self.redis_cpu_us.push(spent.redis_cpu_us / calls);
        self.redis_scripts.push(spent.redis_scripts / calls);
        self.redis_commands.push(spent.redis_commands / calls);
    }

    /// Calls a second.
    pub(crate) fn rate(&self, floor: &Self, conditions: &str) -> Figure {
        let what = "ratio = value / floor of paired rounds, higher is better";
        Figure::new("calls/s", &self.calls_per_s, &floor.calls_per_s, format!("{what}; {conditions}"))
    }

    /// The server's CPU time a call.
    pub(crate) fn cpu(&self, floor: &Self, conditions: &str) -> Figure {
        let what = "server's user and kernel time a call; ratio = value / floor, lower is better";
        Figure::new("us", &self.cpu_us, &floor.cpu_us, format!("{what}; {conditions}"))
    }

    /// The Redis's CPU time a call.
    pub(crate) fn redis_cpu(&self, floor: &Self, conditions: &str) -> Figure {
        let what = "Redis's user and kernel time a call; ratio = value / floor, lower is better";
        Figure::new("us", &self.redis_cpu_us, &floor.redis_cpu_us, format!("{what}; {conditions}"))
    }

    /// Scripts that the Redis ran a call, whoever sent them and why.
    pub(crate) fn redis_scripts(&self, floor: &Self, conditions: &str) -> Figure {
        let what = "scripts that Redis ran a call, background included; ratio = value / floor";
        Figure::new("scripts", &self.redis_scripts, &floor.redis_scripts, format!("{what}; {conditions}"))
    }

    /// Commands that the Redis was sent a call, likewise.
    pub(crate) fn redis_commands(&self, floor: &Self, conditions: &str) -> Figure {
        let what = "commands sent to Redis a call, background included; ratio = value / floor";
        Figure::new("commands", &self.redis_commands, &floor.redis_commands, format!("{what}; {conditions}"))
    }
}

/// One line of the bench: medians, and the median of the paired ratios.
pub(crate) struct Figure {
    unit: &'static str,
    value: f64,
    floor: f64,
    ratio: f64,
    conditions: String,
}

impl Figure {
    /// The figure of rounds in which `values` and `floors` were measured in turns.
    pub(crate) fn new(unit: &'static str, values: &[f64], floors: &[f64], conditions: String) -> Self {
        let ratios = values.iter().zip(floors).map(|(value, floor)| value / floor).collect();
        Self {
            unit,
            value: median(values.to_vec()),
            floor: median(floors.to_vec()),
            ratio: median(ratios),
            conditions,
        }
    }

    pub(crate) fn print(&self, name: &str, json: bool) {
        let Self { unit, value, floor, ratio, conditions } = self;
        if json {
            println!(
                r#"{{"name":"{name}","value":{value:.2},"unit":"{unit}","floor":{floor:.2},"ratio":{ratio:.3},"conditions":"{conditions}"}}"#
            );
        } else {
            println!("{name}: {value:.2} {unit}, floor {floor:.2}, ratio {ratio:.3} ({conditions})");
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
