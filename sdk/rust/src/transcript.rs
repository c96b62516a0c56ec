//! A whole match, verified without a server.

use prost::Message as _;
use rules::Position;
use sealing::{Claim as Chain, Digest, EndReason, MatchResult, ServerKey, Signature, verify_end};
use wire::v1;

use crate::convert::{self, Terms};
use crate::replay::Replay;
use crate::{Claim, Error, Finish, VerifiedTurn, Violation};

/// All of a match that can be verified, as a server or a file gives it.
#[derive(Clone, PartialEq, Debug)]
pub struct Transcript(v1::Transcript);

/// What nothing proves about the seats is left out: who had joined, ratings, and the level of a bot
/// beside that of the settings.
impl From<v1::Transcript> for Transcript {
    fn from(mut message: v1::Transcript) -> Self {
        for seat in [&mut message.black, &mut message.white].into_iter().flatten() {
            let (player, public_key) =
                (std::mem::take(&mut seat.player), std::mem::take(&mut seat.public_key));
            *seat = v1::MatchSeat { player, public_key, ..Default::default() };
        }
        Self(message)
    }
}

impl Transcript {
    /// A transcript from a file: a `whattheshell.v1.Transcript` in the binary encoding, as
    /// [`Transcript::to_bytes`] writes it.
    ///
    /// The encoding leaves some freedom: a number can have bits that nobody reads, a field can be there
    /// twice or be unknown. Nothing would bind such bytes, so only the one form is taken: fields in the
    /// order of their numbers, each as short as can be, none that nothing proves.
    ///
    /// # Errors
    /// [`Error::Malformed`]: the bytes are none, or are not of that form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let read = v1::Transcript::decode(bytes).ok().map(Self::from);
        read.filter(|transcript| transcript.to_bytes() == bytes).ok_or(Error::Malformed("transcript"))
    }

    /// The bytes for a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }

    /// The message, unverified.
    #[must_use]
    pub fn message(&self) -> &v1::Transcript {
        &self.0
    }

    /// Plays the match again and checks every claim on the way: settings and players give the first
    /// hash, the openings open their commitments, the rules lead to each board and event, the hashes form
    /// one chain, and the end is what the board says.
    ///
    /// It shows that the transcript is consistent, and so that the players were bound to these moves; a
    /// player's own signatures are checked where he has a key. It does not look at the server's `key_id`
    /// and `signature`: [`Transcript::verify_signed`] does.
    ///
    /// # Errors
    /// [`Error::Verification`]: the first claim that does not hold.
    ///
    /// ```no_run
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let transcript = whattheshell::Transcript::from_bytes(&std::fs::read("match.bin")?)?;
    /// let verified = transcript.verify()?;
    /// println!("{} turns, {:?}", verified.turns.len(), verified.result());
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify(&self) -> Result<VerifiedMatch, Error> {
        Ok(verify(&self.0)?)
    }

    /// [`Transcript::verify`], and then that the server signed the end of the match with one of `keys`:
    /// those that the caller knows it by. [`Player::verify_signed`](crate::Player::verify_signed) asks the
    /// server for them, and [`server_keys`](crate::server_keys) has those that a server lists. A live match is
    /// not signed.
    ///
    /// # Errors
    /// [`Error::Verification`]: the first claim that does not hold; the server's key and signature come
    /// last.
    pub fn verify_signed(&self, keys: &[ServerKey]) -> Result<VerifiedMatch, Error> {
        let verified = self.verify()?;
        verify_signature(&self.0, &verified, keys)?;
        Ok(verified)
    }
}

fn verify_signature(
    message: &v1::Transcript,
    verified: &VerifiedMatch,
    keys: &[ServerKey],
) -> Result<(), Violation> {
    let of_match = Violation::of_match;
    let signature = Signature::try_from(&message.signature[..]);
    let signature = signature.map_err(|_| of_match(Claim::Field("signature")))?;
    let key = keys.iter().find(|key| key.id.as_str() == message.key_id);
    let key = key.ok_or(of_match(Claim::Transcript(Chain::ServerKey)))?;
    let holds = verified.finish.is_some()
        && verify_end(&verified.last_hash, &message.key_id, &signature, &key.public_key);
    if holds { Ok(()) } else { Err(of_match(Claim::Transcript(Chain::ServerSignature))) }
}

/// A match whose every claim holds.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct VerifiedMatch {
    /// `matches/{match}`.
    pub name: String,
    /// Every resolved turn, from 1.
    pub turns: Vec<VerifiedTurn>,
    /// The end. None: the match was still played.
    pub finish: Option<Finish>,
    /// The board after the last turn.
    pub position: Position,
    /// The last hash of the chain: h_end of a finished match, else h_t of its last turn, else h_0.
    pub last_hash: Digest,
}

impl VerifiedMatch {
    /// Who won. None: the match was still played.
    #[must_use]
    pub fn result(&self) -> Option<MatchResult> {
        Some(self.finish.as_ref()?.ending.as_ref()?.result)
    }

    /// Why it ended. None: the match was still played.
    #[must_use]
    pub fn reason(&self) -> Option<EndReason> {
        Some(self.finish.as_ref()?.ending.as_ref()?.reason)
    }
}

fn verify(message: &v1::Transcript) -> Result<VerifiedMatch, Violation> {
    let of_match = Violation::of_match;
    let (settings, black, white) = (&message.settings, &message.black, &message.white);
    let terms = Terms::read(&message.r#match, settings.as_ref(), black.as_ref(), white.as_ref());
    let terms = terms.map_err(of_match)?;
    let first_hash = convert::digest(&message.first_hash, "first_hash").map_err(of_match)?;
    let mut replay = Replay::start(terms, &first_hash)?;
    let turns = message.turns.iter().map(|turn| replay.play(turn.clone()));
    let turns = turns.collect::<Result<Vec<_>, _>>()?;
    let (finish, verified) = match &message.finish {
        Some(finish) => {
            let (finish, verified) = replay.finish(finish.clone())?;
            if finish.ending.is_none() {
                return Err(of_match(Claim::KnownEnding));
            }
            (Some(finish), verified)
        }
        None => (None, replay.verified()),
    };
    let name = message.r#match.clone();
    Ok(VerifiedMatch { name, turns, finish, position: verified.position, last_hash: verified.last })
}
