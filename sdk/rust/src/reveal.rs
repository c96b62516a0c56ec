//! Revealing: a move is opened once the opponent is bound to his, and never before.

use std::fmt;
use std::str::FromStr as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use rules::Cell;
use sealing::{Commitment, Digest, Opening, Salt};
use wire::v1;
use wire::v1::ErrorReason;
use wire::v1::match_service_client::MatchServiceClient;

use crate::ledger::{Ledger, Sealed};
use crate::{Claim, Error, MatchHandle, Player, Violation, convert};

/// What an exported opening begins with: its form and version.
const EXPORT_MARK: &str = "whattheshell.opening.v1";

/// A move of the player that the opponent waits for.
pub(crate) struct Reveal {
    turn: u32,
    sealed: Sealed,
}

impl Reveal {
    /// What a status asks the player to reveal: none if it is in already, or was sealed elsewhere.
    ///
    /// The opponent's commitment is noted, so that the published turn can be checked against it.
    pub(crate) fn due(status: &v1::MatchStatus, ledger: &Ledger) -> Result<Option<Self>, Violation> {
        let Some(seat) = ledger.seat().filter(|_| status.state() == v1::MatchState::Revealing) else {
            return Ok(None);
        };
        let turn = status.turn;
        let violation = |seat, claim| Violation { turn: Some(turn), seat: Some(seat), claim };
        let of_seat = |seat| convert::seat_status(status, seat);
        let commitment_of = |seat| {
            let bytes = of_seat(seat).and_then(|side| side.commitment.as_deref()).unwrap_or_default();
            Commitment::try_from(bytes).map_err(|_| violation(seat, Claim::Field("commitment")))
        };
        // Whoever reveals without it could be answered with a move that was chosen afterwards.
        let opponents = commitment_of(seat.opponent())?;
        if !ledger.note_opponent(turn, opponents) {
            return Err(violation(seat.opponent(), Claim::OpponentSeal));
        }
        let own = commitment_of(seat)?;
        if ledger.receipted(turn).is_some_and(|(_, receipted)| receipted != own) {
            return Err(violation(seat, Claim::OwnSeal));
        }
        if of_seat(seat).and_then(|side| side.revealed) == Some(true) {
            return Ok(None);
        }
        Ok(ledger.committed(turn, &own).map(|sealed| Self { turn, sealed }))
    }

    /// Whether a reveal was refused because it is not asked for any more: the match tells what came.
    pub(crate) fn is_too_late(error: &Error) -> bool {
        use ErrorReason as R;
        matches!(error.reason(), Some(R::TurnClosed | R::MatchFinished | R::NotInRevealPhase))
    }

    /// Opens the commitment.
    pub(crate) async fn send(&self, player: &Player, name: &str, ledger: &Ledger) -> Result<(), Error> {
        let request = v1::RevealMoveRequest {
            name: name.to_owned(),
            player: player.acting_for(),
            request_id: self.sealed.reveal_request_id.clone(),
            turn: self.turn,
            open: Some(convert::open_move(&self.sealed.opening)),
        };
        let call = async |channel, request| MatchServiceClient::new(channel).reveal_move(request).await;
        player.caller().unary(request, call).await?;
        // The server owns up to the commitment, as by a receipt.
        ledger.confirm(self.turn, &self.sealed.request_id);
        Ok(())
    }
}

/// A sealed move as a text, for a client that may have to reveal it after a restart.
///
/// It is the player's secret until the turn resolves: whoever reads it knows the move. `Debug` shows
/// nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretOpening(String);

impl SecretOpening {
    /// The text: one line of ASCII without spaces at its ends.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretOpening(..)")
    }
}

