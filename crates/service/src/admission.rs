//! Who may not call now: the list of bans and of revoked tokens, as this node knows it.
//!
//! Every node has the whole list in memory and reads its changes from the store each second, so that no call waits
//! for the store. While the store cannot be reached the list stays as it was last read. What is decided on this node
//! is read at once.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use middleware::{PlayerPrincipal, TOKEN_LEEWAY_MS, TOKEN_TTL_MAX_MS};
use referee::Stamp;
use store::{Access, AccessCursor, Ban, Store, StoreError};
use tokio::sync::watch;
use tracing::{info, warn};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::guard::caught;
use crate::node::Node;
use crate::tickets;

/// Pause between two looks at what has changed, ms: how long a ban that was made on another node takes to hold here.
const POLL_PAUSE_MS: u64 = 1_000;

/// How far ahead of a revocation the time lies before which tokens are refused, ms: a token that was minted before it
/// may say a time by a clock that is ahead, and says whole seconds.
pub(crate) const REVOCATION_LEAD_MS: u64 = TOKEN_LEEWAY_MS;

/// A revocation is forgotten once no token is left that it refuses, and one that was minted by a clock that is ahead
/// lives by so much longer.
const _: () = assert!(Access::RETENTION_MS > TOKEN_TTL_MAX_MS + 2 * TOKEN_LEEWAY_MS + REVOCATION_LEAD_MS);

/// Parts of the list with a lock each: two calls meet at one only if they are of players who share it, at the same
/// moment, and one of them waits only while that part changes.
const PARTS: usize = 64;

/// What the list says of a player. Of most it says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Restriction {
    /// The first moment at which he is not banned, ms since 1970; 0: he never was.
    banned_until_ms: u64,
    /// Tokens issued before this are refused, ms since 1970.
    pub(crate) tokens_from_ms: u64,
}

impl Restriction {
    /// What the store says of a player.
    pub(crate) fn of(access: &Access) -> Self {
        let until_ms = |ban: &Ban| ban.until.map_or(u64::MAX, Stamp::as_ms);
        Self {
            banned_until_ms: access.ban.as_ref().map_or(0, until_ms),
            tokens_from_ms: access.tokens_from.map_or(0, Stamp::as_ms),
        }
    }

    pub(crate) const fn is_banned(&self, now_ms: u64) -> bool {
        now_ms < self.banned_until_ms
    }
}

type Part = HashMap<Box<str>, Restriction>;

/// The list of one node, and who is to hear of its changes.
pub(crate) struct Admissions {
    parts: [RwLock<Part>; PARTS],
    hasher: RandomState,
    /// Players in the list: where it is empty, as in most places, nothing else is looked at.
    count: AtomicUsize,
    reader: tokio::sync::Mutex<Reader>,
    /// Players with a new ban whose tickets are still to be cancelled.
    newly_banned: Mutex<Vec<String>>,
    /// Players with open streams.
    attended: Mutex<HashMap<String, watch::Sender<()>>>,
}

/// How far the list has been read.
struct Reader {
    after: AccessCursor,
    /// When it was last read, by the store's time.
    read_at: Option<Stamp>,
    /// The list that takes the place of the one that counts, once it is read whole.
    fresh: Option<Vec<(String, Restriction)>>,
    has_whole: bool,
}

impl Default for Admissions {
    fn default() -> Self {
        Self {
            parts: std::array::from_fn(|_| RwLock::default()),
            hasher: RandomState::new(),
            count: AtomicUsize::new(0),
            reader: tokio::sync::Mutex::new(Reader::new(false)),
            newly_banned: Mutex::default(),
            attended: Mutex::default(),
        }
    }
}

impl Reader {
    fn new(has_whole: bool) -> Self {
        Self { after: AccessCursor::default(), read_at: None, fresh: Some(Vec::new()), has_whole }
    }
}

