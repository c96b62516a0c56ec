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
