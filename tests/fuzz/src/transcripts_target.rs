//! Transcripts that somebody else hands over.

use whattheshell::Transcript;

/// Reads the bytes after the first three as a transcript. One that holds is changed in a byte, which the first two
/// name and the third says how: it holds no more, or says the same.
///
/// # Panics
///
/// If it says something else.
pub fn transcripts(data: &[u8]) {
    let Some(([high, low, change], bytes)) = data.split_first_chunk() else { return };
    let Ok(transcript) = Transcript::from_bytes(bytes) else { return };
    assert_eq!(transcript.to_bytes(), bytes);
    let Ok(verified) = transcript.verify() else { return };
    let mut changed = bytes.to_vec();
    let at = usize::from(u16::from_be_bytes([*high, *low])) % changed.len();
    changed[at] ^= change;
    if let Ok(other) = Transcript::from_bytes(&changed).and_then(|transcript| transcript.verify()) {
        assert_eq!(other, verified, "byte {at} changes what it proves, and it still holds");
    }
}
