//! What a match does to the ratings of its players.

use std::f64::consts::PI;

use matchmaker::MatchScore::{self, Draw, Loss, Win};
use matchmaker::Rating;
use proptest::collection::vec;
use proptest::prelude::*;

/// Points on Glicko's scale in one on Glicko-2's.
const SCALE: f64 = 173.7178;

fn rating_of(points: u64, deviation: u64) -> Rating {
    Rating::new(points * 1_000_000, deviation * 1_000_000, 60_000_000)
}

/// The steps of Glickman's paper by their numbers, for any count of results; the new volatility is looked for by
/// halving, not as the paper and the library do. Answers points, deviation and volatility.
fn by_the_paper(player: Rating, results: &[(Rating, MatchScore)]) -> (f64, f64, f64) {
    // 2.
    let (mu, phi, sigma) =
        ((player.points() - 1500.0) / SCALE, player.deviation_points() / SCALE, player.volatility());
    // 3 and 4.
    let mut information = 0.0;
    let mut surprise = 0.0;
    for (opponent, score) in results {
        let (mu_j, phi_j) = ((opponent.points() - 1500.0) / SCALE, opponent.deviation_points() / SCALE);
        let g = 1.0 / (1.0 + 3.0 * phi_j * phi_j / (PI * PI)).sqrt();
        let expected = 1.0 / (1.0 + (-g * (mu - mu_j)).exp());
        information += g * g * expected * (1.0 - expected);
        surprise += g
            * (match score {
                Win => 1.0,
                Draw => 0.5,
                Loss => 0.0,
            } - expected);
    }
    let v = 1.0 / information;
    let delta = v * surprise;
    // 5, with the system's constant at 0.5.
    let a = (sigma * sigma).ln();
    let f = |x: f64| {
        let e = x.exp();
        let rest = phi * phi + v + e;
        e * (delta * delta - rest) / (2.0 * rest * rest) - (x - a) / (0.5 * 0.5)
    };
    // Nearest to the old one: a result that fits no rating gives `f` further zeros, far away.
    let step = if f(a) > 0.0 { 0.1 } else { -0.1 };
    let mut end = a + step;
    while (f(end) > 0.0) == (f(a) > 0.0) {
        end += step;
    }
    let (mut low, mut high) = (a.min(end), a.max(end));
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    let new_sigma = (low / 2.0).exp();
    // 6 to 8.
    let new_phi = 1.0 / (1.0 / (phi * phi + new_sigma * new_sigma) + information).sqrt();
    let new_mu = mu + new_phi * new_phi * surprise;
    (new_mu * SCALE + 1500.0, new_phi * SCALE, new_sigma)
}

fn assert_near(name: &str, actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{name} {actual}, expected {expected}");
}

fn check_by_the_paper(player: Rating, opponent: Rating, score: MatchScore) {
    let (points, deviation, volatility) = by_the_paper(player, &[(opponent, score)]);
    let after = player.after(opponent, score);
    let bounded =
        |value: f64, low: u64, high: u64, parts: f64| value.clamp(low as f64 / parts, high as f64 / parts);
    let points = bounded(points, 0, Rating::POINTS_MAX_MICRO, 1e6);
    let deviation = bounded(deviation, Rating::DEVIATION_MIN_MICRO, Rating::DEVIATION_MAX_MICRO, 1e6);
    let volatility = bounded(volatility, Rating::VOLATILITY_MIN_NANO, Rating::VOLATILITY_MAX_NANO, 1e9);
    // The library ends its search for the volatility within a millionth of a logarithm.
    assert_near("points", after.points(), points, 1e-3);
    assert_near("deviation", after.deviation_points(), deviation, 1e-3);
    assert_near("volatility", after.volatility(), volatility, 1e-6);
}

#[test]
fn a_new_player_begins_as_in_the_paper() {
    let new = Rating::default();
    assert_eq!((new.points(), new.deviation_points(), new.volatility()), (1500.0, 350.0, 0.06));
    assert_eq!(
        (new.points_micro(), new.deviation_micro(), new.volatility_nano()),
        (1_500_000_000, 350_000_000, 60_000_000)
    );
}

/// The example of the paper has three results in one period: the steps here give what it says, and each of its
/// results alone gives what the steps here say.
#[test]
fn a_match_does_what_the_paper_says() {
    let player = rating_of(1500, 200);
    let results = [(rating_of(1400, 30), Win), (rating_of(1550, 100), Loss), (rating_of(1700, 300), Loss)];
    let (points, deviation, volatility) = by_the_paper(player, &results);
    assert_near("points", points, 1464.06, 0.01);
    assert_near("deviation", deviation, 151.52, 0.005);
    assert_near("volatility", volatility, 0.05999, 0.00001);
    for (opponent, score) in results {
        check_by_the_paper(player, opponent, score);
        check_by_the_paper(opponent, player, score);
    }
    let after = player.after(results[0].0, Win);
    assert_eq!((after.rounded_points(), after.rounded_deviation_points()), (1564, 175));
}

/// A match adds doubt and takes some away. What is left after many is what the documentation says.
#[test]
fn the_deviation_of_one_who_plays_settles_at_sixty() {
    let opponent = rating_of(1500, 60);
    let deviation_after = |matches: usize| {
        let scores = [Win, Loss].into_iter().cycle().take(matches);
        scores.fold(Rating::default(), |rating, score| rating.after(opponent, score)).deviation_points()
    };
    assert_near("deviation", deviation_after(200), 60.0, 2.0);
    assert_near("deviation", deviation_after(400), deviation_after(200), 0.2);
}

