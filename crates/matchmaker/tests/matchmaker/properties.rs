//! Promises over any tickets, at any time, by any policy.

use std::collections::BTreeSet;

use matchmaker::{Policy, PolicyNumbers, Terms, Ticket, TicketContent, TicketId, Why, pair};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::model;
use crate::script::place;

/// The moment at which everything is paired, ms.
const NOW_MS: u64 = 100_000;

/// Few names, so that lists hit and players come twice.
fn player() -> impl Strategy<Value = String> {
    (0..60).prop_map(|number| format!("players/{number}"))
}

/// Close ratings and many equal ones, now and then one far away.
fn rating_points() -> impl Strategy<Value = i32> {
    prop_oneof![8 => (140..160).prop_map(|tens| tens * 10), 8 => 1_300..1_700, 1 => -10_000..=10_000]
}

fn content() -> impl Strategy<Value = TicketContent> {
    // Some are from a clock that is ahead.
    let created_ms = prop_oneof![8 => 30_000..NOW_MS, 4 => NOW_MS - 5_000..NOW_MS, 1 => NOW_MS..=NOW_MS + 9];
    let numbers = (created_ms, rating_points(), 0..400_u32);
    let lists = (vec(player(), 0..4), vec(player(), 0..8));
    (player(), numbers, vec(0..4_u8, 1..3), lists).prop_map(
        |(player, (created_ms, rating_points, deviation_points), places, (exclusions, recent_opponents))| {
            TicketContent {
                id: TicketId::from_bytes([0; 16]),
                player,
                created_ms,
                time_controls: places.into_iter().map(place).collect(),
                rating_points,
                deviation_points,
                exclusions,
                recent_opponents,
            }
        },
    )
}

fn tickets() -> impl Strategy<Value = Vec<Ticket>> {
    vec(content(), 0..80).prop_map(|contents| {
        let numbered = (0_u8..).zip(contents);
        numbered
            .map(|(number, content)| {
                // Ids are not in the order of the list.
                let id = TicketId::from_bytes([number.wrapping_mul(97); 16]);
                Ticket::new(TicketContent { id, ..content }).expect("a legal ticket")
            })
            .collect()
    })
}

/// So many of different players that the index has several levels.
fn long_queue() -> impl Strategy<Value = Vec<Ticket>> {
    vec(content(), 1_100..1_300).prop_map(|contents| {
        let numbered = (0_u32..).zip(contents);
        numbered
            .map(|(number, content)| {
                let mut id = [0; 16];
                id[..4].copy_from_slice(&number.wrapping_mul(2_654_435_769).to_be_bytes());
                let id = TicketId::from_bytes(id);
                let player = format!("players/{number}");
                Ticket::new(TicketContent { id, player, ..content }).expect("a legal ticket")
            })
            .collect()
    })
}

fn numbers() -> impl Strategy<Value = PolicyNumbers> {
    let windows = (0..200_u32, 0..300_u32, prop_oneof![Just(0), 0..30_u32], 0..100_u32);
    (windows, 0..50_000_u64, 0..50_000_u64).prop_map(|((start, more, growth, percent), rematch, rest)| {
        PolicyNumbers {
            window_start_points: start,
            window_growth_points_per_s: growth,
            window_max_points: start + more,
            deviation_percent: percent,
            rematch_after_ms: rematch,
            bound_ms: rematch + rest,
        }
    })
}

