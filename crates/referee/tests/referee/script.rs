//! Matches played from a text: one command a line, `<time> <command> -> <what comes of it>`.
//!
//! Times are milliseconds after the creation of the match. The commands:
//!
//! - `join SEAT`, `resign SEAT as REQUEST`, `abort`, `tick`, `lost` (a part of the history)
//! - `claim SEAT TURN hN | NUMBER`: that the turn had the hash of turn N, or another one
//! - `seal SEAT CELL as REQUEST`, as the match's seal mode wants it; then any of `in TURN` (else the turn
//!   in play), `salt N`, `knowing hN | other` (the previous h), `signed N`, `committed` (a commitment
//!   alone, to nothing), `open` (cell and salt)
//! - `reveal SEAT CELL as REQUEST`, then any of `in TURN`, `salt N`
//! - `offer SEAT as REQUEST`, `accept SEAT as REQUEST`, `decline SEAT as REQUEST`; then `in TURN` or not
//! - `play CELL/CELL ...`: turns in which both seats seal, and reveal, at that moment, black first
//! - `outage MS`: from here on the shard has been out for that much longer
//!
//! What comes of it: `done`, `receipt SEAT TURN at TIME` or `refused REASON`; then, if the match
//! changed, what happened, `reveals until TIME`, or `changed` if nothing did that others hear of. A line without an arrow
//! says only that the command is not refused. Every step also keeps the laws of [`crate::law`], and
//! every match played leaves a transcript that verifies.

use std::collections::BTreeMap;

use referee::{
    Answer, Change, Command, DrawCommand, Event, HistoryClaim, Match, NewMatch, Now, OpenTurn, Phase,
    Refusal, RequestId, RevealCommand, SealCommand, SealMode, SealedMove, Settings, Stamp, TurnRecord,
};
use rules::{Cell, PerSeat, Seat};
use sealing::{Commitment, Digest, MatchId, Opening, Party, PlayerSigningKey, Receipt, Salt, SealContext};

use crate::{history, law};

/// When every match of these tests is created, ms since the Unix epoch.
pub(crate) const CREATED_MS: u64 = 1_700_000_000_000;

/// A match and what the shell keeps beside it.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) game: Match,
    pub(crate) turns: Vec<TurnRecord>,
    pub(crate) outage_ms: u64,
    receipts: BTreeMap<(Seat, u32, String), Receipt>,
}

/// Plays a script from the creation on and compares every line that says what comes of it.
#[track_caller]
pub(crate) fn check(settings: Settings, script: &str) -> Played {
    let mut played = Played::new(settings);
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for line in lines {
        let (command, outcome) = match line.split_once("->") {
            Some((command, outcome)) => (command.trim(), Some(outcome.trim())),
            None => (line, None),
        };
        let came = played.line(command);
        if outcome.is_none() {
            assert!(!came.starts_with("refused"), "{command} -> {came}");
        }
        expected.push(format!("{command} -> {}", outcome.unwrap_or(&came)));
        actual.push(format!("{command} -> {came}"));
    }
    assert_eq!(actual, expected, "\nthe script came to:\n{}", actual.join("\n"));
    history::verify(&played.game, &played.turns);
    played
}

/// Two players who have both joined by 2000, so that turn 1 is open from then on.
#[track_caller]
pub(crate) fn check_started(settings: Settings, script: &str) -> Played {
    check(settings, &format!("1000 join black\n2000 join white\n{script}"))
}

/// The moment this long after the creation.
pub(crate) fn at(ms: u64) -> Stamp {
    Stamp::from_ms(CREATED_MS + ms)
}

pub(crate) fn digest(byte: u8) -> Digest {
    Digest::from_bytes([byte; 32])
}

/// The number of the key that white signs with; black has none.
const WHITE_KEY: u8 = 2;

fn player_key(number: u8) -> PlayerSigningKey {
    PlayerSigningKey::from_seed(&[number; 32])
}

pub(crate) fn opening(cell: Cell, salt: u8) -> Opening {
    Opening { cell, salt: Salt::from_bytes([salt; 32]) }
}

pub(crate) fn new_match(settings: Settings) -> NewMatch {
    let party = |player: &str, public_key| Party { player: player.to_owned(), public_key };
    let white_key = player_key(WHITE_KEY).public_key();
    NewMatch {
        id: MatchId::from_bytes([7; 16]),
        settings,
        parties: PerSeat { black: party("players/ann", None), white: party("players/bob", Some(white_key)) },
        rematch_of: None,
        origin: None,
    }
}

impl Played {
    pub(crate) fn new(settings: Settings) -> Self {
        let created = Match::create(new_match(settings), Now { stamp: at(0), outage_ms: 0 });
        Self {
            game: created.next.as_ref().clone(),
            turns: Vec::new(),
            outage_ms: 0,
            receipts: BTreeMap::new(),
        }
    }

    pub(crate) fn now(&self, ms: u64) -> Now {
        Now { stamp: at(ms), outage_ms: self.outage_ms }
    }

