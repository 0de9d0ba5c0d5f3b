//! [`Lanes`]: the side of an exchange on which items are in the order of the permutation's slots.

use core::ops::Range;

use rayon::prelude::*;

use super::census::Census;
use super::division::{Division, Owners};
use super::tiles;
use crate::base::check::try_with_capacity;
use crate::base::memory::SharedPtr;
use crate::base::stream::prefetch_lines;
use crate::bijection::Bijection;
use crate::error::{Error, ExchangeError};
use crate::permutation::Permutation;
use crate::word::Word;

/// The least number of slots in a piece.
const PIECE_SLOTS: u64 = 1 << 16;

/// The most pieces. Each has a number for each rank.
const MOST_PIECES: u64 = 256;

/// Up to this number of ranks, a value is compared with the bounds of all.
const FEW: usize = 4;

/// How far ahead in each lane items are prefetched: the hardware follows a few lanes by itself, but
/// not hundreds.
const AHEAD_BYTES: usize = 512;

/// What a rank knows of the places that it holds where items are in the order of the slots: to
/// which rank each belongs where they are in the order of the indexes.
///
/// The items of each other rank are a *lane*: as many as go there or come from there, in the order
/// of their slots. A buffer has all lanes, one after the other. So items are moved between places
/// and lanes in order on both sides.
pub(super) struct Lanes {
    /// The rank that each index belongs to.
    owners: Option<Owners>,
    /// The number of items in each lane.
    counts: Vec<u64>,
    pieces: Vec<Piece>,
    /// Where each lane ends in the buffer.
    ends: Vec<usize>,
}

/// Some consecutive slots, which one thread visits.
struct Piece {
    first: u64,
    slots: u64,
    places: usize,
    /// Where the piece's items begin in the buffer, for each lane.
    begins: Vec<usize>,
}

impl Lanes {
    /// The lanes of a rank's places in a division of all places, to the ranks of a division of all
    /// indexes.
    pub(super) fn new<B: Bijection>(
        p: &Permutation<B>,
        census: &Census,
        places: Range<u64>,
        indexes: &Division,
    ) -> Result<Self, Error> {
        let ranks = indexes.ranks();
        let mut counts = try_with_capacity(ranks)?;
        counts.resize(ranks, 0);
        if places.is_empty() {
            return Ok(Self { owners: None, counts, pieces: Vec::new(), ends: Vec::new() });
        }
        let first = census.slot(p, places.start)?;
        let last = census.slot(p, places.end - 1)?;
        let slots = last.checked_sub(first).ok_or(ExchangeError::CensusDiffers)?;
        let step = (slots / MOST_PIECES + 1).max(PIECE_SLOTS);
        let owners = Owners::new(indexes.bounds());
        let mut pieces = try_with_capacity((slots / step) as usize + 1)?;
        let count = |k: u32| {
            let first = first + u64::from(k) * step;
            let slots = (last - first).min(step - 1) + 1;
            let begins = if tiles::fit_u32(p) {
                count_lanes::<u32, B>(p, first, slots, &owners, indexes.bounds())
            } else {
                count_lanes::<u64, B>(p, first, slots, &owners, indexes.bounds())
            };
            // Until all are counted, these are the numbers of items.
            begins.map(|begins| Piece { first, slots, places: begins.iter().sum(), begins })
        };
        // At most `MOST_PIECES`, and one.
        (0..(slots / step) as u32 + 1).into_par_iter().map(count).collect_into_vec(&mut pieces);
        let mut pieces = pieces.into_iter().collect::<Result<Vec<_>, _>>()?;

        for piece in &pieces {
            for (sum, &count) in counts.iter_mut().zip(&piece.begins) {
                *sum += count as u64;
            }
        }
        if counts.iter().sum::<u64>() != places.end - places.start {
            return Err(ExchangeError::CensusDiffers.into());
        }
        let mut nexts = try_with_capacity(ranks)?;
        nexts.extend(counts.iter().scan(0, |sum, &count| {
            *sum += count as usize;
            Some(*sum - count as usize)
        }));
        for piece in &mut pieces {
            for (next, begin) in nexts.iter_mut().zip(&mut piece.begins) {
                let count = *begin;
                *begin = *next;
                *next += count;
            }
        }
        // Behind the last piece's, each lane ends.
        Ok(Self { owners: Some(owners), counts, pieces, ends: nexts })
    }

