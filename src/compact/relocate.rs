//! Moving items by a permutation. What is unsafe here rests on a [`Plan`] being a permutation, and on nothing that a
//! user wrote without vouching for it.

use core::mem::MaybeUninit;
use core::ptr;

use rayon::prelude::*;

use super::cpu::memory::{Base, Buffer};
use super::cpu::partitioned::{self, Partition};
use super::cpu::{Memory, direct, tuning};
use super::{check_length, check_permutation, try_with_capacity};
use crate::bijection::{Bijection, Trusted};
use crate::error::Error;
use crate::word::Word;

/// A permutation that items may be moved by: each index below its length comes at exactly one place.
pub(super) struct Plan<'a> {
    len: usize,
    indices: Indices<'a>,
}

/// Where a plan's indexes come from.
enum Indices<'a> {
    /// From a trusted bijection, while the items move.
    Evaluated(Trusted<'a>),
    /// From one that is not trusted, so they were written out and checked.
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl<'a> Plan<'a> {
    /// The permutation that a bijection compacts to. A bijection that is not trusted is evaluated and checked here,
    /// and never asked again.
    pub(super) fn new(bijection: &'a dyn Bijection, len: usize) -> Result<Self, Error> {
        let indices = match bijection.trusted() {
            Some(trusted) => {
                check_length(len as u64, trusted.last())?;
                Indices::Evaluated(trusted)
            }
            None if fits_u32(len) => Indices::Narrow(checked_indices(bijection, len)?),
            None => Indices::Wide(checked_indices(bijection, len)?),
        };
        Ok(Self { len, indices })
    }

    /// The bijection, if its items are to be moved by the partitioned strategy.
    fn partitioned<T>(&self, memory: &Memory) -> Option<&Trusted<'a>> {
        match &self.indices {
            Indices::Evaluated(trusted) if partitioned::serves::<T>(self.len, trusted.last()) => {
                let last = trusted.last();
                memory.strategy.is_partitioned::<T>(self.len, last).then_some(trusted)
            }
            _ => None,
        }
    }

    /// Hands all the places out, in runs, together with the indexes that belong to them; several runs at a time on
    /// several threads. When it returns `Ok`, each place was handed out once, and so was each index.
    fn hand_out<P: Send>(
        &self,
        places: &mut [P],
        tiles: &mut Buffer,
        put: &impl Put<P>,
    ) -> Result<(), Error> {
        assert_eq!(self.len, places.len());
        match &self.indices {
            Indices::Evaluated(trusted) if fits_u32(self.len) => {
                let put = |places: &mut [P], run: &[u32]| put.put(places, run);
                direct::fill_with(trusted, places, tiles, put)
            }
            Indices::Evaluated(trusted) => {
                let put = |places: &mut [P], run: &[u64]| put.put(places, run);
                direct::fill_with(trusted, places, tiles, put)
            }
            Indices::Narrow(indices) => {
                hand_out_written(places, indices, put);
                Ok(())
            }
            Indices::Wide(indices) => {
                hand_out_written(places, indices, put);
                Ok(())
            }
        }
    }
}

/// Whether every index below a length fits 32 bits.
pub(super) fn fits_u32(len: usize) -> bool {
    len as u64 <= 1 << 32
}

fn checked_indices<N: Word>(bijection: &dyn Bijection, len: usize) -> Result<Vec<N>, Error> {
    let mut indices = try_with_capacity(len)?;
    indices.resize(len, N::zero());
    direct::fill(bijection, &mut indices)?;
    check_permutation(&indices)?;
    Ok(indices)
}

fn hand_out_written<P: Send, N: Word>(places: &mut [P], indices: &[N], put: &impl Put<P>) {
    if tuning::is_sequential::<P>(places.len()) {
        put.put(places, indices);
    } else {
        places
            .par_chunks_mut(tuning::MOVE_CHUNK)
            .zip(indices.par_chunks(tuning::MOVE_CHUNK))
            .for_each(|(places, indices)| put.put(places, indices));
    }
}

/// What is done with a run of places and the indexes that belong to them, one each.
trait Put<P>: Sync {
    fn put<N: Word>(&self, places: &mut [P], indices: &[N]);
}

