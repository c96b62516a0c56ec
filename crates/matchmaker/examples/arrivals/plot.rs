//! A plot of what policies made of the players: one panel each, a dot a match, over the same axes.

use crate::simulation::Paired;
use crate::{Outcome, percentiles};

/// Panels beside each other, and the size of each with its margins, pixels.
const COLUMNS: usize = 3;
const PANEL_WIDTH: f64 = 300.0;
const PANEL_HEIGHT: f64 = 250.0;
const MARGIN_LEFT: f64 = 52.0;
const MARGIN_RIGHT: f64 = 14.0;
const MARGIN_TOP: f64 = 44.0;
const MARGIN_BOTTOM: f64 = 44.0;

/// Above all panels, pixels.
const TITLE_HEIGHT: f64 = 48.0;

/// The most dots of a panel. More are only black.
const DOTS_MAX: usize = 600;

/// What a panel shows at most: waiting times in seconds, gaps in points; and the step of its grid.
const WAIT_MAX_S: f64 = 120.0;
const WAIT_STEP_S: usize = 30;
const GAP_MAX_POINTS: f64 = 800.0;
const GAP_STEP_POINTS: usize = 200;

/// The inside of a panel, pixels.
const WIDTH: f64 = PANEL_WIDTH - MARGIN_LEFT - MARGIN_RIGHT;
const HEIGHT: f64 = PANEL_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM;

pub(crate) fn svg(outcomes: &[Outcome], arrivals_per_minute: f64) -> String {
    let width = PANEL_WIDTH * COLUMNS as f64;
    let height = TITLE_HEIGHT + PANEL_HEIGHT * outcomes.len().div_ceil(COLUMNS) as f64;
    let panels: String = outcomes.iter().enumerate().map(|(nth, outcome)| panel(nth, outcome)).collect();
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"
  width="{width}" height="{height}" font-family="sans-serif" font-size="11" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
<text x="14" y="22" font-size="15">Waiting time and rating gap, {arrivals_per_minute} players a minute</text>
<text x="14" y="39" fill="#666">a dot: a match, at the wait of the player who had waited longer
(at most {DOTS_MAX} dots a panel); lines: median (solid) and 95 in 100 (dashed) of these</text>
{panels}</svg>
"##
    )
}

fn panel(nth: usize, outcome: &Outcome) -> String {
    let left = PANEL_WIDTH * (nth % COLUMNS) as f64 + MARGIN_LEFT;
    let top = TITLE_HEIGHT + PANEL_HEIGHT * (nth / COLUMNS) as f64 + MARGIN_TOP;
    let Outcome { name, made } = outcome;
    let (grid, (dots, outside), lines) = (grid(), dots(&made.matches), lines(&made.matches));
    let note = if outside == 0 { String::new() } else { format!("{outside} dots outside") };
    let (middle_x, middle_y, below) = (WIDTH / 2.0, HEIGHT / 2.0, HEIGHT + 32.0);
    format!(
        r##"<g transform="translate({left} {top})" fill="none">
<g fill="#444">{grid}</g>
<path d="{dots}" stroke="#247" stroke-opacity="0.45" stroke-width="3" stroke-linecap="round"/>
{lines}<g fill="#222"><text y="-10" font-size="13" font-weight="bold">{name}</text>
<text x="{WIDTH}" y="-10" text-anchor="end" fill="#666">{note}</text>
<text x="{middle_x}" y="{below}" text-anchor="middle">waiting time, s</text>
<text transform="translate(-38 {middle_y}) rotate(-90)" text-anchor="middle">rating gap, points</text></g>
</g>
"##
    )
}

fn x(wait_s: f64) -> f64 {
    wait_s / WAIT_MAX_S * WIDTH
}

fn y(gap_points: f64) -> f64 {
    HEIGHT - gap_points / GAP_MAX_POINTS * HEIGHT
}

fn grid() -> String {
    let waits = (0..=WAIT_MAX_S as usize).step_by(WAIT_STEP_S).map(|wait_s| {
        let (at, below) = (x(wait_s as f64), HEIGHT + 15.0);
        format!(
            r##"<path d="M{at:.1} 0V{HEIGHT}" stroke="#ddd"/>
<text x="{at:.1}" y="{below}" text-anchor="middle">{wait_s}</text>
"##
        )
    });
    let gaps = (0..=GAP_MAX_POINTS as usize).step_by(GAP_STEP_POINTS).map(|gap_points| {
        let at = y(gap_points as f64);
        let baseline = at + 4.0;
        format!(
            r##"<path d="M0 {at:.1}H{WIDTH}" stroke="#ddd"/>
<text x="-6" y="{baseline:.1}" text-anchor="end">{gap_points}</text>
"##
        )
    });
    waits.chain(gaps).collect()
}

/// A path that has a dot for each match, and how many dots would be outside. Too many matches are thinned out
/// evenly.
fn dots(matches: &[Paired]) -> (String, usize) {
    let every = matches.len().div_ceil(DOTS_MAX).max(1);
    let mut path = String::new();
    let mut outside = 0;
    for Paired { older_wait_s, gap_points } in matches.iter().step_by(every) {
        let gap_points = f64::from(*gap_points);
        if *older_wait_s <= WAIT_MAX_S && gap_points <= GAP_MAX_POINTS {
            path += &format!("M{:.1} {:.1}h0", x(*older_wait_s), y(gap_points));
        } else {
            outside += 1;
        }
    }
    (path, outside)
}

/// Where the median of both is, and what 95 in 100 are at most.
fn lines(matches: &[Paired]) -> String {
    let waits = percentiles(matches.iter().map(|paired| paired.older_wait_s).collect());
    let gaps = percentiles(matches.iter().map(|paired| f64::from(paired.gap_points)).collect());
    let lines = waits.into_iter().zip(gaps).zip(["none", "5 3"]).map(|((wait_s, gap_points), dashes)| {
        let (at_x, at_y) = (x(wait_s.min(WAIT_MAX_S)), y(gap_points.min(GAP_MAX_POINTS)));
        let path = format!("M{at_x:.1} 0V{HEIGHT}M0 {at_y:.1}H{WIDTH}");
        format!("<path d=\"{path}\" stroke=\"#c33\" stroke-dasharray=\"{dashes}\"/>\n")
    });
    lines.collect()
}
