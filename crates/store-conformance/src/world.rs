//! What a promise is tried in: two nodes, a clock, and players who know the rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use referee::{
    Change, Command, Match, NewMatch, Now, RequestId, SealCommand, SealedMove, Settings, Stamp, TimeControl,
};
use rules::{Cell, PerSeat, Seat};
use sealing::{MatchId, Opening, Party, Salt};
use store::{Commit, CommitOutcome, Loaded, Shard, Store, Stored};

use crate::Harness;

/// The time for a turn in these matches, ms.
pub(crate) const TURN_MS: u64 = 30_000;

/// How often whoever keeps a store's time asks what is due, ms.
const PULSE_MS: u64 = 1_000;

/// A fresh back end, seen from two nodes.
pub struct World {
    harness: Box<dyn Harness>,
    /// One node.
    pub(crate) store: Arc<dyn Store>,
    /// Another one.
    pub(crate) other: Arc<dyn Store>,
    drawn: AtomicU64,
}

impl World {
    pub(crate) async fn new(harness: impl Harness) -> Self {
        let (store, other) = (harness.node().await, harness.node().await);
        Self { harness: Box::new(harness), store, other, drawn: AtomicU64::new(0) }
    }

    /// Both nodes.
    pub(crate) fn nodes(&self) -> [&Arc<dyn Store>; 2] {
        [&self.store, &self.other]
    }

    /// A number that no one else gets.
    pub(crate) fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Random bytes for a version, as far as a test needs them: never the same twice.
    pub(crate) fn nonce(&self) -> [u8; 8] {
        self.draw().to_be_bytes()
    }

    /// An id that no one else has.
    pub(crate) fn id(&self) -> MatchId {
        let mut bytes = [0x5a; 16];
        bytes[8..].copy_from_slice(&self.nonce());
        MatchId::from_bytes(bytes)
    }

    /// An id like [`World::id`], in this shard.
    pub(crate) fn id_in(&self, shard: Shard) -> MatchId {
        loop {
            let id = self.id();
            if self.shard(id) == shard {
                return id;
            }
        }
    }

    pub(crate) fn shard(&self, id: MatchId) -> Shard {
        Shard::of(id, self.store.shard_count())
    }

    pub(crate) async fn now(&self, id: MatchId) -> Now {
        self.store.now(id).await.expect("the time can be asked")
    }

    pub(crate) async fn load(&self, id: MatchId) -> Loaded {
        self.store.load(id).await.expect("a stored match can be read")
    }

    /// What is due in the shard of this match.
    pub(crate) async fn due(&self, id: MatchId) -> Vec<MatchId> {
        self.store.due(self.shard(id), usize::MAX).await.expect("what is due can be asked").matches
    }

    /// Whether this match is due.
    pub(crate) async fn is_due(&self, id: MatchId) -> bool {
        self.due(id).await.contains(&id)
    }

    /// Lets time pass while nobody is there: above 3 s that is an outage.
    pub(crate) async fn leap_ms(&self, ms: u64) {
        self.harness.advance_ms(ms).await;
    }

    /// Lets time pass while somebody keeps the time of this match's shard.
    pub(crate) async fn pass_ms(&self, id: MatchId, ms: u64) {
        let mut left_ms = ms;
        while left_ms > 0 {
            let step_ms = left_ms.min(PULSE_MS);
            self.leap_ms(step_ms).await;
            self.due(id).await;
            left_ms -= step_ms;
        }
    }

    /// Lets time pass, somebody being there, until the clock of this match's shard shows `at`.
    pub(crate) async fn pass_until(&self, id: MatchId, at: Stamp) {
        let now = self.now(id).await.stamp;
        self.pass_ms(id, at.ms_since(now)).await;
    }

    /// Creates a match in which both players have yet to join.
    pub(crate) async fn create(&self, id: MatchId) -> Stored {
        let change = self.new_match(id, TURN_MS).await;
        self.store.create(change, self.nonce()).await.expect("a match can be created").stored
    }

    /// A match that nobody has stored yet.
    pub(crate) async fn new_match(&self, id: MatchId, turn_ms: u64) -> Change {
        let settings = Settings { time: TimeControl::PerTurn { turn_ms }, ..Settings::default() };
        let new = NewMatch { id, settings, parties: parties(), rematch_of: None, origin: None };
        Match::create(new, self.now(id).await)
    }

    /// Creates a match of turns of 30 s, which both players join, and settles what follows from it.
    pub(crate) async fn start(&self) -> MatchId {
        self.start_with(self.id(), TURN_MS).await
    }

