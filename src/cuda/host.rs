//! The engine on slices in host memory, which are copied to the device and back.

use std::sync::PoisonError;

use cudarc::driver::sys;

use super::shuffle::movement::{Array, Movement};
use super::shuffle::passes::Jobs;
use crate::bijection::hooks::{EngineHooks, Passes};
use crate::compact::batch::Batch;
use crate::compact::columns::{Column, ColumnSet, StaticRow};
use crate::compact::{Compactor, Direction, passes, sealed};
use crate::cuda::batch::rows::{self, RowsJob};
use crate::cuda::batch::tuning::ROWS_BYTES;
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::staging::{LINK_BYTES, Link, copy_bits};
use crate::cuda::runtime::stream::{failed, finish};
use crate::cuda::runtime::word_type::WordType;
use crate::engine::check::{check_length, check_word, try_with_capacity};
use crate::engine::memory::Buffer;
use crate::{Bijection, DeviceSource, Error, Trusted, Word};

impl Cuda {
    /// Frees the page-locked memory.
    pub(crate) fn release(&self) {
        // It is freed when the lock is open again.
        let _link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Writes the rows of a batch from `first` on, a piece at a time.
    pub(crate) fn rows<N: Word>(
        &self,
        batch: &Batch,
        first: u64,
        out: &mut [N],
    ) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        let mut executor = self.executor();
        let mut memory = Memory::new();
        bind(self)?;
        let row_bytes = (batch.len * size_of::<N>()) as u64;
        let together = (ROWS_BYTES / row_bytes).max(1);
        let together = together.min((out.len() / batch.len) as u64) as usize;
        let (address, _) = memory.room(&self.stream, together as u64 * row_bytes)?;
        let pieces = out.chunks_mut(together * batch.len);
        for (piece, first) in pieces.zip((first..).step_by(together)) {
            let rows = (piece.len() / batch.len) as u64;
            let (out, word) = (Address::Given(address), WordType::of_index::<N>());
            let (at_once, movement) = (together as u64, Movement::Indices { out, word });
            let job = RowsJob { batch: *batch, first, rows, at_once, movement };
            // SAFETY: the working memory has room for the words of the largest piece, and only this
            // call uses it.
            unsafe { rows::execute(&mut executor, &job) }?;
            // SAFETY: the working memory has as many bytes as the largest piece, and the kernels
            // before this copy in the stream write all rows of this one. The piece is borrowed
            // mutably, and any bits are a valid word.
            unsafe { to_host(self, address, piece.as_mut_ptr().cast(), size_of_val(piece)) }?;
        }
        Ok(())
    }

    /// Moves the items of rows, each within its row, a piece of whole rows at a time. After an
    /// error each row is either moved or as it was.
    pub(crate) fn reorder_rows<T: Send>(
        &self,
        batch: &Batch,
        items: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        if size_of_val(items) == 0 {
            return Ok(());
        }
        let together = (ROWS_BYTES / (batch.len * size_of::<T>()) as u64).max(1);
        let together = together.min((items.len() / batch.len) as u64) as usize;
        let pieces = items.chunks_mut(together * batch.len);
        pieces.zip((0_u64..).step_by(together)).try_for_each(|(piece, first)| {
            reorder(self, By::Rows { batch, first, at_once: together as u64 }, piece, direction)
        })
    }

