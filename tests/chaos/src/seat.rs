//! One player in one match, by the Rust client: seals, repeats, watches, looks after what does not come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use futures::StreamExt as _;
use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom as _;
use tokio::sync::Barrier;
use tokio::time::{sleep, timeout};
use whattheshell::rules::Cell;
use whattheshell::v1::ErrorReason;
use whattheshell::{Error, MatchHandle, MatchStream, SecretOpening, Update, v1};

use crate::account::Break;
use crate::arena::{Arena, PAUSE, Phase};
use crate::secrets::{SALT_BYTES, Who};

/// Silence on a stream after which the player looks at the match himself.
const LOOK_AFTER: Duration = Duration::from_millis(1_000);

/// The longest that a seal may stay without an answer.
const SEAL_MAX: Duration = Duration::from_secs(60);

/// Of how many seals one is repeated through another node, and one of a turn before.
const REPEATED_ONE_OF: u32 = 6;

/// Seals of earlier turns that may be repeated; the client keeps those of eight.
const KEPT_SEALS: usize = 4;

/// How long a player waits for the other to seal at the same instant.
const IN_STEP_MAX: Duration = Duration::from_millis(500);

/// How a player's part in a match ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The match is over.
    Over,
    /// The player goes no further: it was time, or the match's history is lost.
    Left,
}

/// A player in a match.
pub(crate) struct SeatPlay {
    pub(crate) arena: Arc<Arena>,
    pub(crate) who: Who,
    pub(crate) handle: MatchHandle,
    /// The same match at hand over another node.
    pub(crate) elsewhere: MatchHandle,
    pub(crate) random: StdRng,
    pub(crate) in_step: Option<Arc<Barrier>>,
    sealed: VecDeque<(u32, Cell)>,
    /// The last turn that the stream has told.
    turn: u32,
    behind_since: Option<Instant>,
}

impl SeatPlay {
    pub(crate) fn new(
        arena: &Arc<Arena>,
        who: Who,
        handles: [MatchHandle; 2],
        random: StdRng,
        in_step: Option<Arc<Barrier>>,
    ) -> Self {
        let (arena, [handle, elsewhere]) = (Arc::clone(arena), handles);
        Self {
            arena,
            who,
            handle,
            elsewhere,
            random,
            in_step,
            sealed: VecDeque::new(),
            turn: 0,
            behind_since: None,
        }
    }

    /// Plays until the match is over or it is time to leave.
    pub(crate) async fn play(mut self) -> End {
        let mut stream = self.watch();
        loop {
            let game = self.handle.name();
            if self.arena.phase() == Phase::Finish && self.arena.account.is_at_goal(self.who, game) {
                return End::Left;
            }
            let step = match timeout(LOOK_AFTER, stream.next()).await {
                Ok(Some(Ok(update))) => self.take(update).await,
                Ok(Some(Err(error))) => match self.broken(&error) {
                    Some(end) => Some(end),
                    None => {
                        sleep(PAUSE).await;
                        stream = self.watch();
                        None
                    }
                },
                Ok(None) => Some(End::Over),
                Err(_) => {
                    let step = self.look().await;
                    // The other one may have been told first, and will not come back.
                    let is_regressed = self.arena.account.is_regressed(self.handle.name());
                    let step = step.or(is_regressed.then_some(End::Left));
                    if self.is_late() {
                        stream = self.watch();
                    }
                    step
                }
            };
            if let Some(end) = step {
                return end;
            }
        }
    }

    fn watch(&mut self) -> MatchStream {
        self.turn = 0;
        self.arena.account.reads(self.who, self.handle.name(), 0);
        self.handle.watch()
    }

    async fn take(&mut self, update: Update) -> Option<End> {
        let account = &self.arena.account;
        match update {
            Update::Turn(turn) => {
                account.told_turn(self.who, self.handle.name(), &turn.message);
                self.turn = turn.turn;
                self.behind_since = None;
                None
            }
            Update::Status(status) => {
                account.told_status(self.who, self.handle.seat(), self.handle.name(), &status);
                self.seal_if_due(&status).await
            }
            Update::Finished(finish) => {
                account.told_finish(self.handle.name(), &finish.message);
                Some(End::Over)
            }
            _ => None,
        }
    }

