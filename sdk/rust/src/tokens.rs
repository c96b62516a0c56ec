//! The tokens of a session that outlives each of them.

use std::fmt;
use std::future::Future;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tonic::metadata::{Ascii, MetadataValue};

use crate::Error;
use crate::credential::{self, PlayerToken};

/// What goes wrong where tokens come from; whatever the application's source fails with.
type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// How long before its end a token is replaced, as a part of its life: for the calls that are under way,
/// and so that a source which fails at first is not noticed.
const RENEWAL_LIFE_DIVISOR: u32 = 10;

/// The longest before its end that a token is replaced: calls take seconds, also where tokens live for a
/// day.
const RENEWAL_MAX: Duration = Duration::from_secs(60);

/// How long a source that failed is left alone while its last token is good: calls go on without it.
const SOURCE_REST: Duration = Duration::from_secs(10);

/// Where a session's tokens come from, and the one that is in use. Its `Debug` shows no token.
pub(crate) struct Tokens {
    source: Box<dyn Fn() -> BoxFuture<'static, Result<String, SourceError>> + Send + Sync>,
    player: String,
    /// How long the source may take.
    patience: Duration,
    current: RwLock<Current>,
    /// Held while the source is asked, so that calls which are refused together ask once.
    asking: Mutex<()>,
}

struct Current {
    token: MetadataValue<Ascii>,
    number: u64,
    /// From when on it is replaced before it is refused. None: how long it lives is not known.
    renew_at: Option<Instant>,
}

/// Which of a session's tokens a call was made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown(u64);

impl Tokens {
    /// Asks for the first token; it says who the player is.
    pub(crate) async fn of<S, F, E>(source: S, patience: Duration) -> Result<Self, Error>
    where
        S: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<SourceError>,
    {
        let source = Box::new(move || source().map(|token| token.map_err(Into::into)).boxed());
        let asked_at = Instant::now();
        let first = ask(&source, patience).await?;
        let PlayerToken { value, player, life } = first;
        let current = Current { token: value, number: 0, renew_at: renew_at(asked_at, life) };
        Ok(Self { source, player, patience, current: RwLock::new(current), asking: Mutex::new(()) })
    }

    /// `players/{player}`.
    pub(crate) fn player(&self) -> &str {
        &self.player
    }

    /// The token in use.
    pub(crate) fn current(&self) -> (MetadataValue<Ascii>, Shown) {
        self.read(|current| (current.token.clone(), Shown(current.number)))
    }

    /// Replaces a token that is about to expire. Where that fails, or somebody is at it, the old one goes
    /// on: the server says when it is over.
    pub(crate) async fn freshen(&self) {
        let is_due = || self.read(|current| current.renew_at.is_some_and(|at| at <= Instant::now()));
        if !is_due() {
            return;
        }
        let Ok(_asking) = self.asking.try_lock() else { return };
        if is_due() && self.replace().await.is_err() {
            self.write(|current| current.renew_at = Some(Instant::now() + SOURCE_REST));
        }
    }

    /// Replaces the token that the server has refused, unless another call has done so meanwhile.
    pub(crate) async fn renew(&self, refused: Shown) -> Result<(), Error> {
        let _asking = self.asking.lock().await;
        if self.current().1 != refused {
            return Ok(());
        }
        self.replace().await
    }

    async fn replace(&self) -> Result<(), Error> {
        let asked_at = Instant::now();
        let PlayerToken { value, player, life } = ask(&self.source, self.patience).await?;
        // Commitments are bound to the player's name: another one's token would seal for nobody.
        if player != self.player {
            return Err(Error::Credential("the token is for another player than the one before"));
        }
        self.write(|current| {
            let number = current.number.wrapping_add(1);
            *current = Current { token: value, number, renew_at: renew_at(asked_at, life) };
        });
        Ok(())
    }

    fn read<T>(&self, what: impl FnOnce(&Current) -> T) -> T {
        // Every change is complete when its lock is released, also by a panic.
        what(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, change: impl FnOnce(&mut Current)) {
        change(&mut self.current.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("player", &self.player).finish_non_exhaustive()
    }
}

async fn ask(
    source: &(impl Fn() -> BoxFuture<'static, Result<String, SourceError>> + ?Sized),
    patience: Duration,
) -> Result<PlayerToken, Error> {
    let token = match timeout(patience, source()).await {
        Ok(token) => token.map_err(Error::TokenSource)?,
        Err(_) => return Err(Error::TokenSource("the source of tokens does not answer".into())),
    };
    credential::read_token(&token)
}

/// A little before the end of a token that has this life. It is counted from when the token was asked
/// for, by a clock that nobody sets: a phone's time of day is not to be trusted.
fn renew_at(asked_at: Instant, life: Option<Duration>) -> Option<Instant> {
    let life = life?;
    asked_at.checked_add(life.saturating_sub((life / RENEWAL_LIFE_DIVISOR).min(RENEWAL_MAX)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use tokio::time::advance;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Tokens that live for an hour by a clock that is wrong by years; the calls in `down` get none.
    async fn hourly(down: std::ops::Range<usize>) -> (Tokens, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let source = move || {
            let nth = counted.fetch_add(1, Ordering::Relaxed);
            let is_down = down.contains(&nth);
            let claims = format!(r#"{{"sub":"ann","iat":{nth},"exp":{}}}"#, nth + 3_600);
            async move {
                if is_down { Err("down") } else { Ok(format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))) }
            }
        };
        (Tokens::of(source, MINUTE).await.unwrap(), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_replaced_a_minute_before_its_end_and_not_sooner() {
        let (tokens, asked) = hourly(0..0).await;
        for replaced in 0..3 {
            let (_, before) = tokens.current();
            advance(58 * MINUTE).await;
            tokens.freshen().await;
            assert_eq!((asked.load(Ordering::Relaxed), tokens.current().1), (1 + replaced, before));
            advance(MINUTE).await;
            tokens.freshen().await;
            tokens.freshen().await;
            assert_eq!(asked.load(Ordering::Relaxed), 2 + replaced);
            assert_ne!(tokens.current().1, before);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_is_down_before_the_end_is_left_alone_for_a_while() {
        let (tokens, asked) = hourly(1..3).await;
        advance(59 * MINUTE).await;
        for failed in 1..3 {
            for _ in 0..3 {
                tokens.freshen().await;
                assert_eq!(asked.load(Ordering::Relaxed), 1 + failed, "the old token goes on");
            }
            advance(SOURCE_REST).await;
        }
        tokens.freshen().await;
        assert_eq!(tokens.current().1, Shown(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_replaced_once() {
        let (tokens, asked) = hourly(0..0).await;
        let (_, refused) = tokens.current();
        let renewals = futures::future::join_all((0..8).map(|_| tokens.renew(refused))).await;
        assert!(renewals.iter().all(Result::is_ok));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert_eq!(format!("{tokens:?}"), r#"Tokens { player: "players/ann", .. }"#);
    }
}
