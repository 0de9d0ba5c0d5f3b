//! Working memory that is reused from call to call.

#[cfg(target_os = "linux")]
use core::ffi::{c_int, c_void};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, dealloc};

use crate::OutOfMemory;
use crate::check::try_with_capacity;
use crate::stream::LINE;

/// What a huge page has, and where one may start, where ordinary pages have 4 KiB.
const HUGE_PAGE: usize = 2 << 20;

/// From this many bytes on, a buffer starts at a huge page, and the rest at its end is worth one of
/// its own.
///
/// The first access to a page takes as long as a hundred items or more. The first access to a huge
/// page, which replaces 512 pages, takes as long as those of a few tens of them. The first call of
/// a process, in millions of items of 8 bytes a second, without and with huge pages for buffers
/// below 32 MiB, on two cores of an EPYC: 175 and 228 at 2^18 + 1, 220 and 350 at 2^20 + 1, 258 and
/// 282 at 2^22 + 1.
const HUGE_BYTES: usize = HUGE_PAGE / 2;

/// Untyped bytes that grow on demand.
#[derive(Default)]
pub struct Buffer(Option<HeapBytes>);

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes())
    }
}

impl Buffer {
    pub const fn new() -> Self {
        Self(None)
    }

    /// The buffer's size in bytes, without the rest of its last huge page.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |block| block.bytes)
    }

    /// Returns uninitialised room for `len` values. The buffer's former contents are lost.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`].
    pub fn room<T>(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], OutOfMemory> {
        self.room_on::<T>(len, false)
    }

    /// The same, where half a huge page more is no matter: the buffer ends with a whole one if it
    /// needs more than half of it. No promise is made of the bytes that it takes.
    pub fn room_in_pages<T>(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], OutOfMemory> {
        self.room_on::<T>(len, true)
    }

    fn room_on<T>(
        &mut self,
        len: usize,
        whole_pages: bool,
    ) -> Result<&mut [MaybeUninit<T>], OutOfMemory> {
        let out_of_memory =
            || OutOfMemory { bytes: (len as u64).saturating_mul(size_of::<T>() as u64) };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(out_of_memory)?;
        if bytes == 0 {
            return Ok(unit_room(len));
        }
        let fits = |block: &HeapBytes| block.bytes >= bytes && block.start.cast::<T>().is_aligned();
        if !self.0.as_ref().is_some_and(fits) {
            // Frees the old memory first.
            self.0 = None;
            let block = HeapBytes::new(bytes, align_of::<T>(), whole_pages);
            self.0 = Some(block.ok_or_else(out_of_memory)?);
        }
        let Some(block) = &mut self.0 else { unreachable!("there is a block that fits") };
        // SAFETY: the block has at least `len * size_of::<T>()` bytes, and its start is aligned for
        // T. The result borrows `self`, so nothing else reaches these bytes while it lives. They
        // may be uninitialised, which `MaybeUninit` permits.
        Ok(unsafe { core::slice::from_raw_parts_mut(block.start.cast().as_ptr(), len) })
    }
}

/// Room for values that together have no bytes.
fn unit_room<'a, T>(len: usize) -> &'a mut [MaybeUninit<T>] {
    debug_assert_eq!(len * size_of::<T>(), 0);
    // SAFETY: a slice of no bytes is valid at any address that is aligned and not null.
    unsafe { core::slice::from_raw_parts_mut(NonNull::dangling().as_ptr(), len) }
}

/// Bytes of the global allocator, which keeps what is freed better than the system does. Its owner
/// has them alone.
struct HeapBytes {
    start: NonNull<u8>,
    bytes: usize,
    /// What was allocated: more, if it ends with a whole page.
    layout: Layout,
}

// SAFETY: a block owns its bytes, as a `Vec` does, and any thread may free them.
unsafe impl Send for HeapBytes {}

// SAFETY: a shared block only tells its size and its address.
unsafe impl Sync for HeapBytes {}

impl HeapBytes {
    /// This many bytes; `None` if there is not enough memory.
    fn new(bytes: usize, align: usize, whole_pages: bool) -> Option<Self> {
        // The widest vector is as wide as a line.
        let (mut size, mut align) = (bytes, align.max(LINE));
        if cfg!(target_os = "linux") && bytes >= HUGE_BYTES {
            align = align.max(HUGE_PAGE);
            if whole_pages && bytes % HUGE_PAGE >= HUGE_BYTES {
                size = bytes.checked_next_multiple_of(HUGE_PAGE)?;
            }
        }
        let layout = Layout::from_size_align(size, align).ok()?;
        debug_assert_ne!(size, 0);
        // SAFETY: the size is not 0, since `bytes` is not.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        let block = Self { start, bytes, layout };
        #[cfg(target_os = "linux")]
        block.ask_for_huge_pages();
        Some(block)
    }

    #[cfg(target_os = "linux")]
    fn ask_for_huge_pages(&self) {
        // Otherwise few of the bytes are a huge page's.
        if self.layout.align() >= HUGE_PAGE {
            // SAFETY: the block owns these bytes.
            unsafe { ask_for_huge_pages(self.start.as_ptr(), self.layout.size()) };
        }
    }
}

impl Drop for HeapBytes {
    fn drop(&mut self) {
        // SAFETY: the block came from this allocator with this layout, and nobody uses it any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// An empty vector with room for `len` items, in huge pages where it has any.
///
/// # Errors
///
/// [`OutOfMemory`].
pub fn try_in_huge_pages<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let vec: Vec<T> = try_with_capacity(len)?;
    #[cfg(target_os = "linux")]
    {
        let bytes = vec.capacity() * size_of::<T>();
        // SAFETY: the vector owns these bytes.
        unsafe { ask_for_huge_pages(vec.as_ptr().cast_mut().cast(), bytes) };
    }
    Ok(vec)
}

// Declared here, since one call is not worth the crate `libc`; the standard library links it.
#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
}

