//! [`Census`]: how many slots survive before each, as far as an exchange needs to know.

use rayon::prelude::*;

use super::tiles::{self, Compaction};
use crate::engine::check::try_with_capacity;
use crate::error::ExchangeError;
use crate::permutation::Permutation;
use crate::{Bijection, Error};

/// The usual number of slots in a run, as a power of two. To find one slot, a run is evaluated.
const RUN_BITS: u32 = 10;

/// The most runs: their counts take 2 MiB, which every rank gets from the others.
const MOST_RUNS: u64 = 1 << 18;

/// Counts of survivors in many runs of slots, from which every rank knows at which slots each
/// rank's places begin.
///
/// [`new`](Self::new) evaluates every slot of the domain. Where ranks can talk, each counts only
/// its [`part`](Self::part), and the parts are gathered. There are at most 2^18 counts, and none
/// for a permutation whose domain has no more points than it has items, such as
/// [`Permutation::walk`].
///
/// # Examples
///
/// ```
/// use bijective_shuffle::exchange::Census;
/// use bijective_shuffle::prelude::*;
///
/// let p = Permutation::new(100_000, 42);
/// let parts = (0..3).map(|rank| Census::part(&p, rank, 3));
/// let gathered: Vec<u64> = parts.collect::<Result<Vec<_>, _>>()?.concat();
/// assert_eq!(Census::from_parts(&p, &gathered)?, Census::new(&p)?);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    runs: SlotRuns,
    /// The number of survivors before each run, and of all; empty if every slot survives.
    before: Vec<u64>,
}

/// A domain, divided into runs of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotRuns {
    /// The number of items.
    len: u64,
    /// The last slot.
    last: u64,
    /// A run has `2^bits` slots.
    bits: u32,
    /// The number of runs that have to be counted.
    count: usize,
}

impl SlotRuns {
    fn of(p: &Compaction) -> Self {
        let (len, last) = (p.len, p.form.last());
        let fits = |&bits: &u32| last >> bits < MOST_RUNS;
        let bits = (RUN_BITS..).find(fits).expect("all slots are a run");
        let is_dense = len == 0 || last == len - 1;
        let count = if is_dense { 0 } else { (last >> bits) as usize + 1 };
        Self { len, last, bits, count }
    }

    /// The number of survivors in a run.
    fn survivors(&self, p: &Compaction, run: usize) -> u64 {
        tiles::count(p, (run as u64) << self.bits, self.slots(run))
    }

    /// The number of slots in a run; not of one that has 2^64.
    fn slots(&self, run: usize) -> u64 {
        let first = (run as u64) << self.bits;
        (self.last - first).min((1 << self.bits) - 1) + 1
    }
}

impl Census {
    /// The census of a permutation, by evaluating every slot of its domain on all threads.
    ///
    /// # Errors
    ///
    /// As [`part`](Self::part), and [`ExchangeError::CensusMismatch`] if the bijection breaks its
    /// requirements and there are more or fewer survivors than items.
    pub fn new<B: Bijection>(p: &Permutation<B>) -> Result<Self, Error> {
        Self::from_parts(p, &Self::part(p, 0, 1)?)
    }

    /// One rank's part of the counts: an even share of them. [`from_parts`](Self::from_parts) makes
    /// a census of all ranks' parts.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and [`Error::NoSuchRank`]; [`Error::LengthExceedsDomain`] if the
    /// [trusted](Bijection::trusted) form of the bijection has a smaller domain.
    pub fn part<B: Bijection>(
        p: &Permutation<B>,
        rank: usize,
        ranks: usize,
    ) -> Result<Vec<u64>, Error> {
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank: rank as u64, ranks: ranks as u64 });
        }
        let p = &Compaction::of(p)?;
        let runs = SlotRuns::of(p);
        let [first, end] = [rank, rank + 1].map(|rank| {
            // Below the number of runs, which fits.
            (runs.count as u128 * rank as u128 / ranks as u128) as usize
        });
        let mut counts = try_with_capacity(end - first)?;
        (first..end)
            .into_par_iter()
            .map(|run| runs.survivors(p, run))
            .collect_into_vec(&mut counts);
        Ok(counts)
    }

    /// Makes the census from all ranks' [`part`](Self::part)s, in the order of the ranks.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::CensusMismatch`] if they are not as many as the permutation has, or if they
    /// do not add up to its length; otherwise as [`part`](Self::part).
    pub fn from_parts<B: Bijection>(p: &Permutation<B>, counts: &[u64]) -> Result<Self, Error> {
        let runs = SlotRuns::of(&Compaction::of(p)?);
        if counts.len() != runs.count {
            return Err(Error::Exchange(ExchangeError::CensusMismatch));
        }
        let mut before = try_with_capacity(counts.len() + 1)?;
        if !counts.is_empty() {
            let mut sum = 0_u64;
            before.push(0);
            for &count in counts {
                sum =
                    sum.checked_add(count).ok_or(Error::Exchange(ExchangeError::CensusMismatch))?;
                before.push(sum);
            }
            if sum != p.len() {
                return Err(Error::Exchange(ExchangeError::CensusMismatch));
            }
        }
        Ok(Self { runs, before })
    }

    /// Checks that this is a census of the permutation, as far as can be seen.
    pub(super) fn check(&self, p: &Compaction) -> Result<(), Error> {
        if self.runs == SlotRuns::of(p) {
            Ok(())
        } else {
            Err(Error::Exchange(ExchangeError::CensusMismatch))
        }
    }

    /// The slot of a place below the length.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::CensusMismatch`] if the bijection does not have the slots that were
    /// counted.
    pub(super) fn slot(&self, p: &Compaction, place: u64) -> Result<u64, Error> {
        let Some(run) = self.before.partition_point(|&before| before <= place).checked_sub(1)
        else {
            return Ok(place);
        };
        let mut left = (place - self.before[run]) as usize;
        let mut found = None;
        let first = (run as u64) << self.runs.bits;
        tiles::for_each::<u64>(p, first, self.runs.slots(run), |first, slots, survivors| {
            if found.is_none() {
                match survivors.get(left) {
                    Some(&value) => found = Some((first, slots, value)),
                    None => left -= survivors.len(),
                }
            }
        });
        let (first, slots, value) = found.ok_or(Error::Exchange(ExchangeError::CensusMismatch))?;
        let slot = p.form.inverse(value);
        // A map that is no bijection may have any inverse.
        let is_there = slot.wrapping_sub(first) < slots;
        if is_there { Ok(slot) } else { Err(Error::Exchange(ExchangeError::CensusMismatch)) }
    }
}
