//! [`IndexInteger`]: the integers that indexes are returned in, and how many of them are written at
//! a time.

use bijective_shuffle::Word;
use numpy::Element;

/// The most indexes that the calling thread writes alone: waking others takes longer.
pub(crate) const FEW: usize = 1 << 13;

/// The number of indexes that a thread writes at a time: they fit its L1 cache.
pub(crate) const CHUNK: usize = 1 << 11;

/// The integers that indexes are returned in.
pub(crate) trait IndexInteger: Element + Copy + Send + Sync {
    /// The word of its size.
    type Word: Word;

    /// Numbers as the words of their size.
    fn words(numbers: &mut [Self]) -> &mut [Self::Word];
}

macro_rules! numbers {
    ($($number:ty: $word:ty),*) => {$(
        impl IndexInteger for $number {
            type Word = $word;

            fn words(numbers: &mut [Self]) -> &mut [$word] {
                let (first, len) = (numbers.as_mut_ptr().cast(), numbers.len());
                // SAFETY: a signed integer has the size and alignment of the unsigned one, and any
                // bits are a value of either.
                unsafe { core::slice::from_raw_parts_mut(first, len) }
            }
        }
    )*};
}

numbers! { i32: u32, u32: u32, i64: u64, u64: u64 }
