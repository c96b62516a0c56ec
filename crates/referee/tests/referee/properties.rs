//! Promises over any sequence of commands at any times. Every step also keeps the laws of
//! [`crate::law`], which [`Played::apply`] checks.

use proptest::prelude::*;
use proptest::sample::select;
use referee::{
    Answer, Command, DrawCommand, HistoryClaim, Now, Refusal, RevealCommand, SealCommand, SealMode, Settings,
    Stamp, TimeControl,
};
use rules::{Cell, Seat};
use sealing::{Digest, EndReason, Opening};

use crate::history;
use crate::script::{Played, at, digest, opening, request_id};
use crate::secrecy::with_other_secret;
use crate::settings::DEFAULT;

/// When a step happens, as a choice among the moments that matter.
#[derive(Clone, Copy, Debug)]
enum When {
    /// This long after the step before, ms.
    After(u64),
    /// At the last moment of the first deadline.
    Deadline,
    /// This long after the first deadline, ms.
    Late(u64),
    /// This long after the step before, ms, all of which the service was down.
    Outage(u64),
}

#[derive(Clone, Debug)]
enum What {
    Join(Seat),
    /// The turn is counted from the open one.
    Seal {
        seat: Seat,
        cell: Cell,
        turn: i64,
        request: u8,
        claim: Claim,
    },
    /// Both seats seal different or equal cells at once.
    Play(Cell, Cell),
    /// A seat reveals what it has sealed, or something else.
    Reveal {
        seat: Seat,
        turn: i64,
        request: u8,
        is_true: bool,
    },
    /// Both seats reveal what they have sealed, if they are to.
    RevealBoth,
    /// An offer, or an answer.
    Draw {
        seat: Seat,
        accept: Option<bool>,
        turn: i64,
        request: u8,
    },
    /// The same as something accepted before, if there is anything.
    Repeat(prop::sample::Index),
    /// One of two hashes that no turn has, of a turn counted from the open one.
    ClaimHistory {
        seat: Seat,
        turn: i64,
        hash: u8,
    },
    Resign(Seat, u8),
    Abort,
    Tick,
}

#[derive(Clone, Copy, Debug)]
enum Claim {
    None,
    True,
    False,
}

type Step = (When, What);

/// A cell that nobody seals here.
const FALSE: Cell = match Cell::from_index(40) {
    Some(cell) => cell,
    None => panic!("E5 is a cell"),
};

fn seat() -> impl Strategy<Value = Seat> {
    select(&Seat::BOTH[..])
}

/// Few enough cells that they collide, are occupied, and come to rows.
fn cell() -> impl Strategy<Value = Cell> {
    (0..18_u8).prop_map(|at| Cell::from_index(if at < 9 { at } else { 63 + at }).expect("a cell"))
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        8 => (0..4_000_u64).prop_map(When::After),
        2 => Just(When::After(0)),
        2 => Just(When::Deadline),
        1 => (1..3_u64).prop_map(When::Late),
        1 => (3_001..90_000_u64).prop_map(When::Outage),
    ]
}

