//! What pairing costs a ticket, next to the sorting that it cannot do without.
//!
//! `cargo bench -p matchmaker --bench pairing -- [--only NAME] [--json]`. Time is that of the thread on a
//! processor, and the sizes take turns, so that a busy machine slows all alike.

// A bench is a program with a clock and a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use matchmaker::{Policy, Ticket, TicketContent, TicketId, TimeControlPlace, pair};
use rustix::time::{ClockId, clock_gettime};

/// The allocator of the server, which keeps what a long pairing gives back for the next one.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rounds of which the median counts; odd, so that it is one of them, and so many that a neighbour who fills the
/// shared cache for a while does not decide.
const ROUNDS: usize = 51;

/// The length of a queue, and how many of that length a round pairs. All sizes have as many tickets in all, so
/// that a pairing of any size begins with tickets that are not in the caches, as when pools wait a second for
/// their turn.
const SIZES: [(&str, usize, usize); 3] =
    [("pairing_1k", 1_000, 100), ("pairing_10k", 10_000, 10), ("pairing_100k", 100_000, 1)];

/// The figure that compares the two longest queues.
const GROWTH: &str = "pairing_growth";

/// What the growth may be: ten times the tickets, and a fifth for sorting them.
const GROWTH_MAX: f64 = 12.0;

/// When the queues are paired, ms.
const NOW_MS: u64 = 1_000_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pairing: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut only = None;
    let mut json = false;
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo says so itself.
            "--bench" => {}
            "--json" => json = true,
            "--only" => only = Some(args.next().ok_or("--only needs a name")?),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == "pairing" || only == name);
    let (figures, growth) = measure()?;
    for (figure, (name, ..)) in figures.iter().zip(SIZES) {
        if wanted(name) {
            figure.print(name, json);
        }
    }
    if wanted(GROWTH) {
        growth.print(GROWTH, json);
    }
    Ok(())
}

/// One figure and what it is compared with.
struct Measure {
    value: f64,
    floor: f64,
    unit: &'static str,
    conditions: String,
}

impl Measure {
    fn print(&self, name: &str, json: bool) {
        let Self { value, floor, unit, conditions } = self;
        let ratio = floor / value;
        if json {
            println!(
                r#"{{"name":"{name}","value":{value:.1},"unit":"{unit}","floor":{floor:.1},"ratio":{ratio:.2},"conditions":"{conditions}"}}"#
            );
        } else {
            println!("{name}: {value:.1} {unit}, floor {floor:.1}, {ratio:.2} of it ({conditions})");
        }
    }
}

/// For each size ns a ticket, over sorting the same tickets by age and by rating; and the growth.
fn measure() -> Result<(Vec<Measure>, Measure), Box<dyn Error>> {
    let policy = Policy::default();
    let mut draws = Draws(1);
    let mut pools = Vec::new();
    for (_, length, count) in SIZES {
        pools.push((0..count).map(|_| queue(length, &mut draws)).collect::<Result<Vec<_>, _>>()?);
    }
    let mut paired = vec![Vec::new(); SIZES.len()];
    let mut sorted = vec![Vec::new(); SIZES.len()];
    for _ in 0..ROUNDS {
        for (index, queues) in pools.iter().enumerate() {
            paired[index].push(ns_a_ticket(queues, |queue| pair(queue, NOW_MS, &policy).is_ok()));
            sorted[index].push(ns_a_ticket(queues, sort));
        }
    }
    let (mut figures, growth) = (Vec::new(), growth(&paired));
    for ((queues, paired), sorted) in pools.iter().zip(paired).zip(sorted) {
        let value = median(paired);
        let queue = &queues[0];
        let pairs = pair(queue, NOW_MS, &policy)?.pairs.len();
        figures.push(Measure {
            value,
            floor: median(sorted),
            unit: "ns",
            conditions: format!(
                "a ticket, CPU time; {} waiting, {} of them paired, {:.1} ms in all; floor: sorting by age and by \
                 rating; median of {ROUNDS} interleaved rounds",
                queue.len(),
                2 * pairs,
                value * queue.len() as f64 / 1e6,
            ),
        });
    }
    Ok((figures, growth))
}

/// How much longer 100,000 tickets take than 10,000: for each round, as those two were measured side by side.
fn growth(paired: &[Vec<f64>]) -> Measure {
    let [.., (_, fewer, _), (_, more, _)] = SIZES;
    let [.., few, many] = paired else { unreachable!("there are figures for each size") };
    let grown = few.iter().zip(many).map(|(few, many)| many * more as f64 / (few * fewer as f64));
    Measure {
        value: median(grown.collect()),
        floor: GROWTH_MAX,
        unit: "times",
        conditions: format!(
            "{more} waiting over {fewer}; floor: the most it may be; median of {ROUNDS} rounds"
        ),
    }
}

fn ns_a_ticket<T>(queues: &[Vec<Ticket>], work: impl Fn(&[Ticket]) -> T) -> f64 {
    let start = cpu_ns();
    for queue in queues {
        black_box(work(black_box(queue)));
    }
    let tickets: usize = queues.iter().map(Vec::len).sum();
    (cpu_ns() - start) / tickets as f64
}

/// What this thread has used of a processor.
fn cpu_ns() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 * 1e9 + used.tv_nsec as f64
}

type ByAge = Vec<(u64, TicketId, i32)>;
type ByRating = Vec<(i32, u32)>;

fn sort(queue: &[Ticket]) -> (ByAge, ByRating) {
    let mut by_age: ByAge =
        queue.iter().map(|ticket| (ticket.created_ms(), ticket.id(), ticket.rating_points())).collect();
    by_age.sort_unstable();
    let mut by_rating: ByRating = (0..).zip(&by_age).map(|(rank, (_, _, points))| (*points, rank)).collect();
    by_rating.sort_unstable();
    (by_age, by_rating)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A queue whose last pairing was long ago: ratings like a rating list's, up to a minute and a half of waiting,
/// one to three of four time controls, every fourth ticket with exclusions and every second with recent opponents.
fn queue(count: usize, draws: &mut Draws) -> Result<Vec<Ticket>, Box<dyn Error>> {
    (0..count)
        .map(|number| {
            let rating: i32 = (0..6).map(|_| draws.below(400) as i32).sum();
            let excluded = if draws.below(4) == 0 { 3 } else { 0 };
            let met = if draws.below(2) == 0 { 5 } else { 0 };
            let mut others = |some: usize| (0..some).map(|_| player(draws.below(count))).collect::<Vec<_>>();
            let (exclusions, recent_opponents) = (others(excluded), others(met));
            let mut id = [0; 16];
            id[..8].copy_from_slice(&draws.next().to_be_bytes());
            id[8..].copy_from_slice(&(number as u64).to_be_bytes());
            Ok(Ticket::new(TicketContent {
                id: TicketId::from_bytes(id),
                player: player(number),
                created_ms: NOW_MS - draws.below(90_000) as u64,
                time_controls: (0..=draws.below(3))
                    .filter_map(|_| TimeControlPlace::new(draws.below(4) as u8))
                    .collect(),
                rating_points: 300 + rating,
                deviation_points: 45 + draws.below(305) as u32,
                exclusions,
                recent_opponents,
            })?)
        })
        .collect()
}

fn player(number: usize) -> String {
    format!("players/{number:08}")
}

/// SplitMix64: fast, seeded, and good enough to draw players.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.next() >> 32) as usize * count) >> 32
    }
}
