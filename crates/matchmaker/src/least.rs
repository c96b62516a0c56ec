//! A list of numbers that shrinks, and finds the next one that is small enough.

/// Numbers of a group: as many as there are in one cache line, which is read as a whole anyway.
const GROUP: usize = 32;

/// What stands for a number that was removed: never small enough.
const GONE: i16 = i16::MAX;

/// Numbers in a fixed order, with the least of every group on the level above, up to a single group.
///
/// A search climbs only as far as it has to: what is near is found at a cost that does not depend on how many
/// numbers there are, and what is far at the cost of the levels between, at most `log32` of the count, twice.
pub(crate) struct Least {
    levels: Vec<Vec<i16>>,
}

impl Least {
    /// These numbers, all below [`i16::MAX`].
    pub(crate) fn new(numbers: Vec<i16>) -> Self {
        let mut levels = vec![numbers];
        while let Some(last) = levels.last()
            && last.len() > GROUP
        {
            let above = last.chunks(GROUP).map(least).collect();
            levels.push(above);
        }
        Self { levels }
    }

    /// Takes the number at `place` away.
    pub(crate) fn remove(&mut self, place: usize) {
        let mut place = place;
        let mut number = GONE;
        for level in &mut self.levels {
            if level[place] == number {
                return;
            }
            level[place] = number;
            let group = place / GROUP;
            number = least(&level[group * GROUP..level.len().min((group + 1) * GROUP)]);
            place = group;
        }
    }

    /// The first place at or after `from` whose number is at most `limit`; `limit` is below [`i16::MAX`].
    pub(crate) fn first_from(&self, from: usize, limit: i16) -> Option<usize> {
        let mut from = from;
        for (height, level) in self.levels.iter().enumerate() {
            let end = level.len().min((from / GROUP + 1) * GROUP);
            let rest = level.get(from..end)?;
            if let Some(offset) = rest.iter().position(|number| *number <= limit) {
                return self.descend(height, from + offset, limit);
            }
            from = from / GROUP + 1;
        }
        None
    }

    /// The first place below `place` of level `height` whose number is at most `limit`; there is one.
    fn descend(&self, height: usize, place: usize, limit: i16) -> Option<usize> {
        self.levels[..height].iter().rev().try_fold(place, |place, level| {
            let start = place * GROUP;
            let group = level.get(start..level.len().min(start + GROUP))?;
            Some(start + group.iter().position(|number| *number <= limit)?)
        })
    }
}

fn least(numbers: &[i16]) -> i16 {
    numbers.iter().copied().min().unwrap_or(GONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is removed, each search finds what a walk along the list finds.
    #[test]
    fn a_search_finds_the_first_small_enough_number() {
        for count in [0, 1, 31, 32, 33, 1_024, 1_025, 1_500] {
            let mut plain: Vec<i16> = (0..count).map(|n: i16| n % 83 * 79 % 101).collect();
            let mut least = Least::new(plain.clone());
            let length = plain.len();
            for removed in (0..length).map(|n| n * 11 % length) {
                for (from, limit) in [(0, 3), (removed, 50), (removed + 1, 0), (plain.len(), 100)] {
                    let found = (from..plain.len()).find(|place| plain[*place] <= limit);
                    assert_eq!(least.first_from(from, limit), found, "{count} {removed} {from} {limit}");
                }
                plain[removed] = GONE;
                least.remove(removed);
            }
        }
    }
}
