//! [`Serial`]: the compaction algorithm in its simplest form.

use super::defects::{with_slots, wrong_count};
use super::{Compactor, sealed};
use crate::bijection::hooks::Hooked;
use crate::engine::check::{check_in_order, check_length, check_word, try_with_capacity};
use crate::{Bijection, Error, Word};

/// The sequential reference engine: one slot after the other, on one thread, without `unsafe`.
///
/// Every other engine is tested against it. It evaluates the bijection point by point, always
/// checks the permutation, and follows its cycles to move items.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Lcg;
/// use bijective_shuffle::Serial;
/// use bijective_shuffle::prelude::*;
///
/// let mut letters = ["a", "b", "c", "d", "e"];
/// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
/// Serial.shuffle(&f, &mut letters)?;
/// assert_eq!(letters, ["d", "a", "c", "e", "b"]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Serial;

impl Compactor for Serial {}

impl Serial {
    /// The permutation of a length, checked.
    fn permutation(bijection: &dyn Bijection, len: usize) -> Result<Vec<u64>, Error> {
        let mut indices = try_with_capacity(len)?;
        indices.resize(len, 0_u64);
        Serial.write_indexes(bijection, &mut indices)?;
        Ok(indices)
    }
}

impl sealed::Compact for Serial {
    fn write_indexes_by<N: Word>(
        &self,
        bijection: &dyn Bijection,
        out: &mut [N],
    ) -> Result<(), Error> {
        let len = out.len();
        let last = bijection.last();
        check_length(len as u64, last)?;
        check_word::<N>(len)?;
        if len == 0 {
            return Ok(());
        }
        bijection.build_indexes(false)?;
        let mut rank = 0;
        for slot in 0..=last {
            let index = bijection.forward(slot);
            if index < len as u64 {
                if rank == len {
                    return Err(wrong_count(len, rank + 1));
                }
                out[rank] = N::wrap(index);
                rank += 1;
            }
        }
        if rank != len {
            return Err(wrong_count(len, rank));
        }
        check_in_order(out).map_err(|error| {
            with_slots(error.into(), last, |first, run| {
                for (slot, value) in (first..).zip(run) {
                    *value = bijection.forward(slot);
                }
            })
        })
    }

    fn shuffle_by<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        if size_of::<T>() == 0 {
            return Ok(check_length(items.len() as u64, bijection.last())?);
        }
        let mut from = Self::permutation(bijection, items.len())?;
        // Follows each cycle: every place takes the item that belongs there, which leaves a gap
        // where that item was. A place that is done points to itself.
        for start in 0..items.len() {
            let mut place = start;
            while from[place] != place as u64 && from[place] != start as u64 {
                let next = from[place] as usize;
                items.swap(place, next);
                from[place] = place as u64;
                place = next;
            }
            from[place] = place as u64;
        }
        Ok(())
    }

    fn unshuffle_by<T: Send>(
        &self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        if size_of::<T>() == 0 {
            return Ok(check_length(items.len() as u64, bijection.last())?);
        }
        let mut to = Self::permutation(bijection, items.len())?;
        // Moves the item at this place to where it belongs, until the one that belongs here
        // arrives.
        for place in 0..items.len() {
            while to[place] != place as u64 {
                let target = to[place] as usize;
                items.swap(place, target);
                to.swap(place, target);
            }
        }
        Ok(())
    }

    fn shuffled_by<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        if size_of::<T>() == 0 {
            check_length(items.len() as u64, bijection.last())?;
            return Ok(items.to_vec());
        }
        let from = Self::permutation(bijection, items.len())?;
        let mut out = try_with_capacity(items.len())?;
        out.extend(from.into_iter().map(|index| items[index as usize].clone()));
        Ok(out)
    }

    fn unshuffled_by<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        let mut copy = try_with_capacity(items.len())?;
        copy.extend_from_slice(items);
        self.unshuffle(bijection, &mut copy)?;
        Ok(copy)
    }
}
