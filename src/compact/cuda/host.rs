//! Slices in host memory: there and back over the link.

use cudarc::driver::result;

use super::Cuda;
use super::device::failed;
use super::memory::Memory;
use super::movement::{Array, Movement};
use super::run::{Job, Runner};
use crate::bijection::Bijection;
use crate::compact::cpu::memory::Buffer;
use crate::compact::{check_length, check_word, try_with_capacity};
use crate::error::Error;
use crate::word::Word;

/// Writes the permutation.
pub(super) fn indices<N: Word>(cuda: &Cuda, f: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    check_word::<N>(out.len())?;
    if out.is_empty() {
        return check_length(0, f.last());
    }
    let mut runner = runner(cuda);
    let mut memory = Memory::new();
    bind(cuda)?;
    let word = size_of::<N>();
    let (address, _) = memory.room(&cuda.stream, size_of_val(out) as u64)?;
    let job = Job::new(f, out.len() as u64, Movement::Indices { out: address, word })?;
    // SAFETY: the address is of that many words, which are only used here.
    unsafe { runner.run(&job) }?;
    // SAFETY: any bits are a word, and `out` is borrowed until the stream is waited for.
    unsafe { result::memcpy_dtoh_async(out, address, cuda.stream.cu_stream()) }
        .map_err(|error| failed(error, "copy from the device"))?;
    wait(cuda)
}

/// Moves items, as bits. They are copied to the device, moved there, and copied back, first into working memory: only
/// when all of them are there is the slice written, so that nothing that fails can lose an item.
pub(super) fn move_items<T: Send>(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: &mut [T],
    back: bool,
) -> Result<(), Error> {
    check_length(items.len() as u64, f.last())?;
    if size_of_val(items) == 0 {
        return Ok(());
    }
    let mut scratch = Buffer::default();
    let room = scratch.room::<T>(items.len())?;
    moved_copy(cuda, f, items, room.as_mut_ptr().cast(), back)?;
    // SAFETY: the scratch memory now has the items' bits, each item's once, so that writing them over the slice moves
    // every item. The two do not overlap.
    unsafe {
        core::ptr::copy_nonoverlapping(room.as_ptr().cast(), items.as_mut_ptr(), items.len());
    };
    Ok(())
}

/// A shuffled copy. The clones are made in order, and then moved.
pub(super) fn cloned<T: Clone + Send + Sync>(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: &[T],
) -> Result<Vec<T>, Error> {
    let mut copy = try_with_capacity(items.len())?;
    copy.extend_from_slice(items);
    move_items(cuda, f, &mut copy, false)?;
    Ok(copy)
}

/// Writes the items' bits in their new order to `out`, where there is room for them.
fn moved_copy<T>(
    cuda: &Cuda,
    f: &dyn Bijection,
    items: &[T],
    out: *mut u8,
    back: bool,
) -> Result<(), Error> {
    let bytes = size_of_val(items);
    let mut runner = runner(cuda);
    let mut memory = Memory::new();
    bind(cuda)?;
    let half = (bytes as u64).next_multiple_of(256);
    let (source, _) = memory.room(&cuda.stream, 2 * half)?;
    let array = Array { source, out: source + half, item: size_of::<T>() };
    let job = Job::new(f, items.len() as u64, Movement::items(vec![array], back)?)?;
    runner.rehearse(&job)?;
    let stream = cuda.stream.cu_stream();
    // SAFETY: the address is of so many bytes, and the items are borrowed until the stream is waited for.
    unsafe {
        cudarc::driver::sys::cuMemcpyHtoDAsync_v2(source, items.as_ptr().cast(), bytes, stream)
    }
    .result()
    .map_err(|error| failed(error, "copy to the device"))?;
    // SAFETY: the addresses are of that many items, and do not overlap.
    let done = unsafe { runner.run(&job) };
    if let Err(error) = done {
        // The copy may still read the items.
        wait(cuda)?;
        return Err(error);
    }
    // SAFETY: there is room for so many bytes, which nobody else uses until the stream is waited for.
    let copied = unsafe {
        cudarc::driver::sys::cuMemcpyDtoHAsync_v2(out.cast(), source + half, bytes, stream)
    }
    .result()
    .map_err(|error| failed(error, "copy from the device"));
    wait(cuda).and(copied)
}

fn runner(cuda: &Cuda) -> Runner {
    Runner::new(cuda.device.clone(), cuda.stream.clone(), cuda.strategy)
}

fn bind(cuda: &Cuda) -> Result<(), Error> {
    cuda.device.context.bind_to_thread().map_err(|error| failed(error, "use the device"))
}

fn wait(cuda: &Cuda) -> Result<(), Error> {
    cuda.stream.synchronize().map_err(|error| failed(error, "wait for the device"))
}
