//! D4: what waits for a player tells nothing of what his opponent has sealed or revealed, not even by a
//! message that comes.

use std::future::Future;
use std::time::Duration;

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Operation, PlayerWatching, Setup, cell, salt, seconds};
use store::Clock as _;
use wire::v1::watch_player_response::Update;
use wire::v1::{self, SealMode, SealStatus, match_settings};

use super::reveals;

const HEARTBEAT: Duration = Duration::from_secs(7);

const HEARTBEAT_MS: u64 = HEARTBEAT.as_millis() as u64;

/// A match of two, and who looks at black's home: black himself and his back end.
struct Homes {
    cluster: Cluster,
    duel: Duel,
    streams: [PlayerWatching; 2],
}

impl Homes {
    async fn open(settings: v1::MatchSettings) -> Self {
        // White is at the second node: all that the first one does is done for these streams.
        let cluster = Cluster::start(Setup { nodes: 2, heartbeat: HEARTBEAT, ..Setup::default() }).await;
        let hour = match_settings::TimeControl::TurnTime(seconds(3_600));
        let duel = cluster.duel(v1::MatchSettings { time_control: Some(hour), ..settings }).await;
        cluster.settled(&duel.name).await;
        let backend = cluster.backend(0).await;
        let mut streams = [home(&duel.black, "").await, home(&backend, &duel.black.name).await];
        for stream in &mut streams {
            let state = stream.state(|_| true).await;
            assert!(state.matches[0].move_due, "black is to seal");
        }
        Self { cluster, duel, streams }
    }

    /// Nothing came of what has been done since: the streams have looked, and then they are silent until
    /// their heartbeats, which come when they would have come without it.
    async fn are_unmoved(&mut self) {
        self.cluster.advance_ms(HEARTBEAT_MS).await;
        let heartbeat = v1::Heartbeat {
            server_time: service_tests::stamp(self.cluster.clock.now_ms()),
            interval: Some(seconds(HEARTBEAT.as_secs() as i64)),
            head_turn: 0,
        };
        for stream in &mut self.streams {
            assert_eq!(stream.update().await, Update::Heartbeat(heartbeat));
        }
    }

    /// Each stream's next message is a state that is as wanted.
    async fn move_to(&mut self, what: &str, wanted: impl Fn(&v1::PlayerState) -> bool) {
        for stream in &mut self.streams {
            match stream.update().await {
                Update::State(state) => assert!(wanted(&state), "{what}: {state:?}"),
                other => panic!("{what}: {other:?}"),
            }
        }
    }

    /// Does something that white does, and waits until the streams have looked at what it may have changed.
    async fn looked_after(&mut self, done: impl Future<Output = ()>) {
        let faults = &self.cluster.nodes[0].faults;
        faults.record();
        done.await;
        let looked = async {
            let looks = || faults.recorded().into_iter().filter(|call| *call == Operation::OpenInvitesOf);
            while looks().count() < self.streams.len() {
                tokio::task::yield_now().await;
            }
        };
        service_tests::soon("a look at what waits for black", looked).await;
    }
}

async fn home(caller: &Caller, player: &str) -> PlayerWatching {
    caller.watch_home_with(v1::WatchPlayerRequest { player: player.to_owned() }).await.unwrap()
}

fn due(state: &v1::PlayerState) -> Option<bool> {
    state.matches.first().map(|shown| shown.move_due)
}

fn turn(state: &v1::PlayerState) -> u32 {
    state.matches[0].r#match.as_ref().unwrap().turn
}

#[tokio::test]
async fn an_opponents_seal_moves_nothing_whether_its_status_is_shown_or_hidden() {
    for status in [SealStatus::Visible, SealStatus::Hidden] {
        let mut homes =
            Homes::open(v1::MatchSettings { seal_status: status.into(), ..Default::default() }).await;
        let duel = homes.duel.clone();
        homes.looked_after(async { drop(duel.seal(Seat::White, 1, cell("I9")).await.unwrap()) }).await;
        homes.are_unmoved().await;
        // A repetition neither.
        duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
        homes.are_unmoved().await;
        duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
        homes.move_to("turn 2", |state| turn(state) == 1 && due(state) == Some(true)).await;
        // The other way round black's own seal is shown, and white's resolves the turn.
        duel.seal(Seat::Black, 2, cell("B1")).await.unwrap();
        homes.move_to("black has sealed", |state| due(state) == Some(false)).await;
        duel.seal(Seat::White, 2, cell("H9")).await.unwrap();
        homes.move_to("turn 3", |state| turn(state) == 2 && due(state) == Some(true)).await;
    }
}

#[tokio::test]
async fn an_opponents_commitment_and_his_held_reveal_move_nothing() {
    for status in [SealStatus::Visible, SealStatus::Hidden] {
        let settings = v1::MatchSettings {
            seal_mode: SealMode::CommitReveal.into(),
            seal_status: status.into(),
            reveal_time: Some(seconds(60)),
            ..Default::default()
        };
        let mut homes = Homes::open(settings).await;
        let duel = homes.duel.clone();
        let [black, white] = [(Seat::Black, "A1"), (Seat::White, "I9")]
            .map(|(seat, name)| v1::OpenMove { cell: cell(name), salt: salt(1, seat) });
        homes.looked_after(async { drop(reveals::commit(&duel, Seat::White, &white).await) }).await;
        homes.are_unmoved().await;
        // Now both are in, and black's opening is due, until a time that is the same for both.
        reveals::commit(&duel, Seat::Black, &black).await;
        homes.move_to("the reveal", |state| due(state) == Some(true) && turn(state) == 0).await;
        homes.looked_after(async { reveals::reveal(&duel, Seat::White, &white).await.unwrap() }).await;
        homes.are_unmoved().await;
        reveals::reveal(&duel, Seat::Black, &black).await.unwrap();
        homes.move_to("turn 2", |state| turn(state) == 1 && due(state) == Some(true)).await;
    }
}
