//! Closing gaps: items that lie at their slots are brought together, in order.
//!
//! ```text
//! for vector of 64 bytes in stage:
//!     mask = the taken slots in it
//!     store its items of mask, packed, at to    AVX-512: vpcompress
//!     to += number of bits in mask
//! ```
//!
//! There are two ways to put a bucket's items in order. One copies each item to the place that the
//! number of taken slots before its own gives. The other copies each item to its slot, and then
//! closes the gaps. That copies twice, but the second copy is sequential and ranks no item. It is
//! faster where one instruction packs a vector's items.

use core::mem::MaybeUninit;
use core::ptr;

use super::buckets::BucketDivision;
use super::taken::SlotBits;
use crate::engine::simd::{SimdKernel, SimdLevel};

/// Whether closing the gaps of items of type T, once they are at their slots, is faster than
/// counting taken slots for each of them; the items of a bucket have to fit the cache with gaps.
pub(super) fn are_closed<T>(level: SimdLevel, buckets: BucketDivision) -> bool {
    level.has_avx512() && matches!(size_of::<T>(), 4 | 8) && buckets.bits <= u16::BITS
}

/// Copies the items at taken slots to consecutive places.
pub(super) struct CloseGaps<'a, T> {
    /// A place for each slot.
    stage: &'a [MaybeUninit<T>],
    taken: &'a SlotBits,
    /// The places, as many as there are taken slots.
    to: *mut T,
    count: usize,
}

impl<'a, T> CloseGaps<'a, T> {
    /// # Safety
    ///
    /// As many places as there are taken slots, `count`, may be written from `to` on until this has
    /// run, and they are not in the stage.
    pub(super) unsafe fn new(
        stage: &'a [MaybeUninit<T>],
        taken: &'a SlotBits,
        to: *mut T,
        count: usize,
    ) -> Self {
        assert!(taken.words().len() * u64::BITS as usize >= stage.len());
        Self { stage, taken, to, count }
    }
}

impl<T> SimdKernel for CloseGaps<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { stage, taken, to, count } = self;
        let mut done = 0;
        for (stage, &slots) in stage.chunks(u64::BITS as usize).zip(taken.words()) {
            let mut slots = slots;
            while slots != 0 && done < count {
                let item = stage[slots.trailing_zeros() as usize].as_ptr();
                // SAFETY: the stage holds an item's bytes, fewer than `count` places have been
                // written, and they are not in the stage.
                unsafe { ptr::copy_nonoverlapping(item, to.wrapping_add(done), 1) };
                slots &= slots - 1;
                done += 1;
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) {
        match size_of::<T>() {
            // SAFETY: the caller promises AVX-512, and the items have 4 bytes.
            4 => unsafe { close::<T, 16>(self) },
            // SAFETY: the caller promises AVX-512, and the items have 8 bytes.
            8 => unsafe { close::<T, 8>(self) },
            _ => self.run(),
        }
    }
}

/// Closes the gaps a vector at a time.
///
/// # Safety
///
/// The machine has AVX-512, and `LANES` items take 64 bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn close<T, const LANES: usize>(gaps: CloseGaps<T>) {
    let CloseGaps { stage, taken, mut to, count: mut left } = gaps;
    for (stage, &slots) in stage.chunks(u64::BITS as usize).zip(taken.words()) {
        let (vectors, rest) = stage.as_chunks::<LANES>();
        assert!(rest.is_empty(), "a bucket has a power of two of slots, 64 at least");
        let mut slots = slots;
        for from in vectors {
            let mask = slots as u32 & ((1 << LANES) - 1);
            let count = mask.count_ones() as usize;
            // At the end, only as many places as are left; before it, what is written beyond this
            // vector's items is overwritten by the next.
            let to_write = if left >= LANES { u32::MAX } else { (1 << left.min(count)) - 1 };
            // SAFETY: the vector's 64 bytes may be read, whatever they are. Either 64 bytes at `to`
            // are places that are left, or only as many items are written as those are.
            unsafe { compress::<LANES>(from.as_ptr().cast(), mask, to.cast(), to_write) };
            left -= count.min(left);
            to = to.wrapping_add(count);
            slots >>= LANES;
        }
    }
}