    /// What becomes of a stream that has ended with an error. None: it is opened again.
    fn broken(&self, error: &Error) -> Option<End> {
        let game = self.handle.name();
        match error {
            Error::Verification(violation) => {
                let how = if self.arena.account.is_lossless() { Break::Duplicated } else { Break::Lost };
                self.arena.account.complain(how, format!("{game}: {violation}"));
                Some(End::Left)
            }
            error if self.is_gone(error) => {
                self.arena.account.regressed(game);
                Some(End::Left)
            }
            _ => None,
        }
    }

    /// Whether an error says that history was lost: some of a match's, or all of it.
    fn is_gone(&self, error: &Error) -> bool {
        let may_be_gone = !self.arena.account.is_lossless();
        match error.reason() {
            Some(ErrorReason::HistoryRegressed) => true,
            Some(ErrorReason::NotFound) => may_be_gone,
            _ => false,
        }
    }

    /// Looks at the match after a silence: whether the stream is late, and whether a move is due.
    async fn look(&mut self) -> Option<End> {
        self.arena.account.call();
        let Ok(game) = self.handle.refresh().await else { return None };
        let is_behind = game.turn > self.turn || game.finish.is_some();
        match is_behind {
            true => _ = self.behind_since.get_or_insert_with(Instant::now),
            false => self.behind_since = None,
        }
        let status = game.status?;
        self.arena.account.told_status(self.who, self.handle.seat(), self.handle.name(), &status);
        if let Some(end) = self.check_own(&status).await {
            return Some(end);
        }
        self.seal_if_due(&status).await
    }

    /// Whether the stream has been silent about something for too long.
    fn is_late(&mut self) -> bool {
        let late = self.behind_since.is_some_and(|since| since.elapsed() > self.arena.manner.late_max);
        if late {
            let what =
                format!("{}: nothing after turn {} came to {}", self.handle.name(), self.turn, self.who);
            self.arena.account.complain(Break::Stuck, what);
            self.behind_since = None;
        }
        late
    }

    /// A seal that was acknowledged before a look at the match must be there.
    async fn check_own(&mut self, status: &v1::MatchStatus) -> Option<End> {
        let (seat, turn) = (self.handle.seat()?, status.turn);
        if status.state() != v1::MatchState::Open || status.own_seal.is_some() {
            return None;
        }
        let game = self.handle.name();
        if !self.arena.account.has_sealed(game, turn, seat) {
            return None;
        }
        if self.arena.account.is_lossless() {
            let what = format!("{game}: the acknowledged seal of {seat} in turn {turn} is gone");
            self.arena.account.complain(Break::Lost, what);
        }
        // The same request again: what it sealed cannot change by that.
        let (_, cell) = *self.sealed.iter().rev().find(|(sealed, _)| *sealed == turn)?;
        self.send(turn, cell).await
    }

    async fn seal_if_due(&mut self, status: &v1::MatchStatus) -> Option<End> {
        if !self.handle.is_due(status) || self.arena.phase() == Phase::Hush {
            return None;
        }
        if let Some(barrier) = self.in_step.clone() {
            // Whoever waits in vain goes on alone.
            drop(timeout(IN_STEP_MAX, barrier.wait()).await);
        }
        let turn = status.turn;
        let cell = self.handle.position().legal_cells().choose(&mut self.random)?;
        // It fails where the match has gone on in the meantime, which the stream tells.
        let opening = self.handle.export_opening(turn, cell).await.ok()?;
        self.arena.secrets.drawn(self.who, self.handle.name(), Some(turn), salt(&opening)?);
        if let Some(end) = self.send(turn, cell).await {
            return Some(end);
        }
        self.check_heard(turn);
        self.repeat(turn, cell, &opening).await
    }