    /// Moves the items of several columns, as bits: one column after the other, each to working
    /// memory. The columns are written only when all items have arrived.
    pub(crate) fn reorder_together(
        &self,
        f: &dyn Bijection,
        columns: &mut ColumnSet<impl StaticRow>,
        direction: Direction,
    ) -> Result<(), Error> {
        // The domain, the device text and the passes are read once for all columns, since an
        // untrusted bijection may return something else the next time.
        let passes = passes::passes(f, columns.len().unwrap_or(0));
        let vouched = if passes.is_none() { f.trusted() } else { None };
        let asked;
        let f: &dyn Bijection = match &vouched {
            Some(trusted) => trusted,
            None => {
                asked = Asked { f, last: f.last(), source: f.device_source(), passes };
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
            // SAFETY: all columns of the set have `len` items, and the set is borrowed mutably, so
            // nobody writes to them. The copy has room for the column's bytes.
            unsafe { moved_copy(self, By::Bijection(f), source, room, direction) }?;
            copies.push((copy, room));
        }
        // Rayon panics if it cannot start its pool, so the pool is started before anything is
        // written.
        rayon::current_num_threads();
        for (&Column { start, bytes }, (_, room)) in columns.columns().iter().zip(&copies) {
            // SAFETY: the copy, whose memory has not moved, has the bits of every item of the
            // column, each exactly once, so copying them over the column moves the items. The two
            // have the same size, do not overlap, and only this call uses them.
            unsafe { copy_bits(room.cast_const(), start, len * bytes) };
        }
        Ok(())
    }
}

impl Compactor for Cuda {}

impl sealed::Compact for Cuda {
    fn write_indexes_by<N: Word>(&self, f: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
        check_word::<N>(out.len())?;
        if out.is_empty() {
            return Ok(check_length(0, f.last())?);
        }
        let mut executor = self.executor();
        let mut memory = Memory::new();
        bind(self)?;
        let (address, _) = memory.room(&self.stream, size_of_val(out) as u64)?;
        let movement =
            Movement::Indices { out: Address::Given(address), word: WordType::of_index::<N>() };
        let jobs = Jobs::new(f, out.len() as u64, movement)?;
        let plan = jobs.plan(self.strategy, &self.device.limits)?;
        // SAFETY: the working memory has room for as many words as `out` has, and only this call
        // uses it.
        unsafe { executor.execute(&plan) }?;
        // SAFETY: the working memory has as many bytes as `out`, and the kernels before this copy
        // in the stream write all of them. `out` is borrowed mutably, and any bits are a valid
        // word.
        unsafe { to_host(self, address, out.as_mut_ptr().cast(), size_of_val(out)) }
    }

    fn shuffle_by<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        check_length(items.len() as u64, bijection.last())?;
        reorder(self, By::Bijection(bijection), items, Direction::Shuffle)
    }

    fn unshuffle_by<T: Send>(
        &self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        check_length(items.len() as u64, bijection.last())?;
        reorder(self, By::Bijection(bijection), items, Direction::Unshuffle)
    }

    fn shuffled_by<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        check_length(items.len() as u64, bijection.last())?;
        let mut copy = try_with_capacity(items.len())?;
        copy.extend_from_slice(items);
        self.shuffle(bijection, &mut copy)?;
        Ok(copy)
    }
}

/// By what items are moved.
#[derive(Clone, Copy)]
enum By<'a> {
    /// All of them by a bijection, which has as many points.
    Bijection(&'a dyn Bijection),
    /// Those of whole rows, each by the batch's row of its number.
    Rows {
        batch: &'a Batch,
        first: u64,
        /// The most rows of a call.
        at_once: u64,
    },
}

/// Moves items, as bits. They are copied to the device, moved there, and copied back to working
/// memory. The slice is written only when all of them have arrived, so no failure can lose an item.
fn reorder<T: Send>(
    cuda: &Cuda,
    by: By<'_>,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    if size_of_val(items) == 0 {
        return Ok(());
    }
    let mut scratch = Buffer::default();
    let room = scratch.room::<T>(items.len())?;
    let source = Bits { start: items.as_ptr().cast(), len: items.len(), item: size_of::<T>() };
    // SAFETY: `source` describes the items of the slice, which is borrowed, so nobody writes to
    // them meanwhile. The scratch memory has room for as many items of their type.
    unsafe { moved_copy(cuda, by, source, room.as_mut_ptr().cast(), direction) }?;
    // SAFETY: the scratch memory now has the bits of every item, each exactly once, so copying them
    // over the slice moves the items. The two have the same size, do not overlap, and only this
    // call uses them.
    unsafe { copy_bits(room.as_ptr().cast(), items.as_mut_ptr().cast(), size_of_val(items)) };
    Ok(())
}

/// A bijection whose domain, device text and passes have been read once.
struct Asked<'a> {
    f: &'a dyn Bijection,
    last: u64,
    source: Option<DeviceSource>,
    passes: Option<Passes<Trusted<'a>>>,
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
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl EngineHooks for Asked<'_> {
    fn passes(&self) -> Option<Passes<Trusted<'_>>> {
        self.passes.as_ref()?.map(Bijection::trusted)
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

