//! The end of a run: what is stored of every match, against what was told of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use prost::Message as _;
use tokio::time::{Instant, sleep};
use whattheshell::prost_types::Timestamp;
use whattheshell::{Client, Error, Transcript, v1};

use crate::account::{Break, Told};
use crate::arena::{Arena, PAUSE};
use crate::secrets::SALT_BYTES;

/// How long matches that time ends may take once nothing goes wrong any more, and what follows from ends.
const SETTLED_MAX: Duration = Duration::from_secs(30);

/// Who asks for transcripts: none of the players.
const AUDITOR: usize = usize::MAX;

/// What a run may have done to time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    /// The store was there at all times: deadlines are where they were set.
    Calm,
    /// There were outages, by which deadlines have moved.
    Moved,
}

/// Audits every match. Returns what is worth noting.
pub(crate) async fn audit(arena: &Arc<Arena>, time: Time) -> anyhow::Result<Vec<String>> {
    let mut notes = Vec::new();
    settle(arena, &mut notes).await?;
    let (mut owned_up, mut forgotten) = (0, 0);
    let games = arena.account.take_games();
    let players: BTreeSet<&str> = games.values().map(|told| told.terms.token.as_str()).collect();
    for token in players {
        check_list(arena, token).await?;
    }
    for (name, told) in games {
        let mut transcripts = transcripts(arena, &name, &told.terms.token, &mut notes).await;
        if !arena.account.is_lossless() && !are_alike(&transcripts) {
            // Whoever looks first may find that history was lost, and end the match by that.
            transcripts = self::transcripts(arena, &name, &told.terms.token, &mut notes).await;
        }
        let Some(stored) = transcripts.first() else {
            forgotten += 1;
            continue;
        };
        if !are_alike(&transcripts) {
            let told: Vec<_> = transcripts.iter().map(|told| shown(told.message())).collect();
            arena.account.complain(Break::Duplicated, format!("{name}: the nodes tell {}", told.join(", ")));
        }
        let is_lossless = arena.account.is_lossless();
        let audit = Audit { name: &name, told: &told, stored: stored.message(), is_lossless };
        for (how, what) in audit.broken(stored, time) {
            let is_loss = matches!(how, Break::Lost | Break::Duplicated);
            if is_loss && !arena.account.is_lossless() && owns_up(arena, &audit).await {
                owned_up += 1;
                continue;
            }
            arena.account.complain(how, format!("{name}: {what}"));
        }
    }
    for (count, what) in [(owned_up, "losses that the service owns up to"), (forgotten, "matches are gone")] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    Ok(notes)
}

