//! How it is written who may not play, and for how long it is kept.

use proptest::prelude::*;
use referee::Stamp;
use store::codec::{decode_access, encode_access};
use store::{Access, Ban};

use super::golden::check;
use super::played::stamp;

fn banned(until: Option<Stamp>) -> Access {
    Access {
        ban: Some(Ban { from: stamp(1), until, reason: "chat-abuse case 4711".to_owned() }),
        tokens_from: Some(stamp(2)),
        done: vec![[3; 16], [4; 16]],
        changed: stamp(1),
    }
}

#[test]
fn access_is_written_as_ever() {
    let free = Access { changed: stamp(9), ..Access::default() };
    for (file, access) in [
        ("access-banned", banned(None)),
        ("access-banned-until", banned(Some(stamp(5)))),
        ("access-free", free),
    ] {
        check(file, &access, encode_access(&access), decode_access);
    }
}

#[test]
fn only_a_ban_for_good_is_kept_for_good() {
    assert_eq!(banned(None).kept_until(), None);
    let kept = |from: Stamp| Some(from.plus_ms(Access::RETENTION_MS));
    assert_eq!(banned(Some(stamp(5))).kept_until(), kept(stamp(5)));
    assert_eq!(
        banned(Some(Stamp::from_ms(1))).kept_until(),
        kept(stamp(1)),
        "it was over when it was written"
    );
    assert_eq!(Access { changed: stamp(9), ..Access::default() }.kept_until(), kept(stamp(9)));
}

#[test]
fn a_ban_holds_before_its_end_only() {
    let ban = banned(Some(stamp(5))).ban.unwrap();
    assert!(ban.holds_at(Stamp::from_ms(stamp(5).as_ms() - 1)));
    assert!(!ban.holds_at(stamp(5)));
}

#[test]
fn why_somebody_is_banned_is_in_no_debug_output() {
    assert!(!format!("{:?}", banned(None)).contains("abuse"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _said = decode_access(&bytes);
    }
}
