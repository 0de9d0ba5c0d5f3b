//! [`Division`]: which run of places each rank holds.

use core::ops::Range;

use crate::Error;
use crate::engine::check::{or_panic, try_with_capacity};
use crate::error::ExchangeError;

/// Which run of an array's places each rank holds: rank 0 the first ones, rank 1 the next ones, and
/// so on. A rank may hold none.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::exchange::Division;
///
/// let even = Division::even(10, 3);
/// assert_eq!([0, 1, 2].map(|rank| even.places(rank)), [0..3, 3..6, 6..10]);
///
/// let odd = Division::from_counts(&[1, 0, 9])?;
/// assert_eq!(odd.len(), 10);
/// assert_eq!(odd.places(1), 1..1);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Division {
    /// The first place of each rank, and the number of all places.
    bounds: Vec<u64>,
}

impl Division {
    /// Ranks with equally many places, or one more: rank `r` of `n` holds those from `r * len / n`
    /// on, as [`Permutation::shard`](crate::Permutation::shard) has it.
    ///
    /// # Panics
    ///
    /// If there are no ranks, or no room for 8 bytes for each of them.
    pub fn even(len: u64, ranks: usize) -> Self {
        assert!(ranks > 0, "at least one rank holds the items");
        let bound = |rank| (u128::from(len) * rank as u128 / ranks as u128) as u64;
        let mut bounds = or_panic(try_with_capacity(ranks.saturating_add(1)));
        bounds.extend((0..=ranks).map(bound));
        Self { bounds }
    }

    /// Ranks with these numbers of places.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if there are no ranks, [`ExchangeError::TooManyPlaces`] if 64 bits do
    /// not hold the number of all places, and [`Error::OutOfMemory`].
    pub fn from_counts(counts: &[u64]) -> Result<Self, Error> {
        if counts.is_empty() {
            return Err(Error::NoSuchRank { rank: 0, ranks: 0 });
        }
        let mut bounds = try_with_capacity(counts.len().saturating_add(1))?;
        bounds.push(0);
        let mut sum = 0_u64;
        for &count in counts {
            sum = sum.checked_add(count).ok_or(Error::Exchange(ExchangeError::TooManyPlaces))?;
            bounds.push(sum);
        }
        Ok(Self { bounds })
    }

    /// The number of ranks, at least one.
    pub fn ranks(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The number of places of all ranks.
    pub fn len(&self) -> u64 {
        self.bounds[self.ranks()]
    }

    /// Whether no rank holds a place.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places of a rank.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn places(&self, rank: usize) -> Range<u64> {
        self.bounds[rank]..self.bounds[rank + 1]
    }

    /// The first place of each rank, and the number of all places.
    pub(super) fn bounds(&self) -> &[u64] {
        &self.bounds
    }
}

/// Finds the rank that a point belongs to.
pub(super) struct Owners {
    /// The last point of each rank, or of the last one before it that has any. Every point belongs
    /// to somebody: the last rank's is the last that there can be.
    lasts: Vec<u64>,
    /// Points that agree in all but this many low bits are one cell.
    shift: u32,
    /// The rank of each cell's first point.
    firsts: Vec<u32>,
}

/// The most cells for each rank: in few cells a rank ends, so a search takes hardly a step.
const CELLS: usize = 16;

impl Owners {
    /// The owners of the points from 0 on, where `bounds` has the first point of each rank and the
    /// number of all points; at least one point.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(bounds: &[u64]) -> Result<Self, Error> {
        let ranks = bounds.len() - 1;
        let last = bounds[ranks] - 1;
        let mut lasts = try_with_capacity(ranks)?;
        lasts.extend_from_slice(&bounds[1..]);
        // From the first rank that has points on, which the search begins with, none is before 0.
        lasts.iter_mut().for_each(|last: &mut u64| *last = last.saturating_sub(1));
        let cells = (ranks * CELLS).next_power_of_two() as u64;
        let shift = (0..).find(|shift| last >> shift < cells).expect("one of 64 is enough");
        let holders = (0..ranks).filter(|&rank| bounds[rank] < bounds[rank + 1]);
        let mut firsts = try_with_capacity((last >> shift) as usize + 1)?;
        for rank in holders {
            // The cells that begin up to this rank's last point, and that no rank before has.
            while firsts.len() as u64 <= lasts[rank] >> shift {
                firsts.push(rank as u32);
            }
        }
        lasts[ranks - 1] = u64::MAX;
        Ok(Self { lasts, shift, firsts })
    }

    /// The owner of a point below the number of all points.
    #[inline(always)]
    pub(super) fn of(&self, point: u64) -> usize {
        let mut rank = self.firsts[(point >> self.shift) as usize] as usize;
        while point > self.lasts[rank] {
            rank += 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_its_owner() {
        let divisions: [&[u64]; 8] = [
            &[1],
            &[0, 0, 5, 0, 1, 0],
            &[1, 1, 1, 1],
            &[1000, 1, 0, 70_000],
            &[0, 1],
            &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
            &[129; 40],
            &[0, 65_537, 2],
        ];
        for counts in divisions {
            let division = Division::from_counts(counts).unwrap();
            let owners = Owners::new(division.bounds()).unwrap();
            for rank in 0..division.ranks() {
                assert!(division.places(rank).all(|place| owners.of(place) == rank), "{counts:?}");
            }
        }
        let all = Owners::new(&[0, 5, u64::MAX]).unwrap();
        assert_eq!([0, 4, 5, u64::MAX - 1].map(|point| all.of(point)), [0, 0, 1, 1]);
    }

    #[test]
    fn divisions_that_do_not_add_up_are_refused() {
        let refused = |counts: &[u64]| Division::from_counts(counts).unwrap_err();
        assert_eq!(refused(&[]), Error::NoSuchRank { rank: 0, ranks: 0 });
        assert_eq!(refused(&[u64::MAX, 1]), Error::Exchange(ExchangeError::TooManyPlaces));
        assert_eq!(Division::from_counts(&[u64::MAX, 0]).unwrap().len(), u64::MAX);
        assert_eq!(Division::even(u64::MAX, 7).len(), u64::MAX);
    }
}
