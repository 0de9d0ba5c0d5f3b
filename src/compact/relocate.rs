//! Moving items by a permutation. What is unsafe here rests on a [`Plan`] being a permutation, and on nothing that a
//! user wrote without vouching for it.

use core::mem::MaybeUninit;
use core::ptr;

use rayon::prelude::*;

use super::cpu::partitioned::{Direction, Sorting};
use super::cpu::places::{Places, Span};
use super::cpu::{Memory, direct, tuning};
use super::uncompacted;
use crate::base::check::{check_length, try_with_capacity};
use crate::base::memory::{Buffer, SharedPtr};
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
        let bijection = uncompacted(bijection, len)?;
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

    /// How many items are permuted.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How the partitioned strategy sorts the items, if they are to be moved by it; they may be too `far` for the caches.
    pub(super) fn sorting<T>(
        &self,
        direction: Direction,
        far: bool,
        memory: &Memory,
    ) -> Option<Sorting<'_>> {
        let Indices::Evaluated(trusted) = &self.indices else { return None };
        let sorting = Sorting::new::<T>(trusted, self.len, direction, memory.most_buckets)?;
        let wastes_memory = sorting.wastes_memory::<T>();
        memory.strategy.is_partitioned(far, wastes_memory).then_some(sorting)
    }

    /// Runs what moves items of so many bytes: in the pool, if any step of it will be. It is entered once like this and
    /// not for every step, which takes ten microseconds from outside.
    pub(super) fn run<R: Send>(&self, item_bytes: usize, f: impl FnOnce() -> R + Send) -> R {
        let evaluates_in_parallel = match &self.indices {
            Indices::Evaluated(trusted) => direct::is_parallel(trusted.last()),
            Indices::Narrow(_) | Indices::Wide(_) => false,
        };
        if evaluates_in_parallel || !tuning::is_sequential(self.len, item_bytes) {
            rayon::scope(|_| f())
        } else {
            f()
        }
    }

    /// Hands all the places out, in runs, together with the indexes that belong to them; several runs at a time on
    /// several threads. When it returns `Ok`, each place was handed out once, and so was each index.
    pub(super) fn hand_out<P: Places>(
        &self,
        places: P,
        tiles: &mut Buffer,
        put: &impl Put<P>,
    ) -> Result<(), Error> {
        assert_eq!(self.len, places.len());
        match &self.indices {
            Indices::Evaluated(trusted) if fits_u32(self.len) => {
                let put = |places: P, run: &[u32]| put.put(places, run);
                direct::fill_with(trusted, places, tiles, put)
            }
            Indices::Evaluated(trusted) => {
                let put = |places: P, run: &[u64]| put.put(places, run);
                direct::fill_with(trusted, places, tiles, put)
            }
            Indices::Narrow(indices) => hand_out_written(places, indices, put),
            Indices::Wide(indices) => hand_out_written(places, indices, put),
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
    direct::fill_checked(bijection, &mut indices)?;
    Ok(indices)
}

fn hand_out_written<P: Places, N: Word>(
    places: P,
    indices: &[N],
    put: &impl Put<P>,
) -> Result<(), Error> {
    if places.is_sequential() {
        put.put(places, indices);
        return Ok(());
    }
    let mut runs = try_with_capacity(indices.len().div_ceil(tuning::MOVE_CHUNK))?;
    let mut rest = places;
    for indices in indices.chunks(tuning::MOVE_CHUNK) {
        let places;
        (places, rest) = rest.cut(indices.len());
        runs.push((places, indices));
    }
    runs.into_par_iter().for_each(|(places, indices)| put.put(places, indices));
    Ok(())
}

/// What is done with a run of places and the indexes that belong to them, one each.
pub(super) trait Put<P>: Sync {
    fn put<N: Word>(&self, places: P, indices: &[N]);
}

/// Moves items by a plan.
///
/// # Errors
///
/// [`Error::OutOfMemory`] and [`Error::NotABijection`]; every item is then where it was.
pub(super) fn relocate<T: Send>(
    plan: &Plan,
    direction: Direction,
    items: &mut [T],
    memory: &mut Memory,
) -> Result<(), Error> {
    assert_eq!(plan.len, items.len());
    plan.run(size_of::<T>(), || {
        let places = places_of(items);
        // SAFETY: the items are borrowed by this function alone.
        if unsafe { sort(plan, direction, places.cast(), places, memory) }? {
            return Ok(());
        }
        let relocation = Relocation::new(items, &mut memory.scratch)?;
        relocation.run(plan, direction, &mut memory.partition.tiles)
    })
}

/// Copies items by a plan: `out[k] = source[p[k]]`.
///
/// # Errors
///
/// As [`relocate`]; `out` then holds unspecified items.
pub(super) fn relocate_into<T: Copy + Send + Sync>(
    plan: &Plan,
    source: &[T],
    out: &mut [T],
    memory: &mut Memory,
) -> Result<(), Error> {
    assert_eq!((plan.len, plan.len), (source.len(), out.len()));
    plan.run(size_of::<T>(), || {
        let places = places_of(out);
        // SAFETY: the source is borrowed, and so are the places, which are elsewhere.
        if unsafe { sort(plan, Direction::Shuffle, source.as_ptr(), places, memory) }? {
            return Ok(());
        }
        // SAFETY: only items, which are copies, are written to these places.
        let places = unsafe { &mut *places };
        // Only read through.
        let source = Gather(SharedPtr::new(source.as_ptr().cast_mut()));
        plan.hand_out(places, &mut memory.partition.tiles, &source)
    })
}

/// The places of a slice's items, as if they were empty.
fn places_of<T>(items: &mut [T]) -> *mut [MaybeUninit<T>] {
    ptr::from_mut(items) as *mut [MaybeUninit<T>]
}

/// Moves items by the partitioned strategy, if they are to be; `false`, and nothing is written, if not, or if they
/// turn out not to be fit for it.
///
/// # Safety
///
/// There are as many items at both places as the plan has, which nobody else uses meanwhile.
unsafe fn sort<T: Send>(
    plan: &Plan,
    direction: Direction,
    source: *const T,
    out: *mut [MaybeUninit<T>],
    memory: &mut Memory,
) -> Result<bool, Error> {
    match plan.sorting::<T>(direction, tuning::is_far::<T>(plan.len), memory) {
        Some(sorting) => {
            // Only read through.
            let source = SharedPtr::new(source.cast_mut());
            // SAFETY: the caller's promise.
            let out = unsafe { Span::new(out) };
            // SAFETY: the caller promises as many items at the source as the target has places, and
            // that nobody else uses either.
            let moved = unsafe { sorting.run(&source, out, &mut memory.partition) };
            memory.settle(moved)
        }
        None => Ok(false),
    }
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

    /// Moves the items by a plan.
    fn run(self, plan: &Plan, direction: Direction, tiles: &mut Buffer) -> Result<(), Error> {
        assert_eq!(plan.len, self.items.len());
        match direction {
            Direction::Shuffle => {
                let source = Gather(SharedPtr::new(self.items.as_mut_ptr()));
                plan.hand_out(&mut *self.scratch, tiles, &source)?;
            }
            Direction::Unshuffle => {
                let target = Scatter(SharedPtr::new(self.scratch.as_mut_ptr()));
                plan.hand_out(&mut *self.items, tiles, &target)?;
            }
        }
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
        if tuning::is_sequential(items.len(), size_of::<T>()) {
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
struct Gather<T>(SharedPtr<T>);

impl<T: Send> Put<&mut [MaybeUninit<T>]> for Gather<T> {
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
struct Scatter<T>(SharedPtr<MaybeUninit<T>>);

impl<T: Send> Put<&mut [T]> for Scatter<T> {
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
