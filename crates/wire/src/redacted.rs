//! `Debug` for messages with something that must not show: cells and salts before their turn resolves,
//! tokens, join secrets. `xtask`'s generator derives none for these; what contains one of them shows it
//! through the impls here.
//!
//! Nothing is printed but the message's name and, where it helps, what is public in it. Not even the
//! length of a secret shows.

use std::fmt;

use crate::v1;

impl fmt::Debug for v1::OpenMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenMove(..)")
    }
}

impl fmt::Debug for v1::OwnSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnSeal(..)")
    }
}

impl fmt::Debug for v1::CreateInviteResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateInviteResponse").field("invite", &self.invite).finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::GetInviteRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetInviteRequest")
            .field("name", &self.name)
            .field("player", &self.player)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::AcceptInviteRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceptInviteRequest")
            .field("name", &self.name)
            .field("player", &self.player)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::MintPlayerTokenResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MintPlayerTokenResponse")
            .field("expire_time", &self.expire_time)
            .finish_non_exhaustive()
    }
}
