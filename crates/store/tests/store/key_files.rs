//! The file of keys: made once, for its owner alone, and refused with a remedy.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use referee::Stamp;
use store::keys::{KeySource, Keys, KeysError, Role};

const NOW: Stamp = Stamp::from_ms(1_790_000_000_000);

/// What tells one set of keys from another.
fn fingerprint(keys: &Keys) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        *keys.request_secret(),
        keys.token_seeds().copied().collect::<Vec<_>>(),
        keys.signer().published().to_vec(),
    )
}

fn written(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("keys");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn the_first_start_makes_keys_and_every_later_one_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let source = KeySource::DataDirectory(directory.path().to_owned());
    let made = source.load(NOW).unwrap();
    let found = source.load(Stamp::from_ms(NOW.as_ms() + 1)).unwrap();
    assert_eq!(fingerprint(&made), fingerprint(&found));
    let path = directory.path().join(KeySource::FILE_NAME);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left behind");
    let shared = KeySource::File(path).load(NOW).unwrap();
    assert_eq!(fingerprint(&made), fingerprint(&shared));
}

#[test]
fn processes_that_start_at_once_have_the_same_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let keys: Vec<Keys> = std::thread::scope(|scope| {
        let start = || scope.spawn(|| Keys::load_or_create(&path, NOW).unwrap());
        let threads: Vec<_> = (0..8).map(|_| start()).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|one| fingerprint(one) == fingerprint(&keys[0])));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn rotated_keys_come_back_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let mut keys = Keys::load_or_create(&path, NOW).unwrap();
    for role in [Role::Signing, Role::Box, Role::Token] {
        let next = keys.prepare(role).unwrap();
        keys.promote(role, &next, NOW.plus_ms(1_000)).unwrap();
        keys.prepare(role).unwrap();
    }
    keys.save(&path).unwrap();
    let found = Keys::load(&path).unwrap();
    assert_eq!(fingerprint(&keys), fingerprint(&found));
    assert_eq!(found.keyring().current().0, keys.keyring().current().0);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    Keys::load_or_create(&path, NOW).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = Keys::load(&path).unwrap_err();
    assert!(matches!(refused, KeysError::Exposed { mode: 0o640, .. }), "{refused:?}");
    assert!(refused.to_string().contains("chmod 600"), "{refused}");
}

#[test]
fn a_file_that_must_be_there_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared");
    let refused = KeySource::File(path.clone()).load(NOW).unwrap_err();
    assert!(matches!(refused, KeysError::Missing { .. }), "{refused:?}");
    assert!(!path.exists());
}

#[test]
fn a_change_is_written_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let made = Keys::load_or_create(&path, NOW).unwrap();
    let next = Keys::change(&path, |keys| keys.prepare(Role::Token)).unwrap();
    let prepared = fs::read(&path).unwrap();
    assert_eq!(Keys::load(&path).unwrap().facts()[3].id, next);

    let refused = Keys::change(&path, |keys| {
        keys.promote(Role::Token, &next, NOW)?;
        keys.retire(Role::Token, &next)
    });
    assert!(matches!(refused, Err(KeysError::InUse { .. })), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), prepared);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left behind");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Keys::load(&path).unwrap().token_seed(), made.token_seed());
}

/// Or the key that one of them has prepared would be lost with its answer given.
#[test]
fn two_changes_at_once_are_not_both_taken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    Keys::load_or_create(&path, NOW).unwrap();
    let prepared = Keys::change(&path, |keys| {
        let refused = Keys::change(&path, |keys| keys.prepare(Role::Box));
        assert!(matches!(refused, Err(KeysError::Claimed { .. })), "{refused:?}");
        keys.prepare(Role::Box)
    });
    let next = Keys::change(&path, |keys| keys.prepare(Role::Box)).unwrap();
    let keyring = Keys::load(&path).unwrap().keyring();
    assert!(keyring.key(&next).is_some() && keyring.key(&prepared.unwrap()).is_some());
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("mounted"), directory.path().join("keys"));
    Keys::load_or_create(&path, NOW).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let next = Keys::change(&link, |keys| keys.prepare(Role::Box)).unwrap();
    assert!(link.is_symlink());
    assert!(Keys::load(&path).unwrap().keyring().key(&next).is_some());
}

