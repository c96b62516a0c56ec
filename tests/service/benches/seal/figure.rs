//! What the rounds come to.

use crate::workload::Round;

/// One side's rounds.
#[derive(Default)]
pub(crate) struct Samples {
    calls_per_s: Vec<f64>,
    cpu_us: Vec<f64>,
}

impl Samples {
    /// Adds a round in which the server took `cpu_us` of CPU time.
    pub(crate) fn add(&mut self, round: &Round, cpu_us: f64) {
        let calls = round.calls as f64;
        self.calls_per_s.push(calls / round.took.as_secs_f64());
        self.cpu_us.push(cpu_us / calls);
    }

    /// Calls a second: `name`.
    pub(crate) fn rate(&self, name: &str, floor: &Self, conditions: &str) -> Figure {
        let what = "ratio = value / floor of paired rounds, higher is better";
        Figure::new(name, "calls/s", &self.calls_per_s, &floor.calls_per_s, format!("{what}; {conditions}"))
    }

    /// The server's CPU time a call: `name` with `_cpu` after it.
    pub(crate) fn cpu(&self, name: &str, floor: &Self, conditions: &str) -> Figure {
        let what = "server's user and kernel time a call; ratio = value / floor, lower is better";
        let name = format!("{name}_cpu");
        Figure::new(&name, "us", &self.cpu_us, &floor.cpu_us, format!("{what}; {conditions}"))
    }
}

/// One line of the bench: medians, and the median of the paired ratios.
pub(crate) struct Figure {
    name: String,
    unit: &'static str,
    value: f64,
    floor: f64,
    ratio: f64,
    conditions: String,
}

impl Figure {
    fn new(name: &str, unit: &'static str, values: &[f64], floors: &[f64], conditions: String) -> Self {
        let ratios = values.iter().zip(floors).map(|(value, floor)| value / floor).collect();
        Self {
            name: name.to_owned(),
            unit,
            value: median(values.to_vec()),
            floor: median(floors.to_vec()),
            ratio: median(ratios),
            conditions,
        }
    }

    /// Whether `only` asks for this figure, or for one that this one stands beside.
    pub(crate) fn is_asked_for(&self, only: Option<&str>) -> bool {
        only.is_none_or(|only| {
            self.name.strip_prefix(only).is_some_and(|rest| rest.is_empty() || rest == "_cpu")
        })
    }

    pub(crate) fn print(&self, json: bool) {
        let Self { name, unit, value, floor, ratio, conditions } = self;
        if json {
            println!(
                r#"{{"name":"{name}","value":{value:.1},"unit":"{unit}","floor":{floor:.1},"ratio":{ratio:.3},"conditions":"{conditions}"}}"#
            );
        } else {
            println!("{name}: {value:.1} {unit}, floor {floor:.1}, ratio {ratio:.3} ({conditions})");
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
