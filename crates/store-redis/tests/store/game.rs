//! Matches that are played on a store, by the real clock.

use std::time::{Duration, Instant};

use referee::{Command, Match, NewMatch, RequestId, SealCommand, SealedMove, Settings};
use rules::{Cell, PerSeat, Seat};
use sealing::{MatchId, Opening, Party, Salt};
use store::{Commit, CommitOutcome, Hints, MatchStore as _, StoreError, Stored, Version};
use store_redis::RedisStore;

/// The salt of every move here: bytes that are in no key by chance.
pub(crate) const SALT: [u8; 32] = *b"the salt of an unresolved move!!";

/// How often something is looked at that comes about by itself.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) fn id() -> MatchId {
    MatchId::from_bytes(rand::random())
}

/// A match in its first turn.
pub(crate) async fn start(store: &RedisStore, id: MatchId) -> Stored {
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    let parties = PerSeat { black: party("players/ann"), white: party("players/bob") };
    let now = store.now(id).await.expect("the time can be asked");
    let new = NewMatch { id, settings: Settings::default(), parties, rematch_of: None, origin: None };
    store.create(Match::create(new, now), rand::random()).await.expect("a match can be created");
    act(store, id, Command::Join { seat: Seat::Black }).await;
    act(store, id, Command::Join { seat: Seat::White }).await
}

pub(crate) fn seal(seat: Seat, turn: u32) -> Command {
    let number = u8::try_from(turn).expect("a turn up to 81");
    let opening =
        Opening { cell: Cell::from_number(number).expect("a turn up to 81"), salt: Salt::from_bytes(SALT) };
    Command::Seal(SealCommand {
        seat,
        turn,
        sealed: SealedMove::Opening(opening),
        previous: None,
        signature: None,
        key_id: "".into(),
        request_id: RequestId::new(&format!("seal-{turn}")).expect("a request id"),
    })
}

/// What a node would commit for a command now.
pub(crate) async fn judge(store: &RedisStore, id: MatchId, command: &Command) -> Result<Commit, StoreError> {
    let loaded = store.load(id).await?;
    let change = loaded.stored.head.apply(command, loaded.now).change.expect("the command changes the match");
    Ok(Commit {
        expected: loaded.stored.version,
        nonce: rand::random(),
        judged: loaded.now,
        change,
        trace: None,
    })
}

/// Applies a command to a match, as a node does.
pub(crate) async fn try_to_act(
    store: &RedisStore,
    id: MatchId,
    command: &Command,
) -> Result<Stored, StoreError> {
    loop {
        let commit = judge(store, id, command).await?;
        if let CommitOutcome::Committed(stored) = store.commit(commit).await? {
            return Ok(stored);
        }
    }
}

pub(crate) async fn act(store: &RedisStore, id: MatchId, command: Command) -> Stored {
    try_to_act(store, id, &command).await.expect("the command is stored")
}

/// Both seats seal this turn.
pub(crate) async fn play(store: &RedisStore, id: MatchId, turn: u32) -> Stored {
    act(store, id, seal(Seat::Black, turn)).await;
    act(store, id, seal(Seat::White, turn)).await
}

/// Both seats seal this turn, and ask again until it is stored, as clients do. The answer to a seal may
/// have been lost: then the match has it.
pub(crate) async fn play_through(store: &RedisStore, id: MatchId, turn: u32, bound: Duration) {
    for seat in Seat::BOTH {
        until("a seal is stored", bound, async || {
            let head = store.load(id).await.ok()?.stored.head;
            let sealed =
                head.resolved >= turn || head.turn_in_play().is_some_and(|open| open.seals[seat].is_some());
            match sealed {
                true => Some(()),
                false => try_to_act(store, id, &seal(seat, turn)).await.ok().map(drop),
            }
        })
        .await;
    }
}

pub(crate) async fn turns(store: &RedisStore, id: MatchId) -> Vec<u32> {
    let turns = store.turns(id, 1, usize::MAX).await.expect("turns can be read");
    turns.iter().map(|record| record.turn).collect()
}

/// Waits until the hints have come to this version.
pub(crate) async fn come_to(hints: &mut Hints, last: Version, bound: Duration) {
    let come = async { while hints.changed().await.expect("the match is still stored").version != last {} };
    tokio::time::timeout(bound, come).await.expect("the last hint comes in time");
}

/// Looks until something is there.
pub(crate) async fn until<T>(what: &str, bound: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < bound, "{what} within {bound:?}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
