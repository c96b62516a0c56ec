//! Invites: open, then closed once and for ever.

use std::collections::BTreeSet;
use std::sync::Arc;

use referee::Settings;
use store::{Closing, Invite, InviteEnd, InviteId, StoreError};

use crate::world::{World, request_id};

/// How long the invites here are open, ms.
const OPEN_MS: u64 = 60_000;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long a finished match can be read at least, ms.
const MATCH_RETENTION_MS: u64 = 7 * DAY_MS;

/// Players who race each other.
const RACERS: u64 = 8;

async fn new_invite(world: &World, id: InviteId) -> Invite {
    let created = world.now(id).await.stamp;
    Invite {
        id,
        inviter: "players/ann".to_owned(),
        inviter_key: None,
        invitee: Some("players/bob".to_owned()),
        secret_hash: Some([7; 32]),
        settings: Settings::default(),
        inviter_seat: None,
        rematch_of: Some(world.id()),
        created,
        expires: created.plus_ms(OPEN_MS),
        closing: None,
    }
}

async fn open(world: &World) -> Invite {
    let invite = new_invite(world, world.id()).await;
    world.store.create_invite(invite).await.expect("an invite can be created")
}

fn closing(end: InviteEnd, request: u64) -> Closing {
    Closing {
        end,
        by: "players/bob".to_owned(),
        request_id: request_id(&format!("close-{request}")),
        public_key: None,
    }
}

async fn check_stored(world: &World, expected: &Invite) {
    for node in world.nodes() {
        let (stored, now) = node.invite(expected.id).await.expect("a stored invite can be read");
        assert_eq!(&stored, expected);
        assert!(now >= expected.created);
    }
}

/// What is stored is what was created first, closed or not.
pub async fn creating_an_invite_again_changes_nothing(world: Arc<World>) {
    let invite = new_invite(&world, world.id()).await;
    let stored = world.store.create_invite(invite.clone()).await.expect("an invite can be created");
    assert_eq!(stored, invite);
    check_stored(&world, &invite).await;
    let other = Invite { inviter: "players/eve".to_owned(), ..invite.clone() };
    let again = world.other.create_invite(other.clone()).await.expect("creating again is answered");
    assert_eq!(again, invite);
    let closed = world.store.close_invite(invite.id, closing(InviteEnd::Declined, 1)).await;
    let closed = closed.expect("closing is answered");
    let again = world.other.create_invite(other).await.expect("creating again is answered");
    assert_eq!(again, closed);
    check_stored(&world, &closed).await;
}

/// It can be neither read nor closed.
pub async fn an_invite_that_was_never_created_is_not_found(world: Arc<World>) {
    let id = world.id();
    assert_eq!(world.store.invite(id).await, Err(StoreError::NotFound));
    let closed = world.store.close_invite(id, closing(InviteEnd::Revoked, 1)).await;
    assert_eq!(closed, Err(StoreError::NotFound));
    assert_eq!(world.store.invite(id).await, Err(StoreError::NotFound), "asking creates nothing");
}

/// Whoever comes later is told of it.
pub async fn the_first_closing_of_an_invite_stands(world: Arc<World>) {
    let ends = [InviteEnd::Accepted { match_id: world.id() }, InviteEnd::Declined, InviteEnd::Revoked];
    for first in ends {
        let invite = open(&world).await;
        let expected = Invite { closing: Some(closing(first, 1)), ..invite.clone() };
        let closed = world.store.close_invite(invite.id, closing(first, 1)).await;
        assert_eq!(closed.as_ref(), Ok(&expected));
        for later in ends {
            let told = world.other.close_invite(invite.id, closing(later, 2)).await;
            assert_eq!(told.as_ref(), Ok(&expected));
        }
        check_stored(&world, &expected).await;
    }
}

/// All of them are told which.
pub async fn of_many_closings_at_once_exactly_one_stands(world: Arc<World>) {
    let invite = open(&world).await;
    let mut racers = Vec::new();
    for racer in 0..RACERS {
        let (world, id) = (Arc::clone(&world), invite.id);
        racers.push(tokio::spawn(async move {
            let end = InviteEnd::Accepted { match_id: world.id() };
            let node = world.nodes()[usize::from(racer % 2 == 1)];
            node.close_invite(id, closing(end, racer)).await.expect("closing is answered").closing
        }));
    }
    let mut stood = BTreeSet::new();
    for racer in racers {
        let closing = racer.await.expect("a racer does not panic").expect("the invite is closed");
        stood.insert(closing.request_id.as_str().to_owned());
    }
    assert_eq!(stood.len(), 1);
}

