//! [`RunLanes`]: the side of an exchange on which items are in the order of the permutation's
//! slots.

use core::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::census::Census;
use super::division::Owners;
use super::rounds::Runs;
use super::tiles::{self, Compaction};
use crate::engine::check::try_with_capacity;
use crate::engine::memory::SharedPtr;
use crate::engine::stream::prefetch_lines;
use crate::error::ExchangeError;
use crate::{Error, Word};

/// The least number of slots in a piece.
const PIECE_SLOTS: u64 = 1 << 16;

/// The most pieces. Each has a number for each lane.
const MOST_PIECES: u64 = 256;

/// The most numbers of all pieces together, unless each thread has a single piece: they take 8 MiB.
const MOST_NUMBERS: u64 = 1 << 20;

/// Up to this number of lanes, a value is compared with the bounds of all.
const FEW: usize = 4;

/// How far ahead in each lane items are prefetched: the hardware follows a few lanes by itself, but
/// not hundreds.
const AHEAD_BYTES: usize = 512;

/// What a rank knows of the places that it holds where items are in the order of the slots: to
/// which run of indexes each belongs. Every rank has one run for each round.
///
/// The items of each run are a *lane*, in the order of their slots. A buffer has all lanes: those
/// of the first round, from rank 0 on, then those of the second, and so on. So items are moved
/// between places and lanes in order on both sides.
pub(super) struct RunLanes {
    /// The run that each index belongs to.
    owners: Option<Owners>,
    /// The number of items in each lane, in the order of the buffer.
    counts: Vec<u64>,
    pieces: Vec<SlotPiece>,
    /// Where each run's lane ends in the buffer.
    ends: Vec<usize>,
    /// Room for each thread's lanes, so that moving items needs no memory.
    rooms: Mutex<Vec<Vec<LaneRest>>>,
}

/// Some consecutive slots, which one thread visits.
struct SlotPiece {
    first: u64,
    slots: u64,
    places: usize,
    /// Where the piece's items begin in the buffer, for each run.
    begins: Vec<usize>,
}

impl RunLanes {
    /// The lanes of a rank's places in a division of all places, to runs of indexes.
    #[inline]
    pub(super) fn new(
        p: &Compaction,
        census: &Census,
        places: Range<u64>,
        runs: &Runs,
    ) -> Result<Self, Error> {
        let count = runs.bounds().len() - 1;
        let mut counts = try_with_capacity(count)?;
        counts.resize(count, 0);
        if places.is_empty() {
            let (pieces, ends, rooms) = (Vec::new(), Vec::new(), Mutex::new(Vec::new()));
            return Ok(Self { owners: None, counts, pieces, ends, rooms });
        }
        let first = census.slot(p, places.start)?;
        let last = census.slot(p, places.end - 1)?;
        let slots =
            last.checked_sub(first).ok_or(Error::Exchange(ExchangeError::CensusMismatch))?;
        let threads = rayon::current_num_threads();
        let most =
            (MOST_NUMBERS / count as u64).clamp(threads as u64, MOST_PIECES.max(threads as u64));
        let step = (slots / most + 1).max(PIECE_SLOTS);
        let owners = Owners::new(runs.bounds())?;
        let mut pieces = try_with_capacity((slots / step) as usize + 1)?;
        let count_piece = |k: u32| {
            let first = first + u64::from(k) * step;
            let slots = (last - first).min(step - 1) + 1;
            let begins = if tiles::fit_u32(p) {
                count_lanes::<u32>(p, first, slots, &owners, runs.bounds())
            } else {
                count_lanes::<u64>(p, first, slots, &owners, runs.bounds())
            };
            // Until all are counted, these are the numbers of items.
            begins.map(|begins| SlotPiece { first, slots, places: begins.iter().sum(), begins })
        };
        // At most `most`, and one.
        (0..(slots / step) as u32 + 1)
            .into_par_iter()
            .map(count_piece)
            .collect_into_vec(&mut pieces);
        let mut counted = try_with_capacity(pieces.len())?;
        for piece in pieces {
            counted.push(piece?);
        }
        let mut pieces: Vec<SlotPiece> = counted;
        if pieces.iter().map(|piece| piece.places as u64).sum::<u64>() != places.end - places.start
        {
            return Err(Error::Exchange(ExchangeError::CensusMismatch));
        }
        // In the order of the buffer, each lane's pieces one after the other.
        let mut ends = try_with_capacity(count)?;
        ends.resize(count, 0);
        let mut next = 0;
        for (counted, run) in counts.iter_mut().zip(runs.in_order()) {
            let first = next;
            for piece in &mut pieces {
                next += core::mem::replace(&mut piece.begins[run], next);
            }
            *counted = (next - first) as u64;
            ends[run] = next;
        }
        let mut rooms = try_with_capacity(threads)?;
        for _ in 0..threads {
            rooms.push(try_with_capacity(count)?);
        }
        Ok(Self { owners: Some(owners), counts, pieces, ends, rooms: Mutex::new(rooms) })
    }

