//! Cursors of the feed: how far a back end has got, in every shard. Opaque to it, and checked as untrusted input
//! when they come back.
//!
//! `version (1) ‖ shards ‖ base, ms`, then for each shard `0` where nothing has ever been, or
//! `time − base + 1 ‖ number ‖ mark (2)`. Numbers are in base 128, the low digit first. The times of 256 shards that are all in use lie close to each other, and
//! such a cursor has about 1.5 KiB; none has more than [`BYTES_MAX`].

use referee::Stamp;
use store::FeedPosition;

/// What cursors of this build begin with.
const VERSION: u8 = 1;

/// The longest cursor, bytes: as the API promises.
pub(crate) const BYTES_MAX: usize = 16 * 1024;

/// The longest number, bytes.
const NUMBER_BYTES_MAX: usize = 10;

/// The shards of a store at most whose feed can be read: with more, a cursor could get too long.
pub(crate) const SHARDS_MAX: u16 = 512;

const _: () = assert!(
    1 + 2 * NUMBER_BYTES_MAX + SHARDS_MAX as usize * (2 * NUMBER_BYTES_MAX + 2) <= BYTES_MAX,
    "every cursor fits"
);

/// Writes a cursor: for each shard the last entry that was dealt with, or a place before all that were not.
pub(crate) fn write(positions: &[FeedPosition]) -> Vec<u8> {
    let begun = positions.iter().filter(|position| **position != FeedPosition::START);
    let base_ms = begun.map(|position| position.at.as_ms()).min().unwrap_or(0);
    let mut cursor = vec![VERSION];
    put(&mut cursor, positions.len() as u64);
    put(&mut cursor, base_ms);
    for position in positions {
        if *position == FeedPosition::START {
            cursor.push(0);
            continue;
        }
        put(&mut cursor, (position.at.as_ms() - base_ms).saturating_add(1));
        put(&mut cursor, position.number);
        cursor.extend(position.mark.to_be_bytes());
    }
    cursor
}

fn put(cursor: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        cursor.push(number as u8 | 0x80);
        number >>= 7;
    }
    cursor.push(number as u8);
}

/// Reads a cursor: a place for each shard of the store that it was given by; none if it is not one.
pub(crate) fn read(cursor: &[u8]) -> Option<Vec<FeedPosition>> {
    let mut rest = cursor.strip_prefix(&[VERSION]).filter(|_| cursor.len() <= BYTES_MAX)?;
    let shards = take(&mut rest).filter(|shards| *shards <= SHARDS_MAX.into())?;
    let base_ms = take(&mut rest)?;
    let mut positions = Vec::new();
    for _ in 0..shards {
        positions.push(match take(&mut rest)? {
            0 => FeedPosition::START,
            after => {
                let at = Stamp::from_ms(base_ms.checked_add(after - 1)?);
                let number = take(&mut rest)?;
                let (mark, more) = rest.split_first_chunk()?;
                rest = more;
                FeedPosition { at, number, mark: u16::from_be_bytes(*mark) }
            }
        });
    }
    rest.is_empty().then_some(positions)
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for place in 0..NUMBER_BYTES_MAX {
        let (byte, more) = rest.split_first()?;
        *rest = more;
        let digit = u64::from(byte & 0x7f);
        let shifted =
            digit.checked_shl(7 * place as u32).filter(|shifted| shifted >> (7 * place) == digit)?;
        number |= shifted;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(ms: u64, number: u64, mark: u16) -> FeedPosition {
        FeedPosition { at: Stamp::from_ms(ms), number, mark }
    }

    #[test]
    fn a_cursor_comes_back() {
        for positions in [
            vec![FeedPosition::START; 16],
            vec![
                position(1_800_000_000_000, 1, 7),
                FeedPosition::START,
                position(1_800_000_360_000, 70_000, 0xffff),
            ],
            vec![position(0, 1, 0), position(u64::MAX - 1, u64::MAX, 1)],
            vec![position(u64::MAX - 1, u64::MAX, u16::MAX); usize::from(SHARDS_MAX)],
        ] {
            let cursor = write(&positions);
            assert!(cursor.len() <= BYTES_MAX);
            assert_eq!(read(&cursor), Some(positions));
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        let cursor = write(&[position(500, 1, 7), FeedPosition::START, position(900, 70_000, 2)]);
        assert_eq!(read(&[]), None, "nothing");
        for cut in 1..cursor.len() {
            assert_eq!(read(&cursor[..cut]), None, "cut at {cut}");
        }
        assert_eq!(read(&[&cursor[..], &[0]].concat()), None, "too long");
        assert_eq!(read(&[&[2], &cursor[1..]].concat()), None, "of another version");
        assert_eq!(read(&[1, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), None);
        assert_eq!(read(&vec![1; BYTES_MAX + 1]), None);
    }

    #[test]
    fn the_cursor_of_a_busy_store_is_short() {
        let positions: Vec<_> =
            (0..256).map(|shard| position(1_800_000_000_000 + 900 * shard, 4_000, 9)).collect();
        assert!(write(&positions).len() < 2 * 1_024, "{}", write(&positions).len());
    }
}
