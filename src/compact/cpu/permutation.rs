//! [`CheckedPermutation`]: what items may be moved by. All that is unsafe in moving items rests on
//! it being a permutation, and on nothing that a user wrote without vouching for it.

use super::direct::{MoveRun, fill_checked, in_chunks, in_order, in_waves, is_parallel};
use super::places::Places;
use super::survivors::Values;
use super::tuning;
use crate::base::check::{check_length, try_with_capacity};
use crate::base::memory::Buffer;
use crate::bijection::{Bijection, Trusted};
use crate::error::Error;
use crate::word::Word;

/// A permutation that items may be moved by: each index below its length comes at exactly one
/// place.
pub(super) struct CheckedPermutation<'a> {
    len: usize,
    indices: Indices<'a>,
}

/// Where the indexes come from.
enum Indices<'a> {
    /// From a trusted bijection, while the items move.
    Evaluated(Trusted<'a>),
    /// From one that is not trusted, so they were written out and checked.
    Narrow(Vec<u32>),
    /// The same, of more items than 32 bits count.
    Wide(Vec<u64>),
}

impl<'a> CheckedPermutation<'a> {
    /// The permutation that a bijection compacts to. A bijection that is not trusted is evaluated
    /// and checked here, and never asked again.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] and [`Error::OutOfMemory`].
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

    /// The bijection that the indexes come from, if it is trusted.
    pub(super) fn trusted(&self) -> Option<&Trusted<'a>> {
        match &self.indices {
            Indices::Evaluated(trusted) => Some(trusted),
            Indices::Narrow(_) | Indices::Wide(_) => None,
        }
    }

    /// Whether several threads work together at any step of moving items of `item_bytes`. The
    /// caller then enters the pool once, and not for every step, which takes ten microseconds from
    /// outside.
    pub(super) fn is_parallel(&self, item_bytes: usize) -> bool {
        !tuning::is_sequential(self.len, item_bytes)
            || self.trusted().is_some_and(|trusted| is_parallel(trusted.last()))
    }

    /// Moves all the places, in runs, together with the indexes that belong to them; several runs
    /// at a time on several threads. When it returns `Ok`, each place was in one run, and so was
    /// each index.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. Some runs may have been moved before.
    ///
    /// # Panics
    ///
    /// If there are not as many places as indexes.
    pub(super) fn for_each_run<P: Places, M>(
        &self,
        places: P,
        tiles: &mut Buffer,
        step: &M,
    ) -> Result<(), Error>
    where
        M: MoveRun<P, u32> + MoveRun<P, u64>,
    {
        assert_eq!(self.len, places.len());
        if self.len == 0 {
            return Ok(());
        }
        match &self.indices {
            Indices::Narrow(indices) => in_chunks(indices, places, step),
            Indices::Wide(indices) => in_chunks(indices, places, step),
            Indices::Evaluated(f) if is_parallel(f.last()) => {
                let values = Values::of_trusted(f, self.len);
                if fits_u32(self.len) {
                    in_waves::<P, u32>(&values, places, tiles, step)
                } else {
                    in_waves::<P, u64>(&values, places, tiles, step)
                }
            }
            Indices::Evaluated(f) => {
                let values = Values::on_one_thread(f, self.len, tiles)?;
                if fits_u32(self.len) {
                    in_order::<P, u32>(&values, places, step)
                } else {
                    in_order::<P, u64>(&values, places, step)
                }
            }
        }
    }
}

/// The bijection by which to evaluate what a bijection compacts to for a length, which is checked
/// against its domain: often itself.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`].
pub(super) fn uncompacted(bijection: &dyn Bijection, len: usize) -> Result<&dyn Bijection, Error> {
    check_length(len as u64, bijection.last())?;
    Ok(bijection.uncompacted().unwrap_or(bijection))
}

/// Whether every index below a length fits 32 bits.
pub(super) fn fits_u32(len: usize) -> bool {
    len as u64 <= 1 << 32
}

fn checked_indices<N: Word>(bijection: &dyn Bijection, len: usize) -> Result<Vec<N>, Error> {
    let mut indices = try_with_capacity(len)?;
    indices.resize(len, N::zero());
    fill_checked(bijection, &mut indices)?;
    Ok(indices)
}
