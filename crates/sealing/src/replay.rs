//! A match played again, one claim checked after another.

use alloc::string::String;

use rules::{IllegalTurn, Outcome, PerSeat, Position, RulesVersion, Seat, Turn};

use crate::bytes::Digest;
use crate::chain::{Party, TurnFacts, end_hash, match_hash, turn_hash};
use crate::ending::{EndReason, Ending, MatchResult, decided_by_turn};
use crate::match_id::MatchId;
use crate::opening::SealContext;
use crate::preimage::FIELD_BYTES_MAX;
use crate::settings::SettingsFields;
use crate::signature::verify_player;
use crate::transcript::{Claim, TranscriptError, Verified, require};

/// A match on its way from its settings to its end. Each step checks its claims in the order of
/// [`Claim`] and names the first that does not hold; then nothing has changed.
///
/// [`Transcript::verify`](crate::Transcript::verify) takes a whole match through it; a client takes it
/// turn by turn, as the turns come. Its size does not grow with them.
///
/// ```
/// # use rules::{PerSeat, Seat};
/// # use sealing::{MatchId, Opening, Party, Salt, SealContext, SettingsFields, match_hash, turn_hash};
/// # use sealing::{Claim, Digest, Replay, TurnFacts};
/// # let match_id = MatchId::from_bytes([1; 16]);
/// # let settings = SettingsFields {
/// #     rules_version: sealing::RULES_VERSION.into(), turn_time_ms: Some(30_000), bank: None,
/// #     seal_mode: 1, reveal_time_ms: None, mode: 1, spectators: 1, seal_status: 1,
/// #     start_time_ms: None, turn_limit: 500, idle_limit_ms: 86_400_000, bot: None,
/// # };
/// # let party = |player: &str| Party { player: player.into(), public_key: None };
/// # let parties = PerSeat { black: party("players/ann"), white: party("players/bob") };
/// # let first_hash = match_hash(match_id, &settings, parties.as_ref());
/// # let opening = |cell: &str| Opening { cell: cell.parse().unwrap(), salt: Salt::from_bytes([7; 32]) };
/// # let openings = PerSeat { black: opening("A1"), white: opening("I9") };
/// # let commit = |seat: Seat| {
/// #     let player = &parties[seat].player;
/// #     SealContext { match_id, turn: 1, seat, player, previous: &first_hash }.commit(&openings[seat])
/// # };
/// # let commitments = PerSeat { black: commit(Seat::Black), white: commit(Seat::White) };
/// let mut replay = Replay::new(match_id, settings, parties, &first_hash)?;
/// # let facts = TurnFacts {
/// #     commitments, openings, opened_ms: 1, sealed_ms: PerSeat { black: 2, white: 3 }, resolved_ms: 3,
/// #     signatures: PerSeat { black: None, white: None },
/// # };
/// # let after = replay.position().play("A1".parse().unwrap(), "I9".parse().unwrap()).unwrap();
/// # let claimed = turn_hash(&first_hash, &facts, &after);
/// let refused = replay.turn(&facts, &Digest::from_bytes([0; 32])).unwrap_err();
/// assert_eq!((refused.turn, refused.claim), (Some(1), Claim::TurnHash));
/// let played = replay.turn(&facts, &claimed)?;
/// assert_eq!((played.events.len(), replay.turns()), (2, 1));
/// # Ok::<(), sealing::TranscriptError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    match_id: MatchId,
    /// The version that the settings name.
    rules: RulesVersion,
    settings: SettingsFields,
    parties: PerSeat<Party>,
    first: Digest,
    turns: u32,
    position: Position,
    /// What the board said before the last turn.
    before: Outcome,
    /// When the last turn resolved, in milliseconds since the Unix epoch.
    resolved_ms: u64,
    last: Digest,
}

impl Replay {
    /// A match before its first turn; `first_hash` is the claimed h_0.
    ///
    /// # Errors
    ///
    /// The first claim about settings and parties that does not hold.
    pub fn new(
        match_id: MatchId,
        settings: SettingsFields,
        parties: PerSeat<Party>,
        first_hash: &Digest,
    ) -> Result<Self, TranscriptError> {
        let fits = |text: &String| text.len() <= FIELD_BYTES_MAX;
        require(fits(&settings.rules_version), Claim::FieldLength)?;
        for (seat, party) in parties.iter() {
            if !fits(&party.player) {
                return Err(TranscriptError { turn: None, seat: Some(seat), claim: Claim::FieldLength });
            }
        }
        let rules = RulesVersion::from_name(&settings.rules_version).ok_or(TranscriptError {
            turn: None,
            seat: None,
            claim: Claim::RulesVersion,
        })?;
        let first = match_hash(match_id, &settings, parties.as_ref());
        require(first == *first_hash, Claim::FirstHash)?;
        let position = Position::initial();
        let before = position.outcome();
        Ok(Self {
            match_id,
            rules,
            settings,
            parties,
            first,
            turns: 0,
            position,
            before,
            resolved_ms: 0,
            last: first,
        })
    }

