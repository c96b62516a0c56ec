//! What one viewer may see of a match. Whatever is secret is left out here, and nowhere else.

use referee::{Match, Now, OpenTurn, Phase, Seal, SealMode, SealStatus, Stamp, TimeControl};
use rules::Seat;
use sealing::{Receipt, Signature};
use store::keys::PublishedKey;
use wire::v1;

use super::time::{duration, timestamp};
use super::turn::position;
use super::{match_name, settings};
use crate::standing;

/// Who looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Viewer {
    /// The player of a seat, by his own token: he sees his own seal.
    Seat(Seat),
    /// Everyone else who may look: spectators, back ends also when they act for a player, operators.
    Public,
}

/// The whole match.
pub(crate) fn game(game: &Match, now: Now, viewer: Viewer) -> v1::Match {
    v1::Match {
        name: match_name(game.id),
        settings: Some(settings::to_wire(&game.settings)),
        black: Some(seat(game, Seat::Black)),
        white: Some(seat(game, Seat::White)),
        state: state(game).into(),
        turn: game.resolved,
        position: Some(position(&game.position)),
        hash: game.hash.as_bytes().to_vec(),
        status: Some(status(game, now, viewer)),
        finish: finished(game),
        create_time: Some(timestamp(game.created)),
        start_time: game.started.map(timestamp),
        rematch_of: rematch_of(game),
    }
}

/// A match in a list.
pub(crate) fn summary(game: &Match) -> v1::MatchSummary {
    let finish = game.finish();
    v1::MatchSummary {
        name: match_name(game.id),
        black_player: game.parties.black.player.clone(),
        white_player: game.parties.white.player.clone(),
        mode: game.settings.fields().mode as i32,
        state: state(game).into(),
        turn: game.resolved,
        result: finish.map_or(0, |finish| i32::from(finish.result.number())),
        reason: finish.map_or(0, |finish| i32::from(finish.reason.number())),
        create_time: Some(timestamp(game.created)),
        finish_time: finish.map(|finish| timestamp(finish.at)),
    }
}

/// Where a stream starts: at `turn`, whose position and hash are given.
pub(crate) fn snapshot(
    game: &Match,
    turn: u32,
    after: v1::Position,
    hash: Vec<u8>,
    server_time: Stamp,
) -> v1::MatchSnapshot {
    v1::MatchSnapshot {
        name: match_name(game.id),
        settings: Some(settings::to_wire(&game.settings)),
        black: Some(seat(game, Seat::Black)),
        white: Some(seat(game, Seat::White)),
        turn,
        position: Some(after),
        hash,
        create_time: Some(timestamp(game.created)),
        rematch_of: rematch_of(game),
        server_time: Some(timestamp(server_time)),
    }
}

/// The match between two turns. Deadlines are shown as they stand under `now`'s outage sum.
pub(crate) fn status(game: &Match, now: Now, viewer: Viewer) -> v1::MatchStatus {
    let game = game.under_outage(now.outage_ms);
    let start_deadline = match &game.phase {
        Phase::Waiting { start_by, .. } => start_by.map(timestamp),
        Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. } | Phase::Finished(_) => None,
    };
    let reveal_deadline = match &game.phase {
        Phase::Revealing(revealing) => Some(timestamp(revealing.reveal_by)),
        Phase::Waiting { .. } | Phase::Open(_) | Phase::BotDue { .. } | Phase::Finished(_) => None,
    };
    let open = game.turn_in_play();
    let own = match viewer {
        Viewer::Seat(seat) => open.and_then(|open| open.seals[seat].as_ref()),
        Viewer::Public => None,
    };
    v1::MatchStatus {
        state: state(&game).into(),
        turn: open.map_or(0, |open| open.turn),
        open_time: open.map(|open| timestamp(open.opened)),
        black: Some(seat_status(&game, Seat::Black, viewer)),
        white: Some(seat_status(&game, Seat::White, viewer)),
        own_seal: own.map(|seal| own_seal(&game, seal)),
        reveal_deadline,
        start_deadline,
    }
}

/// The end, once there is one.
pub(crate) fn finished(game: &Match) -> Option<v1::MatchFinished> {
    let finish = game.finish()?;
    let unresolved = |seat: Seat| match &finish.unresolved[seat] {
        Some(facts) => facts.commitment.as_bytes().to_vec(),
        None => Vec::new(),
    };
    Some(v1::MatchFinished {
        result: i32::from(finish.result.number()),
        reason: i32::from(finish.reason.number()),
        finish_time: Some(timestamp(finish.at)),
        turn: game.resolved,
        black_unresolved_commitment: unresolved(Seat::Black),
        white_unresolved_commitment: unresolved(Seat::White),
        end_hash: finish.end_hash.as_bytes().to_vec(),
    })
}