#[test]
fn a_change_makes_no_file() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("keys"), directory.path().join("nowhere/keys")] {
        let refused = Keys::change(&path, |keys| keys.prepare(Role::Box));
        assert!(matches!(refused, Err(KeysError::Missing { .. })), "{refused:?}");
        assert!(!path.exists());
    }
}

fn check_refused(text: &str, said: &str) {
    let directory = tempfile::tempdir().unwrap();
    let refused = Keys::load(&written(directory.path(), text)).unwrap_err().to_string();
    assert!(refused.contains(said), "{refused:?} does not say {said:?}");
    assert!(!refused.contains("abababab"), "a secret is shown: {refused}");
}

#[test]
fn a_damaged_file_says_where() {
    let secret = "ab".repeat(32);
    let lines = |lines: &str| format!("whattheshell-keys 1\n{}", lines.replace("SECRET", &secret));
    let whole = "signing s 1 - SECRET\nbox b 1 - SECRET\ntoken t 1 - SECRET\nrequest r 1 - SECRET\n";
    check_refused("", "no keys file");
    check_refused("hello\n", "no keys file");
    check_refused("whattheshell-keys 2\n", "format 2");
    check_refused(&lines("signing s 1 - SECRET"), "0 box keys are in use");
    check_refused(&lines(&format!("{whole}box b2 1 - SECRET")), "2 box keys are in use");
    check_refused(&lines(&format!("{whole}box b - - SECRET")), "line 6: there is another box key b");
    check_refused(&lines(&format!("{whole}request r2 1 2 SECRET")), "request keys are not rotated");
    check_refused(
        &lines(&format!("{whole}\n# spare\nbox b2 2 1 SECRET")),
        "line 8: it ends before it begins",
    );
    check_refused(&lines(&format!("{whole}box b2 - 1 SECRET")), "line 6: it ends before it begins");
    check_refused(&lines("lock b 1 - SECRET"), "line 2: the role is not");
    check_refused(&lines("box b! 1 - SECRET"), "line 2: the id is not");
    check_refused(&lines("box b 1h - SECRET"), "line 2: a time is");
    check_refused(&lines("box b 1 - SECRETSECRET"), "line 2: the secret is not");
    check_refused(&lines(&format!("box b 1 - +b{}", &secret[2..])), "line 2: the secret is not");
    check_refused(&lines("box b 1 SECRET"), "line 2: it has not five words");
}

#[test]
fn a_file_of_another_kind_is_not_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path(), &"#".repeat(1 << 20));
    assert!(matches!(Keys::load(&path), Err(KeysError::TooLong { .. })));
}

#[test]
fn keys_do_not_show_their_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let secret = "ab".repeat(32);
    let whole = "whattheshell-keys 1\nsigning s 1 - SECRET\nbox b 1 - SECRET\ntoken t 1 - SECRET\nrequest r 1 - SECRET\n";
    let keys = Keys::load(&written(directory.path(), &whole.replace("SECRET", &secret))).unwrap();
    let shown = format!("{keys:?} {keys:#?} {:?} {:?} {keys:x?}", keys.signer(), keys.keyring());
    for telling in ["abab", "171", "ab, ab"] {
        assert!(!shown.contains(telling), "{telling} in {shown}");
    }
    assert!(shown.contains("signing"), "{shown}");
}

proptest! {
    #[test]
    fn any_text_is_keys_or_refused(lines in "[a-z0-9 #\n-]{0,200}", magic: bool) {
        let directory = tempfile::tempdir().unwrap();
        let magic = if magic { "whattheshell-keys 1\n" } else { "" };
        let _keys = Keys::load(&written(directory.path(), &format!("{magic}{lines}")));
    }
}
