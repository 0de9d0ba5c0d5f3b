//! Buckets: runs of slots, or of indexes, of equal length.

use crate::bijection::hooks::Hooked;
use crate::{Bijection, Trusted, Word};

/// The low bits of a slot or an index: its number within its bucket. They travel with the item, so
/// the type is as narrow as it can be.
pub(super) trait LowBits: Copy + Send + Sync {
    /// The word in which slots and indexes are computed.
    type Index: Word;

    /// The bucket of a slot or an index, and its low bits.
    fn split(index: Self::Index, buckets: BucketDivision) -> (usize, Self);

    /// The number within its bucket of the slot or index with these low bits.
    fn number(self, buckets: BucketDivision) -> usize;

    /// The low bits of a number within its bucket.
    fn of(number: u64) -> Self;

    /// Evaluates the bijection at the slots from `first` on.
    fn forward_run(f: &Trusted, first: u64, values: &mut [Self::Index]);

    /// Evaluates the inverse at the indexes from `first` on.
    fn inverse_run(f: &Trusted, first: u64, slots: &mut [Self::Index]);

    /// Replaces slots with their values.
    fn forward_each(f: &Trusted, slots: &mut [Self::Index]);
}

/// For buckets of the usual size. The size is a constant here: a size that is known only at run
/// time costs 6 % at 2^26 + 1.
impl LowBits for u16 {
    type Index = u32;

    #[inline(always)]
    fn split(index: u32, _: BucketDivision) -> (usize, Self) {
        ((index >> Self::BITS) as usize, index as Self)
    }

    #[inline(always)]
    fn number(self, _: BucketDivision) -> usize {
        usize::from(self)
    }

    #[inline(always)]
    fn of(number: u64) -> Self {
        number as Self
    }

    fn forward_run(f: &Trusted, first: u64, values: &mut [u32]) {
        f.forward_run_u32(first, values);
    }

    fn inverse_run(f: &Trusted, first: u64, slots: &mut [u32]) {
        f.inverse_run_u32(first, slots);
    }

    fn forward_each(f: &Trusted, slots: &mut [u32]) {
        f.forward_each_u32(slots);
    }
}

/// For larger buckets.
impl LowBits for u32 {
    type Index = u64;

    #[inline(always)]
    fn split(index: u64, buckets: BucketDivision) -> (usize, Self) {
        ((index >> buckets.bits) as usize, index as Self)
    }

    #[inline(always)]
    fn number(self, buckets: BucketDivision) -> usize {
        self as usize & (buckets.len() - 1)
    }

    #[inline(always)]
    fn of(number: u64) -> Self {
        number as Self
    }

    fn forward_run(f: &Trusted, first: u64, values: &mut [u64]) {
        f.forward_run(first, values);
    }

    fn inverse_run(f: &Trusted, first: u64, slots: &mut [u64]) {
        f.inverse_run(first, slots);
    }

    fn forward_each(f: &Trusted, slots: &mut [u64]) {
        f.forward_each(slots);
    }
}

/// The division of slots, or of indexes, into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketDivision {
    /// A bucket has `2^bits` slots or indexes.
    pub(super) bits: u32,
    pub(super) count: usize,
}

impl BucketDivision {
    /// Buckets for all slots or indexes up to `last`: of `2^bits` of them, or more where there
    /// would be more than `most` buckets.
    pub(super) fn of_bits(bits: u32, last: u64, most: u64) -> Self {
        let bits = (bits..).find(|&bits| last >> bits < most).expect("a bucket may have them all");
        Self { bits, count: (last >> bits) as usize + 1 }
    }

    /// The number of slots or indexes in a bucket.
    pub(super) fn len(self) -> usize {
        1 << self.bits
    }

    /// Whether the buckets have the usual size, so that two bytes tell the slots or indexes of a
    /// bucket apart.
    pub(super) fn are_usual(self) -> bool {
        self.bits == u16::BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_grow_where_there_would_be_too_many() {
        let of = |last, most| {
            let BucketDivision { bits, count } = BucketDivision::of_bits(u16::BITS, last, most);
            (bits, count)
        };
        assert_eq!(of(0, 4), (16, 1));
        assert_eq!(of(65_535, 4), (16, 1));
        assert_eq!(of(65_536, 4), (16, 2));
        assert_eq!(of((1 << 18) - 1, 4), (16, 4));
        assert_eq!(of(1 << 18, 4), (17, 3));
        assert_eq!(of((1 << 33) - 1, 1 << 14), (19, 1 << 14));
        assert_eq!(of(u64::from(u32::MAX), 1), (32, 1));
    }
}
