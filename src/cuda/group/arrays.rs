//! Copying arrays in another order: one, or several by one permutation, [`CudaGroupArrays`].

use core::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr};

use super::engine::CudaGroup;
use super::given::{job_of_items, reading, total, writing};
use super::shards::Shards;
use crate::Error;
use crate::compact::{Chosen, Direction, Order};
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::in_use::SlicesInUse;

/// Copying arrays.
impl CudaGroup {
    /// Copies the items in shuffled order: item `p[k]` of the array `source` to place `k` of the
    /// array `out`. Both have one slice for each member.
    ///
    /// `source` is not written, whatever happens.
    ///
    /// # Errors
    ///
    /// * [`GpuError::Members`](crate::error::GpuError::Members) if there is not one slice for each
    ///   member, and [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice) if a slice is
    ///   in another context than its member.
    /// * [`Error::LengthMismatch`] if the arrays have different lengths, and
    ///   [`Error::LengthExceedsDomain`].
    /// * [`Error::NotABijection`]; nothing was moved.
    /// * [`Error::BackendUnavailable`] if NVRTC is not found, since the crate has no compiled
    ///   kernels for groups; nothing was moved.
    /// * [`GpuError::NoSource`](crate::error::GpuError::NoSource),
    ///   [`GpuError::Params`](crate::error::GpuError::Params),
    ///   [`GpuError::Compile`](crate::error::GpuError::Compile),
    ///   [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge),
    ///   [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
    ///   [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if a member has too little
    ///   memory for the strategy, and with [`Auto`](crate::cuda::CudaStrategy::Auto) also for the
    ///   direct one, and [`GpuError::Captured`](crate::error::GpuError::Captured) if a stream is
    ///   being captured in a graph, which a group does not support; nothing was moved.
    /// * [`GpuError::Driver`](crate::error::GpuError::Driver).
    pub fn shuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &[impl DeviceArray<T>],
        out: &mut [impl DeviceArrayMut<T>],
    ) -> Result<(), Error> {
        self.copy(order.into(), source, out, Direction::Shuffle)
    }

    /// Copies the items back into their original order: item `k` of `source` to place `p[k]` of
    /// `out`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into).
    pub fn unshuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &[impl DeviceArray<T>],
        out: &mut [impl DeviceArrayMut<T>],
    ) -> Result<(), Error> {
        self.copy(order.into(), source, out, Direction::Unshuffle)
    }

    fn copy<T: DeviceRepr>(
        &mut self,
        order: Order,
        source: &[impl DeviceArray<T>],
        out: &mut [impl DeviceArrayMut<T>],
        direction: Direction,
    ) -> Result<(), Error> {
        let len = total(source.iter().map(|slice| slice.len()), order)?;
        CudaGroupArrays::new(self, order, len).array(source, out)?.execute(direction)
    }

    /// Begins a call that moves several arrays, of any types, by one permutation of `len` items.
    ///
    /// They are moved one after the other, by the strategy that each would be moved by alone, so
    /// that their working memory is that of the one that takes the most. Where
    /// [`Auto`](crate::cuda::CudaStrategy::Auto) finds too little of it, the arrays that take the
    /// most are moved by the strategy that needs hardly any. Only a bijection that has to be
    /// checked is evaluated and checked once for all arrays; otherwise it is evaluated for each. To
    /// have kernels and memory ready, [`reserve`](Self::reserve) for each array.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::cuda::CudaGroup;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut group = match CudaGroup::on_all_devices() {
    ///     Ok(group) => group,
    ///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
    ///     Err(error) => return Err(error.into()),
    /// };
    /// // A thousand keys and rows on each GPU.
    /// let len = 1000 * group.streams().len();
    /// let (mut keys, mut rows, mut new_keys, mut new_rows) = (vec![], vec![], vec![], vec![]);
    /// for stream in group.streams() {
    ///     keys.push(stream.alloc_zeros::<u64>(1000)?);
    ///     rows.push(stream.alloc_zeros::<[f32; 3]>(1000)?);
    ///     new_keys.push(stream.alloc_zeros::<u64>(1000)?);
    ///     new_rows.push(stream.alloc_zeros::<[f32; 3]>(1000)?);
    /// }
    /// let arrays = group.arrays(42, len).array(&keys, &mut new_keys)?.array(&rows, &mut new_rows)?;
    /// match arrays.shuffle() {
    ///     // NVRTC, which compiles the kernels of groups, is not installed.
    ///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
    ///     shuffled => shuffled?,
    /// }
    /// group.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn arrays<'a>(
        &'a mut self,
        order: impl Into<Order<'a>>,
        len: usize,
    ) -> CudaGroupArrays<'a> {
        CudaGroupArrays::new(self, order.into(), len as u64)
    }
}

