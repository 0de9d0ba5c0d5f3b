//! Where the items of a run of places go.

use core::mem::MaybeUninit;
use core::ops::Range;

use num_traits::Zero;
use rayon::prelude::*;

use super::marks::for_each_word;
use crate::base::check::try_with_capacity;
use crate::bijection::{Bijection, Trusted};
use crate::compact::Direction;
use crate::compact::cpu::buckets::LowBits;
use crate::compact::cpu::survivors::{SlotRange, Values, room_for};
use crate::error::Error;
use crate::word::Index;

/// Computes where items go: to the slots of a permutation's domain, for a shuffle, or to indexes,
/// for undoing one.
pub(super) enum Destinations<'a> {
    /// The item at index `k` goes to the slot `f.inverse(k)`.
    Slots(&'a Trusted<'a>),
    /// Every slot's value is an index, so the item at place `k` goes to `f.forward(k)`.
    Values(&'a Trusted<'a>),
    /// The item at place `k` goes to the `k`-th value that survives.
    Survivors(Survivors<'a>),
}

impl<'a> Destinations<'a> {
    /// The destinations of `len` items, at least one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(f: &'a Trusted<'a>, len: usize, direction: Direction) -> Result<Self, Error> {
        Ok(match direction {
            Direction::Shuffle => Self::Slots(f),
            Direction::Unshuffle if len as u64 - 1 == f.last() => Self::Values(f),
            Direction::Unshuffle => Self::Survivors(Survivors::new(f, len)?),
        })
    }

    /// Replaces what `to` holds with the destinations of the items at several runs of places, one
    /// after the other, in the words of low bits of type L. `to` has the capacity for them.
    pub(super) fn list<L: LowBits>(
        &self,
        runs: impl Iterator<Item = Range<usize>>,
        to: &mut Vec<L::Index>,
    ) {
        to.clear();
        for run in runs {
            let (first, before) = (run.start as u64, to.len());
            match self {
                Self::Survivors(survivors) => survivors.list(run, to),
                Self::Slots(f) => {
                    to.resize(before + run.len(), L::Index::zero());
                    L::inverse_run(f, first, &mut to[before..]);
                }
                Self::Values(f) => {
                    to.resize(before + run.len(), L::Index::zero());
                    L::forward_run(f, first, &mut to[before..]);
                }
            }
        }
    }
}

/// The number of slots whose survivors are counted together.
const CELL: usize = u64::BITS as usize;

/// The number of cells whose survivors are summed.
const CELLS: usize = 16;

/// The values that survive, in order, with an index by which any of them is found.
pub(super) struct Survivors<'a> {
    values: Values<'a>,
    len: usize,
    /// How many values of each cell survive.
    cells: Vec<u8>,
    /// How many values before each run of [`CELLS`] cells survive.
    before: Vec<u64>,
}

impl<'a> Survivors<'a> {
    fn new(f: &'a Trusted<'a>, len: usize) -> Result<Self, Error> {
        let last = f.last();
        let count = (last / CELL as u64) as usize + 1;
        let mut cells = try_with_capacity(count)?;
        cells.resize(count, 0_u8);
        cells.par_chunks_mut(CELLS).enumerate().with_min_len(CELLS).for_each(|(run, cells)| {
            let first = run as u64 * (CELLS * CELL) as u64;
            let slots = (last - first).min((CELLS * CELL - 1) as u64) as usize + 1;
            for_each_word(f, len as u64 - 1, first, slots, |cell, bits| {
                cells[cell] = bits.count_ones() as u8;
            });
        });
        let mut before = try_with_capacity(count.div_ceil(CELLS))?;
        let mut sum = 0;
        before.extend(cells.chunks(CELLS).map(|cells| {
            let first = sum;
            sum += cells.iter().map(|&count| u64::from(count)).sum::<u64>();
            first
        }));
        Ok(Self { values: Values::of_trusted(f, len), len, cells, before })
    }

    /// Appends the survivors whose numbers are in a run.
    fn list<N: Index>(&self, run: Range<usize>, to: &mut Vec<N>) {
        let (mut cell, mut skipped) = self.find(run.start);
        let mut left = run.len();
        let mut room = [MaybeUninit::<N>::uninit(); room_for(Self::CHUNK * CELL)];
        while left > 0 {
            // As many cells as hold what is left, if they fit the room.
            let (first, mut count) = (cell, 0);
            while cell < self.cells.len() && cell - first < Self::CHUNK && count < skipped + left {
                count += usize::from(self.cells[cell]);
                cell += 1;
            }
            let slots = SlotRange::from(
                (first * CELL) as u64,
                self.values.last_slot(),
                (cell - first) * CELL,
            );
            let survivors = self.values.survivors(slots, &mut room);
            let survivors = &survivors[skipped.min(survivors.len())..];
            let survivors = &survivors[..survivors.len().min(left)];
            to.extend_from_slice(survivors);
            left -= survivors.len();
            skipped = 0;
        }
    }

    /// The most cells that are evaluated at a time.
    const CHUNK: usize = 8;

    /// The cell that holds a survivor, and how many of its survivors are before that one.
    fn find(&self, number: usize) -> (usize, usize) {
        let target = number as u64;
        // Survivors are spread almost evenly, so the search begins where this one is expected.
        let runs = self.before.len();
        let guess = u128::from(target) * runs as u128 / self.len as u128;
        let guess = guess as usize;
        let (mut low, mut high, mut reach) = (guess, guess, 2);
        while low > 0 && self.before[low] > target {
            low = low.saturating_sub(reach);
            reach *= 2;
        }
        while high < runs && self.before[high] <= target {
            high = (high + reach).min(runs);
            reach *= 2;
        }
        let run = low + self.before[low..high].partition_point(|&before| before <= target) - 1;
        let mut cell = run * CELLS;
        let mut before = (target - self.before[run]) as usize;
        while before >= usize::from(self.cells[cell]) {
            before -= usize::from(self.cells[cell]);
            cell += 1;
        }
        (cell, before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::{FromSeed, GridFeistel, Lcg, MulXorshift};

    /// Also for a map that is not random at all: all its survivors are at the beginning.
    #[test]
    fn runs_of_survivors_are_found() {
        for len in [1, 2, 63, 64, 65, 1000, 4096, 5000, 20_011] {
            let chain = MulXorshift::<10>::from_seed(2 * len, 1);
            let grid = GridFeistel::<12>::from_seed(len, 1);
            let counter = Lcg::new(16, 1, 0).unwrap();
            for f in [&chain as &dyn Bijection, &grid, &counter] {
                let all: Vec<u64> =
                    (0..=f.last()).map(|x| f.forward(x)).filter(|&x| x < len).collect();
                let f = f.trusted().unwrap();
                let survivors = Survivors::new(&f, len as usize).unwrap();
                let len = len as usize;
                for run in [0..1, 0..len, len / 3..len / 2, len / 2..len, len - 1..len] {
                    let mut to = Vec::<u64>::new();
                    survivors.list(run.clone(), &mut to);
                    assert_eq!(to, all[run]);
                }
            }
        }
    }
}
