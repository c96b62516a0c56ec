//! A match at hand: sealing moves and checking what comes back.

use std::sync::Arc;

use rules::{Cell, Position, Seat};
use sealing::{Claim as Chain, Digest, Opening, SealContext};
use tokio::time::timeout;
use wire::v1;
use wire::v1::match_service_client::MatchServiceClient;
use wire::{ApiError, v1::ErrorReason};

use crate::convert::{self, Terms};
use crate::ledger::{Head, Ledger, Sealed};
use crate::{Claim, Error, MatchStream, Player, Transcript, VerifiedMatch, Violation, random, retry};

/// A match as one player has it at hand. Cheap to clone; clones and their streams share what was sealed.
///
/// It comes from [`Player::join`] or [`Player::open`]. It holds the salts of the moves sealed through it:
/// keep it (or a stream of it) until the match is over, so that the published turns can be checked
/// against them.
#[derive(Clone, Debug)]
pub struct MatchHandle {
    pub(crate) player: Player,
    pub(crate) name: Arc<str>,
    pub(crate) terms: Arc<Terms>,
    seat: Option<Seat>,
    pub(crate) ledger: Ledger,
    /// Whether receipts are asked for with the server's signature.
    pub(crate) sign_receipts: bool,
}

impl MatchHandle {
    /// The match in a message, if it is the one that was asked for and its settings and players are
    /// those of its first hash.
    pub(crate) fn new(player: Player, name: &str, game: &v1::Match) -> Result<Self, Error> {
        if game.name != name {
            return Err(Violation::of_match(Claim::Match).into());
        }
        let terms = Terms::read(name, game.settings.as_ref(), game.black.as_ref(), game.white.as_ref());
        let terms = terms.map_err(Violation::of_match)?;
        let head = head(game)?;
        if game.turn == 0 && head.hash != terms.first_hash() {
            return Err(Violation::of_match(Claim::Transcript(Chain::FirstHash)).into());
        }
        let seat = terms.seat_of(player.name());
        let ledger = Ledger::new(seat, head);
        let sign_receipts = terms.is_ranked();
        Ok(Self { player, name: name.into(), terms: Arc::new(terms), seat, ledger, sign_receipts })
    }

    /// `matches/{match}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The player's seat. None: he only watches.
    #[must_use]
    pub fn seat(&self) -> Option<Seat> {
        self.seat
    }

    /// Who sits in a seat, `players/{player}`.
    #[must_use]
    pub fn player_in(&self, seat: Seat) -> &str {
        &self.terms.parties[seat].player
    }

