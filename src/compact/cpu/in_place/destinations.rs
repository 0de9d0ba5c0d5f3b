//! Where the items of a run of places go.

use core::mem::MaybeUninit;
use core::ops::Range;

use super::marks::for_each_word;
use super::points;
use crate::compact::cpu::buckets::LowBits;
use crate::compact::cpu::survivors::{self, SlotRange, room_for};
use crate::compact::cpu::tuning;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::{Buffer, assume_init_mut};
use crate::engine::parallel;
use crate::engine::stream::{LINE, prefetch_lines};
use crate::engine::word::Index;
use crate::{Bijection, Error, Trusted, Word};

/// The capacity that a list needs beyond its destinations.
pub(super) const SLACK: usize = points::SLACK;

/// Computes where items go: to the slots of a permutation's domain, for a shuffle, or to indexes,
/// for undoing one. It is called through a pointer, so that a program has code only for the
/// directions in which it moves items.
pub(super) trait Destinations<L: LowBits>: Sync {
    /// Appends the destinations of the items at several runs of places, one after the other. There
    /// are at most [`tuning::MOST_STEPS`] runs, and `to` has the capacity for them, and for
    /// [`SLACK`] more.
    fn list(&self, runs: &[Range<usize>], to: &mut Vec<L::Index>);
}

/// The item at index `k` goes to the slot `f.inverse(k)`.
pub(super) struct SlotDestinations<'a>(pub(super) &'a Trusted<'a>);

impl<L: LowBits> Destinations<L> for SlotDestinations<'_> {
    fn list(&self, runs: &[Range<usize>], to: &mut Vec<L::Index>) {
        append_runs(runs, to, |first, out| L::inverse_run(self.0, first, out));
    }
}

/// Every slot's value is an index, so the item at place `k` goes to `f.forward(k)`.
pub(super) struct ValueDestinations<'a>(pub(super) &'a Trusted<'a>);

impl<L: LowBits> Destinations<L> for ValueDestinations<'_> {
    fn list(&self, runs: &[Range<usize>], to: &mut Vec<L::Index>) {
        append_runs(runs, to, |first, out| L::forward_run(self.0, first, out));
    }
}

/// Appends what a function writes for each run.
fn append_runs<N: Word>(runs: &[Range<usize>], to: &mut Vec<N>, write: impl Fn(u64, &mut [N])) {
    for run in runs {
        let before = to.len();
        to.resize(before + run.len(), N::ZERO);
        write(run.start as u64, &mut to[before..]);
    }
}

/// The number of slots whose survivors are counted together.
const CELL: usize = u64::BITS as usize;

/// The number of cells in a run, whose survivors are summed.
const CELLS: usize = 16;

/// The item at place `k` goes to the `k`-th value that survives: these in order, with an index by
/// which any of them is found.
pub(super) struct SurvivorDestinations<'a> {
    f: &'a Trusted<'a>,
    len: usize,
    cells: KnownCells<'a>,
    /// How many values before each run of [`CELLS`] cells survive.
    before: Vec<u64>,
    /// The number of runs divided by that of survivors.
    runs_a_survivor: f64,
}

/// What is known of each cell.
enum KnownCells<'a> {
    /// Which of its slots have values that survive.
    Marked(&'a [u64]),
    /// How many, where the marks of all slots would take too much memory: the slots are evaluated
    /// again to find out which.
    Counted(Vec<u8>),
}

/// Visits each run of [`CELLS`] cells, with its number and its sum, on all threads.
///
/// # Errors
///
/// [`Error::OutOfMemory`]; nothing has been visited then.
fn each_run<T: Send>(
    cells: &mut [T],
    sums: &mut [u64],
    visit: impl Fn(usize, &mut [T], &mut u64) + Sync,
) -> Result<(), Error> {
    let mut pieces = try_with_capacity(sums.len().div_ceil(CELLS))?;
    pieces.extend(cells.chunks_mut(CELLS * CELLS).zip(sums.chunks_mut(CELLS)).enumerate());
    parallel::each_of(pieces, |(piece, (cells, sums))| {
        let first = piece * CELLS;
        for (run, (cells, sum)) in (first..).zip(cells.chunks_mut(CELLS).zip(sums)) {
            visit(run, cells, sum);
        }
    });
    Ok(())
}

impl<'a> KnownCells<'a> {
    /// How many there are.
    fn all(f: &Trusted) -> usize {
        (f.last() / CELL as u64) as usize + 1
    }