    /// The number of items in each lane.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Copies each place's item from its lane in the buffer.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::ItemsDiffer`] if the bijection no longer has the values that were counted.
    ///
    /// # Panics
    ///
    /// If there are fewer or more places, or items in the buffer, than were counted.
    pub(super) fn merge<T: Copy + Send + Sync, B: Bijection>(
        &self,
        p: &Permutation<B>,
        buffer: &[T],
        places: &mut [T],
    ) -> Result<(), Error> {
        assert_eq!((buffer.len(), places.len()), (self.places(), self.places()));
        let ahead = AHEAD_BYTES / size_of::<T>().max(1);
        let mut work = try_with_capacity(self.pieces.len())?;
        let mut rest = places;
        for (number, piece) in self.pieces.iter().enumerate() {
            let places;
            (places, rest) = rest.split_at_mut(piece.places);
            work.push((number, places));
        }
        work.into_par_iter().with_max_len(1).try_for_each(|(number, places)| {
            let mut places = places.iter_mut();
            self.visit(p, number, |from| {
                if let Some(place) = places.next() {
                    prefetch_lines(buffer.as_ptr().wrapping_add(from + ahead).cast(), 1);
                    *place = buffer[from];
                }
            })
        })
    }

    /// Copies each place's item to its lane in the buffer.
    ///
    /// # Errors
    ///
    /// As [`merge`](Self::merge).
    ///
    /// # Panics
    ///
    /// As `merge`.
    pub(super) fn split<T: Copy + Send + Sync, B: Bijection>(
        &self,
        p: &Permutation<B>,
        places: &[T],
        buffer: &mut [T],
    ) -> Result<(), Error> {
        assert_eq!((buffer.len(), places.len()), (self.places(), self.places()));
        let mut work = try_with_capacity(self.pieces.len())?;
        let mut rest = places;
        for (number, piece) in self.pieces.iter().enumerate() {
            let places;
            (places, rest) = rest.split_at(piece.places);
            work.push((number, places));
        }
        let lanes = SharedPtr::new(buffer.as_mut_ptr());
        work.into_par_iter().with_max_len(1).try_for_each(|(number, places)| {
            let mut places = places.iter();
            self.visit(p, number, |to| {
                if let Some(&item) = places.next() {
                    // SAFETY: `visit` passes positions below the number of places, which the buffer
                    // has been checked to have.
                    let to = unsafe { lanes.at(to) };
                    // SAFETY: this is in the buffer, which is borrowed mutably. No piece is passed
                    // a position of another's, so no other thread uses it.
                    unsafe { to.write(item) };
                }
            })
        })
    }

    /// The number of places, and of items in all lanes.
    fn places(&self) -> usize {
        self.pieces.iter().map(|piece| piece.places).sum()
    }

    /// Visits the places of a piece in order, and passes on where in the buffer each one's item is.
    /// These positions are all different, below the number of places, and no other piece's.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::ItemsDiffer`] if the bijection no longer has the values that were counted.
    #[inline(always)]
    fn visit<B: Bijection>(
        &self,
        p: &Permutation<B>,
        number: usize,
        visit: impl FnMut(usize),
    ) -> Result<(), Error> {
        if tiles::fit_u32(p) {
            self.visit_with::<u32, B>(p, number, visit)
        } else {
            self.visit_with::<u64, B>(p, number, visit)
        }
    }