/// Writes the items' bits to `out`, in their new order.
///
/// # Safety
///
/// `items` describes `len` items of `item` bytes each, to which nobody writes meanwhile. `out` has
/// room for as many bytes, does not overlap them, and nobody else uses it.
unsafe fn moved_copy(
    cuda: &Cuda,
    by: By<'_>,
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
    let movement = Movement::items(vec![Array::given(source, source + half, item)], direction)?;
    // SAFETY: the caller promises `bytes` bytes of items, and the first half of the working memory
    // has room for them.
    let upload = || unsafe { to_device(cuda, start, source, bytes) };
    // What can fail is done before the items are copied.
    match by {
        By::Bijection(f) => {
            let jobs = Jobs::new(f, len as u64, movement)?;
            let plan = jobs.plan(cuda.strategy, &cuda.device.limits)?;
            executor.reserve(&plan)?;
            upload()?;
            // SAFETY: each of the two addresses is that of one half of the working memory, which
            // has room for the items and which only this call uses.
            unsafe { executor.execute(&plan) }?;
        }
        By::Rows { batch, first, at_once } => {
            let rows = (len / batch.len) as u64;
            let job = RowsJob { batch: *batch, first, rows, at_once, movement };
            rows::reserve(&mut executor, &job)?;
            upload()?;
            // SAFETY: the items are whole rows, and each half of the working memory has room for
            // them, which only this call uses.
            unsafe { rows::execute(&mut executor, &job) }?;
        }
    }
    // SAFETY: the second half of the working memory has `bytes` bytes of items, and the caller
    // promises as much room at `out`.
    unsafe { to_host(cuda, source + half, out, bytes) }
}

/// Copies to the device. The source is no longer needed when it returns.
///
/// # Safety
///
/// There are `bytes` bytes to read at `from` and to write at `address`. The stream may write the
/// latter.
unsafe fn to_device(cuda: &Cuda, from: *const u8, address: u64, bytes: usize) -> Result<(), Error> {
    if bytes >= LINK_BYTES {
        // SAFETY: `upload` requires what the caller has promised: `bytes` bytes at `from` and at
        // the address.
        return with_link(cuda, |link| unsafe { link.upload(from, address, bytes) });
    }
    let stream = cuda.stream.cu_stream();
    // SAFETY: the caller promises `bytes` bytes at both addresses. The host's bytes outlive the
    // copy, because this function waits for the stream before it returns; if the driver refuses the
    // copy, it never runs.
    unsafe { sys::cuMemcpyHtoDAsync_v2(address, from.cast(), bytes, stream) }
        .result()
        .map_err(|error| failed(error, "copy to the device"))?;
    wait(cuda)
}

/// Copies from the device, in the stream's order, and waits for it.
///
/// # Safety
///
/// There are `bytes` bytes to read at `address` and to write at `out`. The stream may read the
/// former, and nobody else uses the latter.
unsafe fn to_host(cuda: &Cuda, address: u64, out: *mut u8, bytes: usize) -> Result<(), Error> {
    if bytes >= LINK_BYTES {
        // SAFETY: `download` requires what the caller has promised: `bytes` bytes at the address
        // and at `out`.
        return with_link(cuda, |link| unsafe { link.download(address, out, bytes) });
    }
    let stream = cuda.stream.cu_stream();
    // SAFETY: the caller promises `bytes` bytes at both addresses. Nothing is written to the host's
    // bytes after this function has returned, because it waits for the stream even if the driver
    // refuses the copy.
    let copied = unsafe { sys::cuMemcpyDtoHAsync_v2(out.cast(), address, bytes, stream) }
        .result()
        .map_err(|error| failed(error, "copy from the device"));
    wait(cuda).and(copied)
}

/// Calls a function with the engine's page-locked memory, which is allocated the first time.
fn with_link(cuda: &Cuda, copy: impl FnOnce(&mut Link) -> Result<(), Error>) -> Result<(), Error> {
    let kept = || cuda.link.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock is not held during the copy: a thread that waits for copies on a rayon pool may be
    // given another call of this function to run.
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
    finish(&cuda.stream).map_err(|error| failed(error, "wait for the device"))
}