    /// Evaluates every slot, marks it in the given memory if its value survives, and writes how
    /// many do of each run of [`CELLS`] cells.
    fn marked(
        f: &Trusted,
        len: usize,
        sums: &mut [u64],
        room: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let words = room.room_in_pages::<u64>(Self::all(f))?;
        each_run(words, sums, |run, words, sum| {
            Self::evaluate(f, len, run, |cell, bits, count| {
                words[cell].write(bits);
                *sum += count as u64;
            });
        })?;
        // SAFETY: `evaluate` has visited every cell of each run, and a run has a cell for each of
        // its words.
        Ok(Self::Marked(unsafe { assume_init_mut(words) }))
    }

    /// The same, but only counts the slots whose values survive.
    fn counted(f: &Trusted, len: usize, sums: &mut [u64]) -> Result<Self, Error> {
        let mut counts = try_with_capacity(Self::all(f))?;
        counts.resize(Self::all(f), 0_u8);
        each_run(&mut counts, sums, |run, counts, sum| {
            Self::evaluate(f, len, run, |cell, _, count| {
                counts[cell] = count as u8;
                *sum += count as u64;
            });
        })?;
        Ok(Self::Counted(counts))
    }

    /// Evaluates a run of [`CELLS`] cells, or fewer at the end, and visits each with its number in
    /// the run, the marks of its slots, and how many of them are set.
    fn evaluate(f: &Trusted, len: usize, run: usize, visit: impl FnMut(usize, u64, usize)) {
        let first = run as u64 * (CELLS * CELL) as u64;
        let slots = (f.last() - first).min((CELLS * CELL - 1) as u64) as usize + 1;
        for_each_word(f, len as u64 - 1, first, slots, visit);
    }
}

impl<'a> SurvivorDestinations<'a> {
    /// Finds out about every slot, and keeps marks in the given memory if there may be as much.
    pub(super) fn new(f: &'a Trusted<'a>, len: usize, room: &'a mut Buffer) -> Result<Self, Error> {
        let is_little = KnownCells::all(f) <= tuning::MOST_KEPT_MARKS / size_of::<u64>();
        Self::of(f, len, |sums| match is_little {
            true => KnownCells::marked(f, len, sums, room),
            false => KnownCells::counted(f, len, sums),
        })
    }

    /// Makes the cells by a function that also counts the survivors of each run.
    fn of(
        f: &'a Trusted<'a>,
        len: usize,
        cells: impl FnOnce(&mut [u64]) -> Result<KnownCells<'a>, Error>,
    ) -> Result<Self, Error> {
        let runs = KnownCells::all(f).div_ceil(CELLS);
        let mut before = try_with_capacity(runs)?;
        before.resize(runs, 0);
        let cells = cells(&mut before)?;
        let mut sum = 0;
        for run in &mut before {
            sum += core::mem::replace(run, sum);
        }
        Ok(Self { f, len, cells, before, runs_a_survivor: runs as f64 / len as f64 })
    }

    /// Finds the run of cells where each of some runs of survivors begins, and prefetches what is
    /// known of its cells: as many lines as `lines` says.
    fn find<C>(
        &self,
        cells: &[C],
        runs: &[Range<usize>],
        lines: impl Fn(&Range<usize>) -> usize,
    ) -> [usize; tuning::MOST_STEPS] {
        let mut found = [0; tuning::MOST_STEPS];
        for (found, run) in found.iter_mut().zip(runs) {
            *found = self.find_run(run.start);
            prefetch_lines(cells[*found * CELLS..].as_ptr().cast(), lines(run));
        }
        found
    }

    /// The run of cells that holds a survivor.
    fn find_run(&self, number: usize) -> usize {
        let (target, runs) = (number as u64, self.before.len());
        let guess = self.guess(number);
        // How far off the guess is tells where it should have been, since what is between is short.
        let off = target as i64 - self.before[guess] as i64;
        let guess = guess as i64 + (off as f64 * self.runs_a_survivor) as i64;
        let guess = guess.clamp(0, runs as i64 - 1) as usize;
        let (mut low, mut high, mut reach) = (guess, guess + 1, 1);
        while low > 0 && self.before[low] > target {
            high = low;
            low = low.saturating_sub(reach);
            reach *= 2;
        }
        while high < runs && self.before[high] <= target {
            low = high;
            high = (high + reach).min(runs);
            reach *= 2;
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            *(if self.before[middle] <= target { &mut low } else { &mut high }) = middle;
        }
        low
    }

    /// The run where a survivor is expected, since survivors are spread almost evenly.
    fn guess(&self, number: usize) -> usize {
        ((number as f64 * self.runs_a_survivor) as usize).min(self.before.len() - 1)
    }
}

