//! A list of numbers that finds the next one, forwards or backwards, that is small enough.

/// Numbers of a group: as many as there are in one cache line, which is read as a whole anyway.
const GROUP: usize = 32;

/// Numbers in a fixed order, with the least of every group on the level above, up to less than a group.
///
/// A search climbs only as far as it has to: what is near is found at a cost that does not depend on how many
/// numbers there are, and what is far at the cost of the levels between, at most `log32` of the count, twice.
pub(crate) struct Least {
    levels: Vec<Vec<i16>>,
}

impl Least {
    /// What stands where there is no number: never small enough.
    pub(crate) const NONE: i16 = i16::MAX;

    /// These numbers.
    pub(crate) fn new(numbers: Vec<i16>) -> Self {
        let mut levels = vec![numbers];
        while let Some(last) = levels.last()
            && last.len() >= GROUP
        {
            let above = last.chunks(GROUP).map(least).collect();
            levels.push(above);
        }
        Self { levels }
    }

    /// Puts `number` at `place`.
    pub(crate) fn set(&mut self, place: usize, number: i16) {
        let (mut place, mut number) = (place, number);
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

    /// The first place at or after `from` whose number is at most `limit`, which is below [`Self::NONE`].
    pub(crate) fn first_from(&self, from: usize, limit: i16) -> Option<usize> {
        let mut from = from;
        for (height, level) in self.levels.iter().enumerate() {
            let end = level.len().min((from / GROUP + 1) * GROUP);
            let rest = level.get(from..end)?;
            if let Some(offset) = rest.iter().position(|number| *number <= limit) {
                let first = |group: &[i16]| group.iter().position(|number| *number <= limit);
                return self.descend(height, from + offset, first);
            }
            from = from / GROUP + 1;
        }
        None
    }

    /// The last place before `end` whose number is at most `limit`, which is below [`Self::NONE`].
    pub(crate) fn last_before(&self, end: usize, limit: i16) -> Option<usize> {
        let mut end = end;
        for (height, level) in self.levels.iter().enumerate() {
            let start = end / GROUP * GROUP;
            let rest = level.get(start..end)?;
            if let Some(offset) = rest.iter().rposition(|number| *number <= limit) {
                let last = |group: &[i16]| group.iter().rposition(|number| *number <= limit);
                return self.descend(height, start + offset, last);
            }
            end /= GROUP;
        }
        None
    }

    /// The place of the number that `find` finds in each group below `place` of level `height`.
    fn descend(&self, height: usize, place: usize, find: impl Fn(&[i16]) -> Option<usize>) -> Option<usize> {
        self.levels[..height].iter().rev().try_fold(place, |place, level| {
            let start = place * GROUP;
            Some(start + find(level.get(start..level.len().min(start + GROUP))?)?)
        })
    }
}

fn least(numbers: &[i16]) -> i16 {
    numbers.iter().copied().min().unwrap_or(Least::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is changed, each search finds what a walk along the list finds.
    #[test]
    fn a_search_finds_the_next_small_enough_number() {
        for count in [0, 1, 31, 32, 33, 1_024, 1_025, 1_500] {
            let mut plain: Vec<i16> = (0..count).map(|n: i16| n % 83 * 79 % 101).collect();
            let mut least = Least::new(plain.clone());
            let length = plain.len();
            for changed in (0..length).map(|n| n * 11 % length) {
                for (from, limit) in [(0, 3), (changed, 50), (changed + 1, 0), (length, 100)] {
                    let at = format!("{count} {changed} {from} {limit}");
                    let first = (from..length).find(|place| plain[*place] <= limit);
                    assert_eq!(least.first_from(from, limit), first, "{at}");
                    let last = (0..from).rfind(|place| plain[*place] <= limit);
                    assert_eq!(least.last_before(from, limit), last, "{at}");
                }
                plain[changed] = if changed % 5 == 0 { plain[changed] + 40 } else { Least::NONE };
                least.set(changed, plain[changed]);
            }
        }
    }
}
