//! What was written is what is read.

use proptest::prelude::*;
use rules::PerSeat;
use sealing::{MatchId, PublicKey};
use store::codec::{
    ShardClock, decode_head, decode_indexed, decode_invite, decode_request, decode_shard_clock, decode_turn,
    encode_head, encode_indexed, encode_invite, encode_request, encode_shard_clock, encode_turn,
};
use store::{Closing, Indexed, Invite, InviteEnd, RequestRecord};

use super::played::{keyring, matches, request_id, settings, stamp};

proptest! {
    #[test]
    fn every_head_of_a_match_comes_back(played in matches(), black: [u8; 12], white: [u8; 12]) {
        let nonces = PerSeat { black, white };
        for stored in &played.heads {
            let bytes = encode_head(stored, &keyring(), &nonces).unwrap();
            prop_assert_eq!(&decode_head(&bytes, &keyring()).unwrap(), stored);
        }
    }

    #[test]
    fn every_turn_of_a_match_comes_back(played in matches()) {
        for turn in &played.turns {
            prop_assert_eq!(&decode_turn(&encode_turn(turn).unwrap()).unwrap(), turn);
        }
    }

    #[test]
    fn every_invite_comes_back(invite in invites()) {
        prop_assert_eq!(decode_invite(&encode_invite(&invite).unwrap()).unwrap(), invite);
    }

    #[test]
    fn small_records_come_back(mac: [u8; 32], id: [u8; 16], finished: bool, ms: u64, outage_ms: u64) {
        let request = RequestRecord { mac, created_id: id };
        prop_assert_eq!(decode_request(&encode_request(&request).unwrap()).unwrap(), request);
        let created = referee::Stamp::from_ms(ms);
        let entry = Indexed { match_id: MatchId::from_bytes(id), finished, created };
        prop_assert_eq!(decode_indexed(&encode_indexed(&entry).unwrap()).unwrap(), entry);
        let clock = ShardClock { alive: created, outage_ms };
        prop_assert_eq!(decode_shard_clock(&encode_shard_clock(&clock).unwrap()).unwrap(), clock);
    }
}

fn invites() -> impl Strategy<Value = Invite> {
    let id = any::<[u8; 16]>().prop_map(MatchId::from_bytes);
    let key = prop::option::of(any::<[u8; 32]>().prop_map(PublicKey::from_bytes));
    let to = prop_oneof![
        "players/[a-z]{1,64}".prop_map(|invitee| (Some(invitee), None)),
        any::<[u8; 32]>().prop_map(|hash| (None, Some(hash))),
    ];
    let seat = prop::sample::select(&[None, Some(rules::Seat::Black), Some(rules::Seat::White)][..]);
    let rematch_of = prop::option::of(any::<[u8; 16]>().prop_map(MatchId::from_bytes));
    let terms = (settings(), seat, rematch_of);
    (id, key, to, terms, prop::option::of(closings())).prop_map(
        |(id, inviter_key, (invitee, secret_hash), (settings, inviter_seat, rematch_of), closing)| Invite {
            id,
            inviter: "players/ann".to_owned(),
            inviter_key,
            invitee,
            secret_hash,
            settings,
            inviter_seat,
            rematch_of,
            created: stamp(0),
            expires: stamp(60_000),
            closing,
        },
    )
}

fn closings() -> impl Strategy<Value = Closing> {
    let end = prop_oneof![
        any::<[u8; 16]>().prop_map(|id| InviteEnd::Accepted { match_id: MatchId::from_bytes(id) }),
        Just(InviteEnd::Declined),
        Just(InviteEnd::Revoked),
    ];
    let key = prop::option::of(any::<[u8; 32]>().prop_map(PublicKey::from_bytes));
    (end, key).prop_map(|(end, public_key)| Closing {
        end,
        by: "players/bob".to_owned(),
        request_id: request_id("closing"),
        public_key,
    })
}
