//! HTTP/2 as an attacker writes it: frames that no client library would send, made once and sent often.

/// What a connection begins with: the preface, and an empty SETTINGS frame.
pub(crate) fn preface() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// CANCEL.
const CANCEL: [u8; 4] = [0, 0, 0, 8];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A header that no table has.
fn header(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        // Seven bits say how long it is; what is longer goes on in further bytes.
        match u8::try_from(text.len()) {
            Ok(length) if length < 127 => block.push(length),
            _ => {
                block.push(127);
                let mut rest = text.len() - 127;
                while rest >= 128 {
                    block.push((rest % 128) as u8 | 128);
                    rest /= 128;
                }
                block.push(rest as u8);
            }
        }
        block.extend_from_slice(text.as_bytes());
    }
}

/// The headers of a gRPC call.
pub(crate) fn call(method: &str, more: &[(&str, &str)]) -> Vec<u8> {
    // `:method: POST` and `:scheme: http` have a place in the static table.
    let mut block = vec![0x83, 0x86];
    header(&mut block, ":path", &format!("/whattheshell.v1.{method}"));
    header(&mut block, ":authority", "wts.test");
    header(&mut block, "content-type", "application/grpc");
    header(&mut block, "te", "trailers");
    for (name, value) in more {
        header(&mut block, name, value);
    }
    block
}

/// A call that is opened.
pub(crate) fn open(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, block)
}

/// The first part of a call's headers, with more to follow.
pub(crate) fn open_slowly(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, 0, stream, block)
}

/// Some more of headers that do not end.
pub(crate) fn go_on_slowly(stream: u32) -> Vec<u8> {
    let mut block = Vec::new();
    header(&mut block, "x-slow", "slow");
    frame(CONTINUATION, 0, stream, &block)
}

/// A call that is taken back.
pub(crate) fn take_back(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &CANCEL)
}

/// A message that says how long it is, and begins with this.
pub(crate) fn message(stream: u32, is_compressed: bool, says_bytes: u32, begin: &[u8]) -> Vec<u8> {
    const FRAME_BYTES_MAX: usize = 16 * 1024;
    let mut body = vec![u8::from(is_compressed)];
    body.extend_from_slice(&says_bytes.to_be_bytes());
    body.extend_from_slice(begin);
    let mut frames = Vec::new();
    let last = body.chunks(FRAME_BYTES_MAX).count();
    for (number, piece) in (1..).zip(body.chunks(FRAME_BYTES_MAX)) {
        frames.extend(frame(DATA, if number == last { END_STREAM } else { 0 }, stream, piece));
    }
    frames
}

/// A gzip stream of `blocks` times 258 zeros.
pub(crate) fn bomb(blocks: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut buffer, mut count) = (0_u64, 0);
    let mut push = |bits: u64, length: u32| {
        buffer |= bits << count;
        count += length;
        while count >= 8 {
            bytes.push(buffer as u8);
            buffer >>= 8;
            count -= 8;
        }
    };
    // The last block, with fixed codes: a zero, then the last 258 bytes again and again.
    push(0b011, 3);
    push(0b0000_1100, 8);
    for _ in 0..blocks {
        push(0b1010_0011, 8);
        push(0, 5);
    }
    push(0, 7 + 8);
    bytes
}