impl<L: LowBits> Destinations<L> for SurvivorDestinations<'_> {
    fn list(&self, runs: &[Range<usize>], to: &mut Vec<L::Index>) {
        // Blocks come from all over the array, so nothing that tells where their survivors are is
        // in the cache. It is asked for in all runs before it is needed in the first.
        for run in runs {
            prefetch_lines(self.before[self.guess(run.start)..].as_ptr().cast(), 1);
        }
        match &self.cells {
            KnownCells::Marked(words) => {
                let lines =
                    |run: &Range<usize>| (CELLS + run.len() / CELL) * size_of::<u64>() / LINE;
                let found = self.find(words, runs, lines);
                let listed = to.len();
                for (&found, run) in found.iter().zip(runs) {
                    let skipped = run.start - self.before[found] as usize;
                    let cell = found * CELLS;
                    let first = cell as u64 * CELL as u64;
                    points::append(&words[cell..], first, skipped, run.len(), to);
                }
                // All together, since evaluators are slow at a few.
                L::forward_each(self.f, &mut to[listed..]);
            }
            KnownCells::Counted(counts) => {
                let found = self.find(counts, runs, |_| 1);
                let values = survivors::Values::of_trusted(self.f, self.len);
                for (&found, run) in found.iter().zip(runs) {
                    let skipped = run.start - self.before[found] as usize;
                    evaluate_again(&values, counts, found * CELLS, skipped, run.len(), to);
                }
            }
        }
    }
}

/// The most cells that are evaluated at a time.
const CHUNK: usize = 8;

/// Appends survivors, as many as `count`, from a cell on, without the first `skipped` of them.
fn evaluate_again<N: Index>(
    values: &survivors::Values,
    counts: &[u8],
    mut cell: usize,
    mut skipped: usize,
    count: usize,
    to: &mut Vec<N>,
) {
    while skipped >= usize::from(counts[cell]) {
        skipped -= usize::from(counts[cell]);
        cell += 1;
    }
    let mut left = count;
    let mut room = [MaybeUninit::<N>::uninit(); room_for(CHUNK * CELL)];
    while left > 0 {
        // As many cells as hold what is left, if they fit the room.
        let (first, mut count) = (cell, 0);
        while cell < counts.len() && cell - first < CHUNK && count < skipped + left {
            count += usize::from(counts[cell]);
            cell += 1;
        }
        let (first, slots) = (first as u64 * CELL as u64, (cell - first) * CELL);
        let slots = SlotRange::from(first, values.last_slot(), slots);
        let survivors = values.survivors(slots, &mut room);
        let survivors = &survivors[skipped.min(survivors.len())..];
        let survivors = &survivors[..survivors.len().min(left)];
        to.extend_from_slice(survivors);
        left -= survivors.len();
        skipped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FromSeed;
    use crate::bijection::{GridFeistel, Lcg, MulXorshift};

    /// Also for a map that is not random at all: all its survivors are at the beginning.
    #[test]
    fn runs_of_survivors_are_found() {
        for len in [1, 2, 63, 64, 65, 1000, 4096, 5000, 20_011] {
            let chain = MulXorshift::<10>::from_seed(2 * len, 1);
            let grid = GridFeistel::<12>::from_seed(len, 1);
            let counter = Lcg::new(16, 1, 0).unwrap();
            // Many runs without survivors, before all or between some of them.
            let turned = Lcg::new(16, 1, 1000).unwrap();
            for f in [&chain as &dyn Bijection, &grid, &counter, &turned] {
                let all: Vec<u64> =
                    (0..=f.last()).map(|x| f.forward(x)).filter(|&x| x < len).collect();
                let f = f.trusted().unwrap();
                let (len, mut room) = (len as usize, Buffer::new());
                for survivors in [
                    SurvivorDestinations::of(&f, len, |sums| {
                        KnownCells::marked(&f, len, sums, &mut room)
                    }),
                    SurvivorDestinations::of(&f, len, |sums| KnownCells::counted(&f, len, sums)),
                ] {
                    let survivors = survivors.unwrap();
                    let behind = len.saturating_sub(1000);
                    for run in
                        [0..1, 0..len, len / 3..len / 2, len / 2..len, len - 1..len, behind..len]
                    {
                        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
                        let capacity = 2 * run.len() + SLACK;
                        narrow.reserve(capacity);
                        wide.reserve(capacity);
                        let twice = [run.clone(), run.clone()];
                        Destinations::<u16>::list(&survivors, &twice, &mut narrow);
                        Destinations::<u32>::list(&survivors, &twice[..1], &mut wide);
                        assert_eq!(wide, all[run.clone()]);
                        let twice = [&all[run.clone()], &all[run]].concat();
                        assert!(narrow.iter().map(|&value| u64::from(value)).eq(twice));
                    }
                }
            }
        }
    }
}
