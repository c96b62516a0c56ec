//! A whole match that anyone can check without the service.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rules::{PerSeat, Position, Seat};

use crate::bytes::{Digest, Signature};
use crate::chain::{Party, TurnFacts};
use crate::ending::Ending;
use crate::match_id::MatchId;
use crate::replay::Replay;
use crate::settings::SettingsFields;
use crate::signature::{ServerKey, verify_end};

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
    /// Every text fits a field of [`FIELD_BYTES_MAX`](crate::FIELD_BYTES_MAX) bytes.
    FieldLength,
    /// The match was played by rules that this library plays, [`RULES_VERSION`](crate::RULES_VERSION).
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
pub(crate) fn require(holds: bool, claim: Claim) -> Result<(), TranscriptError> {
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
        let counted =
            self.turns.len() == self.turn_hashes.len() && self.ending.is_some() == self.end_hash.is_some();
        require(counted, Claim::HashCount)?;
        let (settings, parties) = (self.settings.clone(), self.parties.clone());
        let mut replay = Replay::new(self.match_id, settings, parties, &self.first_hash)?;
        for (facts, claimed) in self.turns.iter().zip(&self.turn_hashes) {
            replay.turn(facts, claimed)?;
        }
        match (&self.ending, &self.end_hash) {
            (Some(ending), Some(claimed)) => replay.end(ending, claimed),
            _ => Ok(replay.verified()),
        }
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
}