/// Waits until nothing is due any more: all matches are over, and what follows from that is done.
async fn settle(arena: &Arena, notes: &mut Vec<String>) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLED_MAX;
    loop {
        let waiting = arena.fleet.backing.waiting().await?;
        if waiting == 0 {
            return Ok(());
        }
        if Instant::now() > until {
            let what = format!("{waiting} matches are neither over nor at rest");
            match arena.account.is_lossless() {
                true => (0..waiting).for_each(|_| arena.account.complain(Break::Stuck, what.clone())),
                false => notes.push(what),
            }
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// What every node tells of a match. One that a store has forgotten may be gone.
async fn transcripts(arena: &Arena, name: &str, token: &str, notes: &mut Vec<String>) -> Vec<Transcript> {
    let mut transcripts = Vec::new();
    for node in 0..arena.fleet.networks.len() {
        match transcript(arena, node, token, name).await {
            Ok(transcript) => transcripts.push(transcript),
            Err(error) if !arena.account.is_lossless() && is_not_found(&error) => {}
            Err(error) if !arena.account.is_lossless() => notes.push(format!("{name}: {error}")),
            Err(error) => arena.account.complain(Break::Lost, format!("{name}: {error}")),
        }
    }
    transcripts
}

fn is_not_found(error: &Error) -> bool {
    error.reason() == Some(v1::ErrorReason::NotFound)
}

fn are_alike(transcripts: &[Transcript]) -> bool {
    transcripts.windows(2).all(|pair| pair[0].to_bytes() == pair[1].to_bytes())
}

/// What tells a history from another one, for people.
fn shown(history: &v1::Transcript) -> String {
    let last =
        history.turns.last().map(|turn| turn.hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect());
    let last: String = last.unwrap_or_default();
    let reason = history.finish.as_ref().map(v1::MatchFinished::reason);
    format!("{} turns to {last} ended by {reason:?}", history.turns.len())
}

/// Nobody is said to be in a match that is over.
async fn check_list(arena: &Arena, token: &str) -> anyhow::Result<()> {
    let player = client(arena, 0).player(token)?;
    let live: Vec<v1::MatchSummary> = player.matches(Some(false)).try_collect().await?;
    // What a store forgot may be in a list.
    for game in live.iter().filter(|_| arena.account.is_lossless()) {
        let what = format!("{}: {} is still said to play", game.name, player.name());
        arena.account.complain(Break::Stuck, what);
    }
    Ok(())
}

async fn transcript(arena: &Arena, node: usize, token: &str, name: &str) -> Result<Transcript, Error> {
    client(arena, node).player(token)?.transcript(name).await
}

/// A client of one node.
fn client(arena: &Arena, node: usize) -> Client {
    let address = arena.fleet.addresses()[node];
    Client::builder().over(crate::tap::channel(&[address], 0, AUDITOR, &arena.secrets))
}

/// Whether whoever was told what is gone is told that it is: by the match's end, or when he next says what
/// he knows.
async fn owns_up(arena: &Arena, audit: &Audit<'_>) -> bool {
    let void = |finish: &v1::MatchFinished| finish.reason() == v1::EndReason::LostHistory;
    if audit.told.is_regressed || audit.stored.finish.as_ref().is_some_and(void) {
        return true;
    }
    let Some(claim) = audit.told.turns.values().next_back() else { return false };
    crate::forger::is_refused_claim(arena, &audit.told.terms.token, audit.name, claim).await
}

/// One match: what it was told to be, and what it is.
struct Audit<'a> {
    name: &'a str,
    told: &'a Told,
    stored: &'a v1::Transcript,
    is_lossless: bool,
}

impl Audit<'_> {
    fn broken(&self, transcript: &Transcript, time: Time) -> Vec<(Break, String)> {
        let mut broken = Vec::new();
        if let Err(error) = transcript.verify() {
            broken.push((Break::Duplicated, format!("its transcript does not hold: {error}")));
        }
        self.seals(&mut broken);
        self.turns(&mut broken);
        self.end(&mut broken, time);
        let bytes = self.stored.encode_to_vec();
        let taken = |salt: &&[u8; SALT_BYTES]| bytes.windows(SALT_BYTES).any(|part| part == *salt);
        for _ in self.told.hopeless.iter().filter(taken) {
            broken.push((Break::Misjudged, "a move that was refused is in its history".to_owned()));
        }
        broken
    }

    /// Every acknowledged seal is in the history of its turn, or in the turn that the end has cut off.
    fn seals(&self, broken: &mut Vec<(Break, String)>) {
        for ((turn, seat), receipt) in &self.told.seals {
            let is_black = *seat == i32::from(v1::Seat::Black);
            let kept = match self.stored.turns.get(*turn as usize - 1) {
                Some(resolved) => {
                    let side = if is_black { &resolved.black } else { &resolved.white };
                    side.as_ref().map(|side| (&side.commitment, side.seal_time == receipt.seal_time))
                }
                None => self.stored.finish.as_ref().filter(|finish| finish.turn + 1 == *turn).map(|finish| {
                    let (black, white) =
                        (&finish.black_unresolved_commitment, &finish.white_unresolved_commitment);
                    (if is_black { black } else { white }, true)
                }),
            };
            match kept {
                Some((commitment, true)) if *commitment == receipt.commitment => {}
                // It was lost, and its player has sealed the same move again.
                Some((commitment, false)) if *commitment == receipt.commitment && !self.is_lossless => {}
                Some((commitment, false)) if *commitment == receipt.commitment => {
                    broken.push((
                        Break::Duplicated,
                        format!("the seal of turn {turn}, seat {seat} has another stamp"),
                    ));
                }
                _ => broken.push((Break::Lost, format!("the seal of turn {turn}, seat {seat} is gone"))),
            }
        }
    }

    /// Every turn that a stream has told is the stored one to the last byte.
    fn turns(&self, broken: &mut Vec<(Break, String)>) {
        for (turn, told) in &self.told.turns {
            match self.stored.turns.get(*turn as usize - 1) {
                Some(stored) if stored == told => {}
                Some(_) => broken.push((Break::Duplicated, format!("turn {turn} was told otherwise"))),
                None => broken.push((Break::Lost, format!("turn {turn} was told and is gone"))),
            }
        }
        if self.told.finish.is_some() && self.told.finish != self.stored.finish {
            broken.push((Break::Duplicated, "its end was told otherwise".to_owned()));
        }
    }

    /// How it ended is what the stamps lead to.
    fn end(&self, broken: &mut Vec<(Break, String)>, time: Time) {
        use v1::EndReason as R;
        let Some(finish) = &self.stored.finish else {
            // Left behind before both had joined, or it would have kept the run waiting.
            return;
        };
        let reason = finish.reason();
        let flagged = matches!(reason, R::Flag | R::BothFlagged);
        let lost = reason == R::LostHistory && self.is_lossless;
        let is_forgotten = reason == R::LostHistory && !self.is_lossless;
        if self.told.terms.is_abandoned && reason != R::BothFlagged && !is_forgotten {
            broken.push((Break::Misjudged, format!("nobody sealed, and it ended by {reason:?}")));
        }
        let is_in_time = !matches!(reason, R::Flag | R::BothFlagged | R::FailedReveal | R::NoShow | R::Idle);
        if !self.told.terms.is_abandoned && (!is_in_time || lost) {
            broken.push((Break::Misjudged, format!("it was played on, and ended by {reason:?}")));
        }
        if flagged {
            self.flag(broken, finish, time);
        }
    }

    fn flag(&self, broken: &mut Vec<(Break, String)>, finish: &v1::MatchFinished, time: Time) {
        let sealed = [&finish.black_unresolved_commitment, &finish.white_unresolved_commitment]
            .map(|commitment| !commitment.is_empty());
        let fits = matches!(
            (finish.reason(), finish.result(), sealed),
            (v1::EndReason::BothFlagged, v1::MatchResult::Draw, [false, false])
                | (v1::EndReason::Flag, v1::MatchResult::BlackWins, [true, false])
                | (v1::EndReason::Flag, v1::MatchResult::WhiteWins, [false, true])
        );
        if !fits {
            broken.push((Break::Misjudged, format!("{sealed:?} had sealed, and it ended {finish:?}")));
        }
        let opened = match self.stored.turns.last() {
            Some(last) => last.resolve_time.as_ref(),
            None => self.told.opened.as_ref(),
        };
        let Some(opened) = opened else { return };
        let took = i128::from(ms(finish.finish_time.as_ref()) - ms(Some(opened)));
        let allowed = self.told.terms.turn_time.as_millis() as i128;
        let holds = match time {
            Time::Calm => took == allowed,
            Time::Moved => took >= allowed,
        };
        if !holds {
            broken.push((Break::Misjudged, format!("a turn of {allowed} ms was flagged after {took} ms")));
        }
    }
}

/// Milliseconds since the epoch.
fn ms(stamp: Option<&Timestamp>) -> i64 {
    stamp.map_or(0, |stamp| stamp.seconds * 1_000 + i64::from(stamp.nanos) / 1_000_000)
}
