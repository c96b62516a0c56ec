//! A4: a call that is given up at any point has its whole effect or none, and its repetition tells which.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Gate, Operation, cell, soon};
use tonic::Status;
use wire::v1::{self, DrawOffer, EndReason, InviteState, MatchState};

use super::reveals;

/// A command that changes something.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Intent {
    /// Black joins first.
    Join,
    /// Black joins second, and turn 1 opens.
    JoinAsLast,
    /// Black seals first.
    Seal,
    /// Black seals second, and the turn resolves.
    SealAsLast,
    /// Black reveals first.
    Reveal,
    /// Black reveals second, and the turn resolves.
    RevealAsLast,
    OfferDraw,
    AgreeToDraw,
    DeclineDraw,
    Resign,
    CreateInvite,
    AcceptInvite,
    DeclineInvite,
    RevokeInvite,
}

const INTENTS: [Intent; 14] = [
    Intent::Join,
    Intent::JoinAsLast,
    Intent::Seal,
    Intent::SealAsLast,
    Intent::Reveal,
    Intent::RevealAsLast,
    Intent::OfferDraw,
    Intent::AgreeToDraw,
    Intent::DeclineDraw,
    Intent::Resign,
    Intent::CreateInvite,
    Intent::AcceptInvite,
    Intent::DeclineInvite,
    Intent::RevokeInvite,
];

/// What a command is given about. Black calls the first node, whose store fails; all others the second.
#[derive(Clone)]
struct Scene {
    intent: Intent,
    duel: Duel,
    /// An invite from black to white, and one from white to black.
    invites: [String; 2],
}

/// What everybody can see of a scene.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    by_black: v1::Match,
    by_white: v1::Match,
    invites: Vec<v1::Invite>,
    /// The match of the invite that black accepts.
    accepted: Option<v1::Match>,
}

/// What a command is answered with.
#[derive(Clone, PartialEq, Debug)]
enum Answer {
    Done,
    Match(Box<v1::Match>),
    Receipt(v1::SealReceipt),
    Invite(Box<v1::Invite>),
}

impl Scene {
    async fn set(cluster: &Cluster, intent: Intent) -> Self {
        let by_reveal = matches!(intent, Intent::Reveal | Intent::RevealAsLast);
        let settings = if by_reveal { reveals::settings() } else { v1::MatchSettings::default() };
        let duel = cluster.agreed(settings).await;
        let invites =
            [invite(&duel.white, &duel.black.name).await, invite(&duel.white, &duel.black.name).await];
        let mut scene = Self { intent, duel, invites };
        match intent {
            Intent::Join => {}
            Intent::JoinAsLast => {
                scene.duel.join_as(Seat::White).await.unwrap();
            }
            Intent::SealAsLast => {
                scene.duel.join().await;
                scene.duel.seal(Seat::White, 1, cell("B2")).await.unwrap();
            }
            Intent::Reveal | Intent::RevealAsLast => {
                scene.duel.join().await;
                for seat in Seat::BOTH {
                    reveals::commit(&scene.duel, seat, &opening(seat)).await;
                }
                if intent == Intent::RevealAsLast {
                    reveals::reveal(&scene.duel, Seat::White, &opening(Seat::White)).await.unwrap();
                }
            }
            Intent::AgreeToDraw | Intent::DeclineDraw => {
                scene.duel.join().await;
                let (name, request_id) = (scene.duel.name.clone(), "offer".to_owned());
                let offer = v1::OfferDrawRequest { name, request_id, turn: 1, ..Default::default() };
                scene.duel.white.matches().offer_draw(offer).await.unwrap();
            }
            Intent::RevokeInvite => {
                // Black's own.
                let near = scene.duel.black.clone();
                scene.invites[1] = invite(&near, &scene.duel.white.name).await;
            }
            _ => scene.duel.join().await,
        }
        scene
    }

    /// Takes back what is open, so that the players have room for the next scene's invites.
    async fn leave(self) {
        for name in &self.invites {
            for inviter in [&self.duel.black, &self.duel.white] {
                let request = v1::RevokeInviteRequest {
                    name: name.clone(),
                    request_id: "left".to_owned(),
                    ..Default::default()
                };
                // Only one of them made it, and it may be closed.
                let _ = soon("RevokeInvite", inviter.matchmaking().revoke_invite(request)).await;
            }
        }
    }

