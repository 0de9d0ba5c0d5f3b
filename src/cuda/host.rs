//! Slices in host memory: there and back over the link.

use std::sync::PoisonError;

use cudarc::driver::sys;

use super::shuffle::job::Job;
use super::shuffle::movement::{Array, Movement};
use super::shuffle::plan::plan;
use crate::base::check::{check_length, check_word, try_with_capacity};
use crate::base::memory::Buffer;
use crate::bijection::{Bijection, DeviceSource};
use crate::compact::batch::Batch;
use crate::compact::columns::{Column, ColumnSet, StaticRow};
use crate::compact::{Compactor, Direction, sealed};
use crate::cuda::batch::rows::{self, RowsJob};
use crate::cuda::batch::tuning::ROWS_BYTES;
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::link::{LINK_BYTES, Link, copy_bits};
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::stream::failed;
use crate::cuda::runtime::word_type::WordType;
use crate::error::Error;
use crate::word::Word;

impl Cuda {
    /// Writes rows of a batch.
    pub(crate) fn rows<N: Word>(
        &self,
        batch: &Batch,
        first: u64,
        out: &mut [N],
    ) -> Result<(), Error> {
        write_rows(self, batch, first, out)
    }

    /// Moves the items of several columns in host memory, there or back: one column after the other.
    pub(crate) fn reorder_together(
        &self,
        bijection: &dyn Bijection,
        columns: &mut ColumnSet<impl StaticRow>,
        direction: Direction,
    ) -> Result<(), Error> {
        write_columns(self, bijection, columns, direction)
    }
}

impl sealed::Sealed for Cuda {}

impl Compactor for Cuda {
    fn indices<N: Word>(&self, bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
        write_indices(self, bijection, out)
    }

    fn shuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        reorder(self, bijection, items, Direction::Shuffle)
    }

    fn unshuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        reorder(self, bijection, items, Direction::Unshuffle)
    }

    fn shuffled<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        cloned(self, bijection, items)
    }
}

/// Writes the permutation.
fn write_indices<N: Word>(cuda: &Cuda, f: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    check_word::<N>(out.len())?;
    if out.is_empty() {
        return check_length(0, f.last());
    }
    let mut executor = cuda.executor();
    let mut memory = Memory::new();
    bind(cuda)?;
    let (address, _) = memory.room(&cuda.stream, size_of_val(out) as u64)?;
    let movement =
        Movement::Indices { out: Address::Given(address), word: WordType::of_index::<N>() };
    let job = Job::new(f, out.len() as u64, movement)?;
    let plan = plan(&job, cuda.strategy, &cuda.device.limits)?;
    // SAFETY: the working memory was got for as many words as `out` has, and is this call's alone.
    unsafe { executor.execute(&plan) }?;
    // SAFETY: the working memory was got for the bytes of `out`, which is borrowed for writing, and
    // in which any bits are a word. The kernels before this in the stream have written all of it.
    unsafe { to_host(cuda, address, out.as_mut_ptr().cast(), size_of_val(out)) }
}

/// Writes rows of a batch, a piece at a time.
fn write_rows<N: Word>(cuda: &Cuda, batch: &Batch, first: u64, out: &mut [N]) -> Result<(), Error> {
    if out.is_empty() {
        return Ok(());
    }
    let mut executor = cuda.executor();
    let mut memory = Memory::new();
    bind(cuda)?;
    let row_bytes = (batch.len * size_of::<N>()) as u64;
    let together = (ROWS_BYTES / row_bytes).max(1);
    let together = together.min((out.len() / batch.len) as u64) as usize;
    let (address, _) = memory.room(&cuda.stream, together as u64 * row_bytes)?;
    let pieces = out.chunks_mut(together * batch.len);
    for (piece, first) in pieces.zip((first..).step_by(together)) {
        let rows = (piece.len() / batch.len) as u64;
        let (at_once, out, word) =
            (together as u64, Address::Given(address), WordType::of_index::<N>());
        let job = RowsJob { batch: *batch, first, rows, at_once, out, word };
        // SAFETY: the working memory was got for the words of the largest piece, and is this call's
        // alone.
        unsafe { rows::write(&mut executor, &job) }?;
        // SAFETY: the working memory was got for the largest piece, and this one is borrowed for
        // writing. Any bits are a word, and the kernels before this in the stream have written
        // those of all rows of the piece.
        unsafe { to_host(cuda, address, piece.as_mut_ptr().cast(), size_of_val(piece)) }?;
    }
    Ok(())
}

