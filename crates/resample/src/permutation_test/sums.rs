//! Sums in a fixed order, which the compiler turns into vectors.

/// How many sums are kept side by side, and added up at the end.
const LANES: usize = 8;

/// The sum of a function of some items: item `k` is added to sum `k % 8`, and these are added up
/// from the first to the last.
#[inline(always)]
pub(super) fn sum<T: Copy>(items: &[T], of: impl Fn(T) -> f64) -> f64 {
    let (chunks, rest) = items.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for (sum, &item) in sums.iter_mut().zip(chunk) {
            *sum += of(item);
        }
    }
    for (sum, &item) in sums.iter_mut().zip(rest) {
        *sum += of(item);
    }
    sums.into_iter().sum()
}

/// The sum of a function of pairs, as [`sum`].
#[inline(always)]
pub(super) fn sum2<T: Copy, U: Copy>(items: &[T], others: &[U], of: impl Fn(T, U) -> f64) -> f64 {
    let (chunks, rest) = items.as_chunks::<LANES>();
    let (other_chunks, other_rest) = others.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (chunk, other) in chunks.iter().zip(other_chunks) {
        for lane in 0..LANES {
            sums[lane] += of(chunk[lane], other[lane]);
        }
    }
    for ((sum, &item), &other) in sums.iter_mut().zip(rest).zip(other_rest) {
        *sum += of(item, other);
    }
    sums.into_iter().sum()
}

/// The arithmetic mean of some values, which are not empty. It is finite if they are.
pub(super) fn mean(values: &[f64]) -> f64 {
    let len = values.len() as f64;
    let first = sum(values, |value| value / len);
    // A second pass takes away most of the rounding.
    first + sum(values, |value| (value - first) / len)
}
