//! A live match on the screen: keys, the stream and the answers to calls, one after the other.

use std::time::Duration;

use anyhow::Context as _;
use crossterm::event::{Event as TerminalEvent, EventStream};
use futures::StreamExt as _;
use rules::{Cell, Seat};
use tokio::sync::mpsc;
use tokio::time::{Interval, interval};
use whattheshell::{Client, Error, MatchHandle, MatchStream, Player, Update, VerifiedMatch, v1};

use crate::openings::{self, Openings, Unsealed};
use crate::rematch::{Rematch, Turnout};
use crate::screen::{Answer, Event, Intent, Offer, Palette, Screen, Viewer};
use crate::seating::Sitting;
use crate::server_clock::ServerClock;
use crate::terminal::{Terminal, Told};
use crate::{ratings, rematch, seating, words};

/// How often clocks are drawn anew: they show tenths of a second at the end.
const TICK: Duration = Duration::from_millis(100);

/// Answers that wait to be shown; a person asks for one thing at a time.
const ANSWERS_MAX: usize = 16;

/// How the person left.
pub(crate) struct Left {
    /// If the match is over, the result, what verifying it came to, and how the ratings have moved.
    pub(crate) verdict: Option<String>,
    /// Whether it was over before it began.
    pub(crate) never_began: bool,
    /// The rematch that both have agreed on.
    pub(crate) rematch: Option<String>,
}

/// Plays the match to its end or until the player leaves.
///
/// # Errors
/// The match is lost sight of, or the terminal is gone; the moves that were kept cannot be read.
pub(crate) async fn play(
    client: &Client,
    player: &Player,
    sitting: Sitting,
    told: &mut Told,
) -> anyhow::Result<Left> {
    let Sitting { game, seat, openings, bot_level, by_ticket } = sitting;
    let mut screen = Screen::new(Viewer::Player(seat), game.name(), Palette::of_environment());
    let kept = openings.as_ref().map(|openings| openings.restore(&game)).transpose()?;
    if let Some((turn, cell)) = kept.and_then(|kept| kept.last().copied()) {
        screen.update(Event::Kept { turn, cell });
    }
    let updates = game.watch();
    let mut live = Live::start(client, screen, updates, Source::Seated(game, openings), player).await?;
    live.by_ticket = by_ticket;
    // A bot wants no rematch.
    live.seat = bot_level.is_none().then(|| (player.clone(), seat));
    live.run(told).await
}

/// Watches the match to its end or until the spectator leaves.
pub(crate) async fn watch(client: &Client, player: &Player, name: &str) -> anyhow::Result<Left> {
    let screen = Screen::new(Viewer::Spectator, name, Palette::of_environment());
    let source = Source::Watching(player.clone(), name.to_owned());
    let live = Live::start(client, screen, player.watch(name), source, player).await?;
    live.run(&mut Told::listen()?).await
}

/// What calls are made on.
#[derive(Clone)]
enum Source {
    Seated(MatchHandle, Option<Openings>),
    Watching(Player, String),
}

impl Source {
    /// The whole match, which is over, with the server's signature.
    async fn verified(&self) -> Result<VerifiedMatch, Error> {
        match self {
            Self::Seated(game, _) => game.verify_signed(&game.transcript().await?).await,
            Self::Watching(player, name) => player.verify_signed(&player.transcript(name).await?).await,
        }
    }
}

/// What comes next.
enum Came {
    Event(Event),
    /// What waits for the player has changed.
    Waiting(Box<v1::PlayerState>),
    /// Only time has passed.
    Time,
}

struct Live {
    screen: Screen,
    updates: MatchStream,
    source: Source,
    clock: ServerClock,
    answers: (mpsc::Sender<Answer>, mpsc::Receiver<Answer>),
    is_over: bool,
    /// Who plays, and where; none for a spectator, or against a bot.
    seat: Option<(Player, Seat)>,
    /// Whether a match that never begins is left at once: its ticket waits again.
    by_ticket: bool,
    /// Who looks.
    player: Player,
    /// Once the match is over.
    rematch: Option<Rematch>,
}

impl Live {
    async fn start(
        client: &Client,
        screen: Screen,
        updates: MatchStream,
        source: Source,
        player: &Player,
    ) -> anyhow::Result<Self> {
        let clock = ServerClock::of(client).await.map_err(seating::explain)?;
        Ok(Self {
            screen,
            updates,
            source,
            clock,
            answers: mpsc::channel(ANSWERS_MAX),
            is_over: false,
            seat: None,
            by_ticket: false,
            player: player.clone(),
            rematch: None,
        })
    }

