//! Moving items by a permutation. All the `unsafe` code of the CPU engine is in this file: it rests on a [`Plan`]
//! being a permutation, and on nothing that a user wrote without vouching for it.

use core::mem::MaybeUninit;
use core::ptr;

use rayon::prelude::*;

use super::cpu::{direct, tuning};
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

    /// Hands all the places out, in runs, together with the indexes that belong to them; several runs at a time on
    /// several threads. When it returns `Ok`, each place was handed out once, and so was each index.
    fn hand_out<P: Send>(&self, places: &mut [P], put: &impl Put<P>) -> Result<(), Error> {
        assert_eq!(self.len, places.len());
        match &self.indices {
            Indices::Evaluated(trusted) if fits_u32(self.len) => {
                direct::fill_with(trusted, places, |places, run: &[u32]| put.put(places, run))
            }
            Indices::Evaluated(trusted) => {
                direct::fill_with(trusted, places, |places, run: &[u64]| put.put(places, run))
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

/// A slice whose items are on the move: they are copied, bit by bit, to a scratch buffer in their new order, and then
/// all at once put back over the old.
///
/// Until that last step the slice is untouched, and the scratch copies are never dropped, so whenever this is
/// abandoned every item still exists exactly once.
pub(super) struct Relocation<'a, T> {
    items: &'a mut [T],
    scratch: Vec<MaybeUninit<T>>,
}

impl<'a, T: Send> Relocation<'a, T> {
    /// Gets the scratch buffer.
    pub(super) fn new(items: &'a mut [T]) -> Result<Self, Error> {
        let mut scratch = try_with_capacity(items.len())?;
        scratch.resize_with(items.len(), MaybeUninit::uninit);
        Ok(Self { items, scratch })
    }

    /// The item at index `p[k]` comes to place `k`.
    pub(super) fn gather(mut self, plan: &Plan) -> Result<(), Error> {
        assert_eq!(plan.len, self.items.len());
        let source = Gather(Base(self.items.as_mut_ptr()));
        plan.hand_out(&mut self.scratch, &source)?;
        self.commit();
        Ok(())
    }

    /// The item at place `k` comes to index `p[k]`.
    pub(super) fn scatter(mut self, plan: &Plan) -> Result<(), Error> {
        assert_eq!(plan.len, self.scratch.len());
        let target = Scatter(Base(self.scratch.as_mut_ptr()));
        plan.hand_out(self.items, &target)?;
        self.commit();
        Ok(())
    }

    /// Puts the scratch buffer, to which a plan has copied each item once, back over the slice.
    fn commit(self) {
        let Self { items, mut scratch } = self;
        // Nothing in here can unwind, so the slice is never left half overwritten.
        let put_back = |(items, copies): (&mut [T], &mut [MaybeUninit<T>])| {
            let from = copies.as_ptr().cast::<T>();
            // SAFETY: both slices are of one length, as they were cut alike from slices of one length, and do not
            // overlap. All the copies are initialised, and together they are all the items, so that nothing is lost
            // by overwriting the originals, which are forgotten and not dropped.
            unsafe { ptr::copy_nonoverlapping(from, items.as_mut_ptr(), items.len()) };
        };
        if tuning::is_sequential::<T>(items.len()) {
            put_back((items, &mut scratch));
        } else {
            items
                .par_chunks_mut(tuning::MOVE_CHUNK)
                .zip(scratch.par_chunks_mut(tuning::MOVE_CHUNK))
                .for_each(put_back);
        }
    }
}

/// The start of a slice that several threads copy bits from or to.
struct Base<T>(*mut T);

// SAFETY: sharing the pointer is no more than copying it; whoever follows it answers for that. Copying an item's bits
// on another thread moves the item there, hence `Send`.
unsafe impl<T: Send> Sync for Base<T> {}

impl<T> Base<T> {
    /// The address of an item.
    ///
    /// # Safety
    ///
    /// `index` is below the slice's length.
    #[inline]
    unsafe fn at<N: Word>(&self, index: N) -> *mut T {
        // SAFETY: within the slice by the caller's promise.
        unsafe { self.0.add(index.widen() as usize) }
    }
}

/// Copies the items at the indexes to scratch places.
struct Gather<T>(Base<T>);

impl<T: Send> Put<MaybeUninit<T>> for Gather<T> {
    #[inline]
    fn put<N: Word>(&self, places: &mut [MaybeUninit<T>], indices: &[N]) {
        for (place, &index) in places.iter_mut().zip(indices) {
            // SAFETY: the indexes of a plan are below its length, which is the slice's.
            let item = unsafe { self.0.at(index) };
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
            let place = unsafe { self.0.at(index) };
            // SAFETY: the item is initialised and the place is elsewhere. No other thread writes to the place, since
            // a plan has each index once. For what the copy is, see `Gather`.
            unsafe { ptr::copy_nonoverlapping(ptr::from_mut(item), place.cast::<T>(), 1) };
        }
    }
}
