//! How many items of a whole data set each part gets, and in which sequence.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Shares out `items` to parts in proportion to their shares: by the largest remainders, but at
/// least `least` to each part with a share. There are enough items for that.
pub(crate) fn counts(shares: &[u64], items: u64, least: u64) -> Vec<u64> {
    let sum: u128 = shares.iter().copied().map(u128::from).sum();
    let exact = |part: usize| u128::from(items) * u128::from(shares[part]);
    let least_of = |share: u64| if share > 0 { least } else { 0 };
    let mut counts: Vec<u64> = (0..shares.len())
        .map(|part| ((exact(part) / sum) as u64).max(least_of(shares[part])))
        .collect();
    let dealt: u64 = counts.iter().sum();
    if dealt <= items {
        // What its least number does not raise is short of its share by less than one item.
        let mut short: Vec<usize> = (0..shares.len())
            .filter(|&part| u128::from(counts[part]) * sum < exact(part))
            .collect();
        short.sort_by_key(|&part| Reverse(exact(part) % sum));
        short.iter().take((items - dealt) as usize).for_each(|&part| counts[part] += 1);
        return counts;
    }
    // The least numbers come from the parts that are furthest above their shares.
    let above = |part: usize, count: u64| {
        ((u128::from(count) * sum) as i128 - exact(part) as i128, Reverse(part))
    };
    let mut most: BinaryHeap<_> = (0..shares.len())
        .filter(|&part| counts[part] > least_of(shares[part]))
        .map(|part| above(part, counts[part]))
        .collect();
    for _ in items..dealt {
        let (_, Reverse(part)) = most.pop().expect("there are enough items");
        counts[part] -= 1;
        if counts[part] > least {
            most.push(above(part, counts[part]));
        }
    }
    counts
}

/// The parts in a sequence that spreads each evenly: item `j` of a part of `count` stands at
/// `(2 j + 1) / (2 count)` of the way.
pub(crate) struct Sequence {
    next: BinaryHeap<Reverse<DealStep>>,
}

#[derive(PartialEq, Eq)]
struct DealStep {
    item: u64,
    count: u64,
    part: u32,
}

impl Sequence {
    pub(crate) fn new(counts: &[u64]) -> Self {
        let steps = counts.iter().zip(0..).filter(|&(&count, _)| count > 0);
        Self {
            next: steps.map(|(&count, part)| Reverse(DealStep { item: 0, count, part })).collect(),
        }
    }
}

impl Iterator for Sequence {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let Reverse(DealStep { item, count, part }) = self.next.pop()?;
        if item + 1 < count {
            self.next.push(Reverse(DealStep { item: item + 1, count, part }));
        }
        Some(part)
    }
}

impl Ord for DealStep {
    fn cmp(&self, other: &Self) -> Ordering {
        let way = |step: &Self, of: u64| (2 * u128::from(step.item) + 1) * u128::from(of);
        way(self, other.count).cmp(&way(other, self.count)).then(self.part.cmp(&other.part))
    }
}

impl PartialOrd for DealStep {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
