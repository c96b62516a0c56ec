//! A match of two callers.

use rules::{Cell, Seat};
use tonic::Status;
use wire::v1;

use crate::{Caller, Cluster, soon};

/// The number on the wire of the cell with this name (`A1` to `I9`).
///
/// # Panics
/// If there is no such cell.
#[must_use]
pub fn cell(name: &str) -> u32 {
    u32::from(name.parse::<Cell>().expect("the test names a cell of the board").number())
}

/// The salt that a seat draws for a turn unless a test says otherwise: any 32 bytes do.
#[must_use]
pub fn salt(turn: u32, seat: Seat) -> Vec<u8> {
    let mut salt = [seat.number(); 32];
    salt[..4].copy_from_slice(&turn.to_be_bytes());
    salt.to_vec()
}

/// A span of whole seconds.
#[must_use]
pub const fn seconds(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

/// A stamp of this many milliseconds since 1970, as messages have it.
///
/// # Panics
/// If no message can.
#[must_use]
pub fn stamp(ms: u64) -> Option<prost_types::Timestamp> {
    let seconds = i64::try_from(ms / 1_000).expect("a time that can be told");
    let nanos = i32::try_from(ms % 1_000 * 1_000_000).expect("less than a second");
    Some(prost_types::Timestamp { seconds, nanos })
}

/// A match and its two players.
#[derive(Clone, Debug)]
pub struct Duel {
    /// `matches/{match}`.
    pub name: String,
    /// Who plays black.
    pub black: Caller,
    /// Who plays white.
    pub white: Caller,
}

impl Duel {
    /// A match that black offers and white accepts; neither has joined.
    pub async fn agree(black: &Caller, white: &Caller, settings: v1::MatchSettings) -> Self {
        let offer = v1::CreateInviteRequest {
            request_id: unique("offer"),
            invitee: white.name.clone(),
            settings: Some(settings),
            inviter_seat: v1::Seat::Black.into(),
            ..Default::default()
        };
        let made = soon("CreateInvite", black.matchmaking().create_invite(offer)).await;
        let invite = made.expect("the settings are legal").into_inner().invite.expect("an invite");
        let accept =
            v1::AcceptInviteRequest { name: invite.name, request_id: unique("accept"), ..Default::default() };
        let accepted = soon("AcceptInvite", white.matchmaking().accept_invite(accept)).await;
        let invite = accepted.expect("the invite is open").into_inner().invite.expect("an invite");
        Self { name: invite.r#match, black: black.clone(), white: white.clone() }
    }

    /// The same match, its players over new connections: black to the first node, white to the last.
    pub async fn reconnected(&self, cluster: &Cluster) -> Self {
        let [first, last] = [0, cluster.nodes.len() - 1].map(|node| cluster.nodes[node].address);
        let (black, white) = (self.black.through(first).await, self.white.through(last).await);
        Self { name: self.name.clone(), black, white }
    }

    /// The player of a seat.
    #[must_use]
    pub const fn player(&self, seat: Seat) -> &Caller {
        match seat {
            Seat::Black => &self.black,
            Seat::White => &self.white,
        }
    }

    /// Both join, black first.
    pub async fn join(&self) {
        for seat in Seat::BOTH {
            self.join_as(seat).await.expect("a player may join");
        }
    }

    /// One joins.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn join_as(&self, seat: Seat) -> Result<v1::Match, Status> {
        let request = v1::JoinMatchRequest {
            name: self.name.clone(),
            request_id: unique("join"),
            ..Default::default()
        };
        let joined = soon("JoinMatch", self.player(seat).matches().join_match(request)).await?;
        Ok(joined.into_inner().r#match.expect("a response has its match"))
    }

    /// The request by which a seat seals a cell, with the salt and the request id that belong to turn and
    /// seat: sent twice it is a repetition.
    #[must_use]
    pub fn seal_request(&self, seat: Seat, turn: u32, cell: u32) -> v1::SealMoveRequest {
        let open = v1::OpenMove { cell, salt: salt(turn, seat) };
        v1::SealMoveRequest {
            name: self.name.clone(),
            request_id: format!("seal-{turn}-{}", seat.number()),
            turn,
            r#move: Some(v1::seal_move_request::Move::Open(open)),
            ..Default::default()
        }
    }

    /// A seat seals a cell.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn seal(&self, seat: Seat, turn: u32, cell: u32) -> Result<v1::SealReceipt, Status> {
        self.send_seal(seat, self.seal_request(seat, turn, cell)).await
    }

    /// A seat sends a seal.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn send_seal(
        &self,
        seat: Seat,
        request: v1::SealMoveRequest,
    ) -> Result<v1::SealReceipt, Status> {
        let sealed = soon("SealMove", self.player(seat).matches().seal_move(request)).await?;
        Ok(sealed.into_inner().receipt.expect("a response has its receipt"))
    }

    /// Plays a turn: black seals, then white.
    pub async fn play(&self, turn: u32, black: &str, white: &str) {
        self.seal(Seat::Black, turn, cell(black)).await.expect("black's move is legal");
        self.seal(Seat::White, turn, cell(white)).await.expect("white's move is legal");
    }

    /// A seat gives up.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn resign(&self, seat: Seat) -> Result<v1::Match, Status> {
        let request =
            v1::ResignRequest { name: self.name.clone(), request_id: unique("resign"), ..Default::default() };
        let resigned = soon("Resign", self.player(seat).matches().resign(request)).await?;
        Ok(resigned.into_inner().r#match.expect("a response has its match"))
    }

    /// The match as a seat's player sees it.
    pub async fn seen_by(&self, seat: Seat) -> v1::Match {
        self.player(seat).get(&self.name).await.expect("a player may see his match")
    }
}

/// A request id for one intent.
fn unique(what: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    format!("{what}-{}", DRAWN.fetch_add(1, Ordering::Relaxed))
}
