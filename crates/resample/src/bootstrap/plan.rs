//! [`RowPlan`]: which items the draws of a row give.

use core::fmt;
use std::sync::Arc;

use bijective_shuffle_engine::check;

use super::draws::{RowDraws, Taker};
use crate::Error;

/// Blocks of a series, by which [`Bootstrap::series`](crate::Bootstrap::series) draws rows. A row
/// has as many items as the series, so the last block may be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesBlocks {
    /// Blocks of this many items that do not pass the end of the series: the moving blocks of
    /// Künsch, *The jackknife and the bootstrap for general stationary observations* (1989). The
    /// items near the ends are drawn less often.
    Moving(usize),
    /// Blocks of this many items that go on at the beginning of the series after its end: Politis
    /// and Romano, *A circular block-resampling procedure for stationary data* (1992).
    Circular(usize),
    /// Blocks of random length, with this mean, that go on at the beginning after the end: Politis
    /// and Romano, *The stationary bootstrap* (1994). Each item begins a new block with a
    /// probability of exactly one divided by the mean length.
    Stationary(usize),
}

impl SeriesBlocks {
    fn length(self) -> usize {
        match self {
            Self::Moving(length) | Self::Circular(length) | Self::Stationary(length) => length,
        }
    }
}

/// Which items a row has.
#[derive(Clone)]
pub(super) enum RowPlan {
    Items { draws: usize },
    Strata(Arc<LabelGroups>),
    Clusters(Arc<LabelGroups>),
    Series { blocks: SeriesBlocks, draws: usize },
}

/// Items by their labels.
pub(super) struct LabelGroups {
    /// The items of the first label, then those of the second, and so on.
    members: Vec<usize>,
    /// Where each label's items begin, and the number of all.
    starts: Vec<usize>,
    /// The label's number, for each item.
    label: Vec<usize>,
    /// The largest number of items of a label.
    largest: usize,
}

impl LabelGroups {
    fn new<L: Ord>(items: usize, labels: &[L]) -> Result<Self, Error> {
        if labels.len() != items {
            return Err(Error::ItemCount { items, given: labels.len() });
        }
        let mut members: Vec<usize> = check::try_with_capacity(items)?;
        members.extend(0..items);
        members.sort_unstable_by(|&a, &b| labels[a].cmp(&labels[b]).then(a.cmp(&b)));
        let mut starts = check::try_with_capacity(items + 1)?;
        let mut label = check::try_with_capacity(items)?;
        label.resize(items, 0);
        for (place, &item) in members.iter().enumerate() {
            if place == 0 || labels[members[place - 1]] != labels[item] {
                starts.push(place);
            }
            label[item] = starts.len() - 1;
        }
        starts.push(items);
        let largest = starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        Ok(Self { members, starts, label, largest })
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, group: usize) -> &[usize] {
        &self.members[self.starts[group]..self.starts[group + 1]]
    }
}

impl RowPlan {
    pub(super) fn strata<L: Ord>(items: usize, labels: &[L]) -> Result<Self, Error> {
        Ok(Self::Strata(Arc::new(LabelGroups::new(items, labels)?)))
    }

    pub(super) fn clusters<L: Ord>(items: usize, labels: &[L]) -> Result<Self, Error> {
        Ok(Self::Clusters(Arc::new(LabelGroups::new(items, labels)?)))
    }

    pub(super) fn series(items: usize, blocks: SeriesBlocks) -> Result<Self, Error> {
        let length = blocks.length();
        if length == 0 || length > items {
            return Err(Error::BlockLength { length, items });
        }
        Ok(Self::Series { blocks, draws: items })
    }

    /// The number of items of a row, if all rows have as many.
    pub(super) fn draws(&self) -> Option<usize> {
        match self {
            Self::Items { draws } | Self::Series { draws, .. } => Some(*draws),
            Self::Strata(groups) => Some(groups.members.len()),
            Self::Clusters(_) => None,
        }
    }

    /// The largest number of items that a row can have.
    pub(super) fn most_draws(&self) -> usize {
        match self {
            Self::Clusters(groups) => groups.count().saturating_mul(groups.largest),
            _ => self.draws().expect("only rows of clusters differ"),
        }
    }