    async fn run(mut self, told: &mut Told) -> anyhow::Result<Left> {
        let mut terminal =
            Terminal::take().context("the terminal cannot be drawn on; --plain does without")?;
        let mut keys = EventStream::new();
        let mut tick = interval(TICK);
        loop {
            self.screen.update(Event::Connected(self.updates.is_connected()));
            let now_ms = self.clock.now_ms();
            terminal.draw(|frame| self.screen.draw(frame, now_ms))?;
            let event = tokio::select! {
                came = self.next(&mut tick) => match came? {
                    Came::Event(event) => Some(event),
                    Came::Waiting(state) => match self.take_waiting(&state).await {
                        Some(game) => return Ok(self.left(Some(game)).await),
                        None => None,
                    },
                    Came::Time => None,
                },
                key = keys.next() => match key.context("the terminal is gone")?? {
                    TerminalEvent::Key(key) => Some(Event::Key(key)),
                    // A new size is drawn for like everything else.
                    _ => None,
                },
                () = told.wait() => return Ok(self.left(None).await),
            };
            match event.and_then(|event| self.screen.update(event)) {
                Some(Intent::Leave) => return Ok(self.left(None).await),
                Some(Intent::Rematch { want }) => {
                    if let Some(game) = self.want_rematch(want).await {
                        return Ok(self.left(Some(game)).await);
                    }
                }
                Some(intent) => self.carry_out(intent),
                None if self.by_ticket && self.screen.never_began() => return Ok(self.left(None).await),
                None => {}
            }
        }
    }

    /// What comes next from the match: an update, an answer, or only time.
    async fn next(&mut self, tick: &mut Interval) -> anyhow::Result<Came> {
        tokio::select! {
            update = self.updates.next(), if !self.is_over => match update {
                Some(update) => {
                    let update = update.map_err(seating::explain)?;
                    self.mind_openings(&update);
                    self.rate(&update);
                    Ok(Came::Event(Event::Update(Box::new(update))))
                }
                None => {
                    self.is_over = true;
                    self.check();
                    let rematch = |(player, seat)| Rematch::new(player, self.updates.name(), seat, rematch::OFFER);
                    self.rematch = self.seat.clone().map(rematch);
                    Ok(Came::Time)
                }
            },
            answer = self.answers.1.recv() => {
                Ok(answer.map_or(Came::Time, |answer| Came::Event(Event::Answer(answer))))
            }
            state = waiting(&mut self.rematch) => match state {
                Some(Ok(state)) => Ok(Came::Waiting(Box::new(state))),
                // The match is over all the same; only a rematch cannot be agreed on here.
                Some(Err(_)) | None => {
                    self.rematch = None;
                    Ok(Came::Event(Event::Rematch(Offer::Impossible)))
                }
            },
            _ = tick.tick() => Ok(Came::Time),
        }
    }

