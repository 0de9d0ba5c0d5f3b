//! Rows of a batch in device memory: many permutations of one length, by one call. The kernels are
//! in gpu/batch, and what users call in src/permutation/many_on_gpu.rs. `segments` is for segments
//! of different lengths.

mod kernels;
pub(crate) mod rows;
mod segments;
pub(crate) mod tuning;

use cudarc::driver::DeviceRepr;

use self::rows::RowsJob;
use super::raw::RawArray;
use super::runtime::array::{DeviceArray, DeviceArrayMut};
use super::runtime::in_use::{SlicesInUse, writing};
use super::runtime::plan::Address;
use super::runtime::word_type::WordType;
use super::shuffle::movement::Movement;
use super::workspace::CudaWorkspace;
use crate::compact::Direction;
use crate::compact::batch::Batch;
use crate::engine::check::check_word;
use crate::{Error, Word};

/// Rows of a batch. All of these take the words or items of whole rows, which exist.
impl CudaWorkspace {
    /// Writes the rows of a batch from `first` on to all of `out`.
    pub(crate) fn write_batch<N: Word + DeviceRepr>(
        &mut self,
        batch: &Batch,
        first: u64,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        check_word::<N>(batch.len)?;
        self.check_device(out.stream())?;
        let words = out.len();
        self.enter()?;
        let (address, _guard) = writing(out, &self.stream);
        self.executor.check_slices()?;
        let job = indexes::<N>(batch, first, words, address);
        // SAFETY: the slice belongs to the context and has room for the job's rows. It is borrowed
        // mutably, and the guard, an `InUse`, ensures that it is neither freed nor otherwise used
        // before the stream has finished with it.
        unsafe { rows::execute(&mut self.executor, &job) }
    }

    /// Compiles and allocates what writing that many words of a batch needs. Returns the bytes that
    /// the workspace then holds.
    pub(crate) fn reserve_batch<N: Word>(
        &mut self,
        batch: &Batch,
        words: usize,
    ) -> Result<usize, Error> {
        check_word::<N>(batch.len)?;
        // Allocations on the device are aligned to 256 bytes.
        rows::reserve(&mut self.executor, &indexes::<N>(batch, 0, words, 256))?;
        Ok(self.bytes())
    }

    /// Moves items to another slice, each within its row, by the rows of a batch from `first` on.
    pub(crate) fn move_batch<T: DeviceRepr>(
        &mut self,
        batch: &Batch,
        first: u64,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
        direction: Direction,
    ) -> Result<(), Error> {
        let (len, item_bytes) = (source.len(), size_of::<T>());
        if out.len() != len {
            let (expected, actual) = (len as u64, out.len() as u64);
            return Err(Error::LengthMismatch { expected, actual });
        }
        self.check_device(source.stream())?;
        self.check_device(out.stream())?;
        self.enter()?;
        let stream = self.stream.clone();
        let mut guards = SlicesInUse::default();
        let (source, out) = (guards.read(source, &stream), guards.write(out, &stream));
        self.executor.check_slices()?;
        let array = RawArray { source, out, len, item_bytes };
        let Some(job) = items(batch, first, array, direction)? else { return Ok(()) };
        // SAFETY: both slices belong to the context and have `len` items. The source is borrowed
        // and the other borrowed mutably, so they do not overlap, and the guards, each an `InUse`,
        // ensure that neither is freed or otherwise used before the stream has finished with it.
        unsafe { rows::execute(&mut self.executor, &job) }
    }

    /// [`move_batch`](Self::move_batch), for items at raw addresses.
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw).
    pub(crate) unsafe fn move_batch_raw(
        &mut self,
        batch: &Batch,
        first: u64,
        array: RawArray,
        direction: Direction,
    ) -> Result<(), Error> {
        array.check_apart()?;
        self.enter()?;
        let Some(job) = items(batch, first, array, direction)? else { return Ok(()) };
        // SAFETY: the job moves as many rows as the array has. The caller vouches for the array,
        // whose two parts were found apart.
        unsafe { rows::execute(&mut self.executor, &job) }
    }

    /// Compiles and allocates what moving that array in either direction needs. Returns the bytes
    /// that the workspace then holds.
    pub(crate) fn reserve_batch_raw(
        &mut self,
        batch: &Batch,
        array: RawArray,
    ) -> Result<usize, Error> {
        for direction in [Direction::Shuffle, Direction::Unshuffle] {
            if let Some(job) = items(batch, 0, array, direction)? {
                rows::reserve(&mut self.executor, &job)?;
            }
        }
        Ok(self.bytes())
    }
}

/// Writing that many words of a batch to an address, from row `first` on.
fn indexes<N: Word>(batch: &Batch, first: u64, words: usize, address: u64) -> RowsJob {
    let (out, word) = (Address::Given(address), WordType::of_index::<N>());
    let rows = words.checked_div(batch.len).unwrap_or(0) as u64;
    let movement = Movement::Indices { out, word };
    RowsJob { batch: *batch, first, rows, at_once: rows, movement }
}

/// Moving the rows of an array, by those of a batch from `first` on; `None` if the items have no
/// bytes. Such items cannot be told apart, so they need not be moved.
fn items(
    batch: &Batch,
    first: u64,
    array: RawArray,
    direction: Direction,
) -> Result<Option<RowsJob>, Error> {
    let movement = Movement::items(vec![array.array()], direction)?;
    let rows = array.len.checked_div(batch.len).unwrap_or(0) as u64;
    let job = RowsJob { batch: *batch, first, rows, at_once: rows, movement };
    Ok((array.item_bytes > 0).then_some(job))
}