    /// A search that does not hear the player himself would hear nobody.
    fn check_heard(&self, turn: u32) {
        let (game, arena) = (self.handle.name(), &self.arena);
        let is_open = !arena.account.is_commit_reveal(game);
        let is_sealed = self.handle.seat().is_some_and(|seat| arena.account.has_sealed(game, turn, seat));
        if is_open && is_sealed && !arena.secrets.has_sent(self.who, game, turn) {
            arena
                .account
                .complain(Break::Misjudged, format!("{game}: the move of turn {turn} was not overheard"));
        }
    }

    /// Sends a seal until there is an answer.
    async fn send(&mut self, turn: u32, cell: Cell) -> Option<End> {
        let first = Instant::now();
        loop {
            self.arena.account.call();
            let begun = Instant::now();
            match self.handle.seal(turn, cell).await {
                Ok(receipt) => {
                    self.arena.account.sealed(self.who, begun, &receipt);
                    self.sealed.push_back((turn, cell));
                    if self.sealed.len() > KEPT_SEALS {
                        self.sealed.pop_front();
                    }
                    return None;
                }
                Err(Error::Receipt(mismatch)) => {
                    let what = format!("{}: {mismatch}", self.handle.name());
                    self.arena.account.complain(Break::Duplicated, what);
                    return Some(End::Left);
                }
                Err(error) if error.is_uncertain() && first.elapsed() < SEAL_MAX => {
                    self.arena.account.failed(|| format!("a seal of turn {turn}: {error:?}"));
                    sleep(PAUSE).await;
                }
                Err(error) => return self.refused(turn, &error),
            }
        }
    }

    /// A move that is legal and in time was refused.
    fn refused(&self, turn: u32, error: &Error) -> Option<End> {
        let (game, account) = (self.handle.name(), &self.arena.account);
        if self.is_gone(error) {
            account.regressed(game);
            return Some(End::Left);
        }
        match error.reason() {
            // The stream tells how it ended, and the audit judges that.
            Some(ErrorReason::MatchFinished) => None,
            // What was lost may be asked for too early or too late.
            Some(ErrorReason::TurnNotOpenYet | ErrorReason::TurnClosed | ErrorReason::MatchNotStarted)
                if !account.is_lossless() =>
            {
                None
            }
            _ if error.is_uncertain() => {
                account
                    .complain(Break::Stuck, format!("{game}: a seal of turn {turn} gets no answer: {error}"));
                Some(End::Left)
            }
            _ => {
                account.complain(
                    Break::Misjudged,
                    format!("{game}: a seal of turn {turn} was refused: {error}"),
                );
                None
            }
        }
    }

    /// Now and then repeats a seal through another node, or one of an earlier turn.
    async fn repeat(&mut self, turn: u32, cell: Cell, opening: &SecretOpening) -> Option<End> {
        if self.random.random_ratio(1, REPEATED_ONE_OF)
            && self.elsewhere.import_opening(opening.as_str()).is_ok()
        {
            let begun = Instant::now();
            self.again(begun, turn, self.elsewhere.seal(turn, cell).await);
        }
        if self.random.random_ratio(1, REPEATED_ONE_OF)
            && let Some((turn, cell)) = self.sealed.front().copied()
        {
            let begun = Instant::now();
            self.again(begun, turn, self.handle.seal(turn, cell).await);
        }
        None
    }

    /// The answer to a seal that was acknowledged before.
    fn again(&self, begun: Instant, turn: u32, answer: Result<v1::SealReceipt, Error>) {
        let account = &self.arena.account;
        account.call();
        match answer {
            Ok(receipt) => account.sealed(self.who, begun, &receipt),
            Err(error) if error.is_uncertain() && !matches!(error, Error::Receipt(_)) => {}
            Err(error) if self.is_gone(&error) => account.regressed(self.handle.name()),
            Err(_) if !account.is_lossless() => {}
            Err(error) => {
                let what = format!("{}: the repeated seal of turn {turn} got {error}", self.handle.name());
                account.complain(Break::Duplicated, what);
            }
        }
    }
}

/// The salt of an exported opening: its fifth word.
fn salt(opening: &SecretOpening) -> Option<[u8; SALT_BYTES]> {
    let word = opening.as_str().split(' ').nth(4)?;
    BASE64.decode(word).ok()?.try_into().ok()
}