    /// Forgets moves that are public by now, and tells of one that only somebody else can reveal.
    fn mind_openings(&mut self, update: &Update) {
        let Source::Seated(game, Some(openings)) = &self.source else { return };
        let forgotten = match update {
            Update::Turn(turn) => openings.forget_until(turn.turn),
            Update::Finished(_) => openings.forget(),
            Update::Status(status) if openings.lack(game, status) => {
                self.screen.update(Event::SealedElsewhere { turn: status.turn });
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(error) = forgotten {
            let why = format!("{} cannot be removed: {error}", openings.path().display());
            self.screen.update(Event::Answer(Answer::Failed(why)));
        }
    }

    /// Starts what the player wants; its answer comes as an event, and the stream goes on meanwhile.
    fn carry_out(&self, intent: Intent) {
        let Source::Seated(game, openings) = self.source.clone() else { return };
        let answers = self.answers.0.clone();
        tokio::spawn(async move {
            let answer = match intent {
                Intent::Seal { turn, cell } => seal(&game, openings.as_ref(), turn, cell).await,
                Intent::OfferDraw(turn) => {
                    done(game.offer_draw(turn).await, "a draw is offered, until the turn resolves")
                }
                Intent::AnswerDraw { turn, accept } => {
                    let said = if accept { "the draw is accepted" } else { "the draw is declined" };
                    done(game.answer_draw(turn, accept).await, said)
                }
                Intent::Resign => done(game.resign().await, "you have resigned"),
                Intent::Rematch { .. } | Intent::Leave => return,
            };
            // Nobody listens any more if the person has left.
            let _ = answers.send(answer).await;
        });
    }

    /// Asks how the ratings have moved once a ranked match is over.
    fn rate(&self, update: &Update) {
        let Update::Finished(finish) = update else { return };
        if self.screen.ratings().is_none() {
            return;
        }
        let (player, players) = (self.player.clone(), self.screen.players().clone());
        let (finish, answers) = (finish.message.clone(), self.answers.0.clone());
        tokio::spawn(async move {
            if let Ok(Some(after)) = ratings::after(&player, &players, &finish).await {
                let _ = answers.send(Answer::Rated(after)).await;
            }
        });
    }

    /// Verifies the whole match once it is over.
    fn check(&self) {
        let (source, answers) = (self.source.clone(), self.answers.0.clone());
        tokio::spawn(async move {
            let said = match source.verified().await {
                Ok(verified) => format!("the transcript is verified, {} turns", verified.turns.len()),
                Err(error) => format!("the transcript is NOT verified: {error}"),
            };
            let _ = answers.send(Answer::Checked(said)).await;
        });
    }

    /// Takes in what waits for the player after the match: the rematch, if both have agreed on it.
    async fn take_waiting(&mut self, state: &v1::PlayerState) -> Option<String> {
        let turnout = self.rematch.as_mut()?.take(state).await.transpose()?;
        self.tell(turnout)
    }

    /// The player wants a rematch, or does not: its match, if that settles it.
    async fn want_rematch(&mut self, want: bool) -> Option<String> {
        let rematch = self.rematch.as_mut()?;
        let turnout = match want {
            true => rematch.want().await,
            false => rematch.decline().await.map(|()| Turnout::Withdrawn),
        };
        self.tell(turnout)
    }

    fn tell(&mut self, turnout: Result<Turnout, Error>) -> Option<String> {
        let event = match turnout {
            Ok(Turnout::Match(game)) => return Some(game),
            Ok(Turnout::Offered) => Event::Rematch(Offer::Received),
            Ok(Turnout::Waiting) => Event::Rematch(Offer::Made),
            Ok(Turnout::Declined) => Event::Rematch(Offer::Declined),
            Ok(Turnout::Withdrawn) => Event::Rematch(Offer::None),
            Err(error) => Event::Answer(Answer::NoRematch(in_words(&error))),
        };
        self.screen.update(event);
        None
    }

    async fn left(&mut self, game: Option<String>) -> Left {
        if let Some(rematch) = self.rematch.as_mut().filter(|_| game.is_none()) {
            rematch.withdraw().await;
        }
        let checked = self.screen.checked().unwrap_or("the transcript was not verified");
        let rated = self.screen.rated().map(|rated| format!("\n{rated}")).unwrap_or_default();
        let verdict = self.screen.verdict().map(|verdict| format!("{verdict}\n{checked}{rated}"));
        Left { verdict, never_began: self.screen.never_began(), rematch: game }
    }
}

async fn seal(game: &MatchHandle, openings: Option<&Openings>, turn: u32, cell: Cell) -> Answer {
    match openings::seal(game, openings, turn, cell).await {
        Ok(()) => Answer::Sealed { turn, cell },
        Err(Unsealed::Unkept(error)) => Answer::Failed(format!("{error:#}")),
        Err(Unsealed::Failed(error)) if error.is_uncertain() => Answer::Failed(format!(
            "the server gave no answer; the move may be in: seal {cell} again to make sure"
        )),
        Err(Unsealed::Failed(error)) => failed(&error),
    }
}

/// What waits for the player, whenever it has changed, once there may be a rematch.
async fn waiting(rematch: &mut Option<Rematch>) -> Option<Result<v1::PlayerState, Error>> {
    match rematch {
        Some(rematch) => rematch.next().await,
        None => std::future::pending().await,
    }
}

fn done<T>(result: Result<T, Error>, said: &'static str) -> Answer {
    match result {
        Ok(_) => Answer::Done(said),
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> Answer {
    Answer::Failed(in_words(error))
}

fn in_words(error: &Error) -> String {
    match words::advice(error) {
        Some(advice) => format!("{error}: {advice}"),
        None => error.to_string(),
    }
}