fn what() -> impl Strategy<Value = What> {
    let claim = select(&[Claim::None, Claim::None, Claim::True, Claim::False][..]);
    let turn = || select(&[0_i64, 0, 0, 0, 0, -1, 1][..]);
    // Few are accepted, else most matches would end so.
    let accept = select(&[None, None, None, Some(false), Some(false), Some(false), Some(true)][..]);
    prop_oneof![
        6 => (seat(), cell(), turn(), 0..8_u8, claim)
            .prop_map(|(seat, cell, turn, request, claim)| What::Seal { seat, cell, turn, request, claim }),
        6 => (cell(), cell()).prop_map(|(black, white)| What::Play(black, white)),
        3 => (seat(), turn(), 0..4_u8, prop::bool::weighted(0.8))
            .prop_map(|(seat, turn, request, is_true)| What::Reveal { seat, turn, request, is_true }),
        4 => Just(What::RevealBoth),
        2 => (seat(), accept, turn(), 0..4_u8)
            .prop_map(|(seat, accept, turn, request)| What::Draw { seat, accept, turn, request }),
        2 => any::<prop::sample::Index>().prop_map(What::Repeat),
        1 => (seat(), turn(), 0..2_u8)
            .prop_map(|(seat, turn, hash)| What::ClaimHistory { seat, turn, hash }),
        1 => seat().prop_map(What::Join),
        1 => (0..20_u8, seat(), 0..2_u8).prop_map(|(rare, seat, request)| match rare {
            0 => What::Resign(seat, request),
            1 => What::Abort,
            _ => What::Tick,
        }),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let time = prop_oneof![
        Just(TimeControl::PerTurn { turn_ms: 5_000 }),
        (10_000..20_000_u64, 0..3_000_u64)
            .prop_map(|(initial_ms, increment_ms)| TimeControl::Bank { initial_ms, increment_ms }),
    ];
    let start_ms = prop_oneof![Just(None), Just(Some(5_000))];
    let seal_mode = select(&[SealMode::ServerSealed, SealMode::CommitReveal { reveal_ms: 4_000 }][..]);
    (time, seal_mode, start_ms, 1..12_u32).prop_map(|(time, seal_mode, start_ms, turn_limit)| Settings {
        time,
        seal_mode,
        start_ms,
        turn_limit,
        ..DEFAULT
    })
}

/// Any steps; most sequences begin with both joins, else few would come to a turn.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let joins = vec![(When::After(5), What::Join(Seat::Black)), (When::After(5), What::Join(Seat::White))];
    let beginning = prop_oneof![9 => Just(joins), 1 => Just(Vec::new())];
    (beginning, prop::collection::vec((when(), what()), 0..24)).prop_map(|(beginning, more)| {
        let mut steps = beginning;
        steps.extend(more);
        steps
    })
}

/// A command, when it comes, and what it was answered.
#[derive(Clone, PartialEq, Debug)]
struct Asked {
    command: Command,
    now: Now,
    answer: Result<Answer, Refusal>,
}

/// Plays steps on a new match. Returns it with all that was asked.
fn play(settings: &Settings, steps: &[Step]) -> (Played, Vec<Asked>) {
    let mut played = Played::new(settings.clone());
    let mut asked: Vec<Asked> = Vec::new();
    let mut now_ms = at(0).as_ms();
    for (when, what) in steps {
        let deadline_ms = played.game.under_outage(played.outage_ms).deadline().map(Stamp::as_ms);
        now_ms = match when {
            When::After(ms) => now_ms + ms,
            When::Deadline => now_ms.max(deadline_ms.unwrap_or(now_ms)),
            When::Late(ms) => now_ms.max(deadline_ms.unwrap_or(now_ms) + ms),
            When::Outage(ms) => {
                // Whoever keeps time was there until then: a deadline that nobody has seen pass moves
                // with the others.
                let now = Now { stamp: Stamp::from_ms(now_ms), outage_ms: played.outage_ms };
                played.tick(now);
                asked.push(Asked { command: Command::Tick, now, answer: Ok(Answer::Done) });
                played.outage_ms += ms;
                now_ms + ms
            }
        };
        let now = Now { stamp: Stamp::from_ms(now_ms), outage_ms: played.outage_ms };
        for command in commands(&played, &asked, what) {
            let (_, answer) = played.apply(&command, now);
            asked.push(Asked { command, now, answer });
        }
    }
    (played, asked)
}