/// A call that moves several arrays, each divided among the members of a group, by one permutation;
/// [`CudaGroup::arrays`] begins it.
///
/// All arrays have the permutation's length. How they are divided among the members may differ from
/// array to array, and before and after. Nothing is moved before all arrays have been checked, all
/// kernels are compiled, and the working memory is there.
pub struct CudaGroupArrays<'a> {
    group: &'a mut CudaGroup,
    chosen: Chosen<'a>,
    len: u64,
    arrays: Vec<Box<dyn Slices + 'a>>,
}

impl<'a> CudaGroupArrays<'a> {
    pub(super) fn new(group: &'a mut CudaGroup, order: Order<'a>, len: u64) -> Self {
        Self { group, chosen: order.for_len(len), len, arrays: Vec::new() }
    }

    /// Adds an array and the array that its items are copied to, each with one slice for each
    /// member. There may be any number of arrays.
    ///
    /// # Errors
    ///
    /// [`GpuError::Members`](crate::error::GpuError::Members) if there is not one slice for each
    /// member, [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice) if a slice is in
    /// another context than its member, and [`Error::LengthMismatch`] if the slices together do not
    /// have the permutation's length.
    pub fn array<T: DeviceRepr + 'a>(
        mut self,
        source: &'a [impl DeviceArray<T>],
        out: &'a mut [impl DeviceArrayMut<T>],
    ) -> Result<Self, Error> {
        self.group.members.check(source.iter().map(|slice| slice.stream()))?;
        self.group.members.check(out.iter().map(|slice| slice.stream()))?;
        let lens = [
            total(source.iter().map(|slice| slice.len()), self.chosen.bijection())?,
            total(out.iter().map(|slice| slice.len()), self.chosen.bijection())?,
        ];
        if let Some(&actual) = lens.iter().find(|&&len| len != self.len) {
            return Err(Error::LengthMismatch { expected: self.len, actual });
        }
        self.arrays.push(Box::new(Pair { source, out, items: PhantomData::<T> }));
        Ok(self)
    }

    /// Copies the arrays in shuffled order: item `p[k]` of each source to place `k`.
    ///
    /// # Errors
    ///
    /// As [`CudaGroup::shuffle_into`]. Except after a
    /// [`GpuError::Driver`](crate::error::GpuError::Driver), no array was moved.
    pub fn shuffle(self) -> Result<(), Error> {
        self.execute(Direction::Shuffle)
    }

    /// Copies the arrays back into their original order: item `k` of each source to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle(self) -> Result<(), Error> {
        self.execute(Direction::Unshuffle)
    }

    /// Moves the arrays.
    pub(super) fn execute(self, direction: Direction) -> Result<(), Error> {
        let Self { group, chosen, len, mut arrays } = self;
        let largest = arrays.iter().map(|array| array.item()).max().unwrap_or(0);
        let Some(job) = job_of_items(chosen.bijection(), len, largest)? else { return Ok(()) };
        // Items of size zero cannot be told apart, so they need not be moved.
        arrays.retain(|array| array.item() > 0);
        let streams: Vec<_> = group.streams().cloned().collect();
        group.members.enter()?;
        let mut guards = SlicesInUse::default();
        let slices = arrays.iter_mut().map(|array| array.take(&streams, &mut guards));
        let slices: Vec<_> = slices.collect();
        group.members.check_slices()?;
        let moved = group.plan_items(&job, &slices, direction, &mut |group, phases| {
            // SAFETY: `array` has checked that each slice belongs to its member's context, and that
            // each source and each target have as many items as the job. Sources are borrowed and
            // targets borrowed mutably, so no target overlaps anything else, and the guards, each
            // an `InUse`, ensure that none is freed or otherwise used before its member's stream
            // has finished, for which all streams wait in the end.
            unsafe { group.members.execute(phases) }
        });
        drop(guards);
        moved
    }
}

impl core::fmt::Debug for CudaGroupArrays<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let items: Vec<_> = self.arrays.iter().map(|array| array.item()).collect();
        f.debug_struct("CudaGroupArrays")
            .field("len", &self.len)
            .field("item_bytes", &items)
            .finish_non_exhaustive()
    }
}

/// The slices of an array and of its target, whatever their types are.
trait Slices {
    /// The size of an item in bytes.
    fn item(&self) -> usize;

    /// Takes the slices into use by the members' streams, and returns source and target.
    fn take<'g>(
        &'g mut self,
        streams: &'g [Arc<CudaStream>],
        guards: &mut SlicesInUse<'g>,
    ) -> [Shards; 2];
}

/// [`Slices`] of items of type T.
struct Pair<'a, T, S, O> {
    source: &'a [S],
    out: &'a mut [O],
    items: PhantomData<T>,
}

impl<T: DeviceRepr, S: DeviceArray<T>, O: DeviceArrayMut<T>> Slices for Pair<'_, T, S, O> {
    fn item(&self) -> usize {
        size_of::<T>()
    }

    fn take<'g>(
        &'g mut self,
        streams: &'g [Arc<CudaStream>],
        guards: &mut SlicesInUse<'g>,
    ) -> [Shards; 2] {
        let source = reading(self.source, streams, guards);
        [source, writing(self.out, streams, guards)]
    }
}
