//! The engine on slices in host memory, which are copied to the device and back.

use std::sync::PoisonError;

use cudarc::driver::sys;

use super::shuffle::movement::{MovedArray, Movement};
use super::shuffle::passes::Jobs;
use crate::compact::{Compactor, Direction, sealed};
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::staging::{LINK_BYTES, PinnedPair, copy_bits};
use crate::cuda::runtime::stream::{failed, finish};
use crate::cuda::runtime::word_type::WordType;
use crate::engine::check::{check_length, check_word, try_with_capacity};
use crate::engine::memory::Buffer;
use crate::{Bijection, Error, Word};

impl Cuda {
    /// Frees the page-locked memory.
    pub(crate) fn release(&self) {
        // It is freed when the lock is open again.
        let _link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        reorder(self, bijection, items, Direction::Shuffle)
    }

    fn unshuffle_by<T: Send>(
        &self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        check_length(items.len() as u64, bijection.last())?;
        reorder(self, bijection, items, Direction::Unshuffle)
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

/// Moves items, as bits. They are copied to the device, moved there, and copied back to working
/// memory. The slice is written only when all of them have arrived, so no failure can lose an item.
fn reorder<T: Send>(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    if size_of_val(items) == 0 {
        return Ok(());
    }
    let mut scratch = Buffer::default();
    let room = scratch.room::<T>(items.len())?;
    let source = HostBytes { start: items.as_ptr().cast(), len: items.len(), item: size_of::<T>() };
    // SAFETY: `source` describes the items of the slice, which is borrowed, so nobody writes to
    // them meanwhile. The scratch memory has room for as many items of their type.
    unsafe { moved_copy(cuda, f, source, room.as_mut_ptr().cast(), direction) }?;
    // SAFETY: the scratch memory now has the bits of every item, each exactly once, so copying them
    // over the slice moves the items. The two have the same size, do not overlap, and only this
    // call uses them.
    unsafe { copy_bits(room.as_ptr().cast(), items.as_mut_ptr().cast(), size_of_val(items)) };
    Ok(())
}

/// Items in host memory, as bytes.
#[derive(Clone, Copy)]
struct HostBytes {
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
    f: &dyn Bijection,
    items: HostBytes,
    out: *mut u8,
    direction: Direction,
) -> Result<(), Error> {
    let HostBytes { start, len, item } = items;
    let bytes = len * item;
    let mut executor = cuda.executor();
    let mut memory = Memory::new();
    bind(cuda)?;
    let half = (bytes as u64).next_multiple_of(256);
    let (source, _) = memory.room(&cuda.stream, 2 * half)?;
    let movement =
        Movement::items(vec![MovedArray::given(source, source + half, item)], direction)?;
    // What can fail is done before the items are copied.
    let jobs = Jobs::new(f, len as u64, movement)?;
    let plan = jobs.plan(cuda.strategy, &cuda.device.limits)?;
    executor.reserve(&plan)?;
    // SAFETY: the caller promises `bytes` bytes of items, and the first half of the working memory
    // has room for them.
    unsafe { to_device(cuda, start, source, bytes) }?;
    // SAFETY: each of the two addresses is that of one half of the working memory, which has room
    // for the items and which only this call uses.
    unsafe { executor.execute(&plan) }?;
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
fn with_link(
    cuda: &Cuda,
    copy: impl FnOnce(&mut PinnedPair) -> Result<(), Error>,
) -> Result<(), Error> {
    let kept = || cuda.link.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock is not held during the copy: a thread that waits for copies on a rayon pool may be
    // given another call of this function to run.
    let link = kept().take();
    let mut link = match link {
        Some(link) => link,
        None => PinnedPair::new(&cuda.stream)?,
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
