//! A match as it happens: verified, and resumed where it breaks.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use rules::Seat;
use sealing::{Claim as Chain, Commitment, Digest, EndReason};
use tonic::Streaming;
use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::watch_match_response::Update as Wire;

use crate::convert::{self, Terms};
use crate::ledger::{Head, Ledger};
use crate::line::Line;
use crate::replay::Replay;
use crate::reveal::Reveal;
use crate::{Claim, Error, Finish, Player, VerifiedTurn, Violation};

/// What a [`MatchStream`] yields.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Update {
    /// The match before its first turn: settings and players, checked against the first hash. Comes
    /// first, and once.
    Snapshot(v1::MatchSnapshot),
    /// The next turn, verified. Each comes once, in order.
    Turn(VerifiedTurn),
    /// What goes on now, as the player may see it; a later one replaces it.
    Status(v1::MatchStatus),
    /// The end; nothing comes after it.
    Finished(Finish),
}

/// A match as it happens: a snapshot, every turn since the first, the status in between, the end.
///
/// Every turn is verified before it is yielded: its commitments open on the chain of hashes, the board
/// and the events are what the rules lead to, the player's own move is the one that he has a receipt for,
/// and the opponent's, where moves are revealed, the one that he had committed himself to before. A claim
/// that does not hold is an [`Error::Verification`] and ends the stream.
///
/// In a commit-reveal match the stream of a [`MatchHandle`](crate::MatchHandle) reveals what was sealed
/// through it, as soon as both commitments are in and before it yields the status that says so. It does
/// that while it is polled.
///
/// When the connection breaks, falls silent or is sent elsewhere, the stream resumes after the last
/// verified turn; a turn is never yielded twice and never left out. It ends with an error after
/// some 12 attempts in a row without anything new, and after one that repeating does not mend. The end of
/// its token is such a one for a session that has no other
/// ([`Client::player_with`](crate::Client::player_with) makes one that has).
pub struct MatchStream {
    name: String,
    is_connected: Arc<AtomicBool>,
    updates: BoxStream<'static, Result<Update, Error>>,
}

impl MatchStream {
    /// A stream of the match with this name and, where it is known, this first hash.
    pub(crate) fn new(player: Player, name: &str, ledger: Ledger, first_hash: Option<Digest>) -> Self {
        let is_connected = Arc::new(AtomicBool::new(false));
        let watcher = Watcher {
            line: Line::new(Arc::clone(&is_connected), player.caller().renews()),
            player,
            name: name.to_owned(),
            ledger,
            first_hash,
            replay: None,
            last_status: None,
            due_reveal: None,
            is_over: false,
        };
        let updates = stream::try_unfold(watcher, |mut watcher| async move {
            Ok(watcher.next().await?.map(|update| (update, watcher)))
        });
        Self { name: name.to_owned(), is_connected, updates: updates.boxed() }
    }

    /// The match, `matches/{match}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the last that came was a message: false before the first one, and from the moment that the
    /// stream finds the connection broken until it has resumed. For display.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }
}

impl Stream for MatchStream {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.updates.poll_next_unpin(cx)
    }
}

impl fmt::Debug for MatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchStream").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What stands behind a stream.
struct Watcher {
    line: Line<v1::WatchMatchResponse>,
    player: Player,
    name: String,
    ledger: Ledger,
    first_hash: Option<Digest>,
    /// The turns verified so far; none before the first snapshot.
    replay: Option<Replay>,
    last_status: Option<v1::MatchStatus>,
    /// The player's move that the opponent waits for.
    due_reveal: Option<Reveal>,
    is_over: bool,
}

impl Watcher {
    /// The next update; none after the end.
    async fn next(&mut self) -> Result<Option<Update>, Error> {
        while !self.is_over {
            match self.receive().await {
                Ok((Some(message), is_first)) => {
                    let update = self.take(message, is_first)?;
                    self.reveal().await?;
                    if let Some(update) = update {
                        return Ok(Some(update));
                    }
                }
                // An update of a kind that only a newer client knows.
                Ok((None, _)) => {}
                Err(error) => self.line.resume_after(error).await?,
            }
        }
        Ok(None)
    }

    /// Reveals what is due. If no answer comes the stream counts as broken: the next one begins with a
    /// status that says whether the reveal is in.
    async fn reveal(&mut self) -> Result<(), Error> {
        let Some(reveal) = self.due_reveal.take() else { return Ok(()) };
        match reveal.send(&self.player, &self.name, &self.ledger).await {
            Err(error) if error.is_uncertain() => {
                self.line.resume_after(Error::StreamBroken("a reveal gets no answer")).await
            }
            Err(error) if Reveal::is_too_late(&error) => Ok(()),
            answer => answer,
        }
    }

    /// The next message, from a call that is opened if there is none, and whether it is the call's first.
    async fn receive(&mut self) -> Result<(Option<Wire>, bool), Error> {
        if !self.line.is_open() {
            let messages = self.open().await?;
            self.line.opened(messages);
        }
        let (message, is_first) = self.line.message().await?;
        Ok((message.update, is_first))
    }

    /// Opens the stream after the last verified turn.
    async fn open(&self) -> Result<Streaming<v1::WatchMatchResponse>, Error> {
        let (after_turn, after_hash) = match &self.replay {
            Some(replay) => (replay.turn(), replay.hash().as_bytes().to_vec()),
            None => (0, self.first_hash.map(|hash| hash.as_bytes().to_vec()).unwrap_or_default()),
        };
        let request = v1::WatchMatchRequest {
            name: self.name.clone(),
            player: self.player.acting_for(),
            after_turn: Some(after_turn),
            after_hash,
            last_receipt: self.ledger.last_receipt(),
        };
        let call = async |channel, request| MatchServiceClient::new(channel).watch_match(request).await;
        self.player.caller().open(request, call).await
    }

