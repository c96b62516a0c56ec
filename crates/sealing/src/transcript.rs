//! A whole match that anyone can check without the service.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rules::{IllegalTurn, Outcome, PerSeat, Position, Seat};

use crate::bytes::{Digest, Signature};
use crate::chain::{Party, TurnFacts, end_hash, match_hash, turn_hash};
use crate::ending::{EndReason, Ending, MatchResult, decided_by_turn};
use crate::match_id::MatchId;
use crate::opening::SealContext;
use crate::preimage::FIELD_BYTES_MAX;
use crate::settings::{RULES_VERSION, SettingsFields};
use crate::signature::{ServerKey, verify_end, verify_player};

/// Settings, turns and ending of a match, with every hash that its chain claims.
///
/// A match that is still played has neither `ending` nor `end_hash`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transcript {
    /// The match.
    pub match_id: MatchId,
    /// Its settings.
    pub settings: SettingsFields,
    /// Who sat where.
    pub parties: PerSeat<Party>,
    /// The claimed h_0.
    pub first_hash: Digest,
    /// The resolved turns; the first is turn 1.
    pub turns: Vec<TurnFacts>,
    /// The claimed h_t of each turn.
    pub turn_hashes: Vec<Digest>,
    /// How the match ended.
    pub ending: Option<Ending>,
    /// The claimed h_end.
    pub end_hash: Option<Digest>,
}

/// The service's signature of a finished match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TranscriptSignature {
    /// The key that it claims to be made with, as the service lists it.
    pub key_id: String,
    /// Over [`transcript_digest`](crate::transcript_digest) of h_end and the key's id.
    pub signature: Signature,
}

/// What a transcript that holds leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// The position after the last resolved turn.
    pub position: Position,
    /// The last hash of the chain: h_end of a finished match, else h_t of the last turn, else h_0.
    pub last: Digest,
}

/// The first claim of a transcript that does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TranscriptError {
    /// The turn it is about, from 1; none where it is about the match or its ending.
    pub turn: Option<u32>,
    /// The seat it is about, where it is about one.
    pub seat: Option<Seat>,
    /// What does not hold.
    pub claim: Claim,
}

/// A kind of claim, in the order in which [`Transcript::verify`] checks them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Claim {
    /// There is one hash for each turn, and one for the ending if there is one.
    HashCount,
    /// Every text fits a field of [`FIELD_BYTES_MAX`] bytes.
    FieldLength,
    /// The match was played by rules that this library plays, [`RULES_VERSION`].
    RulesVersion,
    /// h_0 is the hash of match id, settings and parties.
    FirstHash,
    /// The turn is within the settings' turn limit.
    TurnLimit,
    /// The game was not over before the turn.
    GameOver,
    /// The turn opened no earlier than the turn before resolved (no seat named), and the seat
    /// sealed no earlier than that and no later than it resolved.
    TurnTimes,
    /// The seat's opening opens its commitment.
    Commitment,
    /// The seat's cell was empty.
    Move,
    /// h_t is the hash of the turn.
    TurnHash,
    /// Where the seat's player has a key and signed his commitment, the signature is by that key.
    /// What a player without a key puts there is hashed, and is no claim.
    PlayerSignature,
    /// The match ended no earlier than its last turn resolved.
    EndTime,
    /// A match can end with this result for this reason.
    EndResult,
    /// Result and reason are what the board and the turn limit say, where they decide, and do not
    /// claim their say where they do not.
    EndBoard,
    /// The commitments of the unresolved turn are there, or not, as the reason implies.
    EndCommitments,
    /// h_end is the hash of the ending.
    EndHash,
    /// The key of the service's signature is one of those that the verifier trusts.
    ServerKey,
    /// The service signed h_end with that key.
    ServerSignature,
}

impl Claim {
    /// Every claim, in the order in which they are checked.
    pub const ALL: [Self; 18] = [
        Self::HashCount,
        Self::FieldLength,
        Self::RulesVersion,
        Self::FirstHash,
        Self::TurnLimit,
        Self::GameOver,
        Self::TurnTimes,
        Self::Commitment,
        Self::Move,
        Self::TurnHash,
        Self::PlayerSignature,
        Self::EndTime,
        Self::EndResult,
        Self::EndBoard,
        Self::EndCommitments,
        Self::EndHash,
        Self::ServerKey,
        Self::ServerSignature,
    ];