    /// The number of items in each lane, in the order of the buffer.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Copies each place's item from its lane in the buffer.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::ItemsMismatch`] if the bijection no longer has the values that were
    /// counted.
    ///
    /// # Panics
    ///
    /// If there are fewer or more places, or items in the buffer, than were counted.
    pub(super) fn merge<T: Copy + Send + Sync>(
        &self,
        p: &Compaction,
        buffer: &[T],
        places: &mut [T],
    ) -> Result<(), Error> {
        assert_eq!((buffer.len(), places.len()), (self.places(), self.places()));
        let ahead = AHEAD_BYTES / size_of::<T>().max(1);
        let cut = |places, count| <[T]>::split_at_mut(places, count);
        self.for_each_piece(0..self.pieces.len(), places, &cut, &|number, places: &mut [T]| {
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
    pub(super) fn split<T: Copy + Send + Sync>(
        &self,
        p: &Compaction,
        places: &[T],
        buffer: &mut [T],
    ) -> Result<(), Error> {
        assert_eq!((buffer.len(), places.len()), (self.places(), self.places()));
        let lanes = SharedPtr::new(buffer.as_mut_ptr());
        let cut = |places, count| <[T]>::split_at(places, count);
        self.for_each_piece(0..self.pieces.len(), places, &cut, &|number, places: &[T]| {
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

    /// Writes the index of each place.
    ///
    /// # Errors
    ///
    /// As [`merge`](Self::merge).
    ///
    /// # Panics
    ///
    /// If there are fewer or more places than were counted.
    #[inline]
    pub(super) fn write_indexes(&self, p: &Compaction, out: &mut [u64]) -> Result<(), Error> {
        assert_eq!(out.len(), self.places());
        let cut = |places, count| <[u64]>::split_at_mut(places, count);
        self.for_each_piece(0..self.pieces.len(), out, &cut, &|number, places: &mut [u64]| {
            let SlotPiece { first, slots, .. } = self.pieces[number];
            let mut written = 0;
            tiles::for_each::<u64>(p, first, slots, |_, _, survivors| {
                let rest = places.get_mut(written..).unwrap_or_default();
                rest.iter_mut().zip(survivors).for_each(|(place, &index)| *place = index);
                written += survivors.len();
            });
            if written == places.len() {
                Ok(())
            } else {
                Err(Error::Exchange(ExchangeError::ItemsMismatch))
            }
        })
    }

    /// Does something with the number of each of some pieces and with its places, on all threads
    /// and without memory. `cut` divides places after the first ones.
    fn for_each_piece<P: Send>(
        &self,
        pieces: Range<usize>,
        places: P,
        cut: &(impl Fn(P, usize) -> (P, P) + Sync),
        each: &(impl Fn(usize, P) -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let Range { start, end } = pieces;
        if end - start <= 1 {
            return if start < end { each(start, places) } else { Ok(()) };
        }
        let middle = start.midpoint(end);
        let count = self.pieces[start..middle].iter().map(|piece| piece.places).sum();
        let (low, high) = cut(places, count);
        let (low, high) = rayon::join(
            || self.for_each_piece(start..middle, low, cut, each),
            || self.for_each_piece(middle..end, high, cut, each),
        );
        low.and(high)
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
    /// [`ExchangeError::ItemsMismatch`] if the bijection no longer has the values that were
    /// counted.
    #[inline(always)]
    fn visit(&self, p: &Compaction, number: usize, visit: impl FnMut(usize)) -> Result<(), Error> {
        if tiles::fit_u32(p) {
            self.visit_with::<u32>(p, number, visit)
        } else {
            self.visit_with::<u64>(p, number, visit)
        }
    }

    /// [`visit`](Self::visit), with values in words of type N.
    #[inline(always)]
    fn visit_with<N: Word>(
        &self,
        p: &Compaction,
        number: usize,
        mut visit: impl FnMut(usize),
    ) -> Result<(), Error> {
        let Some(owners) = &self.owners else { return Ok(()) };
        let piece = &self.pieces[number];
        let room = self.rooms.lock().expect("nobody panics with it").pop();
        // Only in a pool of more threads than the lanes were made in.
        let mut lanes = room.map_or_else(|| try_with_capacity(self.counts.len()), Ok)?;
        lanes.clear();
        let ends = self.pieces.get(number + 1).map_or(&self.ends, |piece| &piece.begins);
        lanes.extend(piece.begins.iter().zip(ends).map(|(&next, &end)| LaneRest { next, end }));
        let mut visited = 0;
        tiles::for_each::<N>(p, piece.first, piece.slots, |_, _, survivors| {
            for &value in survivors {
                let lane = &mut lanes[owners.of(value.widen())];
                if lane.next < lane.end {
                    visit(lane.next);
                    lane.next += 1;
                    visited += 1;
                }
            }
        });
        self.rooms.lock().expect("nobody panics with it").push(lanes);
        // As many as there are, so each position once.
        if visited == piece.places {
            Ok(())
        } else {
            Err(Error::Exchange(ExchangeError::ItemsMismatch))
        }
    }
}

/// What is left of a piece's part of a lane.
struct LaneRest {
    next: usize,
    end: usize,
}

/// How many of some slots' survivors belong to each run of indexes. `bounds` has the first index of
/// each run, and the number of all indexes.
fn count_lanes<N: Word>(
    p: &Compaction,
    first: u64,
    slots: u64,
    owners: &Owners,
    bounds: &[u64],
) -> Result<Vec<usize>, Error> {
    let runs = bounds.len() - 1;
    let mut counts = try_with_capacity(runs)?;
    counts.resize(runs, 0);
    if runs > FEW {
        tiles::for_each::<N>(p, first, slots, |_, _, survivors| {
            for value in survivors {
                counts[owners.of(value.widen())] += 1;
            }
        });
        return Ok(counts);
    }
    // Comparisons take vectors, and finding an owner does not.
    tiles::for_each::<N>(p, first, slots, |_, _, survivors| {
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
    use crate::exchange::Division;
    use crate::permutation::Permutation;

    #[test]
    fn words_of_either_width_give_the_same_lanes() {
        let p = Permutation::new(300_001, 1);
        let census = Census::new(&p).unwrap();
        let p = Compaction::of(&p).unwrap();
        let indexes = Division::from_counts(&[0, 100_000, 0, 200_001, 0]).unwrap();
        let runs = Runs::new(&indexes, u64::MAX).unwrap();
        let lanes = RunLanes::new(&p, &census, 1000..200_000, &runs).unwrap();
        let owners = lanes.owners.as_ref().unwrap();
        let bounds = runs.bounds();
        assert!(lanes.pieces.len() > 2);
        // More runs than are compared with all values.
        let more: Vec<u64> = bounds.iter().copied().chain([p.len; FEW]).collect();
        for (number, piece) in lanes.pieces.iter().enumerate() {
            let (first, slots) = (piece.first, piece.slots);
            let narrow = count_lanes::<u32>(&p, first, slots, owners, bounds).unwrap();
            let wide = count_lanes::<u64>(&p, first, slots, owners, bounds).unwrap();
            let found = count_lanes::<u32>(&p, first, slots, owners, &more).unwrap();
            assert_eq!((&narrow, &narrow[..]), (&wide, &found[..narrow.len()]));
            assert_eq!(narrow.iter().sum::<usize>(), piece.places);
            let [mut narrow, mut wide] = [Vec::new(), Vec::new()];
            lanes.visit_with::<u32>(&p, number, |position| narrow.push(position)).unwrap();
            lanes.visit_with::<u64>(&p, number, |position| wide.push(position)).unwrap();
            assert_eq!(narrow, wide);
            assert_eq!(narrow.len(), piece.places);
        }
    }
}
