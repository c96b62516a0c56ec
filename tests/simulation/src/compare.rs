//! The same random steps on two stores: they must answer alike.

use std::fmt;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use referee::{
    Command, DrawCommand, FollowUp, Match, NewMatch, Now, RequestId, SealCommand, SealedMove, Settings,
    Stamp, TimeControl,
};
use rules::{Cell, PerSeat, Seat};
use sealing::{MatchId, Opening, Party, Salt};
use store::{
    Closing, Commit, CommitOutcome, FeedPage, FeedPosition, Indexed, Invite, InviteEnd, Loaded, PageKey,
    RequestKey, RequestRecord, ScriptedClock, Shard, Store, Stored, Version,
};

/// Matches, invites, players and request names in play at once: few, so that steps meet.
const OBJECTS_MAX: usize = 6;
const NAMES: u32 = 4;

/// Places of feeds that are remembered.
const PLACES_MAX: usize = 32;

/// How long an invite is open, ms.
const INVITE_MS: u64 = 20_000;

/// Two stores answered the same step in two ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The step, counted from 1.
    pub step: usize,
    /// What was asked, and what each has answered.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)
    }
}

impl std::error::Error for Difference {}

/// Takes `steps` steps, drawn from `seed`, on two empty stores whose time is that of `clock`. They must have
/// equally many shards.
///
/// # Errors
/// The first difference between their answers.
pub async fn compare(
    seed: u64,
    steps: usize,
    clock: &ScriptedClock,
    one: &dyn Store,
    other: &dyn Store,
) -> Result<(), Difference> {
    let random = StdRng::seed_from_u64(seed);
    let mut pair = Pair {
        clock,
        stores: [one, other],
        random,
        ids: Vec::new(),
        invites: Vec::new(),
        places: Vec::new(),
        drawn: 0,
        step: 0,
    };
    pair.same("shards", one.shard_count(), other.shard_count())?;
    pair.touch_all().await?;
    for step in 1..=steps {
        pair.step = step;
        pair.take_step().await?;
    }
    Ok(())
}

struct Pair<'a> {
    clock: &'a ScriptedClock,
    stores: [&'a dyn Store; 2],
    random: StdRng,
    ids: Vec<MatchId>,
    invites: Vec<Invite>,
    places: Vec<(Shard, FeedPosition)>,
    drawn: u64,
    step: usize,
}

