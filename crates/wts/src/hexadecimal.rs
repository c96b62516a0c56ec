//! Bytes as hexadecimal digits.

/// Two lower-case digits a byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of such a text, whatever the case of its digits. None if it is no such text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_can_be_read_as_they_were_written() {
        let bytes = [0x00, 0x7f, 0xff, 0x1a];
        assert_eq!(encode(&bytes), "007fff1a");
        assert_eq!(decode(&encode(&bytes)).as_deref(), Some(&bytes[..]));
        assert_eq!(decode(""), Some(Vec::new()));
        assert_eq!((decode("abc"), decode("zz")), (None, None));
    }
}