proptest! {
    #[test]
    fn nobody_is_in_two_pairs_and_every_ticket_is_somewhere(tickets in tickets(), numbers in numbers()) {
        let pairing = pair(&tickets, NOW_MS, &Policy::new(numbers).unwrap()).unwrap();
        let paired: Vec<&Ticket> = pairing.pairs.iter().flat_map(|pair| [pair.older, pair.younger]).collect();
        let players: BTreeSet<&str> = paired.iter().map(|ticket| ticket.player()).collect();
        prop_assert_eq!(players.len(), paired.len());
        let waiting = pairing.waiting.iter().map(|waiting| waiting.ticket);
        let all: BTreeSet<TicketId> = paired.into_iter().chain(waiting).map(Ticket::id).collect();
        prop_assert_eq!(all.len(), tickets.len());
        prop_assert_eq!(2 * pairing.pairs.len() + pairing.waiting.len(), tickets.len());
    }

    #[test]
    fn before_the_bound_no_pair_is_outside_a_window(tickets in tickets(), numbers in numbers()) {
        for pair in pair(&tickets, NOW_MS, &Policy::new(numbers).unwrap()).unwrap().pairs {
            let (a, b) = (pair.older, pair.younger);
            prop_assert!(model::compatible(a, b));
            prop_assert!(a.time_controls().common(b.time_controls()).contains(pair.time_control));
            let accepted = model::both_accept(a, b, NOW_MS, &numbers);
            prop_assert!(accepted || model::is_past_bound(a, NOW_MS, &numbers));
            prop_assert_eq!(accepted, pair.terms != Terms::PastBound);
            prop_assert_eq!(pair.gap_points, a.rating_points().abs_diff(b.rating_points()));
        }
    }

    /// So nobody waits past the bound either while a compatible one waits.
    #[test]
    fn no_two_that_may_be_paired_are_left_waiting(tickets in tickets(), numbers in numbers()) {
        let waiting = pair(&tickets, NOW_MS, &Policy::new(numbers).unwrap()).unwrap().waiting;
        let left: Vec<&Ticket> = waiting
            .iter()
            .filter(|waiting| !matches!(waiting.why, Why::SecondTicket { .. }))
            .map(|waiting| waiting.ticket)
            .collect();
        for (place, a) in left.iter().enumerate() {
            for b in &left[place + 1..] {
                prop_assert!(!model::may_be_paired(a, b, NOW_MS, &numbers), "{a:?} {b:?}");
                let late = [a, b].iter().any(|ticket| model::is_past_bound(ticket, NOW_MS, &numbers));
                prop_assert!(!late || !model::compatible(a, b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_oldest_takes_the_nearest_whatever_the_index_does(tickets in tickets(), numbers in numbers()) {
        let pairing = pair(&tickets, NOW_MS, &Policy::new(numbers).unwrap()).unwrap();
        let pairs: Vec<_> = pairing.pairs.iter().map(|pair| (pair.older, pair.younger)).collect();
        prop_assert_eq!(pairs, model::pairs(&tickets, NOW_MS, &numbers));
    }

    #[test]
    fn the_order_of_the_input_does_not_matter(
        (tickets, shuffled) in
            tickets().prop_flat_map(|tickets| (Just(tickets.clone()), Just(tickets).prop_shuffle())),
        numbers in numbers(),
    ) {
        let policy = Policy::new(numbers).unwrap();
        prop_assert_eq!(pair(&tickets, NOW_MS, &policy), pair(&shuffled, NOW_MS, &policy));
    }

    /// What a waiting ticket is told comes true if nobody else is there, and not a moment earlier.
    #[test]
    fn two_who_are_told_when_are_paired_then(a in content(), b in content(), numbers in numbers()) {
        let policy = Policy::new(numbers).unwrap();
        let b = TicketContent { id: TicketId::from_bytes([1; 16]), ..b };
        let tickets = [Ticket::new(a).unwrap(), Ticket::new(b).unwrap()];
        let pairing = pair(&tickets, NOW_MS, &policy).unwrap();
        if let Some(Why::Apart { opens_ms, .. } | Why::MetLately { opens_ms, .. }) =
            pairing.waiting.first().map(|waiting| waiting.why)
        {
            prop_assert!(opens_ms > NOW_MS);
            prop_assert_eq!(pair(&tickets, opens_ms - 1, &policy).unwrap().pairs.len(), 0);
            prop_assert_eq!(pair(&tickets, opens_ms, &policy).unwrap().pairs.len(), 1);
        }
    }
}

proptest! {
    // The model looks at every two of them.
    #![proptest_config(ProptestConfig { cases: 5, max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn in_a_long_queue_too_the_oldest_takes_the_nearest(tickets in long_queue(), numbers in numbers()) {
        let pairing = pair(&tickets, NOW_MS, &Policy::new(numbers).unwrap()).unwrap();
        let pairs: Vec<_> = pairing.pairs.iter().map(|pair| (pair.older.id(), pair.younger.id())).collect();
        let told = model::pairs(&tickets, NOW_MS, &numbers);
        prop_assert_eq!(pairs, told.iter().map(|(older, younger)| (older.id(), younger.id())).collect::<Vec<_>>());
    }
}
