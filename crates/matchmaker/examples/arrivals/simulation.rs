//! Players who arrive, wait for a match and give up, while the queue is paired every second.

use std::error::Error;

use matchmaker::{Policy, Terms, Ticket, TicketContent, TicketId, TimeControlPlace, pair};

use crate::sample::Draws;

/// Between two pairings, ms: as often as a pool pairs at least.
const TICK_MS: u64 = 1_000;

/// What passes before anything counts, ms: longer than nearly everybody waits.
const WARM_UP_MS: u64 = 10 * 60_000;

/// Ratings are normal with this mean and standard deviation, points.
const RATING_MEAN_POINTS: f64 = 1_500.0;
const RATING_SPREAD_POINTS: f64 = 300.0;

/// The part of the players who are new, and the deviations of them and of the others, points.
const NEW_PART: f64 = 0.1;
const NEW_DEVIATION_POINTS: u32 = 350;
const SETTLED_DEVIATION_POINTS: u32 = 60;

/// Who comes when, the first first.
pub(crate) struct Players {
    arrivals: Vec<Arrival>,
    end_ms: u64,
}

struct Arrival {
    ticket: Ticket,
    /// When he gives up, ms.
    leaves_ms: u64,
}

/// What a policy made of the players, from the end of the warm-up on.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) matches: Vec<Paired>,
    /// How long each player in these matches had waited, seconds.
    pub(crate) waits_s: Vec<f64>,
    /// Matches that no window allowed.
    pub(crate) past_bound: usize,
    /// Players who left without a match.
    pub(crate) gave_up: usize,
}

/// A match.
pub(crate) struct Paired {
    /// How long the one who had waited longer had, seconds.
    pub(crate) older_wait_s: f64,
    pub(crate) gap_points: u32,
}

impl Players {
    /// Players of `minutes` after the warm-up, as a Poisson process.
    pub(crate) fn draw(
        a_minute: f64,
        minutes: u64,
        patience_s: f64,
        seed: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let mut draws = Draws::new(seed);
        let end_ms = WARM_UP_MS + minutes * 60_000;
        let mut arrivals = Vec::new();
        let mut now_ms = 0.0;
        loop {
            now_ms += draws.exponential(60_000.0 / a_minute);
            if now_ms >= end_ms as f64 {
                return Ok(Self { arrivals, end_ms });
            }
            let number = arrivals.len() as u128;
            let is_new = draws.unit() <= NEW_PART;
            let points = if is_new {
                RATING_MEAN_POINTS
            } else {
                draws.normal(RATING_MEAN_POINTS, RATING_SPREAD_POINTS)
            };
            let ticket = Ticket::new(TicketContent {
                id: TicketId::from_bytes(number.to_be_bytes()),
                player: format!("players/{number}"),
                created_ms: now_ms as u64,
                time_controls: TimeControlPlace::new(0).into_iter().collect(),
                rating_points: points.round() as i32,
                deviation_points: if is_new { NEW_DEVIATION_POINTS } else { SETTLED_DEVIATION_POINTS },
                exclusions: Vec::new(),
                recent_opponents: Vec::new(),
            })?;
            let leaves_ms = (now_ms + draws.exponential(1_000.0 * patience_s)) as u64;
            arrivals.push(Arrival { ticket, leaves_ms });
        }
    }

    /// Pairs them by `policy` as they come.
    pub(crate) fn pair(&self, policy: &Policy) -> Result<Made, Box<dyn Error>> {
        let mut made = Made::default();
        let mut to_come = self.arrivals.iter().peekable();
        let mut waiting: Vec<&Arrival> = Vec::new();
        for now_ms in (TICK_MS..=self.end_ms).step_by(TICK_MS as usize) {
            while let Some(arrival) = to_come.next_if(|arrival| arrival.ticket.created_ms() <= now_ms) {
                waiting.push(arrival);
            }
            let came = waiting.len();
            waiting.retain(|arrival| arrival.leaves_ms > now_ms);
            let counts = now_ms > WARM_UP_MS;
            if counts {
                made.gave_up += came - waiting.len();
            }
            let tickets: Vec<Ticket> = waiting.iter().map(|arrival| arrival.ticket.clone()).collect();
            let pairing = pair(&tickets, now_ms, policy)?;
            for pair in pairing.pairs.iter().filter(|_| counts) {
                let waits_s = [pair.older, pair.younger].map(|ticket| ticket.waited_ms(now_ms) as f64 / 1e3);
                made.waits_s.extend(waits_s);
                made.past_bound += usize::from(pair.terms == Terms::PastBound);
                made.matches.push(Paired { older_wait_s: waits_s[0], gap_points: pair.gap_points });
            }
            let mut left: Vec<TicketId> = pairing.waiting.iter().map(|waiting| waiting.ticket.id()).collect();
            left.sort_unstable();
            waiting.retain(|arrival| left.binary_search(&arrival.ticket.id()).is_ok());
        }
        Ok(made)
    }
}