/// Moves items by a plan: the item at index `p[k]` comes to place `k`.
///
/// # Errors
///
/// [`Error::OutOfMemory`] and [`Error::NotABijection`]; every item is then where it was.
pub(super) fn gather<T: Send>(
    plan: &Plan,
    items: &mut [T],
    memory: &mut Memory,
) -> Result<(), Error> {
    if let Some(trusted) = plan.partitioned::<T>(memory) {
        let base = Base::new(items.as_mut_ptr());
        // SAFETY: the items are all there, borrowed by this function alone, and `Plan::partitioned` asks `serves`.
        let sorted =
            unsafe { Partition::by_slot(trusted, &base, items.len(), &mut memory.partition) };
        // SAFETY: only items are written: these, which as bits are all in the partition, once each.
        let places = unsafe { as_places(items) };
        // SAFETY: they are T, and as many as the places.
        let placed = sorted.and_then(|sorted| unsafe { place(sorted, places) });
        if memory.settle(placed)? {
            return Ok(());
        }
    }
    let relocation = Relocation::new(items, &mut memory.scratch)?;
    relocation.gather(plan, &mut memory.partition.tiles)
}

/// Moves items back by a plan: the item at place `k` comes to index `p[k]`.
///
/// # Errors
///
/// As [`gather`].
pub(super) fn scatter<T: Send>(
    plan: &Plan,
    items: &mut [T],
    memory: &mut Memory,
) -> Result<(), Error> {
    if let Some(trusted) = plan.partitioned::<T>(memory) {
        let base = Base::new(items.as_mut_ptr());
        // SAFETY: as in `gather`.
        let sorted =
            unsafe { Partition::by_index(trusted, &base, items.len(), &mut memory.partition) };
        // SAFETY: as in `gather`.
        let places = unsafe { as_places(items) };
        // SAFETY: as in `gather`.
        let placed = sorted.and_then(|sorted| unsafe { place(sorted, places) });
        if memory.settle(placed)? {
            return Ok(());
        }
    }
    let relocation = Relocation::new(items, &mut memory.scratch)?;
    relocation.scatter(plan, &mut memory.partition.tiles)
}

/// Copies items by a plan: `out[k] = source[p[k]]`.
///
/// # Errors
///
/// As [`gather`]; `out` then holds unspecified items.
pub(super) fn gather_into<T: Copy + Send + Sync>(
    plan: &Plan,
    source: &[T],
    out: &mut [T],
    memory: &mut Memory,
) -> Result<(), Error> {
    assert_eq!(source.len(), out.len());
    // Only read through.
    let base = Base::new(source.as_ptr().cast_mut());
    // SAFETY: only items, which are copies, are written to these places.
    let places = unsafe { as_places(out) };
    if let Some(trusted) = plan.partitioned::<T>(memory) {
        // SAFETY: as in `gather`.
        let sorted =
            unsafe { Partition::by_slot(trusted, &base, source.len(), &mut memory.partition) };
        // SAFETY: as in `gather`.
        let placed = sorted.and_then(|sorted| unsafe { place(sorted, places) });
        if memory.settle(placed)? {
            return Ok(());
        }
    }
    plan.hand_out(places, &mut memory.partition.tiles, &Gather(base))
}

/// Puts items that were sorted in their places; `false`, and nothing is written, if they could not be sorted.
///
/// # Safety
///
/// As [`Partition::place`].
unsafe fn place<T: Send>(
    sorted: Option<Partition>,
    places: &mut [MaybeUninit<T>],
) -> Result<bool, Error> {
    match sorted {
        // SAFETY: the caller's promise.
        Some(partition) => unsafe { partition.place(places) }.map(|()| true),
        None => Ok(false),
    }
}

/// The places of a slice's items, as if they were empty.
///
/// # Safety
///
/// When the result is dropped, there is an item in every place.
unsafe fn as_places<T>(items: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: of one layout; that only items are written is the caller's promise.
    unsafe { &mut *(ptr::from_mut(items) as *mut [MaybeUninit<T>]) }
}