impl Pair<'_> {
    fn same<T: PartialEq + fmt::Debug>(&self, asked: &str, one: T, other: T) -> Result<T, Difference> {
        if one == other {
            return Ok(one);
        }
        Err(Difference { step: self.step, what: format!("{asked}:\n  {one:?}\n  {other:?}") })
    }

    async fn take_step(&mut self) -> Result<(), Difference> {
        match self.random.random_range(0..100) {
            0..8 => self.create().await,
            8..18 => self.pass_time().await,
            18..55 => self.commit().await,
            55..60 => self.settle().await,
            60..65 => self.postpone().await,
            65..72 => self.turns().await,
            72..78 => self.due().await,
            78..88 => self.invite().await,
            88..91 => self.request().await,
            91..95 => self.feed().await,
            _ => self.list().await,
        }
    }

    /// An id that begins with its number, so that later ones are greater.
    fn new_id(&mut self) -> MatchId {
        self.drawn += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.drawn.to_be_bytes());
        bytes[8..].copy_from_slice(&self.random.random::<[u8; 8]>());
        MatchId::from_bytes(bytes)
    }

    /// A match: mostly one that is there.
    fn pick(&mut self) -> MatchId {
        if self.ids.is_empty() || self.random.random_ratio(1, 40) {
            return self.new_id();
        }
        self.ids[self.random.random_range(0..self.ids.len())]
    }

    fn player(&mut self) -> String {
        format!("players/p{}", self.random.random_range(0..NAMES))
    }

    fn request_id(&mut self) -> RequestId {
        let text = format!("r{}", self.random.random_range(0..NAMES));
        RequestId::new(&text).unwrap_or_else(|_| unreachable!("letters and digits"))
    }

    /// Time passes, for longer than an outage now and then. Somebody is everywhere at once afterwards: which
    /// operations count as signs of life is another promise.
    async fn pass_time(&mut self) -> Result<(), Difference> {
        let ms = match self.random.random_range(0..10) {
            0..6 => self.random.random_range(0..=1_200),
            6..9 => self.random.random_range(0..=3_100),
            _ => self.random.random_range(3_000..40_000),
        };
        self.clock.advance_ms(ms);
        self.touch_all().await
    }

    async fn touch_all(&mut self) -> Result<(), Difference> {
        for shard in 0..self.stores[0].shard_count() {
            let [one, other] = self.stores;
            let shard = Shard(shard);
            let touched = self.same("touch", one.touch(shard).await, other.touch(shard).await);
            touched.map(drop)?;
        }
        Ok(())
    }

    async fn create(&mut self) -> Result<(), Difference> {
        let fresh = self.ids.len() < OBJECTS_MAX || self.random.random_ratio(1, 3);
        let id = if fresh { self.new_id() } else { self.pick() };
        let [one, other] = self.stores;
        let now = self.same("now", one.now(id).await, other.now(id).await)?;
        let Ok(now) = now else { return Ok(()) };
        let turn_ms = self.random.random_range(1_000..20_000);
        let settings =
            Settings { time: TimeControl::PerTurn { turn_ms }, turn_limit: 4, ..Settings::default() };
        let party = |player: &str| Party { player: player.to_owned(), public_key: None };
        let parties = PerSeat { black: party("players/p0"), white: party("players/p1") };
        let change = Match::create(NewMatch { id, settings, parties, rematch_of: None, origin: None }, now);
        let nonce = self.random.random();
        let (first, second) = (one.create(change.clone(), nonce).await, other.create(change, nonce).await);
        self.same("create", first.map(sorted), second.map(sorted)).map(drop)?;
        if !self.ids.contains(&id) {
            self.ids.push(id);
        }
        if self.ids.len() > OBJECTS_MAX {
            self.ids.remove(0);
        }
        Ok(())
    }

    async fn load(&mut self, id: MatchId) -> Result<Option<Loaded>, Difference> {
        let [one, other] = self.stores;
        let (first, second) = (one.load(id).await.map(sorted), other.load(id).await.map(sorted));
        self.same("load", first, second).map(Result::ok)
    }

    /// A command on what is stored, judged well or badly.
    async fn commit(&mut self) -> Result<(), Difference> {
        let id = self.pick();
        let Some(loaded) = self.load(id).await? else { return Ok(()) };
        let command = self.command(&loaded.stored.head);
        let mut judged = loaded.now;
        match self.random.random_range(0..12) {
            0 => judged.stamp = Stamp::from_ms(judged.stamp.as_ms() - self.random.random_range(0..2_000)),
            1 => judged.stamp = judged.stamp.plus_ms(self.random.random_range(0..50)),
            2 => judged.outage_ms += self.random.random_range(0..2),
            // It was judged a while ago.
            3 => self.pass_time().await?,
            _ => {}
        }
        let Some(change) = loaded.stored.head.apply(&command, judged).change else { return Ok(()) };
        let mut expected = loaded.stored.version;
        match self.random.random_range(0..12) {
            0 => expected.counter = expected.counter.saturating_sub(1),
            1 => expected.nonce = self.random.random(),
            _ => {}
        }
        let commit = Commit { expected, nonce: self.random.random(), judged, change, trace: None };
        let again = if self.random.random_ratio(1, 8) { 2 } else { 1 };
        for _ in 0..again {
            let [one, other] = self.stores;
            let first = one.commit(commit.clone()).await.map(outcome);
            let second = other.commit(commit.clone()).await.map(outcome);
            self.same("commit", first, second).map(drop)?;
        }
        self.load(id).await.map(drop)
    }

    fn command(&mut self, head: &Match) -> Command {
        let seat = if self.random.random() { Seat::Black } else { Seat::White };
        let turn = head.resolved + 1;
        match self.random.random_range(0..20) {
            0..4 => Command::Join { seat },
            4 => Command::Tick,
            5 => Command::Resign { seat, request_id: self.request_id() },
            6 => {
                let accept = [None, Some(false), Some(true)][self.random.random_range(0..3)];
                Command::Draw(DrawCommand { seat, turn, accept, request_id: self.request_id() })
            }
            _ => {
                let cell = Cell::from_number(self.random.random_range(1..=81));
                let cell = cell.unwrap_or_else(|| unreachable!("from 1 to 81"));
                let opening = Opening { cell, salt: Salt::from_bytes(self.random.random()) };
                Command::Seal(SealCommand {
                    seat,
                    turn,
                    sealed: SealedMove::Opening(opening),
                    previous: None,
                    signature: None,
                    key_id: "".into(),
                    request_id: self.request_id(),
                })
            }
        }
    }

    /// The version of a match, or another one.
    fn version(&mut self, loaded: &Loaded) -> Version {
        let version = loaded.stored.version;
        if self.random.random_ratio(1, 4) {
            Version { nonce: self.random.random(), ..version }
        } else {
            version
        }
    }

    async fn settle(&mut self) -> Result<(), Difference> {
        let id = self.pick();
        let Some(loaded) = self.load(id).await? else { return Ok(()) };
        let version = self.version(&loaded);
        let done = match self.random.random_range(0..3) {
            0 => vec![FollowUp::Index(Seat::Black)],
            1 => vec![FollowUp::Index(Seat::White)],
            _ => Seat::BOTH.map(FollowUp::Index).to_vec(),
        };
        let [one, other] = self.stores;
        let (first, second) = (one.settle(id, version, &done).await, other.settle(id, version, &done).await);
        self.same("settle", first, second).map(drop)?;
        self.load(id).await.map(drop)
    }

    async fn postpone(&mut self) -> Result<(), Difference> {
        let id = self.pick();
        let Some(loaded) = self.load(id).await? else { return Ok(()) };
        let version = self.version(&loaded);
        let due = loaded.now.stamp.plus_ms(self.random.random_range(0..5_000));
        let [one, other] = self.stores;
        let (first, second) = (one.postpone(id, version, due).await, other.postpone(id, version, due).await);
        self.same("postpone", first, second).map(drop)?;
        self.due().await
    }

    async fn turns(&mut self) -> Result<(), Difference> {
        let id = self.pick();
        let (from, limit) = (self.random.random_range(0..6), self.random.random_range(0..5));
        let [one, other] = self.stores;
        let (first, second) = (one.turns(id, from, limit).await, other.turns(id, from, limit).await);
        self.same("turns", first, second).map(drop)
    }

    /// A part of a feed, after a place that there is, was, or might have been.
    async fn feed(&mut self) -> Result<(), Difference> {
        let [one, other] = self.stores;
        let shard = Shard::of(self.pick(), one.shard_count());
        let known = self.places.iter().filter(|(of, _)| *of == shard).map(|(_, place)| *place);
        let known: Vec<FeedPosition> = known.collect();
        let mut after = match known.len() {
            0 => FeedPosition::START,
            count => known[self.random.random_range(0..count)],
        };
        match self.random.random_range(0..6) {
            0 => after = FeedPosition::START,
            1 => after.mark ^= 1,
            2 => after.number += 1,
            _ => {}
        }
        let limit = self.random.random_range(1..6);
        let (first, second) = (one.feed(shard, after, limit).await, other.feed(shard, after, limit).await);
        if let Ok(FeedPage::Entries(entries)) = self.same("feed", first, second)? {
            self.places.extend(entries.into_iter().map(|(place, _)| (shard, place)));
            let old = self.places.len().saturating_sub(PLACES_MAX);
            self.places.drain(..old);
        }
        Ok(())
    }

    /// What is due in the shard of a match, ties in any order.
    async fn due(&mut self) -> Result<(), Difference> {
        let id = self.pick();
        let [one, other] = self.stores;
        let shard = Shard::of(id, one.shard_count());
        let sorted = |due: store::Due| {
            let mut matches = due.matches;
            matches.sort_unstable();
            (matches, due.now)
        };
        let first = one.due(shard, usize::MAX).await.map(sorted);
        let second = other.due(shard, usize::MAX).await.map(sorted);
        self.same("due", first, second).map(drop)
    }

    async fn invite(&mut self) -> Result<(), Difference> {
        let fresh = self.invites.len() < OBJECTS_MAX && self.random.random_ratio(1, 2);
        let invite = if fresh || self.invites.is_empty() {
            let Some(invite) = self.new_invite().await? else { return Ok(()) };
            self.invites.push(invite.clone());
            invite
        } else {
            self.invites[self.random.random_range(0..self.invites.len())].clone()
        };
        let [one, other] = self.stores;
        let id = invite.id;
        if fresh || self.random.random_ratio(1, 3) {
            // Creating again is the same request again, so it is the same invite.
            let (first, second) =
                (one.create_invite(invite.clone()).await, other.create_invite(invite).await);
            self.same("create invite", first, second).map(drop)?;
        } else {
            let end = [InviteEnd::Declined, InviteEnd::Revoked][self.random.random_range(0..2)];
            let closing = Closing { end, by: self.player(), request_id: self.request_id(), public_key: None };
            let first = one.close_invite(id, closing.clone()).await;
            let second = other.close_invite(id, closing).await;
            self.same("close invite", first, second).map(drop)?;
        }
        self.same("invite", one.invite(id).await, other.invite(id).await).map(drop)?;
        if self.random.random_ratio(1, 8) {
            self.invites.retain(|known| known.id != id);
        }
        let (player, limit) = (self.player(), self.random.random_range(0..4));
        let first = one.open_invites_of(&player, limit).await;
        let second = other.open_invites_of(&player, limit).await;
        self.same("open invites", first, second).map(drop)
    }

    async fn new_invite(&mut self) -> Result<Option<Invite>, Difference> {
        let id = self.new_id();
        let [one, other] = self.stores;
        let now = self.same("now", one.now(id).await, other.now(id).await)?;
        let Ok(Now { stamp, .. }) = now else { return Ok(None) };
        Ok(Some(Invite {
            id,
            inviter: self.player(),
            inviter_key: None,
            invitee: Some(self.player()),
            secret_hash: None,
            settings: Settings::default(),
            inviter_seat: None,
            rematch_of: None,
            created: stamp,
            expires: stamp.plus_ms(INVITE_MS),
            closing: None,
        }))
    }

    async fn request(&mut self) -> Result<(), Difference> {
        let key = RequestKey { actor: self.player(), request_id: self.request_id().as_str().to_owned() };
        let record = RequestRecord { mac: self.random.random(), created_id: self.random.random() };
        let [one, other] = self.stores;
        let (first, second) = (one.remember(key.clone(), record).await, other.remember(key, record).await);
        self.same("remember", first, second).map(drop)
    }

    async fn list(&mut self) -> Result<(), Difference> {
        let [one, other] = self.stores;
        let player = self.player();
        let match_id = self.pick();
        // A match has one time of creation, which some share.
        let created = Stamp::from_ms(1_000 + u64::from(match_id.as_bytes()[7] / 2));
        let entry = Indexed { match_id, finished: self.random.random(), created };
        let (first, second) =
            (one.index_match(&player, entry).await, other.index_match(&player, entry).await);
        self.same("index", first, second).map(drop)?;
        let finished = [None, Some(false), Some(true)][self.random.random_range(0..3)];
        let after = self.random.random_ratio(1, 3).then_some(PageKey { created, match_id: self.pick() });
        let limit = self.random.random_range(0..4);
        let first = one.matches_of(&player, finished, after, limit).await;
        let second = other.matches_of(&player, finished, after, limit).await;
        self.same("list", first, second).map(drop)
    }
}

/// What is stored, with what waits in an order that does not matter.
fn in_order(mut stored: Stored) -> Stored {
    stored.follow_ups.sort_by_key(|follow_up| match follow_up {
        FollowUp::Index(seat) => (0, seat.number()),
        FollowUp::Record(seat) => (1, seat.number()),
        FollowUp::Release(seat) | FollowUp::Requeue(seat) => (2, seat.number()),
    });
    stored
}

fn sorted(loaded: Loaded) -> Loaded {
    Loaded { stored: in_order(loaded.stored), ..loaded }
}

fn outcome(outcome: CommitOutcome) -> CommitOutcome {
    match outcome {
        CommitOutcome::Committed(stored) => CommitOutcome::Committed(in_order(stored)),
        CommitOutcome::Conflict(loaded) => CommitOutcome::Conflict(sorted(loaded)),
        CommitOutcome::Restamp(_) | CommitOutcome::TooLate(_) => outcome,
    }
}
