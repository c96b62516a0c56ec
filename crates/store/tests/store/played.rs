//! Matches made by commands, as a store would see them: every head on the way, and every turn.

use proptest::prelude::*;
use proptest::sample::select;
use referee::{
    Bot, Change, Command, DrawCommand, HistoryClaim, Match, Mode, NewMatch, Now, RequestId, RevealCommand,
    RulesVersion, SealCommand, SealMode, SealStatus, SealedMove, Settings, Spectators, Stamp, TimeControl,
    TurnRecord,
};
use rules::{Cell, PerSeat, Seat};
use sealing::{BoxKey, BoxNonce, Digest, MatchId, Opening, Party, PlayerSigningKey, Salt, SealContext};
use store::codec::Keyring;
use store::{Stored, Version};

pub(crate) const CREATED_MS: u64 = 1_700_000_000_000;

/// The nonces of every record of these tests. A store draws them.
pub(crate) const NONCES: PerSeat<BoxNonce> = PerSeat { black: [0xb1; 12], white: [0xa1; 12] };

pub(crate) fn keyring() -> Keyring {
    Keyring::new("box-1".parse().unwrap(), BoxKey::from_bytes(&[1; 32]))
}

pub(crate) fn request_id(text: &str) -> RequestId {
    RequestId::new(text).unwrap()
}

/// The opening that a seat seals a cell with: its salt is as good as random.
pub(crate) fn opening(cell: Cell, seat: Seat, turn: u32) -> Opening {
    let salt = std::array::from_fn(|index| {
        (index as u8 + 1).wrapping_mul(37) ^ seat.number().wrapping_mul(91) ^ turn as u8
    });
    Opening { cell, salt: Salt::from_bytes(salt) }
}

/// The key that black signs with; white has none.
fn black_key() -> PlayerSigningKey {
    PlayerSigningKey::from_seed(&[5; 32])
}

/// A match, and everything that a store was given of it.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) game: Match,
    pub(crate) heads: Vec<Stored>,
    pub(crate) turns: Vec<TurnRecord>,
    now: Now,
    /// What each seat has committed to and is to reveal.
    committed: PerSeat<Option<Opening>>,
}

/// A match of two players that is to be made.
pub(crate) fn new_match(settings: Settings) -> NewMatch {
    let party = |player: &str, key| Party { player: player.to_owned(), public_key: key };
    NewMatch {
        id: MatchId::from_bytes([7; 16]),
        settings,
        parties: PerSeat {
            black: party("players/ann", Some(black_key().public_key())),
            white: party("players/bob", None),
        },
        rematch_of: Some(MatchId::from_bytes([6; 16])),
        origin: None,
    }
}

impl Played {
    pub(crate) fn new(settings: Settings) -> Self {
        Self::of(new_match(settings))
    }

    pub(crate) fn of(new: NewMatch) -> Self {
        let now = Now::at_ms(CREATED_MS);
        let created = Match::create(new, now);
        let game = created.next.as_ref().clone();
        let (heads, turns) = (Vec::new(), Vec::new());
        let mut played = Self { game, heads, turns, now, committed: PerSeat::default() };
        played.keep(created);
        played
    }

    /// Two players who have both joined.
    pub(crate) fn started(settings: Settings) -> Self {
        let mut played = Self::new(settings);
        Seat::BOTH.into_iter().for_each(|seat| played.take(&Step::Join(seat)));
        played
    }

    pub(crate) fn last(&self) -> &Stored {
        self.heads.last().unwrap()
    }

    pub(crate) fn take(&mut self, step: &Step) {
        self.now.stamp = self.now.stamp.plus_ms(250);
        let turn = self.game.resolved + 1;
        let command = match *step {
            Step::Join(seat) => Command::Join { seat },
            Step::Seal { seat, cell, signed } => {
                let opening = opening(cell, seat, turn);
                self.seal(seat, turn, opening, signed)
            }
            Step::Reveal(seat) => {
                let Some(opening) = self.committed[seat].clone() else { return };
                let request_id = request_id("reveal");
                Command::Reveal(RevealCommand { seat, turn, opening, request_id })
            }
            Step::Draw { seat, accept } => {
                let request_id = request_id(if accept.is_none() { "offer" } else { "answer" });
                Command::Draw(DrawCommand { seat, turn, accept, request_id })
            }
            Step::Resign(seat) => Command::Resign { seat, request_id: request_id("resign") },
            Step::Abort => Command::Abort,
            Step::Claim { seat, turn } => {
                let claim = HistoryClaim { turn, hash: Digest::from_bytes([0xc1; 32]) };
                Command::ClaimHistory { seat, claim }
            }
            Step::Wait { ms, outage } => {
                self.now.stamp = self.now.stamp.plus_ms(ms);
                self.now.outage_ms += if outage { ms } else { 0 };
                Command::Tick
            }
        };
        let change = self.game.apply(&command, self.now).change;
        change.into_iter().for_each(|change| self.keep(change));
    }