    /// A started match with this id and this time for a turn.
    pub(crate) async fn start_with(&self, id: MatchId, turn_ms: u64) -> MatchId {
        let change = self.new_match(id, turn_ms).await;
        self.store.create(change, self.nonce()).await.expect("a match can be created");
        for seat in Seat::BOTH {
            self.act(id, Command::Join { seat }).await;
        }
        self.settle_all(id).await;
        id
    }

    /// Settles whatever waits.
    pub(crate) async fn settle_all(&self, id: MatchId) {
        let stored = self.load(id).await.stored;
        let settled = self.store.settle(id, stored.version, &stored.follow_ups).await;
        settled.expect("follow-ups can be settled");
    }

    /// What a node would commit for a command now. The command must change the match.
    pub(crate) async fn judge(&self, id: MatchId, command: Command) -> Commit {
        let loaded = self.load(id).await;
        self.judge_at(&loaded, command, loaded.now)
    }

    /// What a node would commit for a command, judged on what it has read at a moment of its choice.
    pub(crate) fn judge_at(&self, loaded: &Loaded, command: Command, judged: Now) -> Commit {
        let change = loaded.stored.head.apply(&command, judged).change;
        let change = change.expect("the command changes the match");
        Commit { expected: loaded.stored.version, nonce: self.nonce(), judged, change, trace: None }
    }

    /// Applies a command to a match and stores what comes of it.
    pub(crate) async fn act(&self, id: MatchId, command: Command) -> Stored {
        let commit = self.judge(id, command).await;
        committed(self.commit(commit).await)
    }

    pub(crate) async fn commit(&self, commit: Commit) -> CommitOutcome {
        self.store.commit(commit).await.expect("a commit is answered")
    }

    /// Both seats seal the open turn: the same cell, the one with the turn's number.
    pub(crate) async fn play(&self, id: MatchId) -> Stored {
        let turn = self.load(id).await.stored.head.resolved + 1;
        self.act(id, seal(Seat::Black, turn)).await;
        self.act(id, seal(Seat::White, turn)).await
    }

    /// Checks that both nodes see exactly this.
    pub(crate) async fn sees(&self, id: MatchId, stored: &Stored) {
        for node in self.nodes() {
            let loaded = node.load(id).await.expect("a stored match can be read");
            assert_eq!(&loaded.stored, stored);
            assert!(loaded.now.stamp >= stored.stamp, "the time is never before the head's stamp");
        }
    }

    /// Checks that the history of a match has exactly these turns.
    pub(crate) async fn has_turns(&self, id: MatchId, expected: &[u32]) {
        for node in self.nodes() {
            let turns = node.turns(id, 1, usize::MAX).await.expect("turns can be read");
            assert_eq!(turns.iter().map(|record| record.turn).collect::<Vec<_>>(), expected);
        }
    }
}

/// The players of every match here.
pub(crate) fn parties() -> PerSeat<Party> {
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    PerSeat { black: party("players/ann"), white: party("players/bob") }
}

pub(crate) fn request_id(text: &str) -> RequestId {
    RequestId::new(text).expect("a request id")
}

pub(crate) fn resign(seat: Seat) -> Command {
    Command::Resign { seat, request_id: request_id("resign") }
}

/// A seal for a turn up to 81, on the cell with the turn's number, so that both seats collide there.
pub(crate) fn seal(seat: Seat, turn: u32) -> Command {
    seal_as(seat, turn, &format!("seal-{turn}"))
}

/// A [`seal`] under another request.
pub(crate) fn seal_as(seat: Seat, turn: u32, request: &str) -> Command {
    let number = u8::try_from(turn).expect("a turn up to 81");
    Command::Seal(SealCommand {
        seat,
        turn,
        sealed: SealedMove::Opening(Opening {
            cell: Cell::from_number(number).expect("a turn up to 81"),
            salt: Salt::from_bytes([seat.number(); 32]),
        }),
        previous: None,
        signature: None,
        key_id: "".into(),
        request_id: request_id(request),
    })
}

/// What a commit stored.
#[track_caller]
pub(crate) fn committed(outcome: CommitOutcome) -> Stored {
    match outcome {
        CommitOutcome::Committed(stored) => stored,
        refused => panic!("the commit is refused: {refused:?}"),
    }
}

/// What is stored instead of a commit that came second.
#[track_caller]
pub(crate) fn conflict(outcome: CommitOutcome) -> Loaded {
    match outcome {
        CommitOutcome::Conflict(loaded) => loaded,
        other => panic!("the commit does not conflict: {other:?}"),
    }
}
