//! How sealed values stand in a row: bytes as lower-case hexadecimal, cells, results and reasons as
//! the API's numbers, seats by name, `null` for what is absent.

use rules::{Cell, PerSeat, Seat};
use sealing::{
    Bank, BotSeat, Commitment, Digest, EndReason, Ending, MatchId, MatchResult, Opening, Party,
    PlayerSignature, PublicKey, Salt, SettingsFields, TurnFacts,
};
use serde::de::{Deserializer, Error, Unexpected};
use serde::{Deserialize, de::DeserializeOwned};

use crate::Mismatch;
use crate::row::Row;

/// Reads a field.
pub(crate) fn read<T: DeserializeOwned>(row: &Row, field: &str) -> Result<T, Mismatch> {
    let value = row.get(field)?;
    T::deserialize(value).map_err(|error| Mismatch::unreadable(format_args!("{field}: {error}")))
}

/// Bytes of a fixed length.
#[derive(Clone, Copy)]
pub(crate) struct Hex<const N: usize>(pub(crate) [u8; N]);

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let Bytes(bytes) = Bytes::deserialize(input)?;
        let other_length =
            |bytes: Vec<u8>| D::Error::custom(format_args!("{} bytes instead of {N}", bytes.len()));
        bytes.try_into().map(Self).map_err(other_length)
    }
}

/// Bytes of any length.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let digit = |character: u8| match character {
            b'0'..=b'9' => Some(character - b'0'),
            b'a'..=b'f' => Some(character - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
        let bytes = bytes.collect::<Option<_>>().filter(|_| rest.is_empty());
        bytes
            .map(Self)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &"lower-case hexadecimal"))
    }
}

/// A match by its name, a lower-case UUID.
pub(crate) fn match_id(row: &Row) -> Result<MatchId, Mismatch> {
    row.text("match")?.parse().map_err(|error| Mismatch::unreadable(format_args!("match: {error}")))
}

/// A digest.
pub(crate) fn digest(row: &Row, field: &str) -> Result<Digest, Mismatch> {
    read(row, field).map(|Hex(bytes)| Digest::from_bytes(bytes))
}

/// A commitment.
pub(crate) fn commitment(row: &Row) -> Result<Commitment, Mismatch> {
    read(row, "commitment").map(|Hex(bytes)| Commitment::from_bytes(bytes))
}

/// A seat by its name.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SeatName {
    Black,
    White,
}

impl From<SeatName> for Seat {
    fn from(name: SeatName) -> Self {
        match name {
            SeatName::Black => Self::Black,
            SeatName::White => Self::White,
        }
    }
}

/// A cell by its number, 1 to 81.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "u8")]
pub(crate) struct CellNumber(pub(crate) Cell);

impl TryFrom<u8> for CellNumber {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        Cell::from_number(number).map(Self).ok_or("a cell is 1 to 81")
    }
}

/// `settings`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingsForm {
    rules_version: String,
    turn_time_ms: Option<u64>,
    bank: Option<BankForm>,
    seal_mode: u64,
    reveal_time_ms: Option<u64>,
    mode: u64,
    spectators: u64,
    seal_status: u64,
    start_time_ms: Option<u64>,
    turn_limit: u64,
    idle_limit_ms: u64,
    bot: Option<BotForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BankForm {
    initial_ms: u64,
    increment_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BotForm {
    seat: SeatName,
    level: u64,
}

impl From<SettingsForm> for SettingsFields {
    fn from(form: SettingsForm) -> Self {
        let bank = |bank: BankForm| Bank { initial_ms: bank.initial_ms, increment_ms: bank.increment_ms };
        Self {
            rules_version: form.rules_version,
            turn_time_ms: form.turn_time_ms,
            bank: form.bank.map(bank),
            seal_mode: form.seal_mode,
            reveal_time_ms: form.reveal_time_ms,
            mode: form.mode,
            spectators: form.spectators,
            seal_status: form.seal_status,
            start_time_ms: form.start_time_ms,
            turn_limit: form.turn_limit,
            idle_limit_ms: form.idle_limit_ms,
            bot: form.bot.map(|bot| BotSeat { seat: bot.seat.into(), level: bot.level }),
        }
    }
}

/// A player in `black` or `white` of a match.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartyForm {
    player: String,
    public_key: Option<Hex<32>>,
}

/// The players of a match.
pub(crate) fn parties(row: &Row) -> Result<PerSeat<Party>, Mismatch> {
    let party = |field| {
        let form: PartyForm = read(row, field)?;
        let public_key = form.public_key.map(|Hex(key)| PublicKey::from_bytes(key));
        Ok(Party { player: form.player, public_key })
    };
    Ok(PerSeat { black: party("black")?, white: party("white")? })
}

/// `black` or `white` of a resolved turn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SideForm {
    commitment: Hex<32>,
    cell: CellNumber,
    salt: Hex<32>,
    sealed_ms: u64,
    signature: Option<Hex<64>>,
}

/// A resolved turn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnForm {
    pub(crate) opened_ms: u64,
    pub(crate) resolved_ms: u64,
    pub(crate) black: SideForm,
    pub(crate) white: SideForm,
}

impl From<TurnForm> for TurnFacts {
    fn from(form: TurnForm) -> Self {
        let sides = PerSeat { black: form.black, white: form.white };
        let opening = |side: &SideForm| Opening { cell: side.cell.0, salt: Salt::from_bytes(side.salt.0) };
        let signature = |side: &SideForm| side.signature.map(|Hex(bytes)| PlayerSignature::from_bytes(bytes));
        Self {
            commitments: sides.as_ref().map(|side| Commitment::from_bytes(side.commitment.0)),
            openings: sides.as_ref().map(opening),
            opened_ms: form.opened_ms,
            sealed_ms: sides.as_ref().map(|side| side.sealed_ms),
            resolved_ms: form.resolved_ms,
            signatures: sides.as_ref().map(signature),
        }
    }
}

/// The ending of a match.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndingForm {
    pub(crate) result: ResultNumber,
    pub(crate) reason: ReasonNumber,
    pub(crate) time_ms: u64,
    pub(crate) unresolved: UnresolvedForm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnresolvedForm {
    black: Option<Hex<32>>,
    white: Option<Hex<32>>,
}

/// A result by its number.
#[derive(Deserialize)]
#[serde(try_from = "u8")]
pub(crate) struct ResultNumber(MatchResult);

impl TryFrom<u8> for ResultNumber {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        MatchResult::from_number(number).map(Self).ok_or("no result has this number")
    }
}

/// A reason by its number.
#[derive(Deserialize)]
#[serde(try_from = "u8")]
pub(crate) struct ReasonNumber(EndReason);

impl TryFrom<u8> for ReasonNumber {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        EndReason::from_number(number).map(Self).ok_or("no reason has this number")
    }
}

impl From<EndingForm> for Ending {
    fn from(form: EndingForm) -> Self {
        let unresolved = PerSeat { black: form.unresolved.black, white: form.unresolved.white };
        Self {
            result: form.result.0,
            reason: form.reason.0,
            time_ms: form.time_ms,
            unresolved: unresolved.map(|held| held.map(|Hex(bytes)| Commitment::from_bytes(bytes))),
        }
    }
}