fn commands(played: &Played, asked: &[Asked], what: &What) -> Vec<Command> {
    let in_play = played.game.resolved + 1;
    let relative = |turn: i64| (i64::from(in_play) + turn).max(1) as u32;
    match *what {
        What::Join(seat) => vec![Command::Join { seat }],
        What::Tick => vec![Command::Tick],
        What::Abort => vec![Command::Abort],
        What::ClaimHistory { seat, turn, hash } => {
            let claim = HistoryClaim { turn: relative(turn), hash: digest(hash) };
            vec![Command::ClaimHistory { seat, claim }]
        }
        What::Resign(seat, request) => {
            vec![Command::Resign { seat, request_id: request_id(&format!("resign-{request}")) }]
        }
        What::Play(black, white) => [(Seat::Black, black), (Seat::White, white)]
            .map(|(seat, cell)| seal(played, seat, cell, in_play, format!("play-{in_play}"), None))
            .to_vec(),
        What::Seal { seat, cell, turn, request, claim } => {
            let previous = match claim {
                Claim::None => None,
                Claim::True => Some(played.game.hash),
                Claim::False => Some(digest(0xee)),
            };
            vec![seal(played, seat, cell, relative(turn), format!("seal-{request}"), previous)]
        }
        What::Reveal { seat, turn, request, is_true } => {
            let opening = sealed(played, seat).filter(|_| is_true).unwrap_or_else(|| opening(FALSE, 0xee));
            let request_id = request_id(&format!("reveal-{request}"));
            vec![Command::Reveal(RevealCommand { seat, turn: relative(turn), opening, request_id })]
        }
        What::RevealBoth => {
            let reveal = |seat| {
                let (turn, request_id) = (in_play, request_id("reveal"));
                sealed(played, seat).map(|opening| RevealCommand { seat, turn, opening, request_id })
            };
            Seat::BOTH.into_iter().filter_map(reveal).map(Command::Reveal).collect()
        }
        What::Draw { seat, accept, turn, request } => {
            let request_id = request_id(&format!("draw-{request}"));
            vec![Command::Draw(DrawCommand { seat, turn: relative(turn), accept, request_id })]
        }
        What::Repeat(ref index) => {
            let accepted: Vec<_> = accepted(asked).collect();
            if accepted.is_empty() { Vec::new() } else { vec![index.get(&accepted).command.clone()] }
        }
    }
}

/// Sealing a cell, with the salt that belongs to it.
fn seal(
    played: &Played,
    seat: Seat,
    cell: Cell,
    turn: u32,
    request: String,
    previous: Option<Digest>,
) -> Command {
    let sealed = played.sealed_move(seat, turn, opening(cell, cell.number()));
    let (key_id, request_id) = ("".into(), request_id(&request));
    Command::Seal(SealCommand { seat, turn, sealed, previous, signature: None, key_id, request_id })
}

/// What a seat has sealed in the turn in play, found by its commitment.
fn sealed(played: &Played, seat: Seat) -> Option<Opening> {
    let open = played.game.turn_in_play()?;
    let commitment = open.seals[seat].as_ref()?.facts.commitment;
    let openings = Cell::all().map(|cell| opening(cell, cell.number()));
    openings.into_iter().find(|opening| played.commitment(seat, open.turn, opening) == commitment)
}

/// What was asked and not refused.
fn accepted(asked: &[Asked]) -> impl Iterator<Item = &Asked> {
    asked.iter().filter(|asked| asked.answer.is_ok())
}

/// What was asked and answered with a receipt.
fn receipts(asked: &[Asked]) -> impl Iterator<Item = &Asked> {
    asked.iter().filter(|asked| matches!(asked.answer, Ok(Answer::Sealed(_))))
}

/// Asks the same again, without the ticks but those that an outage follows. Where `between` names a
/// part of the time since the command before, in 255ths, a tick comes then.
fn replay(settings: &Settings, asked: &[Asked], between: impl Fn(usize) -> Option<u8>) -> Played {
    let mut played = Played::new(settings.clone());
    let mut before = played.now(0);
    for (index, Asked { command, now, answer }) in asked.iter().enumerate() {
        if let Some(part) = between(index)
            && before.outage_ms == now.outage_ms
        {
            let wait_ms = now.stamp.ms_since(before.stamp) * u64::from(part) / 255;
            played.tick(Now { stamp: before.stamp.plus_ms(wait_ms), ..before });
        }
        let outage_follows = asked.get(index + 1).is_some_and(|next| next.now.outage_ms > now.outage_ms);
        if *command != Command::Tick || outage_follows {
            let (_, again) = played.apply(command, *now);
            assert_eq!(&again, answer, "ticks change no answer");
        }
        before = *now;
    }
    played
}