impl Admissions {
    /// What this node knows of a player.
    pub(crate) fn of(&self, player: &str) -> Restriction {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Restriction::default();
        }
        read(self.part(player)).get(player).copied().unwrap_or_default()
    }

    /// Whether a player may call, by a token that is valid.
    ///
    /// # Errors
    /// PLAYER_BANNED; TOKEN_EXPIRED if the token was called back, so that a client asks for another one.
    pub(crate) fn judge(&self, player: &PlayerPrincipal, now_ms: u64) -> Result<(), ApiError> {
        let restriction = self.of(&player.player);
        if restriction.is_banned(now_ms) {
            Err(ApiError::new(ErrorReason::PlayerBanned))
        } else if player.issued_ms < restriction.tokens_from_ms {
            Err(ApiError::new(ErrorReason::TokenExpired))
        } else {
            Ok(())
        }
    }

    /// Whether a player can be brought into a match, whoever acts for him.
    ///
    /// # Errors
    /// PLAYER_BANNED.
    pub(crate) fn may_play(&self, player: &str, now_ms: u64) -> Result<(), ApiError> {
        if self.of(player).is_banned(now_ms) { Err(banned(player)) } else { Ok(()) }
    }

    /// Watches over a stream that a player opens with his token.
    pub(crate) fn attend(self: &Arc<Self>, player: &PlayerPrincipal) -> Attendance {
        let told = lock(&self.attended).entry(player.player.clone()).or_default().subscribe();
        Attendance { admissions: Arc::clone(self), player: player.clone(), told }
    }

    /// Reads what has changed since the last look. Whatever the store had when this was called counts when it
    /// returns.
    ///
    /// # Errors
    /// The store cannot be read: what was read before counts.
    pub(crate) async fn refresh(&self, store: &dyn Store, now_ms: u64) -> Result<(), StoreError> {
        let mut reader = self.reader.lock().await;
        loop {
            let page = store.access_changes(reader.after).await?;
            let away_ms = reader.read_at.map_or(0, |read_at| page.now.ms_since(read_at));
            if away_ms >= Access::RETENTION_MS {
                // What was forgotten meanwhile is not told.
                *reader = Reader::new(reader.has_whole);
                continue;
            }
            if page.restarted {
                *reader = Reader::new(reader.has_whole);
            }
            let changed = page.changed.iter();
            let changed = changed.map(|(player, access)| (player.clone(), Restriction::of(access)));
            match &mut reader.fresh {
                Some(fresh) => fresh.extend(changed),
                None => changed.for_each(|(player, restriction)| self.put(player, restriction, now_ms)),
            }
            (reader.after, reader.read_at) = (page.next, Some(page.now));
            if page.more {
                continue;
            }
            if let Some(fresh) = reader.fresh.take() {
                self.replace(fresh, now_ms, !std::mem::replace(&mut reader.has_whole, true));
            }
            return Ok(());
        }
    }

    /// Takes in what is new of a player.
    fn put(&self, player: String, restriction: Restriction, now_ms: u64) {
        let before = {
            let mut part = write(self.part(&player));
            let before = if restriction == Restriction::default() {
                part.remove(player.as_str())
            } else {
                part.insert(player.as_str().into(), restriction)
            };
            let counts = (before.is_some(), restriction != Restriction::default());
            match counts {
                (false, true) => _ = self.count.fetch_add(1, Ordering::Relaxed),
                (true, false) => _ = self.count.fetch_sub(1, Ordering::Relaxed),
                _ => {}
            }
            before.unwrap_or_default()
        };
        if before == restriction {
            return;
        }
        if let Some(streams) = lock(&self.attended).get(&player) {
            streams.send_replace(());
        }
        if restriction.is_banned(now_ms) && !before.is_banned(now_ms) {
            lock(&self.newly_banned).push(player);
        }
    }

    /// Puts a whole list in the place of the one that counts. Whose ban was there when the node came has had his
    /// ticket cancelled by then.
    fn replace(&self, fresh: Vec<(String, Restriction)>, now_ms: u64, is_first: bool) {
        let mut over: HashMap<String, Restriction> = HashMap::new();
        for part in &self.parts {
            over.extend(read(part).keys().map(|player| (player.to_string(), Restriction::default())));
        }
        over.extend(fresh);
        over.into_iter().for_each(|(player, restriction)| self.put(player, restriction, now_ms));
        if is_first {
            lock(&self.newly_banned).clear();
        }
    }

    fn part(&self, player: &str) -> &RwLock<Part> {
        &self.parts[(self.hasher.hash_one(player) % PARTS as u64) as usize]
    }
}