    /// Gives the command; every time with the same request id.
    async fn give(&self) -> Result<Answer, Status> {
        let black = &self.duel.black;
        let (name, request_id, player) = (self.duel.name.clone(), "command".to_owned(), String::new());
        let of_match = |game: Option<v1::Match>| Answer::Match(Box::new(game.unwrap()));
        let of_invite = |invite: Option<v1::Invite>| Answer::Invite(Box::new(invite.unwrap()));
        Ok(match self.intent {
            Intent::Join | Intent::JoinAsLast => {
                let request = v1::JoinMatchRequest { name, player, request_id };
                of_match(black.matches().join_match(request).await?.into_inner().r#match)
            }
            Intent::Seal | Intent::SealAsLast => {
                let request = self.duel.seal_request(Seat::Black, 1, cell("A1"));
                Answer::Receipt(black.matches().seal_move(request).await?.into_inner().receipt.unwrap())
            }
            Intent::Reveal | Intent::RevealAsLast => {
                let open = Some(opening(Seat::Black));
                let request = v1::RevealMoveRequest { name, player, request_id, turn: 1, open };
                black.matches().reveal_move(request).await?;
                Answer::Done
            }
            Intent::OfferDraw => {
                let request = v1::OfferDrawRequest { name, player, request_id, turn: 1 };
                of_match(black.matches().offer_draw(request).await?.into_inner().r#match)
            }
            Intent::AgreeToDraw | Intent::DeclineDraw => {
                let accept = self.intent == Intent::AgreeToDraw;
                let seat = v1::Seat::White.into();
                let request = v1::AnswerDrawRequest { name, player, request_id, turn: 1, seat, accept };
                of_match(black.matches().answer_draw(request).await?.into_inner().r#match)
            }
            Intent::Resign => {
                let request = v1::ResignRequest { name, player, request_id };
                of_match(black.matches().resign(request).await?.into_inner().r#match)
            }
            Intent::CreateInvite => {
                let request_id = format!("offer-{}", &self.duel.name[8..]);
                let invitee = self.duel.white.name.clone();
                let request = v1::CreateInviteRequest { request_id, invitee, ..Default::default() };
                of_invite(black.matchmaking().create_invite(request).await?.into_inner().invite)
            }
            Intent::AcceptInvite => {
                let name = self.invites[0].clone();
                let request = v1::AcceptInviteRequest { name, request_id, ..Default::default() };
                of_invite(black.matchmaking().accept_invite(request).await?.into_inner().invite)
            }
            Intent::DeclineInvite => {
                let request = v1::DeclineInviteRequest { name: self.invites[1].clone(), player, request_id };
                of_invite(black.matchmaking().decline_invite(request).await?.into_inner().invite)
            }
            Intent::RevokeInvite => {
                let request = v1::RevokeInviteRequest { name: self.invites[1].clone(), player, request_id };
                of_invite(black.matchmaking().revoke_invite(request).await?.into_inner().invite)
            }
        })
    }

    /// Looks at everything through the second node.
    async fn seen(&self, cluster: &Cluster) -> Seen {
        let far = self.duel.black.through(cluster.nodes[1].address).await;
        let mut invites = Vec::new();
        for name in &self.invites {
            let request = v1::GetInviteRequest { name: name.clone(), ..Default::default() };
            let got = soon("GetInvite", far.matchmaking().get_invite(request)).await.unwrap();
            invites.push(got.into_inner().invite.unwrap());
        }
        let accepted = match invites[0].r#match.as_str() {
            "" => None,
            name => Some(far.get(name).await.expect("an accepted invite has its match")),
        };
        let by_black = far.get(&self.duel.name).await.unwrap();
        let by_white = self.duel.white.get(&self.duel.name).await.unwrap();
        Seen { by_black, by_white, invites, accepted }
    }
}

async fn invite(inviter: &Caller, invitee: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static MADE: AtomicU32 = AtomicU32::new(0);
    let request = v1::CreateInviteRequest {
        request_id: format!("prepared-{}", MADE.fetch_add(1, Ordering::Relaxed)),
        invitee: invitee.to_owned(),
        ..Default::default()
    };
    let made = soon("CreateInvite", inviter.matchmaking().create_invite(request)).await.unwrap();
    made.into_inner().invite.unwrap().name
}

/// The calls of the store that a command makes, each as the how-manieth of its operation.
async fn calls_of(cluster: &Cluster, intent: Intent) -> Vec<(Operation, usize)> {
    let scene = Scene::set(cluster, intent).await;
    let faults = &cluster.nodes[0].faults;
    faults.record();
    soon("the command", scene.give()).await.unwrap();
    let calls = faults.recorded();
    let nth = |index: usize| calls[..=index].iter().filter(|call| **call == calls[index]).count();
    (0..calls.len()).map(|index| (calls[index], nth(index))).collect()
}

/// A call of the store at which a command is held, and given up.
struct Point {
    intent: Intent,
    operation: Operation,
    nth: usize,
    /// Whether the call has had its effect and only its answer is held.
    answered: bool,
}

impl Point {
    /// Gives the command, gives it up here, and repeats it. Returns whether it had had its effect.
    async fn give_up(&self, cluster: &Cluster) -> bool {
        let scene = Scene::set(cluster, self.intent).await;
        let before = scene.seen(cluster).await;
        self.give_and_drop(cluster, &scene).await;
        let after = scene.seen(cluster).await;

        let (answer, done) = self.repeat(cluster, &scene).await;
        let applied = match &answer {
            // Nobody can see an invite whose name was never told; its time tells when it was made.
            Answer::Invite(invite) if matches!(self.intent, Intent::CreateInvite) => {
                invite.create_time != Some(time(cluster))
            }
            _ => after != before,
        };
        assert!(!applied || after == done, "{self}: half of the effect was there, or it came twice");
        scene.leave().await;
        applied
    }

    /// The same when nobody looks before the repetition: a look may finish what was begun.
    async fn give_up_unseen(&self, cluster: &Cluster) {
        let scene = Scene::set(cluster, self.intent).await;
        self.give_and_drop(cluster, &scene).await;
        self.repeat(cluster, &scene).await;
        scene.leave().await;
    }

    async fn give_and_drop(&self, cluster: &Cluster, scene: &Scene) {
        let gate = Gate::default();
        let held = if self.answered { Fault::AnswerHeld(gate.clone()) } else { Fault::Held(gate.clone()) };
        cluster.nodes[0].faults.at(self.operation, self.nth, held);
        let given = tokio::spawn({
            let scene = scene.clone();
            async move { scene.give().await }
        });
        gate.reached().await;
        given.abort();
        gate.given_up().await;
        // What happens from now on has another stamp.
        cluster.clock.advance_ms(50);
    }

    /// The command's repetitions: all are answered alike, and only the first may do anything.
    async fn repeat(&self, cluster: &Cluster, scene: &Scene) -> (Answer, Seen) {
        let repeated = soon("the repetition", scene.give()).await;
        let answer = repeated.unwrap_or_else(|status| panic!("{self}: {status:?}"));
        if let Answer::Invite(invite) = &answer
            && !invite.r#match.is_empty()
        {
            // Before anybody looks at the invite, which would make a match that is missing.
            scene.duel.black.get(&invite.r#match).await.expect("the answer names a match");
        }
        let done = scene.seen(cluster).await;
        assert_done(scene, &done, &answer);
        assert_eq!(soon("another repetition", scene.give()).await.unwrap(), answer, "{self}");
        assert_eq!(scene.seen(cluster).await, done, "{self}");
        (answer, done)
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { intent, operation, nth, answered } = self;
        write!(
            f,
            "{intent:?}, given up at {operation:?} {nth} ({})",
            if *answered { "done" } else { "not done" }
        )
    }
}

/// The command has had its effect, once.
fn assert_done(scene: &Scene, seen: &Seen, answer: &Answer) {
    let (game, [accepted, closed]) = (&seen.by_black, [&seen.invites[0], &seen.invites[1]]);
    match scene.intent {
        Intent::Join => assert!(game.black.as_ref().unwrap().joined && game.state() == MatchState::Waiting),
        Intent::JoinAsLast => assert_eq!((game.state(), game.turn), (MatchState::Open, 0)),
        Intent::Seal => {
            let Answer::Receipt(receipt) = answer else { panic!("a seal is answered with a receipt") };
            let own = game.status.as_ref().unwrap().own_seal.as_ref().unwrap();
            assert_eq!((&own.commitment, own.seal_time), (&receipt.commitment, receipt.seal_time));
            assert_eq!(game.turn, 0);
        }
        Intent::SealAsLast | Intent::RevealAsLast => assert_eq!(game.turn, 1),
        Intent::Reveal => {
            let black = game.status.as_ref().and_then(|status| status.black.as_ref());
            assert_eq!((black.and_then(|black| black.revealed), game.turn), (Some(true), 0));
        }
        Intent::OfferDraw => assert_eq!(offer_of(game, Seat::Black), Some(DrawOffer::Open)),
        Intent::DeclineDraw => assert_eq!(offer_of(game, Seat::White), Some(DrawOffer::Declined)),
        Intent::AgreeToDraw => {
            let reason = game.finish.as_ref().map(v1::MatchFinished::reason);
            assert_eq!(reason, Some(EndReason::AgreedDraw));
        }
        Intent::Resign => assert_eq!(game.state(), MatchState::Finished),
        Intent::CreateInvite => {}
        Intent::AcceptInvite => {
            assert_eq!(accepted.state(), InviteState::Accepted);
            assert_eq!(seen.accepted.as_ref().unwrap().name, accepted.r#match);
        }
        Intent::DeclineInvite => assert_eq!(closed.state(), InviteState::Declined),
        Intent::RevokeInvite => assert_eq!(closed.state(), InviteState::Revoked),
    }
}

fn opening(seat: Seat) -> v1::OpenMove {
    v1::OpenMove { cell: seat.number().into(), salt: vec![seat.number(); 32] }
}

fn offer_of(game: &v1::Match, seat: Seat) -> Option<DrawOffer> {
    let status = game.status.as_ref()?;
    let seat = if seat == Seat::Black { &status.black } else { &status.white };
    seat.as_ref().map(v1::SeatStatus::draw_offer)
}

fn time(cluster: &Cluster) -> prost_types::Timestamp {
    let now_ms = store::Clock::now_ms(cluster.clock.as_ref());
    let nanos = i32::try_from(now_ms % 1_000 * 1_000_000).unwrap();
    prost_types::Timestamp { seconds: i64::try_from(now_ms / 1_000).unwrap(), nanos }
}

#[tokio::test]
async fn a_call_given_up_at_any_point_has_its_whole_effect_or_none() {
    let cluster = Cluster::of_two().await;
    for intent in INTENTS {
        let (mut applied, mut not_applied) = (0, 0);
        for (operation, nth) in calls_of(&cluster, intent).await {
            for answered in [false, true] {
                let point = Point { intent, operation, nth, answered };
                let count = if point.give_up(&cluster).await { &mut applied } else { &mut not_applied };
                *count += 1;
                point.give_up_unseen(&cluster).await;
            }
        }
        assert!(applied > 0 && not_applied > 0, "{intent:?}: {applied} applied, {not_applied} not");
    }
}

// The deadline gives a call up as its client does.
#[tokio::test]
async fn a_call_whose_deadline_passes_has_its_whole_effect_or_none() {
    let cluster = Cluster::of_two().await;
    for (seat, held_answer) in [(Seat::Black, false), (Seat::Black, true)] {
        let duel = cluster.duel(v1::MatchSettings::default()).await;
        let faults = &cluster.nodes[0].faults;
        let gate =
            if held_answer { faults.hold_answer(Operation::Commit) } else { faults.hold(Operation::Commit) };
        let seal = duel.seal_request(seat, 1, cell("A1"));
        let mut request = tonic::Request::new(seal.clone());
        request.set_timeout(std::time::Duration::from_millis(100));
        duel.black.matches().seal_move(request).await.expect_err("it is held until its deadline");
        gate.given_up().await;

        let sealed = duel.seen_by(Seat::White).await.status.unwrap().black.unwrap().sealed;
        assert_eq!(sealed, Some(held_answer));
        cluster.clock.advance_ms(50);
        let receipt = duel.send_seal(seat, seal.clone()).await.unwrap();
        assert_eq!(receipt.seal_time == Some(time(&cluster)), !held_answer, "the receipt tells which");
        assert_eq!(duel.send_seal(seat, seal).await.unwrap(), receipt);
    }
}
