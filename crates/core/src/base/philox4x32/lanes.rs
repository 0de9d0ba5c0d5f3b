//! Philox4x32 on many counters at once, as loops over arrays that become vector instructions.
//!
//! Each 32-bit word has a lane of 64 bits, since the instruction that multiplies two words needs
//! such a lane for the product and reads only the low halves. The high halves are ignored on entry
//! and unspecified on return.

use super::{MULTIPLIERS, WEYL};
use crate::base::words::halves;

/// Counters or blocks, transposed: the same word of all lanes side by side. A word is the low half
/// of its lane.
pub type Counters<const LANES: usize> = [[u64; LANES]; 4];

/// Masks the word of a lane.
pub const LOW: u64 = 0xFFFF_FFFF;

/// Replaces counters with their blocks of ten rounds under a key, given low word first.
#[inline(always)]
pub fn encrypt<const LANES: usize>(key: u64, counters: &mut Counters<LANES>) {
    let mut x = *counters;
    let mut keys = halves(key);
    for _ in 0..uncounted(10) {
        let [left_key, right_key] = keys.map(u64::from);
        round(&mut x, |_| left_key, |_| right_key);
        keys = [keys[0].wrapping_add(WEYL[0]), keys[1].wrapping_add(WEYL[1])];
    }
    *counters = x;
}

/// One round, with two key words for each lane. The high halves of the key words are ignored, too.
#[inline(always)]
pub fn round<const LANES: usize>(
    [a, b, c, d]: &mut Counters<LANES>,
    left_key: impl Fn(usize) -> u64,
    right_key: impl Fn(usize) -> u64,
) {
    for lane in 0..LANES {
        let left = (a[lane] & LOW) * u64::from(MULTIPLIERS[0]);
        let right = (c[lane] & LOW) * u64::from(MULTIPLIERS[1]);
        a[lane] = (right >> 32) ^ b[lane] ^ left_key(lane);
        b[lane] = right;
        c[lane] = (left >> 32) ^ d[lane] ^ right_key(lane);
        d[lane] = left;
    }
}

/// Hides a round count from the compiler. If the compiler knew it, it would unroll all rounds for
/// one vector after another, each waiting for the one before.
#[inline(always)]
pub fn uncounted(rounds: usize) -> usize {
    core::hint::black_box(rounds)
}

#[cfg(test)]
mod tests {
    use super::super::Philox4x32;
    use super::*;
    use crate::base::simd::{SimdKernel, SimdLevel};

    struct Encrypt<'a>(u64, &'a mut Counters<5>);

    impl SimdKernel for Encrypt<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            encrypt(self.0, self.1);
        }
    }

    #[test]
    fn every_level_gives_what_single_blocks_give() {
        let word = |k: u64| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 13;
        for level in SimdLevel::all() {
            for key in [0, 1 << 32, 0x0123_4567_89AB_CDEF, u64::MAX] {
                // With garbage above the low halves.
                let counters: Counters<5> = core::array::from_fn(|word_of| {
                    core::array::from_fn(|lane| word((5 * word_of + lane) as u64 ^ key))
                });
                let mut blocks = counters;
                level.run(Encrypt(key, &mut blocks));
                let philox = Philox4x32::<10>::new([key as u32, (key >> 32) as u32]);
                for lane in 0..5 {
                    let expected = philox.block(counters.map(|word| word[lane] as u32));
                    let what = format!("lane {lane}, {}", level.name());
                    assert_eq!(blocks.map(|word| word[lane] as u32), expected, "{what}");
                }
            }
        }
    }
}
