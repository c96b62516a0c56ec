//! A match is read back under the rules that it began with, or not at all.

use referee::{RulesVersion, Settings};
use store::codec::{CodecError, decode_head, encode_head};

use super::played::{NONCES, Played, keyring};

#[test]
fn a_match_of_unknown_rules_is_refused_by_their_version() {
    let played = Played::started(Settings::default());
    let mut bytes = encode_head(played.last(), &keyring(), &NONCES).unwrap();
    let known = RulesVersion::Wts2026_1.name().as_bytes();
    assert_eq!(decode_head(&bytes, &keyring()).unwrap().head.settings.rules_version, RulesVersion::Wts2026_1);

    let at = bytes.windows(known.len()).position(|window| window == known).unwrap();
    bytes[at..at + known.len()].copy_from_slice(b"wts-2027.1");
    let refused = decode_head(&bytes, &keyring()).unwrap_err();
    assert_eq!(refused, CodecError::UnknownRules { version: "wts-2027.1".to_owned() });
    assert_eq!(
        refused.to_string(),
        "the match is played by the rules \"wts-2027.1\", which this build does not know: run the build that wrote it, or a newer one"
    );
}