    /// Passes the items of a row, in order.
    pub(super) fn pass(&self, key: u64, row: u64, items: usize, taker: &mut impl Taker) {
        let mut draws = RowDraws::of_row(key, row, is_wide(items));
        match self {
            Self::Items { draws: count } if !is_wide(items) => {
                draws.each(*count, items as u64, taker);
            }
            Self::Items { draws: count } => {
                let mut draws = draws.in_order();
                (0..*count).for_each(|_| taker.take(draws.next(items as u64) as usize));
            }
            Self::Strata(groups) => {
                let mut draws = draws.in_order();
                for &label in &groups.label {
                    let group = groups.of(label);
                    taker.take(group[draws.next(group.len() as u64) as usize]);
                }
            }
            Self::Clusters(groups) => {
                let mut draws = draws.in_order();
                for _ in 0..groups.count() {
                    let group = groups.of(draws.next(groups.count() as u64) as usize);
                    group.iter().for_each(|&item| taker.take(item));
                }
            }
            Self::Series { blocks, draws: count } => {
                pass_series(*blocks, *count, items, draws, taker);
            }
        }
    }

    /// The item at a place of a row.
    pub(super) fn get(&self, key: u64, row: u64, items: usize, place: usize) -> Option<usize> {
        let draws = RowDraws::of_row(key, row, is_wide(items));
        let drawn = |number: usize, range: usize| draws.get(number as u64, range as u64) as usize;
        if let Self::Clusters(groups) = self {
            let (mut number, mut left) = (0, place);
            while number < groups.count() {
                let group = groups.of(drawn(number, groups.count()));
                if let Some(&item) = group.get(left) {
                    return Some(item);
                }
                left -= group.len();
                number += 1;
            }
            return None;
        }
        if self.draws().is_some_and(|draws| place >= draws) {
            return None;
        }
        Some(match self {
            Self::Items { .. } | Self::Clusters(_) => drawn(place, items),
            Self::Strata(groups) => {
                let group = groups.of(groups.label[place]);
                group[drawn(place, group.len())]
            }
            Self::Series { blocks: SeriesBlocks::Stationary(length), .. } => {
                let begins = |place: usize| place == 0 || drawn(2 * place, *length) == 0;
                let start = (0..=place).rev().find(|&place| begins(place)).unwrap_or(0);
                (drawn(2 * start + 1, items) + (place - start) % items) % items
            }
            Self::Series { blocks, .. } => {
                let (block, offset) = (place / blocks.length(), place % blocks.length());
                (drawn(block, starts_of(*blocks, items)) + offset) % items
            }
        })
    }
}

/// Whether draws need words of 64 bits.
fn is_wide(items: usize) -> bool {
    items as u64 > 1 << 32
}

/// The number of places where a block of fixed length can begin.
fn starts_of(blocks: SeriesBlocks, items: usize) -> usize {
    if let SeriesBlocks::Moving(length) = blocks { items - length + 1 } else { items }
}

/// Passes the items of a row of blocks. In the stationary bootstrap, draw `2 j` says
/// whether place `j` begins a block, which it does if the draw is 0, and draw `2 j + 1` where in
/// the series the block begins. Otherwise draw `b` says where block `b` begins.
fn pass_series(
    blocks: SeriesBlocks,
    count: usize,
    items: usize,
    draws: RowDraws,
    taker: &mut impl Taker,
) {
    let (mut draws, length) = (draws.in_order(), blocks.length());
    let mut item = 0;
    for place in 0..count {
        let begins = if let SeriesBlocks::Stationary(_) = blocks {
            let (decision, start) = (draws.next(length as u64), draws.next(items as u64));
            (decision == 0 || place == 0).then_some(start)
        } else {
            (place % length == 0).then(|| draws.next(starts_of(blocks, items) as u64))
        };
        item = match begins {
            Some(start) => start as usize,
            None if item + 1 == items => 0,
            None => item + 1,
        };
        taker.take(item);
    }
}

impl fmt::Debug for RowPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items { draws } => write!(f, "{draws} draws"),
            Self::Strata(groups) => write!(f, "{} strata", groups.count()),
            Self::Clusters(groups) => write!(f, "{} clusters", groups.count()),
            Self::Series { blocks, draws } => write!(f, "{draws} draws in blocks: {blocks:?}"),
        }
    }
}