proptest! {
    #[test]
    fn every_match_leaves_a_transcript_that_verifies((settings, steps) in (settings(), steps())) {
        let (played, _) = play(&settings, &steps);
        history::verify(&played.game, &played.turns);
    }

    #[test]
    fn every_match_ends_though_only_time_goes_on((settings, steps) in (settings(), steps())) {
        let (mut played, _) = play(&settings, &steps);
        while let Some(due) = played.game.under_outage(played.outage_ms).due() {
            let now = Now { stamp: due, outage_ms: played.outage_ms };
            prop_assert!(played.tick(now), "a due tick changes the match");
        }
        prop_assert!(played.game.finish().is_some());
        history::verify(&played.game, &played.turns);
    }

    #[test]
    fn ticks_that_come_in_between_change_nothing_but_when_the_end_is_found(
        (settings, steps) in (settings(), steps()),
        between in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let (mut played, asked) = play(&settings, &steps);
        let mut with = replay(&settings, &asked, |index| Some(between[index % between.len()]));
        let last = asked.last().map_or(played.now(0), |asked| asked.now);
        played.tick(last);
        with.tick(last);
        prop_assert_eq!(&with.game, &played.game);
        prop_assert_eq!(&with.turns, &played.turns);
    }

    #[test]
    fn ticks_that_never_come_change_nothing_but_when_the_end_is_found(
        (settings, steps) in (settings(), steps()),
        late_ms in 0..1_000_000_u64,
    ) {
        let (mut played, asked) = play(&settings, &steps);
        let mut without = replay(&settings, &asked, |_| None);
        let last = asked.last().map_or(played.now(0), |asked| asked.now);
        let late = Now { stamp: last.stamp.plus_ms(late_ms), ..last };
        played.tick(late);
        without.tick(late);
        prop_assert_eq!(&without.game, &played.game);
        prop_assert_eq!(&without.turns, &played.turns);
    }

    #[test]
    fn whatever_was_accepted_and_is_repeated_later_has_its_answer_and_no_other_effect(
        (settings, steps) in (settings(), steps()),
        late_ms in 0..100_000_u64,
    ) {
        let (mut played, asked) = play(&settings, &steps);
        let last = asked.last().map_or(played.now(0), |asked| asked.now);
        let late = Now { stamp: last.stamp.plus_ms(late_ms), ..last };
        played.tick(late);
        // A claim is no request: the last one counts.
        let is_claim = |asked: &Asked| matches!(asked.command, Command::ClaimHistory { .. });
        for first in accepted(&asked).filter(|asked| !is_claim(asked)) {
            let (change, answer) = played.apply(&first.command, late);
            prop_assert_eq!(change, None);
            prop_assert_eq!(&answer, &first.answer);
        }
    }

    #[test]
    fn every_acknowledged_seal_is_in_the_history_unless_the_match_ended_first(
        (settings, steps) in (settings(), steps()),
    ) {
        let (played, asked) = play(&settings, &steps);
        for sealed in receipts(&asked) {
            let Ok(Answer::Sealed(receipt)) = &sealed.answer else { continue };
            let commitment = match played.turns.get(receipt.turn as usize - 1) {
                Some(record) => Some(record.facts.commitments[receipt.seat]),
                None => match (played.game.turn_in_play(), played.game.finish()) {
                    (Some(open), _) => open.seals[receipt.seat].as_ref().map(|seal| seal.facts.commitment),
                    (_, Some(finish)) => {
                        finish.unresolved[receipt.seat].as_ref().map(|facts| facts.commitment)
                    }
                    _ => None,
                },
            };
            prop_assert_eq!(commitment, Some(receipt.commitment));
        }
    }

    #[test]
    fn one_seat_alone_voids_nothing_whatever_it_claims(
        (settings, steps) in (settings(), steps()),
        claims in prop::collection::vec((select(&[-1_i64, 0, 1][..]), 0..3_u8), 0..6),
        liar in seat(),
    ) {
        let alone = |step: &Step| match step.1 {
            What::ClaimHistory { seat, .. } => seat == liar,
            _ => true,
        };
        let lies = claims.into_iter().map(|(turn, hash)| {
            (When::After(0), What::ClaimHistory { seat: liar, turn, hash })
        });
        let steps: Vec<_> = steps.into_iter().filter(alone).chain(lies).collect();
        let (played, _) = play(&settings, &steps);
        let reason = played.game.finish().map(|finish| finish.reason);
        prop_assert_ne!(reason, Some(EndReason::LostHistory));
    }

    #[test]
    fn two_seals_of_a_turn_at_one_moment_come_to_the_same_in_either_order(
        (settings, steps) in (settings(), steps()),
        (black, white) in (cell(), cell()),
    ) {
        let (played, asked) = play(&settings, &steps);
        let now = asked.last().map_or(played.now(0), |asked| asked.now);
        let both = commands(&played, &asked, &What::Play(black, white));
        let in_order = |order: [usize; 2]| {
            let mut played = played.clone();
            let answers = order.map(|index| (index, played.apply(&both[index], now).1));
            (played, answers)
        };
        let (one, [black_first, white_second]) = in_order([0, 1]);
        let (other, [white_first, black_second]) = in_order([1, 0]);
        prop_assert_eq!(&one.game, &other.game);
        prop_assert_eq!(&one.turns, &other.turns);
        prop_assert_eq!(black_first, black_second);
        prop_assert_eq!(white_first, white_second);
    }

    #[test]
    fn two_reveals_of_a_turn_at_one_moment_come_to_the_same_in_either_order(
        (settings, steps) in (settings(), steps()),
        (black, white) in (cell(), cell()),
    ) {
        let (mut played, asked) = play(&settings, &steps);
        let now = asked.last().map_or(played.now(0), |asked| asked.now);
        for seal in commands(&played, &asked, &What::Play(black, white)) {
            let _ = played.apply(&seal, now);
        }
        let both = commands(&played, &asked, &What::RevealBoth);
        let in_order = |reveals: &mut dyn Iterator<Item = &Command>| {
            let mut played = played.clone();
            for reveal in reveals {
                let _ = played.apply(reveal, now);
            }
            played
        };
        let (one, other) = (in_order(&mut both.iter()), in_order(&mut both.iter().rev()));
        prop_assert_eq!(&one.game, &other.game);
        prop_assert_eq!(&one.turns, &other.turns);
    }

    #[test]
    fn nothing_tells_what_a_seat_has_sealed_while_the_turn_is_open(
        (settings, steps) in (settings(), steps()),
        secret in cell(),
        next in what(),
    ) {
        let (played, asked) = play(&settings, &steps);
        let now = asked.last().map_or(played.now(0), |asked| asked.now);
        let legal = played.game.position.is_empty(secret);
        for sealer in Seat::BOTH {
            let other = with_other_secret(&played.game, sealer, secret);
            prop_assert_eq!(format!("{:?}", played.game), format!("{other:?}"));
            // A stored cell is always legal; another illegal one would be damage, which is told.
            for command in commands(&played, &asked, &next).into_iter().filter(|_| legal).take(1) {
                let (one, two) = (played.game.apply(&command, now), other.apply(&command, now));
                prop_assert_eq!(one.answer, two.answer);
                prop_assert_eq!(one.change.is_some(), two.change.is_some());
            }
        }
    }
}