    /// Applies a command as the shell does: keeps the change, and answers from the history what comes
    /// after its turn.
    pub(crate) fn apply(&mut self, command: &Command, now: Now) -> (Option<Change>, Result<Answer, Refusal>) {
        let transition = self.game.apply(command, now);
        law::keeps(&self.game, command, now, &transition);
        if let Some(change) = &transition.change {
            self.game = change.next.as_ref().clone();
            self.turns.extend(change.turn().map(|turn| turn.as_ref().clone()));
        }
        let answer = match (transition.answer, command) {
            (Err(Refusal::TurnClosed { turn }), command) => self.late(turn, command),
            (answer, _) => answer,
        };
        if let (Ok(Answer::Sealed(receipt)), Command::Seal(seal)) = (&answer, command) {
            let request = (seal.seat, seal.turn, seal.request_id.as_str().to_owned());
            let first = self.receipts.entry(request).or_insert_with(|| receipt.clone());
            assert_eq!(first, receipt, "the same request has the same receipt");
        }
        (transition.change, answer)
    }

    /// Lets time pass. Whether that changed the match.
    pub(crate) fn tick(&mut self, now: Now) -> bool {
        let (change, answer) = self.apply(&Command::Tick, now);
        assert_eq!(answer, Ok(Answer::Done));
        change.is_some()
    }

    fn late(&self, turn: u32, command: &Command) -> Result<Answer, Refusal> {
        let record = &self.turns[turn as usize - 1];
        match command {
            Command::Seal(seal) => {
                record.repeat(&self.game, &self.hash_before(turn), seal).map(Answer::Sealed)
            }
            Command::Reveal(reveal) => record.repeat_reveal(reveal).map(|()| Answer::Done),
            Command::Draw(draw) => record.repeat_draw(draw).map(|()| Answer::Done),
            command => panic!("{command:?} names no turn"),
        }
    }

    /// What binds a seat to an opening in a turn whose predecessors have resolved; to nothing in others.
    pub(crate) fn commitment(&self, seat: Seat, turn: u32, opening: &Opening) -> Commitment {
        let known = turn <= self.game.resolved + 1;
        let previous = if known { self.hash_before(turn) } else { digest(0) };
        let player = &self.game.parties[seat].player;
        SealContext { match_id: self.game.id, turn, seat, player, previous: &previous }.commit(opening)
    }

    /// A move as the match's seal mode wants it.
    pub(crate) fn sealed_move(&self, seat: Seat, turn: u32, opening: Opening) -> SealedMove {
        match self.game.settings.seal_mode {
            SealMode::ServerSealed => SealedMove::Opening(opening),
            SealMode::CommitReveal { .. } => SealedMove::Commitment(self.commitment(seat, turn, &opening)),
        }
    }

    /// The h that turn `turn` stands on.
    pub(crate) fn hash_before(&self, turn: u32) -> Digest {
        match turn {
            0 | 1 => self.game.first_hash(),
            _ => self.turns[turn as usize - 2].hash,
        }
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let now_ms: u64 = words[0].parse().expect("a line begins with its time");
        match words[1] {
            "outage" => {
                self.outage_ms += words[2].parse::<u64>().expect("an outage has a length");
                "done".to_owned()
            }
            "play" => {
                let mut came = String::new();
                for cells in &words[2..] {
                    let (black, white) = cells.split_once('/').expect("a turn is CELL/CELL");
                    let turn = self.game.resolved + 1;
                    self.line(&format!("{now_ms} seal black {black} as b{turn}"));
                    came = self.line(&format!("{now_ms} seal white {white} as w{turn}"));
                    if matches!(self.game.phase, Phase::Revealing(_)) {
                        self.line(&format!("{now_ms} reveal black {black} as rb{turn}"));
                        came = self.line(&format!("{now_ms} reveal white {white} as rw{turn}"));
                    }
                }
                came
            }
            _ => {
                let command = self.command(&words[1..]);
                let before = self.game.clone();
                let (change, answer) = self.apply(&command, self.now(now_ms));
                outcome(&before, change.as_ref(), &answer)
            }
        }
    }

