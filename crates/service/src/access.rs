//! Who a call acts for, and what he may see.

use std::sync::Arc;

use middleware::{AuditNote, Deadline, Peer, Principal, Usage};
use referee::{Match, Spectators};
use rules::Seat;
use sealing::PublicKey;
use tokio::sync::watch;
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::admission::Attendance;
use crate::convert::view::Viewer;
use crate::convert::{match_name, request};
use crate::node::Node;

/// The caller of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    principal: Option<Principal>,
    deadline: Option<Deadline>,
    /// Where what the call is about is written down, if it is.
    audit: Option<AuditNote>,
    peer: Option<Arc<Peer>>,
    usage: Option<Arc<Usage>>,
}

impl Caller {
    /// The caller as the layers have found him.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Self {
        let extensions = request.extensions();
        Self {
            principal: extensions.get().cloned(),
            deadline: extensions.get().copied(),
            audit: extensions.get().cloned(),
            peer: extensions.get().cloned(),
            usage: extensions.get().cloned(),
        }
    }

    /// What he uses of the node, where a stream is opened and he may not use all of it.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.usage.as_deref()
    }

    /// Becomes true when a stream of his has to go on over another connection: where this one goes, or the node.
    pub(crate) fn leaving(&self, node: &Node) -> watch::Receiver<bool> {
        self.peer.as_ref().map_or(&node.draining, |peer| peer.leaving()).clone()
    }

    /// When he stops to wait for what he asked.
    pub(crate) const fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// The player the call acts for: the caller himself, or the one that a back end names in `player`.
    pub(crate) fn acting(&self, player: &str) -> Result<String, ApiError> {
        self.acting_name(player).map(str::to_owned)
    }

    fn acting_name<'a>(&'a self, player: &'a str) -> Result<&'a str, ApiError> {
        match &self.principal {
            None => Err(ApiError::new(ErrorReason::TokenMissing)),
            Some(Principal::Player(own)) if player.is_empty() || player == own.player => Ok(&own.player),
            Some(Principal::Player(_)) => {
                let what = "a player's token acts for that player only; leave `player` empty";
                Err(ApiError::new(ErrorReason::ScopeMissing).with_message(what))
            }
            Some(Principal::Backend(_) | Principal::Operator(_)) if player.is_empty() => {
                Err(ApiError::required("player"))
            }
            Some(Principal::Backend(_) | Principal::Operator(_)) => {
                let player = request::acting_player(player)?;
                self.audit.iter().for_each(|audit| audit.player(player));
                Ok(player)
            }
        }
    }

    /// Writes down which resource the call is about, by its well-formed name.
    pub(crate) fn acts_on(&self, name: impl FnOnce() -> String) {
        if let Some(audit) = &self.audit {
            audit.object(name());
        }
    }

    /// The player who calls himself; none for a back end.
    pub(crate) fn own_name(&self) -> Option<String> {
        match &self.principal {
            Some(Principal::Player(own)) => Some(own.player.clone()),
            Some(Principal::Backend(_) | Principal::Operator(_)) | None => None,
        }
    }

    /// The player the call acts for, or none for a back end that names nobody.
    pub(crate) fn acting_or_backend(&self, player: &str) -> Result<Option<String>, ApiError> {
        match &self.principal {
            Some(Principal::Backend(_) | Principal::Operator(_)) if player.is_empty() => Ok(None),
            _ => self.acting(player).map(Some),
        }
    }

    /// Refuses whoever is kept from strangers. A back end answers for the players that it names.
    pub(crate) fn meets_strangers(&self) -> Result<(), ApiError> {
        match &self.principal {
            Some(Principal::Player(own)) if own.is_sheltered => {
                Err(ApiError::new(ErrorReason::GuardianRequired))
            }
            _ => Ok(()),
        }
    }

    /// Watches over a stream that the caller opens; none for keys, which nobody bans.
    pub(crate) fn attendance(&self, node: &Node) -> Option<Attendance> {
        match &self.principal {
            Some(Principal::Player(own)) => Some(node.admissions.attend(own)),
            Some(Principal::Backend(_) | Principal::Operator(_)) | None => None,
        }
    }

    /// When the caller's token expires, ms since 1970; none for keys, which do not.
    pub(crate) fn expires_ms(&self) -> Option<u64> {
        match &self.principal {
            Some(Principal::Player(own)) => Some(own.expires_ms),
            Some(Principal::Backend(_) | Principal::Operator(_)) | None => None,
        }
    }

    /// The key of a player who enters a match: the request's, else the one that his own token carries.
    pub(crate) fn key(&self, bytes: &[u8]) -> Result<Option<PublicKey>, ApiError> {
        let own = match &self.principal {
            Some(Principal::Player(own)) => own.public_key.map(PublicKey::from_bytes),
            Some(Principal::Backend(_) | Principal::Operator(_)) | None => None,
        };
        Ok(request::public_key("public_key", bytes)?.or(own))
    }

    /// The seat that the call may act in.
    pub(crate) fn seat(&self, player: &str, game: &Match) -> Result<Seat, ApiError> {
        let player = self.acting_name(player)?;
        self.acts_on(|| match_name(game.id));
        if let Some(seat) = game.seat_of(player) {
            return Ok(seat);
        }
        // Whether a match exists is not for everyone to know.
        self.viewer(player, game)?;
        Err(ApiError::new(ErrorReason::NotAParticipant).with_metadata("resource", &match_name(game.id)))
    }

    /// What the caller may see of a match; NOT_FOUND if nothing.
    pub(crate) fn viewer(&self, player: &str, game: &Match) -> Result<Viewer, ApiError> {
        let not_found = || Err(ApiError::not_found(&match_name(game.id)));
        self.acts_on(|| match_name(game.id));
        match &self.principal {
            None => Err(ApiError::new(ErrorReason::TokenMissing)),
            Some(Principal::Player(own)) => {
                self.acting(player)?;
                match game.seat_of(&own.player) {
                    Some(seat) => Ok(Viewer::Seat(seat)),
                    None if game.settings.spectators == Spectators::Live => {
                        self.meets_strangers().map(|()| Viewer::Public)
                    }
                    None => not_found(),
                }
            }
            Some(Principal::Backend(_) | Principal::Operator(_)) => {
                let acts_for_stranger = !player.is_empty() && game.seat_of(player).is_none();
                if acts_for_stranger && game.settings.spectators == Spectators::None {
                    return not_found();
                }
                Ok(Viewer::Public)
            }
        }
    }
}
