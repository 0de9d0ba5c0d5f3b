//! [`Tuning`]: the sizes that say when work is shared among threads.

/// The sizes of the algorithms' parts. The tests lower them, so that a handful of items takes the
/// parallel paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// How many items a thread takes at a time, where the algorithm goes through all of them; at
    /// least 1. Each such block has its own stream of random numbers, so that the order does not
    /// depend on who takes it.
    pub(crate) block: usize,
    /// How many items are few enough for Fisher-Yates on one thread; at least 1.
    pub(crate) leaf: usize,
    /// Into how many buckets Rao-Sandelius splits: 2 to this power, from 1 to 16.
    pub(crate) digit_bits: u32,
}

impl Tuning {
    /// A leaf of 8-byte items takes 2 MiB, which a core has in its second-level cache or its share
    /// of the third: on two cores with 1 and 32 MiB of these, 2^25 + 1 items were shuffled by
    /// Rao-Sandelius with 155 million items a second, and with 118 million for leaves of 2^15
    /// (MergeShuffle: 85 and 74). 256 buckets are as many as the pages that a second-level TLB
    /// keeps with ease, and a block gives each of them 256 items.
    pub(crate) const DEFAULT: Self = Self { block: 1 << 16, leaf: 1 << 18, digit_bits: 8 };
}