/// The refusal of what would bring a banned player into a match.
pub(crate) fn banned(player: &str) -> ApiError {
    ApiError::new(ErrorReason::PlayerBanned).with_metadata("player", player)
}

/// Keeps the list, and cancels the tickets of those who turn out to be banned: one may have been made on this node
/// while another banned its player. It never ends.
pub(crate) async fn keep(node: &Node) {
    let (mut fails, mut cancelling_fails) = (false, false);
    loop {
        let now_ms = node.clock.now_ms();
        match caught(node.admissions.refresh(node.store.as_ref(), now_ms)).await {
            Some(Ok(())) if std::mem::take(&mut fails) => info!("who may not play can be read again"),
            Some(Err(error)) if !std::mem::replace(&mut fails, true) => {
                warn!(%error, "who may not play cannot be read; what was read last counts");
            }
            Some(_) | None => {}
        }
        let cancelled = caught(cancel_tickets(node)).await;
        let fail = cancelled.is_some_and(|cancelled| cancelled.is_err());
        if fail && !std::mem::replace(&mut cancelling_fails, fail) {
            warn!("the ticket of a banned player cannot be cancelled yet");
        }
        cancelling_fails = fail;
        node.clock.sleep_until_ms(node.clock.now_ms().saturating_add(POLL_PAUSE_MS)).await;
    }
}

async fn cancel_tickets(node: &Node) -> Result<(), StoreError> {
    let take = || lock(&node.admissions.newly_banned).pop();
    while let Some(player) = take() {
        if let Err(error) = tickets::take_out(node.store.as_ref(), &player).await {
            lock(&node.admissions.newly_banned).push(player);
            return Err(error);
        }
    }
    Ok(())
}

/// Watches over one open stream of a player.
pub(crate) struct Attendance {
    admissions: Arc<Admissions>,
    player: PlayerPrincipal,
    told: watch::Receiver<()>,
}

impl Attendance {
    /// Whether the player may be told anything still.
    ///
    /// # Errors
    /// As [`Admissions::judge`].
    pub(crate) fn check(&self, now_ms: u64) -> Result<(), ApiError> {
        self.admissions.judge(&self.player, now_ms)
    }

    /// Waits until what the list says of the player has changed.
    pub(crate) async fn changed(&mut self) {
        // The sender is there as long as somebody listens.
        let _ = self.told.changed().await;
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let mut attended = lock(&self.admissions.attended);
        let is_last = |streams: &watch::Sender<()>| streams.receiver_count() <= 1;
        if attended.get(&self.player.player).is_some_and(is_last) {
            attended.remove(&self.player.player);
        }
    }
}

/// Waits as [`Attendance::changed`] does; where there is nobody to watch over, for ever.
pub(crate) async fn changed(attendance: Option<&mut Attendance>) {
    match attendance {
        Some(attendance) => attendance.changed().await,
        None => std::future::pending().await,
    }
}

/// No change of what is locked here is left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(part: &RwLock<Part>) -> RwLockReadGuard<'_, Part> {
    part.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(part: &RwLock<Part>) -> RwLockWriteGuard<'_, Part> {
    part.write().unwrap_or_else(PoisonError::into_inner)
}
