//! [`Number`]: the integers that values are returned in, and how many of them are written at a
//! time.

use bijective_shuffle::Error;
use numpy::Element;

use crate::order::Order;

/// The most values that the calling thread writes alone: waking others takes longer.
pub(crate) const FEW: usize = 1 << 13;

/// The number of values that a thread writes at a time: they fit its L1 cache.
pub(crate) const CHUNK: usize = 1 << 11;

/// The integers that values are returned in.
pub(crate) trait Number: Element + Copy + Send + Sync {
    /// Writes all of a permutation's values, by the engine.
    fn write_all(order: &Order, out: &mut [Self]) -> Result<(), Error>;

    /// The words themselves, if they are words of 64 bits.
    fn as_words(out: &mut [Self]) -> Option<&mut [u64]>;

    /// The number, which fits.
    fn of(value: u64) -> Self;
}

macro_rules! numbers {
    ($($number:ty, $word:ty, $as_words:expr;)*) => {$(
        impl Number for $number {
            fn write_all(order: &Order, out: &mut [Self]) -> Result<(), Error> {
                let len = out.len();
                // SAFETY: a signed integer has the size and alignment of the unsigned one, and any
                // bits are a value of either.
                let words = unsafe { core::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<$word>(), len) };
                order.write_all(words)
            }

            fn as_words(out: &mut [Self]) -> Option<&mut [u64]> {
                let as_words: fn(&mut [Self]) -> Option<&mut [u64]> = $as_words;
                as_words(out)
            }

            fn of(value: u64) -> Self {
                value as Self
            }
        }
    )*};
}

numbers! {
    i32, u32, |_| None;
    u32, u32, |_| None;
    i64, u64, |out| {
        let len = out.len();
        // SAFETY: both integers have 64 bits and the same alignment, and any bits are a value of
        // either.
        Some(unsafe { core::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), len) })
    };
    u64, u64, |out| Some(out);
}
