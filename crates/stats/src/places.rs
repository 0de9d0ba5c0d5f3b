//! [`Places`]: tests which index moves to which place.

use super::tails::chi_squared;
use super::{Outcome, Test, check_len, check_sample, zeros};

/// The test that every index is equally likely to move to every place: a table of indexes by
/// places, individually or in bins.
///
/// The statistic is `(n - 1) / n` times Pearson's. The p-value is its upper tail, from the
/// chi-squared distribution with `(b - 1)^2` degrees of freedom for `b` bins. The table has `b^2`
/// counts of 8 bytes, which limits the size: with 2000 items in bins of one it takes 32 MB for each
/// thread, and it pays to draw more samples than there are items. `b` samples are enough to trust
/// the p-value.
///
/// # Distribution
///
/// Let `X(i, k)` be 1 if a uniform permutation moves index `i` to place `k`, and otherwise 0. Its
/// expectation is `1 / n`, and
///
/// ```text
/// Cov(X(i, k), X(j, l)) = ([i = j] - 1/n) ([k = l] - 1/n) / (n - 1)
/// ```
///
/// since the fraction of permutations in which both are 1 is `1 / n`, 0 or `1 / (n (n - 1))`. The
/// count `N(B, C)` of a bin `B` of `r` indexes and a bin `C` of `c` places is the sum of `r c` of
/// these. So `N(B, C) - r c / n`, divided by `sqrt(r c)`, has the covariance
/// `(I - u u') (x) (I - v v') / (n - 1)`, where `u` and `v` are the unit vectors of all
/// `sqrt(r / n)` and `sqrt(c / n)`. That is `1 / (n - 1)` times a projection to `(b - 1)^2`
/// dimensions. Pearson's statistic of `N` samples is the squared length of the sum of these
/// vectors, times `n / N`. With `n - 1` instead of `n` its mean is exactly `(b - 1)^2`, and its
/// distribution tends to the chi-squared one. (The factor distinguishes whole permutations from
/// independent indexes: without it, 2 items would give twice the right statistic.)
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Places, Test};
///
/// let mut places = Places::new(3);
/// (0..30).for_each(|_| places.record(&[1, 2, 0]));
/// assert_eq!(places.counts(), [0, 30, 0, 0, 0, 30, 30, 0, 0]);
/// assert_eq!(places.outcome().statistic, 30.0 * 2.0 * 2.0);
/// ```
#[derive(Clone, Debug)]
pub struct Places {
    len: usize,
    /// The first place of each bin, and at the end the length.
    starts: Vec<usize>,
    /// The bin of `x` is `x * scale >> 32`.
    scale: u64,
    /// One row for each bin of places.
    counts: Vec<u64>,
    samples: u64,
}

impl Places {
    /// A test for permutations of `len` items, with a cell for each index and place.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`, or there is no memory for its square of counts.
    pub fn new(len: usize) -> Self {
        Self::coarse(len, len)
    }

    /// A test for permutations of `len` items, with the indexes and the places each in `bins` bins
    /// of nearly equal size.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`, or `bins` is below 2 or above `len`, or there is no
    /// memory for the square of `bins` of counts.
    pub fn coarse(len: usize, bins: usize) -> Self {
        check_len(len);
        assert!((2..=len).contains(&bins), "{bins} bins for {len} items");
        // Rounded down, so that the last item is in the last bin.
        let scale = ((bins as u64) << 32) / len as u64;
        // The first x with x * scale >= bin << 32.
        let start = |bin: usize| ((bin as u64) << 32).div_ceil(scale) as usize;
        // The larger one first: where it fits, so do the starts.
        let counts = zeros(bins.checked_mul(bins));
        let starts = (0..bins).map(start).chain([len]).collect();
        Self { len, starts, scale, counts, samples: 0 }
    }

    /// The number of bins.
    pub fn bins(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of items in each bin.
    fn bin_sizes(&self) -> impl Iterator<Item = usize> {
        self.starts.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// How often indexes of each bin moved to places of each bin: row by row, with one row for each
    /// bin of places.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    fn statistic(&self) -> f64 {
        let (n, samples) = (self.len as f64, self.samples as f64);
        let expected = self.bin_sizes().flat_map(|places| {
            self.bin_sizes().map(move |indexes| samples * places as f64 * indexes as f64 / n)
        });
        let terms = self.counts.iter().zip(expected);
        let pearson: f64 =
            terms.map(|(&count, expected)| (count as f64 - expected).powi(2) / expected).sum();
        pearson * (n - 1.0) / n
    }
}

impl Test for Places {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        let rows = self.counts.chunks_exact_mut(self.starts.len() - 1);
        for (row, ends) in rows.zip(self.starts.windows(2)) {
            for &index in &permutation[ends[0]..ends[1]] {
                row[((u64::from(index) * self.scale) >> 32) as usize] += 1;
            }
        }
        self.samples += 1;
    }

    fn merge(&mut self, other: Self) {
        let same = (self.len, self.bins()) == (other.len, other.bins());
        assert!(same, "tests of different lengths or bins");
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.samples += other.samples;
    }

    fn outcome(&self) -> Outcome {
        if self.samples == 0 {
            return Outcome::silent(0);
        }
        let statistic = self.statistic();
        let degrees = (self.bins() as f64 - 1.0).powi(2);
        Outcome { statistic, p_value: chi_squared(statistic, degrees), samples: self.samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhaustive::for_all;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn counts_for_which_there_is_no_memory_are_a_panic_that_can_be_caught() {
        // The first has 2^64 counts.
        for bins in [1 << 32, 1 << 31, 1 << 25] {
            let panic = std::panic::catch_unwind(|| Places::coarse(1 << 32, bins)).unwrap_err();
            let text = panic.downcast_ref::<String>().expect("a text");
            assert_eq!(text, "there is memory for the numbers that are counted");
        }
    }

    #[test]
    fn bins_divide_the_items() {
        for (len, bins) in
            [(2, 2), (5, 2), (7, 3), (1000, 7), (1000, 999), (1000, 1000), (1 << 20, 30)]
        {
            let places = Places::coarse(len, bins);
            assert_eq!(places.starts[0], 0);
            let sizes: Vec<usize> = places.bin_sizes().collect();
            assert_eq!(sizes.iter().sum::<usize>(), len);
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(
                *least >= 1 && most - least <= 2,
                "{len} items, {bins} bins: {least} to {most}"
            );
            for x in 0..len {
                let bin = places.starts.partition_point(|&start| start <= x) - 1;
                assert_eq!(((x as u64 * places.scale) >> 32) as usize, bin);
            }
        }
    }

    #[test]
    fn places_of_one_sample_have_the_stated_mean() {
        for len in 2..=7 {
            for bins in 2..=len {
                let (mut sum, mut all) = (0.0, 0.0);
                for_all(len, |p| {
                    let mut places = Places::coarse(len, bins);
                    places.record(p);
                    sum += places.statistic();
                    all += 1.0;
                });
                let degrees = (bins as f64 - 1.0).powi(2);
                assert!(
                    (sum / all - degrees).abs() < 1e-10,
                    "{len} items, {bins} bins: {}",
                    sum / all
                );
            }
        }
    }

    #[test]
    fn places_of_no_samples_have_no_outcome() {
        assert_eq!(Places::new(3).outcome(), Outcome::silent(0));
    }
}