    /// The name that test vectors use, the same in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HashCount => "hash_count",
            Self::FieldLength => "field_length",
            Self::RulesVersion => "rules_version",
            Self::FirstHash => "first_hash",
            Self::TurnLimit => "turn_limit",
            Self::GameOver => "game_over",
            Self::TurnTimes => "turn_times",
            Self::Commitment => "commitment",
            Self::Move => "move",
            Self::TurnHash => "turn_hash",
            Self::PlayerSignature => "player_signature",
            Self::EndTime => "end_time",
            Self::EndResult => "end_result",
            Self::EndBoard => "end_board",
            Self::EndCommitments => "end_commitments",
            Self::EndHash => "end_hash",
            Self::ServerKey => "server_key",
            Self::ServerSignature => "server_signature",
        }
    }

    /// What is wrong when the claim does not hold.
    const fn complaint(self) -> &'static str {
        match self {
            Self::HashCount => "the number of hashes is not that of the turns and the ending",
            Self::FieldLength => "a text is too long for its field",
            Self::RulesVersion => "the version of the rules is unknown",
            Self::FirstHash => "h_0 is not the hash of match, settings and players",
            Self::TurnLimit => "the turn is beyond the turn limit",
            Self::GameOver => "the game was over before the turn",
            Self::TurnTimes => "the stamps are out of order",
            Self::Commitment => "the opening does not open the commitment",
            Self::Move => "the cell was not empty",
            Self::TurnHash => "h_t is not the hash of the turn",
            Self::PlayerSignature => "the signature of the commitment is not by the player's key",
            Self::EndTime => "the match ended before its last turn resolved",
            Self::EndResult => "no match ends with this result for this reason",
            Self::EndBoard => "the ending does not fit the board",
            Self::EndCommitments => "the unresolved commitments do not fit the reason",
            Self::EndHash => "h_end is not the hash of the ending",
            Self::ServerKey => "the key that signed the transcript is not among the known ones",
            Self::ServerSignature => "the signature of the transcript is not by the key that it names",
        }
    }
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(turn) = self.turn {
            write!(f, "turn {turn}: ")?;
        }
        if let Some(seat) = self.seat {
            write!(f, "{seat}: ")?;
        }
        f.write_str(self.claim.complaint())
    }
}

impl core::error::Error for TranscriptError {}

/// Refuses a claim about the match or its ending unless it holds.
fn require(holds: bool, claim: Claim) -> Result<(), TranscriptError> {
    if holds { Ok(()) } else { Err(TranscriptError { turn: None, seat: None, claim }) }
}

impl Transcript {
    /// Checks every claim by replaying the match, in the order of [`Claim`]; in a turn, times,
    /// commitments, moves and players' signatures are each checked for black first.
    ///
    /// It shows that the transcript is consistent: these moves were bound by these commitments, by
    /// those players who signed them, and lead to this ending. Whether it is the transcript of a match
    /// that a service ran is for [`Transcript::verify_signed`] to show.
    ///
    /// # Errors
    ///
    /// The first claim that does not hold.
    pub fn verify(&self) -> Result<Verified, TranscriptError> {
        self.verify_start()?;
        let mut replay = Replay {
            transcript: self,
            position: Position::initial(),
            before: Position::initial().outcome(),
            resolved_ms: 0,
            last: self.first_hash,
        };
        for ((facts, claimed), turn) in self.turns.iter().zip(&self.turn_hashes).zip(1..) {
            replay.turn(turn, facts, claimed).map_err(|(seat, claim)| TranscriptError {
                turn: Some(turn),
                seat,
                claim,
            })?;
        }
        if let (Some(ending), Some(claimed)) = (&self.ending, &self.end_hash) {
            replay.ending(ending, claimed)?;
        }
        Ok(Verified { position: replay.position, last: replay.last })
    }

    /// Checks every claim, and that the service signed the end with one of `keys`: those that the
    /// caller knows the service by, old ones too. A match that is still played is not signed.
    ///
    /// # Errors
    ///
    /// The first claim that does not hold; the service's key and signature come last.
    pub fn verify_signed(
        &self,
        signed: &TranscriptSignature,
        keys: &[ServerKey],
    ) -> Result<Verified, TranscriptError> {
        let verified = self.verify()?;
        let key = keys.iter().find(|key| key.id.as_str() == signed.key_id);
        let error = |claim| TranscriptError { turn: None, seat: None, claim };
        let key = key.ok_or(error(Claim::ServerKey))?;
        let by_it = |end: &Digest| verify_end(end, &signed.key_id, &signed.signature, &key.public_key);
        require(self.end_hash.as_ref().is_some_and(by_it), Claim::ServerSignature)?;
        Ok(verified)
    }

    /// Checks what there is before the first turn.
    fn verify_start(&self) -> Result<(), TranscriptError> {
        let counted =
            self.turns.len() == self.turn_hashes.len() && self.ending.is_some() == self.end_hash.is_some();
        require(counted, Claim::HashCount)?;
        let fits = |text: &String| text.len() <= FIELD_BYTES_MAX;
        require(fits(&self.settings.rules_version), Claim::FieldLength)?;
        for (seat, party) in self.parties.iter() {
            if !fits(&party.player) {
                return Err(TranscriptError { turn: None, seat: Some(seat), claim: Claim::FieldLength });
            }
        }
        require(self.settings.rules_version == RULES_VERSION, Claim::RulesVersion)?;
        let first = match_hash(self.match_id, &self.settings, self.parties.as_ref());
        require(first == self.first_hash, Claim::FirstHash)
    }
}

