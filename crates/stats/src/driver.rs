//! [`run`]: draws and tests samples in parallel, with a result that does not depend on the number
//! of threads.

use core::ops::Range;

use super::{Test, zeros};

/// About how many chunks the samples are divided into: enough for as many threads, and no more,
/// since each chunk costs a merge and tables may be big.
const CHUNKS: u64 = 64;

/// The most samples in a chunk. It is even, as [`chunk_size`] requires.
const CHUNK_MAX: u64 = 1 << 16;

/// Passes `samples` permutations of `len` items to a test, on all of rayon's threads, and returns
/// the test.
///
/// `fill(k, out)` writes sample `k`, from 0 to `samples - 1`, to a slice of `len` indexes. The
/// slice contains whatever an earlier sample left there. `test` creates a new test for each chunk
/// of samples. The chunks are `[0, c), [c, 2c), ..` for an even `c` that depends only on `samples`,
/// and they are merged in order by a fixed scheme. So the result is the same in every run, provided
/// that `fill` always writes the same samples.
///
/// # Panics
///
/// If there is no memory for a permutation, of four bytes an item, on each thread; or if `test` or
/// `fill` panics.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle_stats::{Places, Test, run};
///
/// let seed = Seed::new(42);
/// let places = run(10_000, 52, || Places::new(52), |sample, out| {
///     Permutation::new(52, seed.with_epoch(sample)).write_indexes(out).unwrap();
/// });
/// assert!(places.outcome().p_value > 1e-3);
/// ```
pub fn run<T: Test + Send>(
    samples: u64,
    len: usize,
    test: impl Fn() -> T + Sync,
    fill: impl Fn(u64, &mut [u32]) + Sync,
) -> T {
    let chunk = |range: Range<u64>| {
        let mut test = test();
        let mut permutation = zeros(Some(len));
        for sample in range {
            fill(sample, &mut permutation);
            test.record(&permutation);
        }
        test
    };
    merged(0..samples, chunk_size(samples), &chunk)
}

/// The number of samples in a chunk. It is even, so that pairs of consecutive samples stay
/// together.
fn chunk_size(samples: u64) -> u64 {
    samples.div_ceil(CHUNKS).next_multiple_of(2).clamp(2, CHUNK_MAX)
}

/// The merged test of a range of samples: one chunk, or two halves made of whole chunks.
fn merged<T: Test + Send>(
    range: Range<u64>,
    size: u64,
    chunk: &(impl Fn(Range<u64>) -> T + Sync),
) -> T {
    let chunks = (range.end - range.start).div_ceil(size);
    if chunks <= 1 {
        return chunk(range);
    }
    let middle = range.start + chunks / 2 * size;
    let (mut first, second) = rayon::join(
        || merged(range.start..middle, size, chunk),
        || merged(middle..range.end, size, chunk),
    );
    first.merge(second);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    /// Keeps all samples.
    struct KeepSamples(Vec<u32>);

    impl Test for KeepSamples {
        fn record(&mut self, permutation: &[u32]) {
            self.0.push(permutation[0]);
        }
        fn merge(&mut self, other: Self) {
            self.0.extend(other.0);
        }
        fn outcome(&self) -> Outcome {
            Outcome::silent(self.0.len() as u64)
        }
    }

    #[test]
    fn every_sample_comes_once_and_in_order() {
        for samples in [0, 1, 2, 3, 127, 128, 129, 255, 256, 257, 1000, 12345] {
            let kept = run(samples, 1, || KeepSamples(Vec::new()), |k, out| out[0] = k as u32);
            assert!(kept.0.into_iter().eq(0..samples as u32), "{samples} samples");
        }
    }

    #[test]
    fn chunks_are_even() {
        for samples in [0, 1, 127, 128, 129, 257, 1_000_001, u64::MAX] {
            let size = chunk_size(samples);
            assert!(size >= 2 && size.is_multiple_of(2) && size <= CHUNK_MAX, "{samples}: {size}");
        }
    }
}