/// The number of this advice, which is the same for every architecture.
#[cfg(target_os = "linux")]
const MADV_HUGEPAGE: c_int = 14;

/// Asks that the whole huge pages among some bytes be huge pages. If the system ignores it,
/// everything still works, only more slowly: a page's first access takes its time, and random
/// accesses to many small pages cost a TLB miss each.
///
/// # Safety
///
/// The bytes are one allocation's, or a part of one.
#[cfg(target_os = "linux")]
unsafe fn ask_for_huge_pages(start: *mut u8, bytes: usize) {
    let before = start.align_offset(HUGE_PAGE);
    let whole = bytes.saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    // Miri has no pages.
    if whole > 0 && !cfg!(miri) {
        // SAFETY: the caller promises that these pages are within an allocation, and the advice
        // changes no contents.
        let _ = unsafe { madvise(start.wrapping_add(before).cast(), whole, MADV_HUGEPAGE) };
    }
}

/// Views a slice as its values.
///
/// # Safety
///
/// All values of the slice are initialised.
pub unsafe fn assume_init<T>(slice: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller promises that all values are
    // initialised. The result borrows the slice.
    unsafe { &*(core::ptr::from_ref(slice) as *const [T]) }
}

/// Views a slice as its values, for writing.
///
/// # Safety
///
/// All values of the slice are initialised.
pub unsafe fn assume_init_mut<T>(slice: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller promises that all values are
    // initialised. The result borrows the slice for writing, and writes values.
    unsafe { &mut *(core::ptr::from_mut(slice) as *mut [T]) }
}

/// The start of a slice that several threads copy items' bits from or to.
pub struct SharedPtr<T>(*mut T);

// SAFETY: sharing a `SharedPtr` only lets other threads copy the pointer; each access through it
// has its own argument. Copying an item's bits on another thread moves the item to that thread, so
// T has to be `Send`.
unsafe impl<T: Send> Sync for SharedPtr<T> {}

impl<T> SharedPtr<T> {
    pub const fn new(start: *mut T) -> Self {
        Self(start)
    }

    /// The address of the first item.
    #[inline]
    pub fn start(&self) -> *mut T {
        self.0
    }

    /// The address of an item that may be beyond the slice: for a prefetch.
    #[inline]
    pub fn wrapping_at(&self, index: usize) -> *const T {
        self.0.wrapping_add(index)
    }

    /// The address of an item.
    ///
    /// # Safety
    ///
    /// `index` is below the slice's length.
    #[inline]
    pub unsafe fn at(&self, index: usize) -> *mut T {
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

    #[repr(align(4096))]
    struct Filled([u8; 4096]);

    #[test]
    fn room_is_aligned_and_kept() {
        let mut buffer = Buffer::new();
        assert_eq!(buffer.bytes(), 0);
        for len in [0, 1, 1000, 10, HUGE_BYTES / 8, 3, HUGE_BYTES] {
            let room = buffer.room::<u64>(len).unwrap();
            assert_eq!(room.len(), len);
            assert!(len == 0 || room.as_ptr().addr().is_multiple_of(LINE));
            if let [first, .., last] = room {
                first.write(1);
                last.write(2);
            }
        }
        assert!(buffer.bytes() >= 8 * HUGE_BYTES);
        assert_eq!(buffer.room::<Page>(2).unwrap().as_ptr().align_offset(4096), 0);
        let mut buffer = Buffer::new();
        buffer.room::<u8>(3 * 4096).unwrap();
        let pages = buffer.room::<Filled>(3).unwrap();
        assert_eq!(pages.as_ptr().align_offset(4096), 0);
        assert_eq!(pages[2].write(Filled([7; 4096])).0, [7; 4096]);
    }

    #[test]
    fn large_blocks_start_at_huge_pages_and_waste_at_most_half_of_one() {
        let allocated = |bytes, whole_pages| {
            let block = HeapBytes::new(bytes, 1, whole_pages).unwrap();
            let start = block.start.as_ptr().addr();
            let is_large = cfg!(target_os = "linux") && bytes >= HUGE_BYTES;
            assert!(!is_large || start.is_multiple_of(HUGE_PAGE));
            assert_eq!(block.bytes, bytes);
            block.layout.size()
        };
        assert_eq!(allocated(HUGE_BYTES - 1, true), HUGE_BYTES - 1);
        for (bytes, on_linux) in [
            (HUGE_BYTES, HUGE_PAGE),
            (HUGE_PAGE + 8, HUGE_PAGE + 8),
            (3 * HUGE_PAGE - 8, 3 * HUGE_PAGE),
            (20 * HUGE_PAGE + 1, 20 * HUGE_PAGE + 1),
        ] {
            let in_pages = if cfg!(target_os = "linux") { on_linux } else { bytes };
            assert_eq!([true, false].map(|it| allocated(bytes, it)), [in_pages, bytes]);
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let mut buffer = Buffer::new();
        assert_eq!(buffer.room::<u64>(5).unwrap().len(), 5);
        for len in [usize::MAX, usize::MAX / 8, usize::MAX / 8 - 8] {
            let bytes = (len as u64).saturating_mul(8);
            let error = buffer.room::<u64>(len).unwrap_err();
            assert!(error.bytes >= bytes, "{error}");
        }
        assert_eq!(buffer.room::<u64>(7).unwrap().len(), 7);
    }
}
