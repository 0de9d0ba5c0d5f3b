//! Non-temporal copies and prefetches.
//!
//! A non-temporal store goes to memory past the caches. It suits data that will not be read again
//! soon: the target's lines need not be fetched before they are overwritten, and nothing useful is
//! evicted from the cache. The stores are inline assembly, since items may have padding: the
//! intrinsics take vectors, and Rust must not form a vector of uninitialised bytes. Assembly forms
//! none.

use core::mem::MaybeUninit;
use core::ptr;

/// The size of a cache line in bytes.
pub const LINE: usize = 64;

/// Whether a tool watches this that sees no assembly (`.ci/sanitize`): Miri, or ThreadSanitizer.
#[cfg(target_arch = "x86_64")]
const IS_WATCHED: bool = cfg!(any(miri, bijective_shuffle_plain_stores));

/// Copies whole cache lines. Other threads see them only after [`publish`].
///
/// # Safety
///
/// `lines` lines at `from` may be read, and `lines` lines at `to` may be written. They do not
/// overlap, and `to` is aligned to a line.
#[inline(always)]
pub unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    if !IS_WATCHED {
        for line in 0..lines {
            // Intrinsics would form vectors of bytes that may be uninitialised, such as padding.
            //
            // SAFETY: the caller promises that this line may be read at `from` and written at `to`,
            // and that `to` is aligned, which the non-temporal stores require.
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
        return;
    }
    // SAFETY: the caller promises that `lines` lines may be read at `from` and written at `to`, and
    // that they do not overlap.
    unsafe { ptr::copy_nonoverlapping(from, to, lines * LINE) };
}

/// Copies items' bits with non-temporal stores. Other threads see them only after [`publish`].
///
/// # Panics
///
/// If the slices differ in length.
pub fn stream<T>(from: &[MaybeUninit<T>], to: &mut [MaybeUninit<T>]) {
    assert_eq!(from.len(), to.len());
    let bytes = size_of_val(from);
    let (from, to) = (from.as_ptr().cast::<u8>(), to.as_mut_ptr().cast::<u8>());
    // The head ends where the target's first whole line begins.
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: `head` is at most `bytes`, the size of both slices. They do not overlap, since one of
    // them is borrowed for writing.
    unsafe { ptr::copy_nonoverlapping(from, to, head) };
    // SAFETY: `head + lines * LINE` is at most `bytes`, so the lines are within both slices, which
    // do not overlap. The target is aligned to a line after the head.
    unsafe { stream_lines(from.wrapping_add(head), to.wrapping_add(head), lines) };
    // SAFETY: `tail` is at most `bytes`, so the remaining bytes are within both slices, which do
    // not overlap.
    unsafe {
        let (from, to) = (from.wrapping_add(tail), to.wrapping_add(tail));
        ptr::copy_nonoverlapping(from, to, bytes - tail);
    }
}

/// Prefetches lines that will be read soon. Any address is allowed, also one without memory.
#[inline(always)]
pub fn prefetch_lines(from: *const u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 machine has SSE, and a prefetch is a hint that faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// Prefetches lines that this thread will write soon, so that no other core has them then. Any
/// address is allowed, also one without memory.
#[inline(always)]
pub fn prefetch_lines_to_write(from: *const u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    if !IS_WATCHED {
        for line in 0..lines {
            let address = from.wrapping_add(line * LINE);
            // The intrinsic becomes a prefetch for reading unless the target has a feature that
            // Rust cannot enable.
            //
            // SAFETY: every x86-64 machine takes the instruction as this hint or as none. It faults
            // at no address, and changes neither memory nor registers.
            unsafe {
                core::arch::asm!(
                    "prefetchw [{}]",
                    in(reg) address,
                    options(nostack, preserves_flags, readonly)
                );
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// Prefetches lines that will be read a little later, into the second-level cache only. Any address
/// is allowed, also one without memory.
#[inline(always)]
pub fn prefetch_lines_l2(from: *const u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 machine has SSE, and a prefetch is a hint that faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// Calls [`publish`] when it is dropped, so also during a panic: the thread that stored has to do
/// it itself.
pub struct Publish;

impl Drop for Publish {
    fn drop(&mut self) {
        publish();
    }
}

/// Orders this thread's non-temporal stores before everything that it does next, such as reporting
/// to other threads that it is done.
pub fn publish() {
    #[cfg(target_arch = "x86_64")]
    if !IS_WATCHED {
        // SAFETY: every x86-64 machine has SSE, and a fence accesses no memory: it only orders
        // other accesses.
        unsafe { core::arch::x86_64::_mm_sfence() };
    }
}