/// Where the replay of a transcript stands.
struct Replay<'a> {
    transcript: &'a Transcript,
    position: Position,
    before: Outcome,
    resolved_ms: u64,
    last: Digest,
}

impl Replay<'_> {
    /// Checks a turn and plays it.
    fn turn(&mut self, turn: u32, facts: &TurnFacts, claimed: &Digest) -> Result<(), (Option<Seat>, Claim)> {
        let settings = &self.transcript.settings;
        if u64::from(turn) > settings.turn_limit {
            return Err((None, Claim::TurnLimit));
        }
        let before = self.position.outcome();
        if before.status.is_over() {
            return Err((None, Claim::GameOver));
        }
        self.turn_times(facts)?;
        self.commitments(turn, facts)?;
        let cells = facts.openings.as_ref().map(|opening| opening.cell);
        let after = self.position.play(cells.black, cells.white).map_err(|illegal| match illegal {
            IllegalTurn::GameOver => (None, Claim::GameOver),
            IllegalTurn::Occupied(seat) => (Some(seat), Claim::Move),
        })?;
        if turn_hash(&self.last, facts, &after) != *claimed {
            return Err((None, Claim::TurnHash));
        }
        self.player_signatures(facts)?;
        self.position = after;
        self.before = before;
        self.resolved_ms = facts.resolved_ms;
        self.last = *claimed;
        Ok(())
    }

    /// Checks that a turn's stamps are in order.
    fn turn_times(&self, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
        if !(self.resolved_ms..=facts.resolved_ms).contains(&facts.opened_ms) {
            return Err((None, Claim::TurnTimes));
        }
        for (seat, sealed_ms) in facts.sealed_ms.iter() {
            if !(facts.opened_ms..=facts.resolved_ms).contains(sealed_ms) {
                return Err((Some(seat), Claim::TurnTimes));
            }
        }
        Ok(())
    }

    /// Checks that both openings open their commitments.
    fn commitments(&self, turn: u32, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
        for seat in Seat::BOTH {
            let context = SealContext {
                match_id: self.transcript.match_id,
                turn,
                seat,
                player: &self.transcript.parties[seat].player,
                previous: &self.last,
            };
            if !context.opens(&facts.commitments[seat], &facts.openings[seat]) {
                return Err((Some(seat), Claim::Commitment));
            }
        }
        Ok(())
    }

    /// Checks the signatures that players with a key of their own made.
    fn player_signatures(&self, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
        for (seat, party) in self.transcript.parties.iter() {
            if let (Some(key), Some(signature)) = (&party.public_key, &facts.signatures[seat])
                && !verify_player(&facts.commitments[seat], signature, key)
            {
                return Err((Some(seat), Claim::PlayerSignature));
            }
        }
        Ok(())
    }

    /// Checks the ending against the position reached.
    fn ending(&mut self, ending: &Ending, claimed: &Digest) -> Result<(), TranscriptError> {
        require(ending.time_ms >= self.resolved_ms, Claim::EndTime)?;
        require(ending.reason.allows(ending.result), Claim::EndResult)?;
        require(self.fits_board(ending), Claim::EndBoard)?;
        require(self.fits_commitments(ending), Claim::EndCommitments)?;
        require(end_hash(&self.last, ending) == *claimed, Claim::EndHash)?;
        self.last = *claimed;
        Ok(())
    }

    /// Whether result and reason agree with what the last turn decided.
    fn fits_board(&self, ending: &Ending) -> bool {
        let turns = self.transcript.turns.len();
        let decided = u32::try_from(turns).ok().filter(|turn| *turn > 0).and_then(|turn| {
            decided_by_turn(&self.before, &self.position.outcome(), turn, self.transcript.settings.turn_limit)
        });
        match decided {
            Some(decided) => decided == (ending.result, ending.reason),
            None => {
                let of_a_turn = matches!(
                    ending.reason,
                    EndReason::Row | EndReason::SuddenDeath | EndReason::FullBoard | EndReason::TurnLimit
                );
                let began = ending.result != MatchResult::Aborted;
                !of_a_turn && (began || turns == 0)
            }
        }
    }

    /// Whether the open turn holds the commitments that the reason implies.
    fn fits_commitments(&self, ending: &Ending) -> bool {
        let held = ending.unresolved.as_ref().map(Option::is_some);
        let none = !held.black && !held.white;
        if ending.result == MatchResult::Aborted {
            return none;
        }
        match ending.reason {
            EndReason::Row
            | EndReason::SuddenDeath
            | EndReason::FullBoard
            | EndReason::TurnLimit
            | EndReason::NoShow
            | EndReason::BothFlagged => none,
            EndReason::Flag => ending.result.winner().is_some_and(|winner| !held[winner.opponent()]),
            EndReason::FailedReveal => {
                let revealing = self.transcript.settings.seal_mode == SettingsFields::COMMIT_REVEAL;
                revealing && held.black && held.white
            }
            EndReason::Resignation
            | EndReason::AgreedDraw
            | EndReason::Operator
            | EndReason::Idle
            | EndReason::LostHistory => true,
        }
    }
}
