//! Numbers of 64 bits as two words, the low one first.

/// The two words of a number.
#[inline(always)]
pub(crate) const fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// The number of two words.
#[inline(always)]
pub(crate) const fn joined([low, high]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}