/// A receipt. It names its key only where it is signed by it.
pub(crate) fn receipt(receipt: &Receipt, signature: Option<Signature>) -> v1::SealReceipt {
    let key_id = signature.map(|_| receipt.key_id.as_ref().to_owned());
    v1::SealReceipt {
        r#match: match_name(receipt.match_id),
        turn: receipt.turn,
        seat: super::seat(receipt.seat).into(),
        commitment: receipt.commitment.as_bytes().to_vec(),
        seal_time: Some(timestamp(Stamp::from_ms(receipt.sealed_ms))),
        key_id: key_id.unwrap_or_default(),
        signature: signature.map(|signature| signature.as_bytes().to_vec()).unwrap_or_default(),
    }
}

/// The keys that the service signs and has signed with.
pub(crate) fn server_keys(published: &[PublishedKey]) -> Vec<v1::ServerKey> {
    let shown = |known: &PublishedKey| v1::ServerKey {
        key_id: known.key.id.to_string(),
        public_key: known.key.public_key.as_bytes().to_vec(),
        start_time: known.from.map(timestamp),
        end_time: known.until.map(timestamp),
    };
    // On the wire the one in use comes last.
    published.iter().rev().map(shown).collect()
}

/// A player with his key and whether he is there.
pub(crate) fn seat(game: &Match, seat: Seat) -> v1::MatchSeat {
    let party = &game.parties[seat];
    let ratings = game.origin.as_ref().and_then(|origin| origin.ratings);
    v1::MatchSeat {
        player: party.player.clone(),
        public_key: party.public_key.map(|key| key.as_bytes().to_vec()).unwrap_or_default(),
        joined: joined(game, seat),
        bot_level: game.settings.bot.filter(|bot| bot.seat == seat).map_or(0, |bot| i32::from(bot.level)),
        rating: ratings.map(|ratings| standing::from_pinned(ratings[seat]).points()),
    }
}

fn state(game: &Match) -> v1::MatchState {
    match &game.phase {
        Phase::Waiting { .. } => v1::MatchState::Waiting,
        Phase::Open(_) => v1::MatchState::Open,
        Phase::Revealing(_) => v1::MatchState::Revealing,
        Phase::BotDue { .. } => v1::MatchState::BotDue,
        Phase::Finished(_) => v1::MatchState::Finished,
    }
}

fn joined(game: &Match, seat: Seat) -> bool {
    match &game.phase {
        Phase::Waiting { joined, .. } => joined[seat],
        Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. } => true,
        Phase::Finished(finish) => finish.joined[seat],
    }
}

fn rematch_of(game: &Match) -> String {
    game.rematch_of.map(match_name).unwrap_or_default()
}

fn seat_status(game: &Match, seat: Seat, viewer: Viewer) -> v1::SeatStatus {
    let open = game.turn_in_play();
    let shown = open.filter(|_| shows_seals(game, seat, viewer));
    let seal = shown.and_then(|open| open.seals[seat].as_ref());
    let revealing = matches!(game.phase, Phase::Revealing(_));
    v1::SeatStatus {
        joined: joined(game, seat),
        sealed: shown.map(|open| open.seals[seat].is_some()),
        commitment: seal.map(|seal| seal.facts.commitment.as_bytes().to_vec()),
        revealed: open.filter(|_| revealing).map(|open| open.requests[seat].reveal.is_some()),
        deadline: game.open_turn().map(|open| timestamp(open.deadlines[seat])),
        clock_left: open.and_then(|open| clock_left(game, open, seat)),
        draw_offer: open.map_or(v1::DrawOffer::Unspecified, |open| draw_offer(open, seat)).into(),
    }
}

/// A seat that has sealed is seen by its own player always, by others unless the status is hidden. Once
/// both have, there is nothing left to hide.
fn shows_seals(game: &Match, seat: Seat, viewer: Viewer) -> bool {
    let visible = game.settings.seal_status == SealStatus::Visible;
    visible || viewer == Viewer::Seat(seat) || matches!(game.phase, Phase::Revealing(_))
}

fn draw_offer(open: &OpenTurn, seat: Seat) -> v1::DrawOffer {
    match &open.requests[seat].offer {
        None => v1::DrawOffer::Unspecified,
        Some(_) if referee::has_open_offer(&open.requests, seat) => v1::DrawOffer::Open,
        Some(_) => v1::DrawOffer::Declined,
    }
}

fn clock_left(game: &Match, open: &OpenTurn, seat: Seat) -> Option<prost_types::Duration> {
    match game.settings.time {
        TimeControl::PerTurn { .. } => None,
        TimeControl::Bank { .. } => Some(duration(if open.seals[seat].is_some() {
            game.clock_ms[seat]
        } else {
            open.deadlines[seat].ms_since(open.opened)
        })),
    }
}

fn own_seal(game: &Match, seal: &Seal) -> v1::OwnSeal {
    let kept = seal.opening.as_ref().filter(|_| game.settings.seal_mode == SealMode::ServerSealed);
    v1::OwnSeal {
        commitment: seal.facts.commitment.as_bytes().to_vec(),
        cell: kept.map(|opening| u32::from(opening.cell.number())),
        seal_time: Some(timestamp(seal.facts.sealed)),
    }
}