/// Brings the lanes of a vector whose bits are set in `mask` together, and writes those whose bits
/// are set in `to_write`.
///
/// This is assembly since items may have padding: Rust must not form a vector of uninitialised
/// bytes.
///
/// # Safety
///
/// The machine has AVX-512, 64 bytes may be read, and the lanes to write may be written.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn compress<const LANES: usize>(from: *const u8, mask: u32, to: *mut u8, to_write: u32) {
    macro_rules! compress {
        ($compress:literal, $store:literal) => {
            core::arch::asm!(
                "kmovw {k}, {mask:e}",
                "kmovw {w}, {to_write:e}",
                "vmovups {v}, [{from}]",
                concat!($compress, " {v} {{{k}}} {{z}}, {v}"),
                concat!($store, " [{to}] {{{w}}}, {v}"),
                from = in(reg) from,
                to = in(reg) to,
                mask = in(reg) mask,
                to_write = in(reg) to_write,
                k = out(kreg) _,
                w = out(kreg) _,
                v = out(zmm_reg) _,
                options(nostack, preserves_flags),
            )
        };
    }
    if LANES == 16 {
        // SAFETY: the caller promises the 64 bytes and the lanes to write.
        unsafe { compress!("vpcompressd", "vmovdqu32") };
    } else {
        // SAFETY: the promise does not depend on the size of the lanes.
        unsafe { compress!("vpcompressq", "vmovdqu64") };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bit is set with a probability of one in 2, 1 or 8, or not at all.
    fn bits(slots: usize, kind: u64) -> SlotBits {
        let mut taken = SlotBits::NONE;
        let words = (1..).map(move |k: u64| {
            let word =
                |salt: u64| (k ^ salt << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            match kind {
                0 => word(1) ^ word(2),
                1 => u64::MAX,
                2 => word(3) & word(4) & word(5),
                _ => 0,
            }
        });
        let words: Vec<u64> = words.take(slots / 64).collect();
        (0..slots).filter(|slot| words[slot / 64] >> (slot % 64) & 1 == 1).for_each(|slot| {
            taken.take(slot);
        });
        taken
    }

    fn check<T: Copy + PartialEq + core::fmt::Debug>(item: impl Fn(usize) -> T) {
        for (slots, kind) in (6..=12).flat_map(|bits| (0..4).map(move |kind| (1 << bits, kind))) {
            let taken = bits(slots, kind);
            let is_taken = |slot: &usize| taken.words()[slot / 64] >> (slot % 64) & 1 == 1;
            let expected: Vec<T> = (0..slots).filter(is_taken).map(&item).collect();
            let mut stage = vec![MaybeUninit::uninit(); slots];
            (0..slots).filter(is_taken).for_each(|slot| _ = stage[slot].write(item(slot)));
            for level in SimdLevel::all() {
                // The places after those of the taken slots are another bucket's.
                let mut to = vec![item(usize::MAX); expected.len() + 64];
                // SAFETY: there are more places than taken slots, in another vector.
                let gaps =
                    unsafe { CloseGaps::new(&stage, &taken, to.as_mut_ptr(), expected.len()) };
                level.run(gaps);
                assert_eq!(to[..expected.len()], expected, "{slots}, {kind}, {}", level.name());
                assert!(to[expected.len()..].iter().all(|&place| place == item(usize::MAX)));
            }
        }
    }

    #[test]
    fn every_level_closes_gaps_and_writes_to_no_other_place() {
        check(|k| k as u32 ^ 5);
        check(|k| k as u64 ^ 5);
        check(|k| [k as u64 ^ 5; 2]);
        check(|k| k as u8 ^ 5);
    }
}
