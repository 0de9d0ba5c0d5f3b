//! [`ColumnBuffers`]: the buffers of an array that is on its way, and how they get their memory.

use core::any::Any;
use core::convert::Infallible;

use bijective_shuffle::Error;
use bytemuck::{Pod, Zeroable};

use crate::arrays::VisitArray;

/// The buffers of one array.
pub(crate) struct ColumnBuffers<T> {
    /// What is sent, and then what has been received, at its places.
    pub(crate) packed: Vec<T>,
    /// What has been received, as it arrived, if that is not where the items were.
    pub(crate) received: Vec<T>,
}

/// Gives each array its new items, and keeps the memory of the old ones as a buffer.
pub(crate) struct Commit<'a> {
    pub(crate) columns: &'a mut Vec<Box<dyn Any>>,
}

impl VisitArray for Commit<'_> {
    type Error = Infallible;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Infallible> {
        core::mem::swap(items, &mut column(self.columns, number).packed);
        Ok(())
    }
}

/// The buffers of the array of a number. Those of items of another type are dropped.
pub(crate) fn column<T: Pod>(
    columns: &mut Vec<Box<dyn Any>>,
    number: usize,
) -> &mut ColumnBuffers<T> {
    let empty = || Box::new(ColumnBuffers::<T> { packed: Vec::new(), received: Vec::new() });
    if columns.len() <= number {
        columns.resize_with(number + 1, || empty());
    }
    if !columns[number].is::<ColumnBuffers<T>>() {
        columns[number] = empty();
    }
    columns[number].downcast_mut().expect("it has this type")
}

/// Gives a buffer a length; what it holds does not matter.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn fit<T: Zeroable + Clone>(buffer: &mut Vec<T>, length: u64) -> Result<(), Error> {
    ensure_capacity(buffer, length)?;
    // The room is for as many, so this is no truncation.
    buffer.resize(length as usize, T::zeroed());
    Ok(())
}

/// Gives a buffer room for at least `capacity` items, the ones that it holds among them.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn ensure_capacity<T>(buffer: &mut Vec<T>, capacity: u64) -> Result<(), Error> {
    let missing = usize::try_from(capacity.saturating_sub(buffer.len() as u64)).ok();
    let room = missing.and_then(|missing| buffer.try_reserve_exact(missing).ok());
    room.ok_or(Error::OutOfMemory { bytes: capacity.saturating_mul(size_of::<T>() as u64) })
}

/// Checks that an array has as many items as it should.
pub(crate) fn check_length(expected: u64, actual: u64) -> Result<(), Error> {
    if expected == actual { Ok(()) } else { Err(Error::LengthMismatch { expected, actual }) }
}