    /// [`visit`](Self::visit), with values in words of type N.
    #[inline(always)]
    fn visit_with<N: Word, B: Bijection>(
        &self,
        p: &Permutation<B>,
        number: usize,
        mut visit: impl FnMut(usize),
    ) -> Result<(), Error> {
        let Some(owners) = &self.owners else { return Ok(()) };
        let piece = &self.pieces[number];
        let mut lanes = try_with_capacity(self.counts.len())?;
        let ends = self.pieces.get(number + 1).map_or(&self.ends, |piece| &piece.begins);
        lanes.extend(piece.begins.iter().zip(ends).map(|(&next, &end)| Lane { next, end }));
        let mut visited = 0;
        tiles::for_each::<N, B>(p, piece.first, piece.slots, |_, _, survivors| {
            for &value in survivors {
                let lane = &mut lanes[owners.of(value.widen())];
                if lane.next < lane.end {
                    visit(lane.next);
                    lane.next += 1;
                    visited += 1;
                }
            }
        });
        // As many as there are, so each position once.
        if visited == piece.places { Ok(()) } else { Err(ExchangeError::ItemsDiffer.into()) }
    }
}

/// What is left of a piece's part of a lane.
struct Lane {
    next: usize,
    end: usize,
}

/// How many of some slots' survivors belong to each rank, of which `bounds` has the first index of
/// each and the number of all.
fn count_lanes<N: Word, B: Bijection>(
    p: &Permutation<B>,
    first: u64,
    slots: u64,
    owners: &Owners,
    bounds: &[u64],
) -> Result<Vec<usize>, Error> {
    let ranks = bounds.len() - 1;
    let mut counts = try_with_capacity(ranks)?;
    counts.resize(ranks, 0);
    if ranks > FEW {
        tiles::for_each::<N, B>(p, first, slots, |_, _, survivors| {
            for value in survivors {
                counts[owners.of(value.widen())] += 1;
            }
        });
        return Ok(counts);
    }
    // Comparisons take vectors, and finding an owner does not.
    tiles::for_each::<N, B>(p, first, slots, |_, _, survivors| {
        let mut below = 0;
        for (count, &bound) in counts.iter_mut().zip(&bounds[1..]) {
            let is_below = |last: u64| {
                let last = N::wrap(last);
                survivors.iter().map(|&value| u32::from(value <= last)).sum::<u32>() as usize
            };
            let up_to = bound.checked_sub(1).map_or(0, is_below);
            *count += up_to - below;
            below = up_to;
        }
    });
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_either_width_give_the_same_lanes() {
        let p = Permutation::new(300_001, 1);
        let census = Census::new(&p).unwrap();
        let indexes = Division::from_counts(&[0, 100_000, 0, 200_001, 0]).unwrap();
        let lanes = Lanes::new(&p, &census, 1000..200_000, &indexes).unwrap();
        let owners = lanes.owners.as_ref().unwrap();
        let bounds = indexes.bounds();
        assert!(lanes.pieces.len() > 2);
        // More ranks than are compared with all values.
        let more: Vec<u64> = bounds.iter().copied().chain([p.len(); FEW]).collect();
        for (number, piece) in lanes.pieces.iter().enumerate() {
            let (first, slots) = (piece.first, piece.slots);
            let narrow = count_lanes::<u32, _>(&p, first, slots, owners, bounds).unwrap();
            let wide = count_lanes::<u64, _>(&p, first, slots, owners, bounds).unwrap();
            let found = count_lanes::<u32, _>(&p, first, slots, owners, &more).unwrap();
            assert_eq!((&narrow, &narrow[..]), (&wide, &found[..narrow.len()]));
            assert_eq!(narrow.iter().sum::<usize>(), piece.places);
            let [mut narrow, mut wide] = [Vec::new(), Vec::new()];
            lanes.visit_with::<u32, _>(&p, number, |position| narrow.push(position)).unwrap();
            lanes.visit_with::<u64, _>(&p, number, |position| wide.push(position)).unwrap();
            assert_eq!(narrow, wide);
            assert_eq!(narrow.len(), piece.places);
        }
    }
}