/// Moves items, as bits. They are copied to the device, moved there, and copied back, first into working memory: only
/// when all of them are there is the slice written, so that nothing that fails can lose an item.
fn reorder<T: Send>(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    check_length(items.len() as u64, f.last())?;
    if size_of_val(items) == 0 {
        return Ok(());
    }
    let mut scratch = Buffer::default();
    let room = scratch.room::<T>(items.len())?;
    let source = Bits { start: items.as_ptr().cast(), len: items.len(), item: size_of::<T>() };
    // SAFETY: the items are borrowed, so that nobody writes to them meanwhile, and the scratch
    // memory has room for as many of their type.
    unsafe { moved_copy(cuda, f, source, room.as_mut_ptr().cast(), direction) }?;
    // SAFETY: the scratch memory now has the items' bits, each item's once, so that writing them over the slice moves
    // every item. The two do not overlap.
    unsafe { copy_bits(room.as_ptr().cast(), items.as_mut_ptr().cast(), size_of_val(items)) };
    Ok(())
}

/// Moves the items of several columns, as bits: one column after the other, each to working memory; only when all of them
/// are there are the columns written.
fn write_columns(
    cuda: &Cuda,
    f: &dyn Bijection,
    columns: &mut ColumnSet<impl StaticRow>,
    direction: Direction,
) -> Result<(), Error> {
    // Asked once for all columns, since a bijection that nobody vouches for may answer something else the next time.
    let vouched = f.trusted();
    let asked;
    let f: &dyn Bijection = match &vouched {
        Some(trusted) => trusted,
        None => {
            asked = Asked { f, last: f.last(), source: f.device_source() };
            &asked
        }
    };
    columns.check_domain(f.last())?;
    let len = columns.len().unwrap_or(0);
    let mut copies = try_with_capacity(columns.columns().len())?;
    for &Column { start, bytes } in columns.columns() {
        let mut copy = Buffer::default();
        let room = copy.room::<u8>(len * bytes)?.as_mut_ptr().cast::<u8>();
        let source = Bits { start: start.cast_const(), len, item: bytes };
        // SAFETY: all columns of a columns have `len` items, and it is borrowed, so that nobody
        // writes to them. The copy has room for the column's bytes.
        unsafe { moved_copy(cuda, f, source, room, direction) }?;
        copies.push((copy, room));
    }
    // A pool that cannot be started makes rayon panic, so it is asked for before anything is written.
    rayon::current_num_threads();
    for (&Column { start, bytes }, (_, room)) in columns.columns().iter().zip(&copies) {
        // SAFETY: the copy, whose memory stays where it is, has the items' bits, each item's once, so that writing them
        // over the column moves every item. The two do not overlap.
        unsafe { copy_bits(room.cast_const(), start, len * bytes) };
    }
    Ok(())
}

/// A bijection whose domain and device text were asked for once.
struct Asked<'a> {
    f: &'a dyn Bijection,
    last: u64,
    source: Option<DeviceSource>,
}

impl Bijection for Asked<'_> {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        self.f.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.f.inverse(index)
    }
    fn device_source(&self) -> Option<DeviceSource> {
        self.source.clone()
    }
}

/// Items in host memory, as bytes.
#[derive(Clone, Copy)]
struct Bits {
    start: *const u8,
    len: usize,
    /// The size of an item.
    item: usize,
}

/// A shuffled copy. The clones are made in order, and then moved.
fn cloned<T: Clone + Send + Sync>(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: &[T],
) -> Result<Vec<T>, Error> {
    check_length(items.len() as u64, f.last())?;
    let mut copy = try_with_capacity(items.len())?;
    copy.extend_from_slice(items);
    reorder(cuda, f, &mut copy, Direction::Shuffle)?;
    Ok(copy)
}

