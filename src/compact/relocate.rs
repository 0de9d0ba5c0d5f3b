//! Moving items by a permutation. All the `unsafe` code of the CPU engine is in this file: it rests on
//! [`Order`] being a permutation, and on nothing that a user wrote.

use core::mem::MaybeUninit;
use core::ptr;

use rayon::prelude::*;

use super::cpu::{direct, tuning};
use super::{check_permutation, try_with_capacity};
use crate::bijection::Bijection;
use crate::error::Error;
use crate::word::Word;

/// Indexes that are a permutation: each number from 0 to their count, once.
#[derive(Debug)]
pub(super) struct Order<N> {
    indices: Vec<N>,
}

impl<N: Word> Order<N> {
    /// The permutation that a bijection compacts to, checked unless it is trusted.
    pub(super) fn new(bijection: &dyn Bijection, len: usize) -> Result<Self, Error> {
        let mut indices = try_with_capacity(len)?;
        indices.resize(len, N::zero());
        match bijection.trusted() {
            // Only the trusted form is asked from here on. It has each index below `len` at one slot, `fill`
            // visits every slot once, and it counts, so these are a permutation.
            Some(trusted) => direct::fill(&trusted, &mut indices)?,
            None => {
                direct::fill(bijection, &mut indices)?;
                check_permutation(&indices)?;
            }
        }
        Ok(Self { indices })
    }

    pub(super) fn indices(&self) -> &[N] {
        &self.indices
    }
}

/// A slice whose items are on the move: they are copied, bit by bit, to a scratch buffer in their new order, and
/// then all at once put back over the old.
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

    /// Item `order[k]` comes to place `k`.
    pub(super) fn gather<N: Word>(mut self, order: &Order<N>) {
        assert_eq!(order.indices.len(), self.items.len());
        let source = Base(self.items.as_mut_ptr());
        let fill = |(places, indices): (&mut [MaybeUninit<T>], &[N])| {
            for (place, index) in places.iter_mut().zip(indices) {
                // SAFETY: an order's indexes are below its length, which is the slice's.
                let item = unsafe { source.at(index.widen() as usize) };
                // SAFETY: the item is initialised and nobody writes to the slice meanwhile; the place is a
                // scratch place, which is elsewhere. The copy is a move if and when `commit` overwrites the
                // slice with all the copies, each of which an order makes once; until then it is only bytes.
                unsafe { ptr::copy_nonoverlapping(item, place.as_mut_ptr(), 1) };
            }
        };
        if self.scratch.len() < tuning::SEQUENTIAL_ITEMS {
            fill((&mut self.scratch, &order.indices));
        } else {
            self.scratch
                .par_chunks_mut(tuning::MOVE_CHUNK)
                .zip(order.indices.par_chunks(tuning::MOVE_CHUNK))
                .for_each(fill);
        }
        self.commit();
    }

    /// Item `k` comes to place `order[k]`.
    pub(super) fn scatter<N: Word>(mut self, order: &Order<N>) {
        assert_eq!(order.indices.len(), self.items.len());
        let target = Base(self.scratch.as_mut_ptr());
        let spread = |(items, indices): (&mut [T], &[N])| {
            for (item, index) in items.iter_mut().zip(indices) {
                // SAFETY: an order's indexes are below its length, which is the scratch buffer's.
                let place = unsafe { target.at(index.widen() as usize) };
                // SAFETY: the item is initialised, the place is a scratch place, and no other thread writes to
                // it, since an order has each index once. For what the copy is, see `gather`.
                unsafe { ptr::copy_nonoverlapping(ptr::from_mut(item), place.cast::<T>(), 1) };
            }
        };
        if self.items.len() < tuning::SEQUENTIAL_ITEMS {
            spread((self.items, &order.indices));
        } else {
            self.items
                .par_chunks_mut(tuning::MOVE_CHUNK)
                .zip(order.indices.par_chunks(tuning::MOVE_CHUNK))
                .for_each(spread);
        }
        self.commit();
    }

    /// Puts the scratch buffer, which holds each item once, back over the slice.
    fn commit(self) {
        let Self { items, mut scratch } = self;
        // Nothing in here can unwind, so the slice is never left half overwritten.
        let put_back = |(items, copies): (&mut [T], &mut [MaybeUninit<T>])| {
            let from = copies.as_ptr().cast::<T>();
            // SAFETY: both slices are of one length, as they were cut alike from slices of one length, and do not
            // overlap. All the copies are initialised: an order has an index for each place. What is overwritten is
            // not lost, as the copies hold it.
            unsafe { ptr::copy_nonoverlapping(from, items.as_mut_ptr(), items.len()) };
        };
        if items.len() < tuning::SEQUENTIAL_ITEMS {
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

// SAFETY: whoever follows the pointer answers for it; items that are copied to other threads are `Send`.
unsafe impl<T: Send> Send for Base<T> {}
// SAFETY: as above; sharing the pointer is no more than copying it.
unsafe impl<T: Send> Sync for Base<T> {}

impl<T> Base<T> {
    /// The address of an item.
    ///
    /// # Safety
    ///
    /// `index` is below the slice's length.
    #[inline]
    unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: within the slice by the caller's promise.
        unsafe { self.0.add(index) }
    }
}
