//! Rounds: what a rank packs or puts in order at a time, so that it takes a bounded memory.
//!
//! Where items are in the order of the indexes, a rank's places are cut into *runs* of equally many
//! and a shorter last one. An exchange has as many rounds as the longest rank has runs. A receiver
//! treats each run as one more ordered stream, as if another rank had sent it. So a rank sorts one
//! run at a time, and nothing else changes.

use core::ops::Range;

use super::division::Division;
use crate::Error;
use crate::engine::check::try_with_capacity;

/// The bytes for an item of a round that do not depend on its size: to undo a shuffle, its index,
/// and that index in a bucket while the indexes are sorted.
const BESIDE: u64 = 24;

/// The items of the largest bucket that a thread puts in order.
const BUCKET: u64 = 1 << 16;

/// What a thread takes for each item of that bucket, besides a copy of it.
const BESIDE_IN_BUCKET: u64 = 32;

/// The fewest items in a round: with fewer, most of a round's cost would not depend on their
/// number.
const FEWEST: u64 = 1 << 16;

/// The largest round for [`in_rounds_of`](super::ExchangeBuilder::in_rounds_of), in items of
/// `item_bytes`, whose packing and placing takes at most about `memory` bytes besides the arrays.
///
/// It is never less than 2^16. It depends on the number of threads, so ranks that may have
/// different ones take the least of theirs.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::exchange::items_of_round;
///
/// assert!(items_of_round(1 << 30, 8) > items_of_round(1 << 26, 8));
/// assert_eq!(items_of_round(0, 8), 1 << 16);
/// ```
pub fn items_of_round(memory: u64, item_bytes: usize) -> u64 {
    let (threads, item) = (rayon::current_num_threads() as u64, item_bytes as u64);
    let of_threads = (item.saturating_add(BESIDE_IN_BUCKET)).saturating_mul(threads * BUCKET);
    // Two copies of an item in a round: in blocks with room to spare, and in a scratch buffer.
    (memory.saturating_sub(of_threads) / item.saturating_mul(2).saturating_add(BESIDE)).max(FEWEST)
}

/// The runs of a division. Each rank has the same number of them, and its last ones may be empty.
pub(super) struct Runs {
    /// The first index of each run, from rank 0's on, and the number of all indexes.
    bounds: Vec<u64>,
    ranks: usize,
    rounds: usize,
}

impl Runs {
    /// The runs of at most `most` places, at least one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(division: &Division, most: u64) -> Result<Self, Error> {
        let (ranks, most) = (division.ranks(), most.max(1));
        let places = |rank| division.places(rank);
        let len = |rank| places(rank).end - places(rank).start;
        let longest = (0..ranks).map(len).max().unwrap_or(0);
        let no_memory = |_| Error::OutOfMemory { bytes: u64::MAX };
        let rounds = usize::try_from(longest.div_ceil(most).max(1)).map_err(no_memory)?;
        let mut bounds = try_with_capacity(rounds.saturating_mul(ranks).saturating_add(1))?;
        for rank in 0..ranks {
            let Range { start, end } = places(rank);
            let skip = |round: usize| start.saturating_add(most.saturating_mul(round as u64));
            bounds.extend((0..rounds).map(|round| skip(round).min(end)));
        }
        bounds.push(division.len());
        Ok(Self { bounds, ranks, rounds })
    }

    /// The number of rounds, at least one.
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// The first index of each run, and the number of all indexes.
    pub(super) fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The numbers of the runs in the order in which they are exchanged: those of all ranks' first
    /// run, then those of the second, and so on.
    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> + use<> {
        let (ranks, rounds) = (self.ranks, self.rounds);
        (0..rounds).flat_map(move |round| (0..ranks).map(move |rank| rank * rounds + round))
    }

    /// The runs of a rank.
    pub(super) fn of_rank(&self, rank: usize) -> impl Iterator<Item = Range<u64>> + '_ {
        let bounds = &self.bounds[rank * self.rounds..][..self.rounds + 1];
        bounds.windows(2).map(|run| run[0]..run[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_places_of_their_rank() {
        for counts in [&[10, 0, 7, 3][..], &[0, 0], &[1], &[0, 21]] {
            let division = Division::from_counts(counts).unwrap();
            for (most, rounds) in [(0, 21), (1, 21), (4, 6), (10, 3), (u64::MAX, 1)] {
                let runs = Runs::new(&division, most).unwrap();
                assert!(runs.rounds() <= rounds && runs.rounds() > 0);
                for rank in 0..division.ranks() {
                    let places: Vec<u64> = runs.of_rank(rank).flatten().collect();
                    assert!(places.into_iter().eq(division.places(rank)));
                    assert!(runs.of_rank(rank).all(|run| run.end - run.start <= most.max(1)));
                }
                let mut order: Vec<usize> = runs.in_order().collect();
                order.sort_unstable();
                assert!(order.into_iter().eq(0..runs.bounds().len() - 1));
            }
        }
    }

    #[test]
    fn more_memory_is_for_more_items() {
        assert_eq!(items_of_round(0, usize::MAX), FEWEST);
        assert_eq!(items_of_round(u64::MAX, 0), (u64::MAX - threads(0)) / BESIDE);
        for item in [0, 1, 8, 64, 1000] {
            let items = items_of_round(1 << 34, item);
            let bytes = items * (2 * item as u64 + BESIDE) + threads(item);
            assert!(bytes <= 1 << 34 && bytes > (1 << 34) - 3000);
        }
    }

    /// What all threads take.
    fn threads(item: usize) -> u64 {
        rayon::current_num_threads() as u64 * BUCKET * (item as u64 + BESIDE_IN_BUCKET)
    }
}