/// Writes the items' bits in their new order to `out`.
///
/// # Safety
///
/// The items are there, which nobody writes to, and as much room.
unsafe fn moved_copy(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: Bits,
    out: *mut u8,
    direction: Direction,
) -> Result<(), Error> {
    let Bits { start, len, item } = items;
    let bytes = len * item;
    let mut executor = cuda.executor();
    let mut memory = Memory::new();
    bind(cuda)?;
    let half = (bytes as u64).next_multiple_of(256);
    let (source, _) = memory.room(&cuda.stream, 2 * half)?;
    let array = Array::given(source, source + half, item);
    let job = Job::new(f, len as u64, Movement::items(vec![array], direction)?)?;
    let plan = plan(&job, cuda.strategy, &cuda.device.limits)?;
    // What can fail does so before the items travel.
    executor.reserve(&plan)?;
    // SAFETY: the caller promises that there are `bytes` of items, and the first half of the
    // working memory has room for them.
    unsafe { to_device(cuda, start, source, bytes) }?;
    // SAFETY: the two addresses are of a half of the working memory each, which has room for the
    // items, and which only this call uses.
    unsafe { executor.execute(&plan) }?;
    // SAFETY: the second half of the working memory has all of the items, and the caller promises
    // as much room at `out`.
    unsafe { to_host(cuda, source + half, out, bytes) }
}

/// Copies to the device. When it returns, the source is not needed any more.
///
/// # Safety
///
/// There are so many bytes at both addresses, those on the device for the stream to write.
unsafe fn to_device(cuda: &Cuda, from: *const u8, address: u64, bytes: usize) -> Result<(), Error> {
    if bytes >= LINK_BYTES {
        // SAFETY: `upload` asks for what the caller has promised of `from` and of the address.
        return with_link(cuda, |link| unsafe { link.upload(from, address, bytes) });
    }
    let stream = cuda.stream.cu_stream();
    // SAFETY: the caller promises that there are so many bytes at both addresses. Those of the host
    // are not needed when this returns, since the stream is waited for; if the copy was refused, it
    // does not run.
    unsafe { sys::cuMemcpyHtoDAsync_v2(address, from.cast(), bytes, stream) }
        .result()
        .map_err(|error| failed(error, "copy to the device"))?;
    wait(cuda)
}

/// Copies from the device, in the stream's order, and waits for it.
///
/// # Safety
///
/// There are so many bytes at both addresses, those on the device for the stream to read.
unsafe fn to_host(cuda: &Cuda, address: u64, out: *mut u8, bytes: usize) -> Result<(), Error> {
    if bytes >= LINK_BYTES {
        // SAFETY: `download` asks for what the caller has promised of the address and of `out`.
        return with_link(cuda, |link| unsafe { link.download(address, out, bytes) });
    }
    let stream = cuda.stream.cu_stream();
    // SAFETY: the caller promises that there are so many bytes at both addresses. Nothing is
    // written to those of the host when this has returned, since the stream is waited for even if
    // the copy was refused.
    let copied = unsafe { sys::cuMemcpyDtoHAsync_v2(out.cast(), address, bytes, stream) }
        .result()
        .map_err(|error| failed(error, "copy from the device"));
    wait(cuda).and(copied)
}

/// Uses the engine's page-locked memory, which is got the first time.
fn with_link(cuda: &Cuda, copy: impl FnOnce(&mut Link) -> Result<(), Error>) -> Result<(), Error> {
    let kept = || cuda.link.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock is not held meanwhile: a thread that waits for the copies of a pool may be given another call to do.
    let link = kept().take();
    let mut link = match link {
        Some(link) => link,
        None => Link::new(&cuda.stream)?,
    };
    let copied = copy(&mut link);
    *kept() = Some(link);
    copied
}

fn bind(cuda: &Cuda) -> Result<(), Error> {
    cuda.device.context.bind_to_thread().map_err(|error| failed(error, "use the device"))
}

fn wait(cuda: &Cuda) -> Result<(), Error> {
    cuda.stream.synchronize().map_err(|error| failed(error, "wait for the device"))
}