/// Its last moment is part of its time.
pub async fn an_invite_can_be_closed_until_it_expires_and_never_after(world: Arc<World>) {
    for (wait_ms, is_open) in [(OPEN_MS, true), (OPEN_MS + 1, false)] {
        let invite = open(&world).await;
        world.pass_ms(invite.id, wait_ms).await;
        let (_, now) = world.store.invite(invite.id).await.expect("an expired invite can still be read");
        assert_eq!(now, invite.created.plus_ms(wait_ms));
        let closing = closing(InviteEnd::Declined, 1);
        let expected = Invite { closing: is_open.then(|| closing.clone()), ..invite.clone() };
        let closed = world.store.close_invite(invite.id, closing).await;
        assert_eq!(closed.as_ref(), Ok(&expected), "after {wait_ms} ms");
        check_stored(&world, &expected).await;
    }
}

/// So that whoever comes late is told how it ended.
pub async fn an_invite_can_be_read_a_day_after_its_end(world: Arc<World>) {
    let (expired, closed) = (open(&world).await, open(&world).await);
    world.leap_ms(OPEN_MS).await;
    let closed = world.store.close_invite(closed.id, closing(InviteEnd::Declined, 1)).await;
    let closed = closed.expect("closing is answered");
    world.leap_ms(DAY_MS).await;
    check_stored(&world, &expired).await;
    check_stored(&world, &closed).await;
}

/// Whoever reads an accepted invite makes its match if there is none: one that was played and forgotten
/// must not come back empty.
pub async fn an_accepted_invite_is_forgotten_before_its_match(world: Arc<World>) {
    let created = world.now(world.id()).await.stamp;
    let expires = created.plus_ms(2 * MATCH_RETENTION_MS);
    let invite = Invite { expires, ..new_invite(&world, world.id()).await };
    world.store.create_invite(invite.clone()).await.expect("an invite can be created");
    let end = InviteEnd::Accepted { match_id: world.id() };
    world.store.close_invite(invite.id, closing(end, 1)).await.expect("closing is answered");
    world.leap_ms(MATCH_RETENTION_MS).await;
    for node in world.nodes() {
        assert_eq!(node.invite(invite.id).await, Err(StoreError::NotFound));
    }
}

/// Newest first, and not those that somebody has closed.
pub async fn open_invites_are_listed_for_both_players_until_they_are_closed(world: Arc<World>) {
    let (first, second) = (open(&world).await, open(&world).await);
    for player in ["players/ann", "players/bob"] {
        let listed = world.other.open_invites_of(player, 10).await;
        assert_eq!(listed, Ok(vec![second.clone(), first.clone()]), "{player}");
        assert_eq!(world.store.open_invites_of(player, 1).await, Ok(vec![second.clone()]), "{player}");
    }
    assert_eq!(world.store.open_invites_of("players/eve", 10).await, Ok(Vec::new()));
    world.other.close_invite(second.id, closing(InviteEnd::Declined, 1)).await.expect("closing is answered");
    for player in ["players/ann", "players/bob"] {
        assert_eq!(world.store.open_invites_of(player, 10).await, Ok(vec![first.clone()]), "{player}");
    }
}

/// Creating again may name other players and a later moment: in the lists is what is stored, in its place, and
/// nothing that is closed.
pub async fn an_invite_that_is_created_again_is_listed_as_it_is_stored(world: Arc<World>) {
    let first = open(&world).await;
    world.pass_ms(first.id, 5).await;
    let second = open(&world).await;
    let created = second.created.plus_ms(1);
    let again = Invite { invitee: Some("players/eve".to_owned()), created, ..first.clone() };
    assert_eq!(world.other.create_invite(again.clone()).await.as_ref(), Ok(&first));
    for player in ["players/ann", "players/bob"] {
        for (limit, listed) in [(1, vec![second.clone()]), (10, vec![second.clone(), first.clone()])] {
            assert_eq!(world.store.open_invites_of(player, limit).await, Ok(listed), "{player}");
        }
    }
    assert_eq!(world.store.open_invites_of("players/eve", 10).await, Ok(Vec::new()));
    world.store.close_invite(first.id, closing(InviteEnd::Declined, 1)).await.expect("closing is answered");
    world.other.create_invite(again).await.expect("creating again is answered");
    for player in ["players/ann", "players/bob"] {
        assert_eq!(world.store.open_invites_of(player, 10).await, Ok(vec![second.clone()]), "{player}");
    }
    assert_eq!(world.store.open_invites_of("players/eve", 10).await, Ok(Vec::new()));
}