#[test]
fn numbers_out_of_range_become_the_nearest_in_it() {
    let most = Rating::new(u64::MAX, u64::MAX, u64::MAX);
    assert_eq!((most.points(), most.deviation_points(), most.volatility()), (5000.0, 350.0, 0.1));
    let least = Rating::new(0, 0, 0);
    assert_eq!((least.points(), least.deviation_points(), least.volatility()), (0.0, 30.0, 0.01));
}

#[test]
fn a_ticket_gets_whole_points_the_nearest() {
    let rounded = |points_micro, deviation_micro| {
        let rating = Rating::new(points_micro, deviation_micro, 60_000_000);
        (rating.rounded_points(), rating.rounded_deviation_points())
    };
    assert_eq!(rounded(1_499_499_999, 49_500_000), (1499, 50));
    assert_eq!(rounded(1_499_500_000, 49_499_999), (1500, 49));
    assert_eq!(rounded(u64::MAX, u64::MAX), (5000, 350));
}

fn any_rating() -> impl Strategy<Value = Rating> {
    // The ends come often: what is computed there is the furthest from the ordinary.
    let points = prop_oneof![1 => Just(0), 1 => Just(u64::MAX), 4 => 0..=Rating::POINTS_MAX_MICRO];
    let deviation = prop_oneof![
        1 => Just(0),
        1 => Just(u64::MAX),
        4 => Rating::DEVIATION_MIN_MICRO..=Rating::DEVIATION_MAX_MICRO
    ];
    let volatility = prop_oneof![
        1 => Just(0),
        1 => Just(u64::MAX),
        4 => Rating::VOLATILITY_MIN_NANO..=Rating::VOLATILITY_MAX_NANO
    ];
    (points, deviation, volatility)
        .prop_map(|(points, deviation, volatility)| Rating::new(points, deviation, volatility))
}

fn any_score() -> impl Strategy<Value = MatchScore> {
    prop_oneof![Just(Win), Just(Draw), Just(Loss)]
}

/// So far from both bounds that no match reaches them: the most that one changes is 704 points.
fn inner_rating() -> impl Strategy<Value = Rating> {
    (800_000_000_u64..2_200_000_000, any_rating())
        .prop_map(|(points, other)| Rating::new(points, other.deviation_micro(), other.volatility_nano()))
}

/// The rating as far below 1500 points as this one is above.
fn mirrored(rating: Rating) -> Rating {
    Rating::new(3_000_000_000 - rating.points_micro(), rating.deviation_micro(), rating.volatility_nano())
}

const fn of_the_other(score: MatchScore) -> MatchScore {
    match score {
        Win => Loss,
        Draw => Draw,
        Loss => Win,
    }
}

proptest! {
    #[test]
    fn any_match_does_what_the_paper_says(player in any_rating(), opponent in any_rating(), score in any_score()) {
        check_by_the_paper(player, opponent, score);
    }

    /// Nothing depends on which of both is asked, or on which end of the scale they are.
    #[test]
    fn what_one_side_wins_its_mirror_image_loses(a in inner_rating(), b in inner_rating(), score in any_score()) {
        let after = mirrored(a.after(b, score));
        let of_mirrored = mirrored(a).after(mirrored(b), of_the_other(score));
        prop_assert!(after.points_micro().abs_diff(of_mirrored.points_micro()) <= 1);
        prop_assert!(after.deviation_micro().abs_diff(of_mirrored.deviation_micro()) <= 1);
        prop_assert!(after.volatility_nano().abs_diff(of_mirrored.volatility_nano()) <= 1);
    }

    #[test]
    fn equals_win_what_the_other_loses(rating in inner_rating()) {
        let gained_micro = rating.after(rating, Win).points_micro() - rating.points_micro();
        let lost_micro = rating.points_micro() - rating.after(rating, Loss).points_micro();
        prop_assert!(gained_micro.abs_diff(lost_micro) <= 1);
        prop_assert_eq!(rating.after(rating, Draw).points_micro(), rating.points_micro());
    }

    #[test]
    fn a_better_score_is_never_worth_less(player in any_rating(), opponent in any_rating()) {
        let points_micro = |score| player.after(opponent, score).points_micro();
        prop_assert!(points_micro(Win) >= player.points_micro());
        prop_assert!(points_micro(Loss) <= player.points_micro());
        prop_assert!(points_micro(Win) >= points_micro(Draw) && points_micro(Draw) >= points_micro(Loss));
    }

    /// However long it goes on, and however unlikely: every rating on the way is one that [`Rating::new`] gives.
    #[test]
    fn bounds_hold_whatever_is_played(
        start in any_rating(),
        matches in vec((any_rating(), any_score()), 0..60),
        same in any_score(),
    ) {
        let mut rating = start;
        let same = matches.iter().map(|(opponent, _)| (*opponent, same));
        for (opponent, score) in matches.iter().copied().chain(same) {
            rating = rating.after(opponent, score);
            let again = Rating::new(rating.points_micro(), rating.deviation_micro(), rating.volatility_nano());
            prop_assert_eq!(rating, again);
        }
    }

    #[test]
    fn the_same_match_twice_gives_the_same(player in any_rating(), opponent in any_rating(), score in any_score()) {
        prop_assert_eq!(player.after(opponent, score), player.after(opponent, score));
    }
}