    /// The last resolved turn, as far as this handle and its streams know; 0 before the first.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.ledger.head().map_or(0, |head| head.turn)
    }

    /// The board after that turn.
    #[must_use]
    pub fn position(&self) -> Position {
        self.ledger.head().map_or_else(Position::initial, |head| head.position)
    }

    /// Whether the player is to seal now: a turn is open, the board before it is [`Self::position`], and
    /// he has not sealed it, here or elsewhere.
    #[must_use]
    pub fn is_due(&self, status: &v1::MatchStatus) -> bool {
        let Some(seat) = self.seat else { return false };
        let own = convert::seat_status(status, seat);
        let sealed = own.and_then(|own| own.sealed).unwrap_or(false) || status.own_seal.is_some();
        status.state == i32::from(v1::MatchState::Open)
            && status.turn == self.turn().saturating_add(1)
            && !sealed
            && self.ledger.receipted(status.turn).is_none()
    }

    /// Seals a move for a turn, for good. The salt is drawn here and the commitment made here; the
    /// receipt is checked against both, and later so is the published turn, by the streams of this
    /// handle.
    ///
    /// In a commit-reveal match only the commitment is sent. Cell and salt stay here until the opponent
    /// has committed himself too: then the streams of this handle [reveal](Self::reveal) them. Keep one
    /// polled: a move that is not revealed in time loses the match.
    ///
    /// Against a bot a turn opens with the bot's seal. A move that is sealed before is sent when the turn has
    /// opened, within the time that a call has.
    ///
    /// Whether the turn resolves is told by [`Self::watch`]. If the answer is lost
    /// ([`Error::is_uncertain`]), call again with the same turn and cell: it is the same seal, with the
    /// same salt and request id, and has one effect.
    ///
    /// # Errors
    /// - [`Error::Api`]: CELL_OCCUPIED, ALREADY_SEALED, TURN_CLOSED, TURN_NOT_OPEN_YET, MATCH_FINISHED,
    ///   HISTORY_REGRESSED and others, as `SealMove` says. In a commit-reveal match CELL_OCCUPIED is
    ///   found here: the server cannot see the cell, and the reveal of an occupied one loses.
    /// - [`Error::Receipt`]: the server confirmed something else than was sealed, or its signature does
    ///   not hold where one is [asked for](Self::with_signed_receipts).
    /// - [`Error::ServerKeys`]: the receipt is signed, and the server's keys cannot be had.
    /// - [`Error::SealMode`]: nothing was sent.
    pub async fn seal(&self, turn: u32, cell: Cell) -> Result<v1::SealReceipt, Error> {
        let seat = self.seated()?;
        let sealed = self.prepared(turn, cell).await?;
        let sent = match self.is_commit_reveal()? {
            true => v1::seal_move_request::Move::Commitment(sealed.commitment.as_bytes().to_vec()),
            false => v1::seal_move_request::Move::Open(convert::open_move(&sealed.opening)),
        };
        let request = v1::SealMoveRequest {
            name: self.name.to_string(),
            player: self.player.acting_for(),
            request_id: sealed.request_id.clone(),
            turn,
            r#move: Some(sent),
            previous_hash: sealed.previous.as_bytes().to_vec(),
            sign_receipt: self.sign_receipts,
            ..v1::SealMoveRequest::default()
        };
        let answer = self.send_seal_in_time(request, sealed.previous).await;
        let answer = answer.inspect_err(|error| {
            // A move that may be in must stay: without its salt it cannot be revealed.
            if error.is_judgement() {
                self.ledger.remove(turn, &sealed.request_id);
            }
        })?;
        let receipt = answer.receipt.ok_or(Error::Malformed("receipt"))?;
        self.check_receipt(&receipt, seat, turn, &sealed).await?;
        self.ledger.confirm(turn, &sealed.request_id);
        if !receipt.signature.is_empty() {
            self.ledger.keep_signed(&receipt);
        }
        Ok(receipt)
    }

    /// Sends a seal, against a bot once the bot has opened the turn.
    async fn send_seal_in_time(
        &self,
        request: v1::SealMoveRequest,
        previous: Digest,
    ) -> Result<v1::SealMoveResponse, Error> {
        let is_early = |answer: &Result<_, Error>| {
            let reason = answer.as_ref().err().and_then(Error::reason);
            self.terms.settings.bot.is_some() && reason == Some(ErrorReason::TurnNotOpenYet)
        };
        let mut answer = self.send_seal(request.clone()).await;
        let waited = async {
            let mut tries = 1;
            while is_early(&answer) && tries < retry::TRIES_MAX {
                self.until_open(request.turn, previous).await?;
                answer = self.send_seal(request.clone()).await;
                tries += 1;
            }
            answer
        };
        // If the bot is late, the same move can be sealed again.
        timeout(self.player.caller().deadline(), waited).await.unwrap_or_else(|_| Err(Error::deadline()))
    }

    /// Sends a seal. If the server says that it knows another history, once more with the last signed receipt,
    /// if there is one: it may be for something that the server has lost.
    async fn send_seal(&self, request: v1::SealMoveRequest) -> Result<v1::SealMoveResponse, Error> {
        let call = async |channel, request| MatchServiceClient::new(channel).seal_move(request).await;
        let answer = self.player.caller().unary(request.clone(), call).await;
        let has_regressed = |error: &Error| error.reason() == Some(ErrorReason::HistoryRegressed);
        match (answer, self.ledger.last_receipt()) {
            (Err(error), Some(receipt)) if has_regressed(&error) => {
                let evidence = v1::SealMoveRequest { last_receipt: Some(receipt), ..request };
                self.player.caller().unary(evidence, call).await
            }
            (answer, _) => answer,
        }
    }

    /// The player's seat, which most calls need.
    pub(crate) fn seated(&self) -> Result<Seat, Error> {
        let not_seated = || ApiError::new(ErrorReason::NotAParticipant).with_metadata("resource", &self.name);
        Ok(self.seat.ok_or_else(not_seated)?)
    }

    /// Whether moves are committed to first and revealed later.
    pub(crate) fn is_commit_reveal(&self) -> Result<bool, Error> {
        let mode = i32::try_from(self.terms.settings.seal_mode).ok();
        match mode.and_then(|mode| v1::SealMode::try_from(mode).ok()) {
            Some(v1::SealMode::ServerSealed) => Ok(false),
            Some(v1::SealMode::CommitReveal) => Ok(true),
            Some(v1::SealMode::Unspecified) | None => Err(Error::SealMode),
        }
    }

    /// The move of this cell as it was sealed before, or, on the history before the turn, with a new salt.
    pub(crate) async fn prepared(&self, turn: u32, cell: Cell) -> Result<Sealed, Error> {
        let is_commit_reveal = self.is_commit_reveal()?;
        if let Some(sealed) = self.ledger.find(turn, cell) {
            return Ok(sealed);
        }
        let head = self.head_before(turn).await?;
        if is_commit_reveal && !head.position.is_empty(cell) {
            return Err(ApiError::precondition(ErrorReason::CellOccupied, &self.name).into());
        }
        let sealed =
            self.bind(turn, Opening { cell, salt: random::salt()? }, head.hash, random::request_id()?)?;
        self.ledger.add(turn, sealed.clone());
        Ok(sealed)
    }

    /// A move with its commitment, in a turn whose previous h is `previous`.
    pub(crate) fn bind(
        &self,
        turn: u32,
        opening: Opening,
        previous: Digest,
        request_id: String,
    ) -> Result<Sealed, Error> {
        let seat = self.seated()?;
        let context = SealContext {
            match_id: self.terms.match_id,
            turn,
            seat,
            player: &self.terms.parties[seat].player,
            previous: &previous,
        };
        let commitment = context.commit(&opening);
        let reveal_request_id = random::request_id()?;
        Ok(Sealed { request_id, reveal_request_id, opening, commitment, previous, has_receipt: false })
    }

    /// Where the match stands before a turn; asks the server if it has gone on unseen.
    async fn head_before(&self, turn: u32) -> Result<Head, Error> {
        let before = |head: &Head| head.turn.checked_add(1) == Some(turn);
        if let Some(head) = self.ledger.head().filter(before) {
            return Ok(head);
        }
        self.refresh().await?;
        let head = self.ledger.head().ok_or(Error::Malformed("match"))?;
        if before(&head) {
            return Ok(head);
        }
        let reason = if turn <= head.turn { ErrorReason::TurnClosed } else { ErrorReason::TurnNotOpenYet };
        Err(ApiError::precondition(reason, &self.name).with_metadata("turn", &turn.to_string()).into())
    }

    /// The match as it is now, as the player may see it. A client that does not watch follows the match
    /// by this: it moves [`Self::turn`] and [`Self::position`] too, without verifying them.
    ///
    /// # Errors
    /// As every call; [`Error::Verification`] if it is not this match.
    pub async fn refresh(&self) -> Result<v1::Match, Error> {
        let game = self.player.get_match(&self.name).await?;
        if game.name != *self.name {
            return Err(Violation::of_match(Claim::Match).into());
        }
        self.ledger.advance(head(&game)?);
        Ok(game)
    }

    /// The match as it happens, from its first turn; see [`MatchStream`]. Nothing is sent before the
    /// stream is first polled.
    #[must_use]
    pub fn watch(&self) -> MatchStream {
        let first_hash = Some(self.terms.first_hash());
        MatchStream::new(self.player.clone(), &self.name, self.ledger.clone(), first_hash)
    }

    /// Gives up: the opponent wins. Before the first turn the match is aborted instead.
    ///
    /// # Errors
    /// As every call.
    pub async fn resign(&self) -> Result<v1::Match, Error> {
        self.player.resign(&self.name).await
    }

    /// All that is needed to verify the match offline. Of a live match the turns so far.
    ///
    /// # Errors
    /// As every call.
    pub async fn transcript(&self) -> Result<Transcript, Error> {
        self.player.transcript(&self.name).await
    }

    /// [`Player::verify_signed`] by the session of this handle.
    ///
    /// # Errors
    /// As every call; [`Error::Verification`]: the first claim that does not hold.
    pub async fn verify_signed(&self, transcript: &Transcript) -> Result<VerifiedMatch, Error> {
        self.player.verify_signed(transcript).await
    }
}

fn head(game: &v1::Match) -> Result<Head, Violation> {
    let of_match = Violation::of_match;
    let position = convert::position(game.position.as_ref()).ok_or(of_match(Claim::Position))?;
    let hash = convert::digest(&game.hash, "hash").map_err(of_match)?;
    Ok(Head { turn: game.turn, hash, position })
}