    /// Verifies a message. None: there is nothing in it to yield.
    fn take(&mut self, message: Wire, is_first: bool) -> Result<Option<Update>, Error> {
        if is_first != matches!(message, Wire::Snapshot(_)) {
            return Err(Violation::of_match(Claim::Field("snapshot")).into());
        }
        match (message, &mut self.replay) {
            (Wire::Snapshot(snapshot), _) => Ok(self.begin(snapshot)?),
            (_, None) => Err(Violation::of_match(Claim::Field("snapshot")).into()),
            (Wire::Turn(turn), Some(replay)) => {
                let turn = replay.play(turn)?;
                self.check_own(&turn)?;
                self.check_opponent(&turn)?;
                self.ledger.advance(Head { turn: turn.turn, hash: turn.hash, position: turn.position });
                self.line.progressed();
                Ok(Some(Update::Turn(turn)))
            }
            (Wire::Status(status), Some(_)) => {
                // After a resume the server repeats what the client may have missed.
                let is_new = self.last_status.as_ref() != Some(&status);
                self.last_status = Some(status.clone());
                self.due_reveal = Reveal::due(&status, &self.ledger)?;
                Ok(is_new.then_some(Update::Status(status)))
            }
            (Wire::Finished(finish), Some(_)) => {
                let Some(replay) = self.replay.take() else { return Ok(None) };
                let (finish, _) = replay.finish(finish)?;
                self.check_unresolved(&finish)?;
                self.is_over = true;
                Ok(Some(Update::Finished(finish)))
            }
            (Wire::Heartbeat(heartbeat), Some(replay)) => {
                self.line.told(heartbeat.interval.as_ref());
                if heartbeat.head_turn > replay.turn() {
                    // The server has sent all it had and is silent, and yet a turn is missing here.
                    self.line.give_up_call("a turn that the server has does not come")?;
                } else {
                    self.line.progressed();
                }
                Ok(None)
            }
        }
    }

    /// Where a connection starts: at the match's beginning, or where the last one broke off.
    fn begin(&mut self, snapshot: v1::MatchSnapshot) -> Result<Option<Update>, Violation> {
        let of_match = Violation::of_match;
        if snapshot.name != self.name {
            return Err(of_match(Claim::Match));
        }
        let (settings, black, white) = (&snapshot.settings, &snapshot.black, &snapshot.white);
        let terms = Terms::read(&self.name, settings.as_ref(), black.as_ref(), white.as_ref());
        let terms = terms.map_err(of_match)?;
        let first_hash = terms.first_hash();
        let is_first = self.replay.is_none();
        let replay = match &mut self.replay {
            Some(replay) => replay,
            None => self.replay.insert(Replay::start(terms, &first_hash)?),
        };
        if replay.first_hash() != first_hash || self.first_hash.is_some_and(|known| known != first_hash) {
            return Err(of_match(Claim::History));
        }
        let hash = convert::digest(&snapshot.hash, "hash").map_err(of_match)?;
        if snapshot.turn != replay.turn() || hash != replay.hash() {
            let first = Claim::Transcript(Chain::FirstHash);
            return Err(of_match(if is_first { first } else { Claim::History }));
        }
        if convert::position(snapshot.position.as_ref()) != Some(replay.position()) {
            return Err(of_match(Claim::Position));
        }
        let (turn, position) = (replay.turn(), replay.position());
        self.ledger.advance(Head { turn, hash, position });
        Ok(is_first.then_some(Update::Snapshot(snapshot)))
    }

    /// A published turn has the move that the player has a receipt for.
    fn check_own(&self, turn: &VerifiedTurn) -> Result<(), Violation> {
        let Some((seat, commitment)) = self.ledger.receipted(turn.turn) else { return Ok(()) };
        if is_commitment_of(turn, seat, &commitment) {
            return Ok(());
        }
        Err(Violation { turn: Some(turn.turn), seat: Some(seat), claim: Claim::OwnSeal })
    }

    /// A published turn has the move that the opponent had committed himself to before the player's was
    /// revealed.
    fn check_opponent(&self, turn: &VerifiedTurn) -> Result<(), Violation> {
        let Some((seat, commitment)) = self.ledger.opponent(turn.turn) else { return Ok(()) };
        if is_commitment_of(turn, seat, &commitment) {
            return Ok(());
        }
        Err(Violation { turn: Some(turn.turn), seat: Some(seat), claim: Claim::OpponentSeal })
    }

    /// The end still has the commitment that the player has a receipt for, and the one that the opponent
    /// had made before the player's was revealed, unless the service owns up to having lost them.
    fn check_unresolved(&self, finish: &Finish) -> Result<(), Violation> {
        let open = finish.message.turn.saturating_add(1);
        let unresolved = convert::unresolved(&finish.message).map_err(Violation::of_match)?;
        let known = [
            (self.ledger.receipted(open), Claim::OwnSeal),
            (self.ledger.opponent(open), Claim::OpponentSeal),
        ];
        for (known, claim) in known {
            let Some((seat, commitment)) = known else { continue };
            let lost = finish.message.reason == i32::from(EndReason::LostHistory.number());
            if unresolved[seat] != Some(commitment) && !lost {
                return Err(Violation { turn: Some(open), seat: Some(seat), claim });
            }
        }
        Ok(())
    }
}

/// Whether this commitment is the one that a turn was published with.
fn is_commitment_of(turn: &VerifiedTurn, seat: Seat, commitment: &Commitment) -> bool {
    let opening = match seat {
        Seat::Black => &turn.message.black,
        Seat::White => &turn.message.white,
    };
    opening.as_ref().is_some_and(|opening| opening.commitment == commitment.as_bytes())
}
