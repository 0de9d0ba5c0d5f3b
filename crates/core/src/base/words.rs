//! 64-bit numbers as pairs of 32-bit words, the low word first.

/// Splits a number into its two words.
#[inline(always)]
pub const fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// Joins two words to a number.
#[inline(always)]
pub const fn joined([low, high]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}
