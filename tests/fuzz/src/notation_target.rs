//! Texts that people and programs write: cells, boards, names.

use sealing::KeyId;
use wire::Collection;

use crate::rules_target;

/// Reads the bytes as each kind of text: what is accepted is exactly what would be written.
///
/// # Panics
///
/// If it is not.
pub fn notation(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let text = text.as_ref();
    rules_target::text(text);
    if let Ok(id) = text.parse::<KeyId>() {
        assert_eq!(id.as_str(), text);
    }
    for collection in [Collection::Matches, Collection::Players, Collection::Tickets, Collection::Invites] {
        if let Ok(id) = collection.id(text) {
            assert_eq!(collection.name(id).as_deref(), Ok(text));
            assert!(wire::is_id(id));
        }
    }
}
