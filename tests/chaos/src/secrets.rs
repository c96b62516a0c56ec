//! The salts that nobody but their player may know yet, and who was told one.
//!
//! A salt is sealed together with its cell, and both go together wherever a move goes in the open. So whoever
//! receives the salt of another's move has learnt the move, in whatever message, error or header it came; and
//! a salt of 32 random bytes is found by chance nowhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a salt.
pub(crate) const SALT_BYTES: usize = 32;

/// Leaks that are told in words; all are counted.
const SHOWN_MAX: usize = 20;

/// Who draws salts and receives bytes: players and spectators, numbered over a run.
pub(crate) type Who = usize;

struct Secret {
    salt: [u8; SALT_BYTES],
    who: Who,
    game: String,
    /// None: a move that must never be taken, so it never becomes public.
    turn: Option<u32>,
    /// Its player has sent it in the open.
    is_sent: bool,
}

#[derive(Default)]
struct State {
    open: Vec<Secret>,
    leaked: usize,
    shown: Vec<String>,
}

/// All salts of a run that are still secret.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<State>);

impl Secrets {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A player has drawn this salt for a turn of a match; without a turn, for a move that must be refused.
    pub(crate) fn drawn(&self, who: Who, game: &str, turn: Option<u32>, salt: [u8; SALT_BYTES]) {
        let mut state = self.state();
        if state.open.iter().all(|secret| secret.salt != salt) {
            state.open.push(Secret { salt, who, game: game.to_owned(), turn, is_sent: false });
        }
    }

    /// Somebody sends these bytes. A turn resolves once both players have sent their moves in the open, and
    /// never before: until then no answer may have either.
    pub(crate) fn sends(&self, who: Who, bytes: &[u8]) {
        let mut state = self.state();
        let found = found(&state.open, bytes, |secret| secret.who == who && !secret.is_sent);
        for index in found {
            state.open[index].is_sent = true;
        }
        let both: Vec<(String, u32)> = {
            let sent = || state.open.iter().filter(|secret| secret.is_sent && secret.turn.is_some());
            let twice = |first: &&Secret| {
                sent().any(|other| {
                    other.game == first.game && other.turn == first.turn && other.who != first.who
                })
            };
            sent().filter(twice).filter_map(|secret| Some((secret.game.clone(), secret.turn?))).collect()
        };
        state.open.retain(|secret| {
            !both.iter().any(|(game, turn)| secret.game == *game && secret.turn == Some(*turn))
        });
    }

    /// Whether it was heard that a player has sent his move of a turn in the open.
    pub(crate) fn has_sent(&self, who: Who, game: &str, turn: u32) -> bool {
        let state = self.state();
        // Those that both have sent are kept no longer.
        state.open.iter().all(|secret| {
            secret.is_sent || secret.who != who || secret.game != game || secret.turn != Some(turn)
        })
    }

    /// Somebody receives these bytes.
    pub(crate) fn receives(&self, who: Who, bytes: &[u8]) {
        let mut state = self.state();
        let found = found(&state.open, bytes, |secret| secret.who != who);
        for index in found {
            let secret = &state.open[index];
            let what = format!(
                "{}: {who} received the salt of {} in turn {:?}",
                secret.game, secret.who, secret.turn
            );
            state.leak(what);
        }
    }

    /// Somebody was told what only another may know, in another way than by a salt.
    pub(crate) fn leak(&self, what: String) {
        self.state().leak(what);
    }

    /// How much was told, and of the first what it was.
    pub(crate) fn leaks(&self) -> (usize, Vec<String>) {
        let state = self.state();
        (state.leaked, state.shown.clone())
    }
}

impl State {
    fn leak(&mut self, what: String) {
        self.leaked += 1;
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(what);
        }
    }
}

/// Which of the secrets that are wanted are in the bytes.
fn found(open: &[Secret], bytes: &[u8], wanted: impl Fn(&Secret) -> bool) -> Vec<usize> {
    let wanted: Vec<usize> = (0..open.len()).filter(|index| wanted(&open[*index])).collect();
    let mut first = [false; 256];
    for index in &wanted {
        first[usize::from(open[*index].salt[0])] = true;
    }
    let mut found = Vec::new();
    for part in bytes.windows(SALT_BYTES).filter(|part| first[usize::from(part[0])]) {
        found.extend(wanted.iter().copied().filter(|index| open[*index].salt == part));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: &str = "matches/one";

    /// Two players have drawn a salt each, 1 and 2, for one turn.
    fn two() -> Secrets {
        let secrets = Secrets::default();
        secrets.drawn(1, GAME, Some(1), [1; SALT_BYTES]);
        secrets.drawn(2, GAME, Some(1), [2; SALT_BYTES]);
        secrets
    }

    fn around(salt: u8) -> Vec<u8> {
        [vec![9; 5], vec![salt; SALT_BYTES], vec![9; 5]].concat()
    }

    #[test]
    fn a_salt_is_a_leak_to_anybody_else_until_both_have_sent_theirs() {
        let secrets = two();
        secrets.sends(1, &around(1));
        secrets.receives(1, &around(1));
        assert_eq!(secrets.leaks().0, 0, "its own player knows it");
        secrets.receives(2, &around(1));
        secrets.receives(3, &around(1));
        assert_eq!(secrets.leaks().0, 2);
        secrets.sends(2, &around(2));
        secrets.receives(3, &around(1));
        secrets.receives(1, &around(2));
        assert_eq!(secrets.leaks().0, 2, "both are public now");
    }

    #[test]
    fn a_refused_move_never_becomes_public() {
        let secrets = two();
        secrets.drawn(1, GAME, None, [3; SALT_BYTES]);
        for (who, salt) in [(1, 1), (1, 3), (2, 2)] {
            secrets.sends(who, &around(salt));
        }
        secrets.receives(2, &around(3));
        assert_eq!(secrets.leaks().0, 1);
    }
}
