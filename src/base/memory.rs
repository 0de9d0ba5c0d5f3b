//! Working memory that is kept and used again.

use core::fmt;
use core::mem::MaybeUninit;

use memmap2::MmapMut;

use crate::base::check::try_with_capacity;
use crate::error::Error;

/// From this number of bytes on memory is mapped by itself, and huge pages are asked for: a few of
/// them.
const MAPPED_BYTES: usize = 8 << 20;

/// Bytes without a type, which grow when more are asked for.
#[derive(Default)]
pub(crate) struct Buffer(Memory);

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes())
    }
}

#[derive(Default)]
enum Memory {
    #[default]
    None,
    Heap(Vec<MaybeUninit<u8>>),
    Mapped(MmapMut),
}

impl Buffer {
    pub(crate) const fn new() -> Self {
        Self(Memory::None)
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        match &self.0 {
            Memory::None => 0,
            Memory::Heap(bytes) => bytes.len(),
            Memory::Mapped(bytes) => bytes.len(),
        }
    }

    /// Room for `len` values, uninitialised, after which whatever was in the buffer is lost.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn room<T>(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], Error> {
        let out_of_memory =
            || Error::OutOfMemory { bytes: (len as u64).saturating_mul(size_of::<T>() as u64) };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(out_of_memory)?;
        // Alignment of the largest vectors and of a line of the cache, so that lines can be written
        // whole.
        let align = align_of::<T>().max(64);
        let needed = bytes.checked_add(align).ok_or_else(out_of_memory)?;
        if self.bytes() < needed {
            // First give back what there is.
            self.0 = Memory::None;
            self.0 = Memory::new(needed)?;
        }
        let start = self.0.bytes();
        let offset = start.as_ptr().align_offset(align);
        let start = start[offset..][..bytes].as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: there are `len` times the size of T bytes from `start` on, which is aligned for
        // T, and borrowed from `self` as long as the result is. That they are uninitialised is what
        // the result's type says.
        Ok(unsafe { core::slice::from_raw_parts_mut(start, len) })
    }
}

impl Memory {
    fn new(bytes: usize) -> Result<Self, Error> {
        if bytes >= MAPPED_BYTES
            && let Ok(mapped) = MmapMut::map_anon(bytes)
        {
            // Random places in 4 KiB pages cost a TLB miss each. Where the advice
            // is not taken, all works as well, and more slowly.
            #[cfg(target_os = "linux")]
            let _ = mapped.advise(memmap2::Advice::HugePage);
            return Ok(Self::Mapped(mapped));
        }
        let mut heap = try_with_capacity(bytes)?;
        heap.resize(bytes, MaybeUninit::uninit());
        Ok(Self::Heap(heap))
    }

    fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        match self {
            Self::None => &mut [],
            Self::Heap(bytes) => bytes,
            Self::Mapped(bytes) => {
                let (start, len) = (bytes.as_mut_ptr().cast(), bytes.len());
                // SAFETY: the same bytes for as long as they are borrowed. Nobody reads them as
                // bytes again, so that they may become uninitialised.
                unsafe { core::slice::from_raw_parts_mut(start, len) }
            }
        }
    }
}

/// The values in a slice that are all initialised.
///
/// # Safety
///
/// They are.
pub(crate) unsafe fn assume_init<T>(slice: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller promises that all values are
    // initialised. The result borrows the slice.
    unsafe { &*(core::ptr::from_ref(slice) as *const [T]) }
}

/// The values in a slice that are all initialised.
///
/// # Safety
///
/// They are.
pub(crate) unsafe fn assume_init_mut<T>(slice: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller promises that all values are
    // initialised. The result borrows the slice for writing, and writes values.
    unsafe { &mut *(core::ptr::from_mut(slice) as *mut [T]) }
}

/// The start of a slice that several threads copy bits from or to.
pub(crate) struct SharedPtr<T>(*mut T);

// SAFETY: sharing the pointer is no more than copying it; code that follows it answers for that.
// Copying an item's bits on another thread moves the item there, hence `Send`.
unsafe impl<T: Send> Sync for SharedPtr<T> {}

impl<T> SharedPtr<T> {
    pub(crate) const fn new(start: *mut T) -> Self {
        Self(start)
    }

    /// The address of an item.
    ///
    /// # Safety
    ///
    /// `index` is below the slice's length.
    #[inline]
    pub(crate) unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: the caller promises that the index is below the slice's length, so that the
        // address is within the slice.
        unsafe { self.0.add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(4096))]
    struct Page;

    #[test]
    fn room_is_aligned_and_kept() {
        let mut buffer = Buffer::new();
        assert_eq!(buffer.bytes(), 0);
        for len in [0, 1, 1000, 10, MAPPED_BYTES / 8, 3, MAPPED_BYTES] {
            let room = buffer.room::<u64>(len).unwrap();
            assert_eq!(room.len(), len);
            assert_eq!(room.as_ptr().align_offset(64), 0);
            if let [first, .., last] = room {
                first.write(1);
                last.write(2);
            }
        }
        assert!(buffer.bytes() >= 8 * MAPPED_BYTES);
        assert_eq!(buffer.room::<Page>(2).unwrap().as_ptr().align_offset(4096), 0);
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let mut buffer = Buffer::new();
        assert_eq!(buffer.room::<u64>(5).unwrap().len(), 5);
        for len in [usize::MAX, usize::MAX / 8, usize::MAX / 8 - 8] {
            let bytes = (len as u64).saturating_mul(8);
            let error = buffer.room::<u64>(len).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { bytes: b } if b >= bytes), "{error}");
        }
        assert_eq!(buffer.room::<u64>(7).unwrap().len(), 7);
    }
}