/// A slice whose items are on the move: they are copied, bit by bit, to a scratch buffer in their new order, and then
/// all at once put back over the old.
///
/// Until that last step the slice is untouched, and the scratch copies are never dropped, so whenever this is
/// abandoned every item still exists exactly once.
struct Relocation<'a, T> {
    items: &'a mut [T],
    scratch: &'a mut [MaybeUninit<T>],
}

impl<'a, T: Send> Relocation<'a, T> {
    /// Gets the scratch buffer.
    fn new(items: &'a mut [T], scratch: &'a mut Buffer) -> Result<Self, Error> {
        let scratch = scratch.room(items.len())?;
        Ok(Self { items, scratch })
    }

    /// The item at index `p[k]` comes to place `k`.
    fn gather(self, plan: &Plan, tiles: &mut Buffer) -> Result<(), Error> {
        assert_eq!(plan.len, self.items.len());
        let source = Gather(Base::new(self.items.as_mut_ptr()));
        plan.hand_out(self.scratch, tiles, &source)?;
        self.commit();
        Ok(())
    }

    /// The item at place `k` comes to index `p[k]`.
    fn scatter(self, plan: &Plan, tiles: &mut Buffer) -> Result<(), Error> {
        assert_eq!(plan.len, self.scratch.len());
        let target = Scatter(Base::new(self.scratch.as_mut_ptr()));
        plan.hand_out(self.items, tiles, &target)?;
        self.commit();
        Ok(())
    }

    /// Puts the scratch buffer, to which a plan has copied each item once, back over the slice.
    fn commit(self) {
        let Self { items, scratch } = self;
        // Nothing in here can unwind, so the slice is never left half overwritten. (A pool that cannot be started makes
        // rayon panic, so it is asked for first.)
        rayon::current_num_threads();
        let put_back = |(items, copies): (&mut [T], &mut [MaybeUninit<T>])| {
            let from = copies.as_ptr().cast::<T>();
            // SAFETY: both slices are of one length, as they were cut alike from slices of one length, and do not
            // overlap. All the copies are initialised, and together they are all the items, so that nothing is lost
            // by overwriting the originals, which are forgotten and not dropped.
            unsafe { ptr::copy_nonoverlapping(from, items.as_mut_ptr(), items.len()) };
        };
        if tuning::is_sequential::<T>(items.len()) {
            put_back((items, scratch));
        } else {
            items
                .par_chunks_mut(tuning::MOVE_CHUNK)
                .zip(scratch.par_chunks_mut(tuning::MOVE_CHUNK))
                .for_each(put_back);
        }
    }
}

/// Copies the items at the indexes to scratch places.
struct Gather<T>(Base<T>);

impl<T: Send> Put<MaybeUninit<T>> for Gather<T> {
    #[inline]
    fn put<N: Word>(&self, places: &mut [MaybeUninit<T>], indices: &[N]) {
        for (place, &index) in places.iter_mut().zip(indices) {
            // SAFETY: the indexes of a plan are below its length, which is the slice's.
            let item = unsafe { self.0.at(index.widen() as usize) };
            // SAFETY: the item is initialised and nobody writes to the slice meanwhile; the place is elsewhere. What
            // is made is only bytes, until `commit` turns all of them at once into the items.
            unsafe { ptr::copy_nonoverlapping(item, place.as_mut_ptr(), 1) };
        }
    }
}

/// Copies items to the scratch places at the indexes.
struct Scatter<T>(Base<MaybeUninit<T>>);

impl<T: Send> Put<T> for Scatter<T> {
    #[inline]
    fn put<N: Word>(&self, places: &mut [T], indices: &[N]) {
        for (item, &index) in places.iter_mut().zip(indices) {
            // SAFETY: the indexes of a plan are below its length, which is the scratch buffer's.
            let place = unsafe { self.0.at(index.widen() as usize) };
            // SAFETY: the item is initialised and the place is elsewhere. No other thread writes to the place, since
            // a plan has each index once. For what the copy is, see `Gather`.
            unsafe { ptr::copy_nonoverlapping(ptr::from_mut(item), place.cast::<T>(), 1) };
        }
    }
}
