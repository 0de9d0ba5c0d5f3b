//! Copying to memory past the caches, for what will not be read again soon: the lines are not
//! fetched before they are overwritten, and nothing that is needed is pushed out of the cache. And
//! fetching what will be read soon.

use core::mem::MaybeUninit;
use core::ptr;

/// The size of a line of the cache, in bytes.
pub(crate) const LINE: usize = 64;

/// Copies whole lines. Other threads see them after [`publish`].
///
/// # Safety
///
/// There are `lines` lines at both places, which do not overlap; they may be read from and written
/// to. The target is aligned to a line.
#[inline(always)]
pub(crate) unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        // Not with the intrinsics, since items may have bytes that are not initialised, such as
        // padding: values with those must not be made, and here none are.
        //
        // SAFETY: copies a line from and to where there is one, which is aligned where it has to
        // be.
        unsafe {
            core::arch::asm!(
                "movups {a}, [{from}]",
                "movups {b}, [{from} + 16]",
                "movups {c}, [{from} + 32]",
                "movups {d}, [{from} + 48]",
                "movntps [{to}], {a}",
                "movntps [{to} + 16], {b}",
                "movntps [{to} + 32], {c}",
                "movntps [{to} + 48], {d}",
                from = in(reg) from.wrapping_add(line * LINE),
                to = in(reg) to.wrapping_add(line * LINE),
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller promises that there are `lines` lines at both places, which do not
    // overlap.
    unsafe {
        ptr::copy_nonoverlapping(from, to, lines * LINE);
    }
}

/// Copies items, bit by bit. Other threads see them after [`publish`].
///
/// # Panics
///
/// If the slices are not of one length.
pub(crate) fn stream<T>(from: &[MaybeUninit<T>], to: &mut [MaybeUninit<T>]) {
    assert_eq!(from.len(), to.len());
    let bytes = size_of_val(from);
    let (from, to) = (from.as_ptr().cast::<u8>(), to.as_mut_ptr().cast::<u8>());
    // Up to the next line of the target, and then lines as long as there are whole ones.
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: within the slices, which do not overlap, being borrowed apart.
    unsafe { ptr::copy_nonoverlapping(from, to, head) };
    // SAFETY: `lines` whole lines are within both after the head, which the target is aligned
    // after.
    unsafe { stream_lines(from.wrapping_add(head), to.wrapping_add(head), lines) };
    // SAFETY: head and lines end at `tail`, which is at most `bytes`, so that the rest is within
    // both slices; they do not overlap.
    unsafe {
        let (from, to) = (from.wrapping_add(tail), to.wrapping_add(tail));
        ptr::copy_nonoverlapping(from, to, bytes - tail);
    }
}

/// Asks for some lines that will be read soon. Nothing happens if there are none at the address.
#[inline(always)]
pub(crate) fn prefetch_lines(from: *const u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 machine has SSE; it is a hint, for which every address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// Asks for some lines that will be read a little later: they come to the second-level cache only.
/// Nothing happens if there are none at the address.
#[inline(always)]
pub(crate) fn prefetch_lines_l2(from: *const u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 machine has SSE; it is a hint, for which every address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// Calls [`publish`] in the end, also when a panic is the end: a thread that streamed has to do so
/// itself.
pub(crate) struct Publish;

impl Drop for Publish {
    fn drop(&mut self) {
        publish();
    }
}

/// Orders what this thread has streamed before what it does next, such as telling others that it is
/// done.
pub(crate) fn publish() {
    // SAFETY: every x86-64 machine has SSE, which the instruction is of; a fence reads and writes
    // nothing, but orders what others do.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}
