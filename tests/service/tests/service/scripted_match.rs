//! A match that is played from a script, and everything that anybody is told meanwhile.

use prost::Message;
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Watching, cell, reason, salt};
use tonic::Status;
use wire::ApiError;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, EndReason, ErrorReason, MatchFinished, MatchResult, ResolvedTurn};

use super::{draws, reveals};

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Join(Seat),
    /// A seat seals a cell for a turn; the same once more is a repetition.
    Seal(Seat, u32, &'static str),
    /// The same under a request id of its own.
    SealAgain(Seat, u32, &'static str),
    /// Both seal at once, black first.
    SealBoth(u32, &'static str, &'static str),
    /// The spectator seals as if he had a seat.
    Intrude(u32),
    /// A seat commits to a cell for a turn.
    Commit(Seat, u32, &'static str),
    /// A seat opens its commitment of turn 1.
    Reveal(Seat, &'static str),
    Offer(Seat, u32),
    /// A seat answers the other one's offer of a draw.
    Answer(Seat, u32, bool),
    /// Milliseconds pass.
    Pass(u64),
    Resign(Seat),
}

/// An answer, encoded, or why there was none.
type Answer = Result<Vec<u8>, ErrorReason>;

fn answer<T: Message>(result: Result<T, Status>) -> Answer {
    result.map(|message| message.encode_to_vec()).map_err(|status| reason(&status))
}

impl Step {
    async fn take(self, played: &Played) -> Vec<Answer> {
        let duel = &played.duel;
        match self {
            Self::Join(seat) => vec![answer(duel.join_as(seat).await)],
            Self::Seal(seat, turn, name) => vec![answer(duel.seal(seat, turn, cell(name)).await)],
            Self::SealAgain(seat, turn, name) => {
                let mut request = duel.seal_request(seat, turn, cell(name));
                request.request_id = format!("again-{turn}");
                vec![answer(duel.send_seal(seat, request).await)]
            }
            Self::SealBoth(turn, black, white) => {
                let black = duel.seal(Seat::Black, turn, cell(black));
                let (black, white) = tokio::join!(black, duel.seal(Seat::White, turn, cell(white)));
                vec![answer(black), answer(white)]
            }
            Self::Intrude(turn) => {
                let request = duel.seal_request(Seat::Black, turn, cell("I1"));
                let answered = played.spectator.matches().seal_move(request).await;
                vec![answer(answered.map(tonic::Response::into_inner))]
            }
            Self::Commit(seat, turn, name) => {
                let open = opening(seat, turn, name);
                vec![answer(Ok(reveals::commit_in(duel, seat, turn, &open).await))]
            }
            Self::Reveal(seat, name) => {
                vec![answer(reveals::reveal(duel, seat, &opening(seat, 1, name)).await)]
            }
            Self::Offer(seat, turn) => vec![answer(draws::offer(duel, seat, turn).await)],
            Self::Answer(seat, turn, accept) => {
                vec![answer(draws::answer(duel, seat, turn, accept).await)]
            }
            Self::Pass(ms) => {
                played.cluster.advance_ms(ms).await;
                Vec::new()
            }
            Self::Resign(seat) => vec![answer(duel.resign(seat).await)],
        }
    }
}

fn opening(seat: Seat, turn: u32, name: &str) -> v1::OpenMove {
    v1::OpenMove { cell: cell(name), salt: salt(turn, seat) }
}

/// All that is told of a match while it is played and after it, times and ids included.
#[derive(PartialEq, Debug)]
pub(crate) struct Told {
    /// Of each step: what it was answered, then how black, white, the spectator and a back end see the
    /// match after it.
    steps: Vec<Vec<Answer>>,
    finish: MatchFinished,
    transcript: v1::Transcript,
    /// The players' lists of matches.
    lists: Vec<Answer>,
}

impl Told {
    /// How the match ended and after how many turns.
    pub(crate) fn end(&self) -> ((MatchResult, EndReason), usize) {
        ((self.finish.result(), self.finish.reason()), self.transcript.turns.len())
    }

    pub(crate) fn assert_same_as(&self, other: &Self, script: &[Step], what: &str) {
        for ((step, told), wanted) in script.iter().zip(&self.steps).zip(&other.steps) {
            assert_eq!(told, wanted, "{what} changes what is told of {step:?}");
        }
        assert_eq!(self, other, "{what}");
    }
}

/// A match before anybody has joined, on a directory that any number of clusters begin from.
pub(crate) struct Beginning {
    cluster: Cluster,
    duel: Duel,
    spectator: Caller,
}

impl Beginning {
    /// The players' match with these settings, in this cluster, which ends here.
    pub(crate) async fn new(mut cluster: Cluster, settings: v1::MatchSettings) -> Self {
        let duel = cluster.agreed(settings).await;
        let spectator = cluster.player(0, "spectator").await;
        cluster.stop().await;
        Self { cluster, duel, spectator }
    }

    /// Plays the script from here; after the steps that `restarts` wants, everything is restarted.
    pub(crate) async fn play(&self, script: &[Step], restarts: impl Fn(usize) -> bool) -> Told {
        let cluster = self.cluster.fork().await;
        let duel = self.duel.reconnected(&cluster).await;
        let spectator = self.spectator.through(cluster.nodes[0].address).await;
        let mut onlookers = Vec::new();
        for caller in [&duel.black, &duel.white, &spectator] {
            onlookers.push(Onlooker::new(caller.clone(), &duel.name).await);
        }
        let mut played = Played { cluster, duel, spectator, onlookers };
        let mut steps = Vec::new();
        for (index, step) in script.iter().enumerate() {
            let mut told = step.take(&played).await;
            if restarts(index) {
                played.restart().await;
            }
            told.extend(played.views().await);
            steps.push(told);
        }
        played.end(steps).await
    }
}

/// A match under way.
struct Played {
    cluster: Cluster,
    duel: Duel,
    spectator: Caller,
    onlookers: Vec<Onlooker>,
}

impl Played {
    async fn restart(&mut self) {
        self.cluster.stop().await;
        for onlooker in &mut self.onlookers {
            onlooker.is_sent_elsewhere().await;
        }
        self.cluster.resume().await;
        self.duel = self.duel.reconnected(&self.cluster).await;
        let first = self.cluster.nodes[0].address;
        self.spectator = self.spectator.through(first).await;
        for onlooker in &mut self.onlookers {
            onlooker.resume(onlooker.caller.through(first).await).await;
        }
    }

    async fn views(&self) -> Vec<Answer> {
        let backend = self.cluster.backend(self.cluster.nodes.len() - 1).await;
        let mut views = Vec::new();
        for viewer in [&self.duel.black, &self.duel.white, &self.spectator, &backend] {
            views.push(answer(viewer.get(&self.duel.name).await));
        }
        views
    }

    /// What is told once the match is over. Every stream has told the same as the transcript.
    async fn end(mut self, steps: Vec<Vec<Answer>>) -> Told {
        let transcript = self.duel.black.transcript(&self.duel.name).await.unwrap();
        let finish = transcript.finish.clone().expect("the script plays a match to its end");
        for onlooker in &mut self.onlookers {
            assert_eq!(onlooker.watch_out().await, finish);
            assert_eq!(onlooker.turns, transcript.turns, "each turn once and in order");
        }
        self.cluster.settled(&self.duel.name).await;
        let mut lists = Vec::new();
        for player in [&self.duel.black, &self.duel.white] {
            let listed = player.matches().list_matches(v1::ListMatchesRequest::default()).await;
            lists.push(answer(listed.map(tonic::Response::into_inner)));
        }
        Told { steps, finish, transcript, lists }
    }
}

/// Who watches, and comes back after the last turn he has seen.
struct Onlooker {
    caller: Caller,
    name: String,
    stream: Watching,
    turns: Vec<ResolvedTurn>,
    finish: Option<MatchFinished>,
}

impl Onlooker {
    async fn new(caller: Caller, name: &str) -> Self {
        let mut stream = caller.watch_after(name, 0, &[]).await.unwrap();
        stream.snapshot().await;
        Self { caller, name: name.to_owned(), stream, turns: Vec::new(), finish: None }
    }

    fn take(&mut self, updates: Vec<Update>) {
        for update in updates {
            match update {
                Update::Turn(turn) => self.turns.push(turn),
                Update::Finished(finish) => self.finish = Some(finish),
                Update::Status(_) | Update::Heartbeat(_) => {}
                Update::Snapshot(snapshot) => panic!("a second snapshot: {snapshot:?}"),
            }
        }
    }

    /// The stream ends because its node does, and says from where to go on.
    async fn is_sent_elsewhere(&mut self) {
        let (updates, end) = self.stream.rest().await;
        self.take(updates);
        if self.finish.is_some() {
            return end.unwrap();
        }
        let error = ApiError::from_status(&end.unwrap_err()).expect("it ends with a reason");
        assert_eq!(error.reason(), ErrorReason::ResumeElsewhere);
        assert_eq!(error.after_turn(), Some(self.turns.len() as u32));
    }

    async fn resume(&mut self, caller: Caller) {
        let last = self.turns.last();
        let hash = last.map(|turn| turn.hash.clone()).unwrap_or_default();
        self.stream = caller.watch_after(&self.name, self.turns.len() as u32, &hash).await.unwrap();
        self.stream.snapshot().await;
        self.caller = caller;
        self.finish = None;
    }

    async fn watch_out(&mut self) -> MatchFinished {
        let (updates, end) = self.stream.rest().await;
        end.unwrap();
        self.take(updates);
        self.finish.clone().expect("the match is over")
    }
}
