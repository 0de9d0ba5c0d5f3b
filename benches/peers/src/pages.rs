//! [`Pages`]: which pages the memory of this program consists of.
//!
//! The choice is made for the whole program, by its allocator, and not for the items alone:
//! otherwise a contender would be measured by what its scratch memory happens to get.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;

/// Which pages large blocks of memory get.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Pages {
    /// Huge ones, where the system has any left (`MADV_HUGEPAGE`)
    Huge,
    /// What the system gives unasked
    Default,
}

impl Pages {
    /// Makes the choice for all memory that is allocated from now on.
    ///
    /// # Panics
    ///
    /// If huge pages come too late: a large block was allocated before.
    pub(crate) fn choose(self) {
        if self == Self::Huge {
            assert_eq!(decide(HUGE), HUGE, "too late to ask for huge pages");
        }
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Huge => "huge, asked for by the allocator",
            Self::Default => "as the system's allocator gives them",
        })
    }
}

/// The size of a huge page on most machines. Smaller blocks are left alone.
const HUGE_PAGE: usize = 2 << 20;

/// What large blocks are. It is decided once, before there are any: a block goes back with the
/// layout that it was allocated with.
static LAYOUT: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
/// They begin at a multiple of [`HUGE_PAGE`], and huge pages are asked for.
const HUGE: u8 = 1;
/// As in most programs.
const PLAIN: u8 = 2;

/// Decides, or finds what was decided before.
fn decide(layout: u8) -> u8 {
    match LAYOUT.compare_exchange(UNDECIDED, layout, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => layout,
        Err(decided) => decided,
    }
}

/// The system's allocator, with advice about pages for large blocks.
#[derive(Debug)]
pub(crate) struct PagedAllocator;

/// The layout that a block is really allocated with: never smaller or less aligned, and the same
/// for the same layout.
fn aligned(layout: Layout) -> Layout {
    if layout.size() < HUGE_PAGE || decide(PLAIN) == PLAIN {
        return layout;
    }
    // If the size is so large that this fails, so will the allocation.
    layout.align_to(HUGE_PAGE).unwrap_or(layout)
}

// SAFETY: all blocks come from `System` and go back to it, with the layout that `aligned` makes of
// the caller's both times; it is as large, and at least as aligned. Advice about pages changes no
// contents.
unsafe impl GlobalAlloc for PagedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is not of size 0, so neither is this.
        let block = unsafe { System.alloc(aligned(layout)) };
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is not of size 0, and aligning it keeps its size.
        let block = unsafe { System.alloc_zeroed(aligned(layout)) };
        advise(block, layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is from one of the other three with this layout, and so from `System`
        // with what `aligned` makes of it, which is the same as it was then.
        unsafe { System.dealloc(block, aligned(layout)) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if LAYOUT.load(Ordering::Relaxed) == PLAIN {
            // SAFETY: `aligned` has changed no layout, so the block is from `System` with this one;
            // the caller promises the rest.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        // SAFETY: the caller promises that the new size makes a layout with this alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the caller promises a new size that is not 0.
        let new = unsafe { self.alloc(new_layout) };
        if !new.is_null() {
            // SAFETY: the blocks are two, and both have as many bytes as the smaller one.
            unsafe { block.copy_to_nonoverlapping(new, layout.size().min(new_size)) };
            // SAFETY: the block is from here with this layout, and the caller no longer uses it.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}

/// Asks the system for huge pages, if a block is large and they are wanted. It may not listen: that
/// is no error.
fn advise(block: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= HUGE_PAGE && !block.is_null() && LAYOUT.load(Ordering::Relaxed) == HUGE {
        // SAFETY: the whole pages of a block that was just allocated, which starts a page; the
        // advice is about the pages that it will consist of, and not about what they hold.
        unsafe { libc::madvise(block.cast(), size - size % HUGE_PAGE, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_sizes_are_allocated_and_given_back() {
        for size in [1, 4096, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5] {
            let mut block = vec![0_u8; size];
            block.fill(1);
            block.resize(size + 1, 2);
            assert_eq!(block.iter().map(|&byte| u64::from(byte)).sum::<u64>(), size as u64 + 2);
            let huge = LAYOUT.load(Ordering::Relaxed) == HUGE && size >= HUGE_PAGE;
            assert!(!huge || block.as_ptr().addr() % HUGE_PAGE == 0);
        }
    }
}