    /// Checks the next turn and plays it; `claimed` is its h_t. Returns what happened on the board.
    ///
    /// Times, commitments, moves and players' signatures are each checked for black first.
    ///
    /// # Errors
    ///
    /// The first claim that does not hold.
    pub fn turn(&mut self, facts: &TurnFacts, claimed: &Digest) -> Result<Turn, TranscriptError> {
        let turn = self.turns.saturating_add(1);
        self.check_turn(turn, facts, claimed).map_err(|(seat, claim)| TranscriptError {
            turn: Some(turn),
            seat,
            claim,
        })
    }

    fn check_turn(
        &mut self,
        turn: u32,
        facts: &TurnFacts,
        claimed: &Digest,
    ) -> Result<Turn, (Option<Seat>, Claim)> {
        if u64::from(turn) > self.settings.turn_limit {
            return Err((None, Claim::TurnLimit));
        }
        let before = self.position.outcome();
        if before.status.is_over() {
            return Err((None, Claim::GameOver));
        }
        self.check_times(facts)?;
        self.check_commitments(turn, facts)?;
        let cells = facts.openings.as_ref().map(|opening| opening.cell);
        let played = self.rules.resolve(&self.position, cells.black, cells.white);
        let played = played.map_err(|illegal| match illegal {
            IllegalTurn::GameOver => (None, Claim::GameOver),
            IllegalTurn::Occupied(seat) => (Some(seat), Claim::Move),
        })?;
        if turn_hash(&self.last, facts, &played.position) != *claimed {
            return Err((None, Claim::TurnHash));
        }
        self.check_player_signatures(facts)?;
        self.turns = turn;
        self.position = played.position;
        self.before = before;
        self.resolved_ms = facts.resolved_ms;
        self.last = *claimed;
        Ok(played)
    }

    /// Checks that a turn's stamps are in order.
    fn check_times(&self, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
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
    fn check_commitments(&self, turn: u32, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
        for seat in Seat::BOTH {
            let context = SealContext {
                match_id: self.match_id,
                turn,
                seat,
                player: &self.parties[seat].player,
                previous: &self.last,
            };
            if !context.opens(&facts.commitments[seat], &facts.openings[seat]) {
                return Err((Some(seat), Claim::Commitment));
            }
        }
        Ok(())
    }

    /// Checks the signatures that players with a key of their own made.
    fn check_player_signatures(&self, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
        for (seat, party) in self.parties.iter() {
            if let (Some(key), Some(signature)) = (&party.public_key, &facts.signatures[seat])
                && !verify_player(&facts.commitments[seat], signature, key)
            {
                return Err((Some(seat), Claim::PlayerSignature));
            }
        }
        Ok(())
    }

    /// Checks the end of the match against the position reached; `claimed` is h_end.
    ///
    /// # Errors
    ///
    /// The first claim that does not hold.
    pub fn end(self, ending: &Ending, claimed: &Digest) -> Result<Verified, TranscriptError> {
        require(ending.time_ms >= self.resolved_ms, Claim::EndTime)?;
        require(ending.reason.allows(ending.result), Claim::EndResult)?;
        require(self.fits_board(ending), Claim::EndBoard)?;
        require(self.fits_commitments(ending), Claim::EndCommitments)?;
        require(end_hash(&self.last, ending) == *claimed, Claim::EndHash)?;
        Ok(Verified { position: self.position, last: *claimed })
    }

    /// Where a match that is still played has come to.
    #[must_use]
    pub const fn verified(&self) -> Verified {
        Verified { position: self.position, last: self.last }
    }

    /// h_0.
    #[must_use]
    pub const fn first_hash(&self) -> Digest {
        self.first
    }

    /// How many turns were checked and played.
    #[must_use]
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    /// The board after them.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The h of the last one; h_0 before the first.
    #[must_use]
    pub const fn hash(&self) -> Digest {
        self.last
    }

    /// Whether result and reason agree with what the last turn decided.
    fn fits_board(&self, ending: &Ending) -> bool {
        let decided = (self.turns > 0).then_some(self.turns).and_then(|turn| {
            decided_by_turn(&self.before, &self.position.outcome(), turn, self.settings.turn_limit)
        });
        match decided {
            Some(decided) => decided == (ending.result, ending.reason),
            None => {
                let of_a_turn = matches!(
                    ending.reason,
                    EndReason::Row | EndReason::SuddenDeath | EndReason::FullBoard | EndReason::TurnLimit
                );
                let began = ending.result != MatchResult::Aborted;
                !of_a_turn && (began || self.turns == 0)
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
                let revealing = self.settings.seal_mode == SettingsFields::COMMIT_REVEAL;
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