impl MatchHandle {
    /// Reveals the move that was sealed here for a turn of a commit-reveal match. The streams of
    /// [`Self::watch`] do this by themselves; it is for clients that do not watch. Repeating it is safe.
    ///
    /// The opponent's commitment is asked for first, and noted: nothing is sent without it.
    ///
    /// # Errors
    /// - [`Error::NothingToReveal`]: the turn does not wait for reveals, or the move was sealed by
    ///   another client ([`Self::import_opening`]); nothing was sent.
    /// - [`Error::Verification`]: there is no commitment of the opponent, or another one than before;
    ///   nothing was sent.
    /// - [`Error::Api`]: as `RevealMove` says.
    ///
    /// ```no_run
    /// # async fn example(game: whattheshell::MatchHandle) -> Result<(), whattheshell::Error> {
    /// use whattheshell::v1::MatchState;
    /// let status = game.refresh().await?.status.unwrap_or_default();
    /// if status.state() == MatchState::Revealing {
    ///     game.reveal(status.turn).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn reveal(&self, turn: u32) -> Result<(), Error> {
        self.seated()?;
        let status = self.refresh().await?.status.unwrap_or_default();
        match Reveal::due(&status, &self.ledger)?.filter(|due| due.turn == turn) {
            Some(due) => due.send(&self.player, &self.name, &self.ledger).await,
            None if is_revealed(&status, self.seated()?, turn) => Ok(()),
            None => Err(Error::NothingToReveal),
        }
    }

    /// Whether the player has committed himself in the turn that is played and not revealed his move yet:
    /// the handle, or what it [exports](Self::export_opening), is still needed.
    #[must_use]
    pub fn is_to_reveal(&self, status: &v1::MatchStatus) -> bool {
        let Some(side) = self.seat().and_then(|seat| convert::seat_status(status, seat)) else {
            return false;
        };
        // A receipt is newer than a status from before the seal.
        let is_sealed = side.sealed == Some(true) || self.ledger.receipted(status.turn).is_some();
        matches!(self.is_commit_reveal(), Ok(true)) && is_sealed && side.revealed != Some(true)
    }

    /// A move with its salt as a text that another handle of this player, after a restart, can
    /// [import](Self::import_opening). A move that is not sealed yet gets its salt here: to survive a
    /// crash at any moment, export and store it first, then [seal](Self::seal) the same turn and cell.
    ///
    /// # Errors
    /// As [`Self::seal`] before it sends anything.
    pub async fn export_opening(&self, turn: u32, cell: Cell) -> Result<SecretOpening, Error> {
        let Sealed { request_id, opening, previous, .. } = self.prepared(turn, cell).await?;
        let salt = BASE64.encode(opening.salt.as_bytes());
        let previous = BASE64.encode(previous.as_bytes());
        let name = &self.name;
        Ok(SecretOpening(format!("{EXPORT_MARK} {name} {turn} {cell} {salt} {previous} {request_id}")))
    }

    /// Takes back a move that was exported, so that it can be sealed again by the same request and be
    /// revealed. Returns its turn and cell.
    ///
    /// # Errors
    /// [`Error::Opening`]: the text is no opening, or one of another match.
    pub fn import_opening(&self, text: &str) -> Result<(u32, Cell), Error> {
        let words: Vec<&str> = text.trim().split(' ').collect();
        let [mark, name, turn, cell, salt, previous, request_id] = words[..] else {
            return Err(Error::Opening("it has not seven words"));
        };
        if mark != EXPORT_MARK {
            return Err(Error::Opening("it is of another form"));
        }
        if *name != *self.name {
            return Err(Error::Opening("it is of another match"));
        }
        let turn = turn.parse().ok().filter(|turn| *turn > 0).ok_or(Error::Opening("its turn"))?;
        let cell = Cell::from_str(cell).map_err(|_| Error::Opening("its cell"))?;
        let bytes = |text: &str| BASE64.decode(text).ok();
        let salt = bytes(salt).and_then(|salt| Salt::try_from(&salt[..]).ok());
        let previous = bytes(previous).and_then(|hash| Digest::try_from(&hash[..]).ok());
        let (Some(salt), Some(previous)) = (salt, previous) else {
            return Err(Error::Opening("its salt or its hash"));
        };
        let sealed = self.bind(turn, Opening { cell, salt }, previous, request_id.to_owned())?;
        self.ledger.add(turn, sealed);
        Ok((turn, cell))
    }
}

/// Whether a status says that the seat's reveal of this turn is in.
fn is_revealed(status: &v1::MatchStatus, seat: rules::Seat, turn: u32) -> bool {
    let side = convert::seat_status(status, seat).filter(|_| status.turn == turn);
    side.and_then(|side| side.revealed) == Some(true)
}
