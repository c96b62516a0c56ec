//! Matches that are played on a store.

use std::sync::Arc;

use referee::{Command, Match, NewMatch, RequestId, SealCommand, SealedMove, Settings};
use rules::{Cell, PerSeat, Seat};
use sealing::{MatchId, Opening, Party, Salt};
use store::{Commit, CommitOutcome, Indexed, MatchStore as _, PlayerStore as _, Shard, Stored};
use store_embedded::EmbeddedStore;

pub(crate) const BLACK: &str = "players/ann";
pub(crate) const WHITE: &str = "players/bob";

/// The salt of every move here: bytes that are in no file by chance.
pub(crate) const SALT: [u8; 32] = *b"the salt of an unresolved move!!";

pub(crate) fn id(number: u8) -> MatchId {
    MatchId::from_bytes([number; 16])
}

/// A match that nobody has joined.
pub(crate) async fn create(store: &EmbeddedStore, id: MatchId) -> Stored {
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    let parties = PerSeat { black: party(BLACK), white: party(WHITE) };
    let now = store.now(id).await.expect("the time can be asked");
    let new = NewMatch { id, settings: Settings::default(), parties, rematch_of: None, origin: None };
    store.create(Match::create(new, now), [1; 8]).await.expect("a match can be created").stored
}

/// A match in its first turn, whose follow-ups are done.
pub(crate) async fn start(store: &EmbeddedStore, id: MatchId) -> Stored {
    create(store, id).await;
    for seat in Seat::BOTH {
        act(store, id, Command::Join { seat }).await;
    }
    settle(store, id).await
}

/// A match that has resolved so many turns.
pub(crate) async fn played(store: &EmbeddedStore, id: MatchId, turns: u32) -> Stored {
    let mut stored = start(store, id).await;
    for turn in 1..=turns {
        for seat in Seat::BOTH {
            stored = act(store, id, seal(seat, turn)).await;
        }
    }
    stored
}

/// A match that is over, and nothing waits on it.
pub(crate) async fn finished(store: &EmbeddedStore, id: MatchId, turns: u32) -> Stored {
    played(store, id, turns).await;
    act(store, id, resign(Seat::Black)).await;
    settle(store, id).await
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
        request_id: request(&format!("seal-{turn}")),
    })
}

pub(crate) fn resign(seat: Seat) -> Command {
    Command::Resign { seat, request_id: request("resign") }
}

fn request(text: &str) -> RequestId {
    RequestId::new(text).expect("a request id")
}

/// What a command that changes the match stores.
pub(crate) async fn act(store: &EmbeddedStore, id: MatchId, command: Command) -> Stored {
    match store.commit(judge(store, id, command).await).await.expect("a commit is answered") {
        CommitOutcome::Committed(stored) => stored,
        other => panic!("the commit is refused: {other:?}"),
    }
}

/// What a node would commit for a command now.
pub(crate) async fn judge(store: &EmbeddedStore, id: MatchId, command: Command) -> Commit {
    let loaded = store.load(id).await.expect("a stored match can be read");
    let change =
        loaded.stored.head.apply(&command, loaded.now).change.expect("the command changes the match");
    Commit { expected: loaded.stored.version, nonce: [2; 8], judged: loaded.now, change, trace: None }
}

/// Does what waits on a match.
pub(crate) async fn settle(store: &EmbeddedStore, id: MatchId) -> Stored {
    let stored = load(store, id).await;
    let finished = stored.head.finish().is_some();
    for player in [BLACK, WHITE] {
        let entry = Indexed { match_id: id, finished, created: stored.head.created };
        store.index_match(player, entry).await.expect("a match can be indexed");
    }
    store.settle(id, stored.version, &stored.follow_ups).await.expect("follow-ups can be settled");
    load(store, id).await
}

pub(crate) async fn load(store: &EmbeddedStore, id: MatchId) -> Stored {
    store.load(id).await.expect("a stored match can be read").stored
}

/// The numbers of the resolved turns.
pub(crate) async fn turns(store: &EmbeddedStore, id: MatchId) -> Vec<u32> {
    let turns = store.turns(id, 1, usize::MAX).await.expect("turns can be read");
    turns.iter().map(|record| record.turn).collect()
}

/// What is due anywhere.
pub(crate) async fn due(store: &EmbeddedStore) -> Vec<MatchId> {
    let mut due = Vec::new();
    for shard in (0..store.shard_count()).map(Shard) {
        due.extend(store.due(shard, usize::MAX).await.expect("what is due can be asked").matches);
    }
    due
}

/// The lists of both players.
pub(crate) async fn lists(store: &EmbeddedStore) -> Vec<Indexed> {
    let mut lists = Vec::new();
    for player in [BLACK, WHITE] {
        lists.extend(store.matches_of(player, None, None, usize::MAX).await.expect("a list can be read"));
    }
    lists
}

/// So many turns.
pub(crate) fn all_turns(count: u32) -> Vec<u32> {
    (1..=count).collect()
}

/// A store that several tasks use.
pub(crate) fn shared(store: EmbeddedStore) -> Arc<EmbeddedStore> {
    Arc::new(store)
}
