//! Working memory that is reused from call to call.

use core::fmt;
use core::mem::MaybeUninit;

use memmap2::MmapMut;

use crate::base::check::try_with_capacity;
use crate::error::Error;

/// Buffers of at least this many bytes are mapped on their own, and the system is asked for huge
/// pages. Less comes from the global allocator: those of most systems keep freed memory up to this
/// size, so that a later call does not have to fault it in again. New memory for each call makes
/// the direct strategy's later calls half as fast: 363 and 830 million items a second at 2^20 + 1
/// items of 8 bytes.
const MAPPED_BYTES: usize = 32 << 20;

/// Untyped bytes that grow on demand.
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

    /// The buffer's size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.0 {
            Memory::None => 0,
            Memory::Heap(bytes) => bytes.len(),
            Memory::Mapped(bytes) => bytes.len(),
        }
    }

    /// Returns uninitialised room for `len` values. The buffer's former contents are lost.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn room<T>(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], Error> {
        let out_of_memory =
            || Error::OutOfMemory { bytes: (len as u64).saturating_mul(size_of::<T>() as u64) };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(out_of_memory)?;
        // Aligned to the widest vectors and to a cache line, so that whole lines can be written.
        let align = align_of::<T>().max(64);
        let needed = bytes.checked_add(align).ok_or_else(out_of_memory)?;
        if self.bytes() < needed {
            // Frees the old memory first.
            self.0 = Memory::None;
            self.0 = Memory::new(needed)?;
        }
        let start = self.0.bytes();
        let offset = start.as_ptr().align_offset(align);
        let start = start[offset..][..bytes].as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: the buffer has at least `len * size_of::<T>()` bytes from `start` on, and `start`
        // is aligned for T. The result borrows `self`, so nothing else reaches these bytes while it
        // lives. They may be uninitialised, which `MaybeUninit` permits.
        Ok(unsafe { core::slice::from_raw_parts_mut(start, len) })
    }
}

impl Memory {
    fn new(bytes: usize) -> Result<Self, Error> {
        if bytes >= MAPPED_BYTES
            && let Ok(mapped) = MmapMut::map_anon(bytes)
        {
            // Random accesses to 4 KiB pages cost a TLB miss each. If the system ignores the
            // advice, everything still works, only more slowly.
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
                // SAFETY: pointer and length are those of the mapping, which stays borrowed as long
                // as the result. Nothing reads the mapping through its `u8` view again, so its
                // bytes may become uninitialised.
                unsafe { core::slice::from_raw_parts_mut(start, len) }
            }
        }
    }
}

/// Views a slice as its values.
///
/// # Safety
///
/// All values of the slice are initialised.
pub(crate) unsafe fn assume_init<T>(slice: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller promises that all values are
    // initialised. The result borrows the slice.
    unsafe { &*(core::ptr::from_ref(slice) as *const [T]) }
}

/// Views a slice as its values, for writing.
///
/// # Safety
///
/// All values of the slice are initialised.
pub(crate) unsafe fn assume_init_mut<T>(slice: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller promises that all values are
    // initialised. The result borrows the slice for writing, and writes values.
    unsafe { &mut *(core::ptr::from_mut(slice) as *mut [T]) }
}

/// The start of a slice that several threads copy items' bits from or to.
pub(crate) struct SharedPtr<T>(*mut T);

// SAFETY: sharing a `SharedPtr` only lets other threads copy the pointer; each access through it
// has its own argument. Copying an item's bits on another thread moves the item to that thread, so
// T has to be `Send`.
unsafe impl<T: Send> Sync for SharedPtr<T> {}

impl<T> SharedPtr<T> {
    pub(crate) const fn new(start: *mut T) -> Self {
        Self(start)
    }

    /// The address of an item that may be beyond the slice: for a prefetch.
    #[inline]
    pub(crate) fn wrapping_at(&self, index: usize) -> *const T {
        self.0.wrapping_add(index)
    }

    /// The address of an item.
    ///
    /// # Safety
    ///
    /// `index` is below the slice's length.
    #[inline]
    pub(crate) unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: the caller promises that `index` is below the slice's length, so the address is
        // within the slice.
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
