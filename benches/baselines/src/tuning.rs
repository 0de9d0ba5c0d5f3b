//! [`Tuning`]: the sizes that say when work is shared among threads.

/// The sizes of the algorithms' parts. The tests lower them, so that a handful of items takes the parallel paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// How many items a thread takes at a time, where the algorithm goes through all of them; at least 1. Each such
    /// block has its own stream of random numbers, so that the order does not depend on who takes it.
    pub(crate) block: usize,
    /// How many items are few enough for Fisher-Yates on one thread; at least 1.
    pub(crate) leaf: usize,
    /// Into how many buckets Rao-Sandelius splits: 2 to this power, from 1 to 16.
    pub(crate) digit_bits: u32,
}

impl Tuning {
    /// Round sizes for the caches of today's machines, not the result of a search: a leaf of 8-byte items takes 256 KiB
    /// and stays in a second-level cache, 256 buckets are as many as the pages that a second-level TLB keeps with ease,
    /// and a block gives each of them 256 items.
    pub(crate) const DEFAULT: Self = Self { block: 1 << 16, leaf: 1 << 15, digit_bits: 8 };
}