    /// Reads a command; see the module for its words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        match words {
            ["join", seat] => Command::Join { seat: self::seat(seat) },
            ["resign", seat, "as", request] => {
                Command::Resign { seat: self::seat(seat), request_id: request_id(request) }
            }
            ["abort"] => Command::Abort,
            ["lost"] => Command::LostHistory,
            ["claim", seat, turn, hash] => {
                let hash = match hash.strip_prefix('h') {
                    Some(turn) => self.hash_before(turn.parse::<u32>().expect("a turn") + 1),
                    None => digest(hash.parse().expect("a number")),
                };
                let claim = HistoryClaim { turn: turn.parse().expect("a turn"), hash };
                Command::ClaimHistory { seat: self::seat(seat), claim }
            }
            ["tick"] => Command::Tick,
            ["reveal", seat, cell, "as", request, more @ ..] => {
                self.reveal(self::seat(seat), cell.parse().expect("a cell"), request, more)
            }
            ["offer", seat, "as", request, more @ ..] => self.draw(seat, None, request, more),
            ["accept", seat, "as", request, more @ ..] => self.draw(seat, Some(true), request, more),
            ["decline", seat, "as", request, more @ ..] => self.draw(seat, Some(false), request, more),
            ["seal", seat, cell, "as", request, more @ ..] => {
                self.seal(self::seat(seat), cell.parse().expect("a cell"), request, more)
            }
            _ => panic!("no such command: {words:?}"),
        }
    }

    fn seal(&self, seat: Seat, cell: Cell, request: &str, more: &[&str]) -> Command {
        let (mut turn, mut salt, mut previous, mut signature) = (self.game.resolved + 1, 1, None, None::<u8>);
        let (mut is_committed, mut is_open) = (false, false);
        let mut words = more.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().expect("a value");
            match *word {
                "committed" => is_committed = true,
                "open" => is_open = true,
                "in" => turn = value().parse().expect("a turn"),
                "salt" => salt = value().parse().expect("a number"),
                "signed" => signature = Some(value().parse().expect("the number of a key")),
                "knowing" => {
                    previous = Some(match value().strip_prefix('h') {
                        Some(turn) => self.hash_before(turn.parse::<u32>().expect("a turn") + 1),
                        None => digest(0xee),
                    });
                }
                _ => panic!("no such word: {word}"),
            }
        }
        let sealed = match (is_committed, is_open) {
            (true, _) => SealedMove::Commitment(Commitment::from_bytes([cell.number(); 32])),
            (false, true) => SealedMove::Opening(opening(cell, salt)),
            (false, false) => self.sealed_move(seat, turn, opening(cell, salt)),
        };
        let signature = signature.map(|key| {
            let commitment = match &sealed {
                SealedMove::Commitment(commitment) => *commitment,
                SealedMove::Opening(opening) => SealContext {
                    match_id: self.game.id,
                    turn,
                    seat,
                    player: &self.game.parties[seat].player,
                    previous: &self.hash_before(turn),
                }
                .commit(opening),
            };
            player_key(key).sign(&commitment)
        });
        let (key_id, request_id) = ("key-1".into(), request_id(request));
        Command::Seal(SealCommand { seat, turn, sealed, previous, signature, key_id, request_id })
    }

    fn reveal(&self, seat: Seat, cell: Cell, request: &str, more: &[&str]) -> Command {
        let (mut turn, mut salt) = (self.game.resolved + 1, 1);
        for pair in more.chunks(2) {
            match pair {
                ["in", value] => turn = value.parse().expect("a turn"),
                ["salt", value] => salt = value.parse().expect("a number"),
                _ => panic!("no such words: {pair:?}"),
            }
        }
        let request_id = request_id(request);
        Command::Reveal(RevealCommand { seat, turn, opening: opening(cell, salt), request_id })
    }

    fn draw(&self, seat: &str, accept: Option<bool>, request: &str, more: &[&str]) -> Command {
        let turn = match more {
            [] => self.game.resolved + 1,
            ["in", turn] => turn.parse().expect("a turn"),
            _ => panic!("no such words: {more:?}"),
        };
        Command::Draw(DrawCommand { seat: self::seat(seat), turn, accept, request_id: request_id(request) })
    }
}

fn seat(word: &str) -> Seat {
    Seat::BOTH.into_iter().find(|seat| seat.to_string() == word).expect("black or white")
}

pub(crate) fn request_id(text: &str) -> RequestId {
    RequestId::new(text).expect("a request id")
}

fn outcome(before: &Match, change: Option<&Change>, answer: &Result<Answer, Refusal>) -> String {
    let mut parts = vec![match answer {
        Ok(Answer::Done) => "done".to_owned(),
        Ok(Answer::Sealed(receipt)) => {
            format!("receipt {} {} at {}", receipt.seat, receipt.turn, since_creation(receipt.sealed_ms))
        }
        Err(refusal) => format!("refused {refusal:?}"),
    }];
    if let Some(change) = change {
        parts.extend(change.events.iter().map(|event| happened(event, &change.next)));
        match (&before.phase, &change.next.phase) {
            (Phase::Open(_), Phase::Revealing(revealing)) => {
                parts.push(format!("reveals until {}", since_creation(revealing.reveal_by.as_ms())));
            }
            _ if change.events.is_empty() => parts.push("changed".to_owned()),
            _ => {}
        }
    }
    parts.join("; ")
}

fn happened(event: &Event, next: &Match) -> String {
    match (event, &next.phase) {
        (Event::TurnResolved(record), _) => format!("resolved {}", record.turn),
        (Event::TurnOpened { turn }, Phase::Open(open)) => format!("turn {turn} until {}", until(open)),
        (Event::Finished, Phase::Finished(finish)) => {
            format!("ends {:?} {:?} at {}", finish.result, finish.reason, since_creation(finish.at.as_ms()))
        }
        (event, phase) => panic!("{event:?} does not fit {phase:?}"),
    }
}

fn until(open: &OpenTurn) -> String {
    let PerSeat { black, white } = open.deadlines.map(|deadline| since_creation(deadline.as_ms()));
    if black == white { black.to_string() } else { format!("{black}/{white}") }
}

fn since_creation(ms: u64) -> u64 {
    ms - CREATED_MS
}