    fn seal(&mut self, seat: Seat, turn: u32, opening: Opening, signed: bool) -> Command {
        let player = &self.game.parties[seat].player;
        let context = SealContext { match_id: self.game.id, turn, seat, player, previous: &self.game.hash };
        let commitment = context.commit(&opening);
        let sealed = match self.game.settings.seal_mode {
            SealMode::ServerSealed => SealedMove::Opening(opening),
            SealMode::CommitReveal { .. } => {
                let free = self.game.open_turn().is_some_and(|open| open.seals[seat].is_none());
                if free {
                    self.committed[seat] = Some(opening);
                }
                SealedMove::Commitment(commitment)
            }
        };
        Command::Seal(SealCommand {
            seat,
            turn,
            sealed,
            previous: None,
            signature: (signed && seat == Seat::Black).then(|| black_key().sign(&commitment)),
            key_id: if signed { "key-1".into() } else { "".into() },
            request_id: request_id("seal"),
        })
    }

    fn keep(&mut self, change: Change) {
        let counter = self.heads.len() as u64 + 1;
        self.turns.extend(change.turn().map(|turn| turn.as_ref().clone()));
        self.game = change.next.as_ref().clone();
        self.heads.push(Stored {
            head: change.next,
            version: Version { counter, nonce: [counter as u8; 8] },
            stamp: self.now.stamp,
            follow_ups: change.follow_ups,
        });
    }
}

/// Something that happens to a match.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Join(Seat),
    /// Signed: with the key of a receipt, and with the player's own where he has one.
    Seal {
        seat: Seat,
        cell: Cell,
        signed: bool,
    },
    Reveal(Seat),
    Draw {
        seat: Seat,
        accept: Option<bool>,
    },
    Resign(Seat),
    Abort,
    /// A seat knows another history.
    Claim {
        seat: Seat,
        turn: u32,
    },
    Wait {
        ms: u64,
        outage: bool,
    },
}

fn seat() -> impl Strategy<Value = Seat> {
    select(&Seat::BOTH[..])
}

fn step() -> impl Strategy<Value = Step> {
    let cell = (1..=20_u8).prop_map(|number| Cell::from_number(number).unwrap());
    let accept = select(&[None, None, Some(false), Some(true)][..]);
    prop_oneof![
        12 => (seat(), cell, any::<bool>()).prop_map(|(seat, cell, signed)| Step::Seal { seat, cell, signed }),
        8 => seat().prop_map(Step::Reveal),
        2 => (seat(), accept).prop_map(|(seat, accept)| Step::Draw { seat, accept }),
        1 => seat().prop_map(Step::Join),
        1 => (seat(), 0..4_u32).prop_map(|(seat, turn)| Step::Claim { seat, turn }),
        1 => (0..20_u64, seat(), any::<bool>()).prop_map(|(choice, seat, outage)| match choice {
            0 => Step::Resign(seat),
            1 => Step::Abort,
            2 => Step::Wait { ms: 20_000, outage },
            _ => Step::Wait { ms: choice * 10, outage },
        }),
    ]
}

pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let time = prop_oneof![
        (1_000..20_000_u64).prop_map(|turn_ms| TimeControl::PerTurn { turn_ms }),
        (10_000..20_000_u64, 0..3_000_u64)
            .prop_map(|(initial_ms, increment_ms)| TimeControl::Bank { initial_ms, increment_ms }),
    ];
    let seal_mode = prop_oneof![
        Just(SealMode::ServerSealed),
        (1_000..9_000_u64).prop_map(|reveal_ms| SealMode::CommitReveal { reveal_ms }),
    ];
    let open = (
        select(&[Mode::Casual, Mode::Ranked][..]),
        select(&[Spectators::None, Spectators::Live][..]),
        select(&[SealStatus::Visible, SealStatus::Hidden][..]),
    );
    let bot = prop::option::of((seat(), 1..=7_u8).prop_map(|(seat, level)| Bot { seat, level }));
    let start_ms = prop::option::of(5_000..9_000_u64);
    (time, seal_mode, open, start_ms, 1..500_u32, bot).prop_map(
        |(time, seal_mode, (mode, spectators, seal_status), start_ms, turn_limit, bot)| Settings {
            rules_version: RulesVersion::Wts2026_1,
            time,
            seal_mode,
            mode,
            spectators,
            seal_status,
            start_ms,
            turn_limit,
            idle_ms: Settings::IDLE_DEFAULT_MS,
            bot,
        },
    )
}

/// Whole matches and beginnings of matches.
pub(crate) fn matches() -> impl Strategy<Value = Played> {
    let steps = prop::collection::vec(step(), 0..40);
    (settings(), prop::bool::weighted(0.9), steps).prop_map(|(settings, both, steps)| {
        let mut played = if both { Played::started(settings) } else { Played::new(settings) };
        steps.iter().for_each(|step| played.take(step));
        played
    })
}

/// A commit-reveal match in which black has revealed and white has not.
pub(crate) fn half_revealed(cell: Cell) -> Played {
    let seal_mode = SealMode::CommitReveal { reveal_ms: 10_000 };
    let mut played = Played::started(Settings { seal_mode, ..Settings::default() });
    let white = Cell::from_number(81).unwrap();
    played.take(&Step::Seal { seat: Seat::Black, cell, signed: false });
    played.take(&Step::Seal { seat: Seat::White, cell: white, signed: false });
    played.take(&Step::Reveal(Seat::Black));
    played
}

/// A server-sealed match in which black has sealed and white has not.
pub(crate) fn half_sealed(cell: Cell) -> Played {
    let mut played = Played::started(Settings::default());
    played.take(&Step::Seal { seat: Seat::Black, cell, signed: false });
    played
}

/// A stamp for records that no command makes.
pub(crate) fn stamp(ms: u64) -> Stamp {
    Stamp::from_ms(CREATED_MS + ms)
}
