//! [`Signs`]: tests how many permutations are odd.

use super::cycles::CycleCounter;
use super::tails::fair_coin;
use super::{Outcome, Test, check_len, check_sample};

/// The test that odd and even permutations are equally frequent.
///
/// A permutation is odd if it is a product of an odd number of exchanges. The statistic is the
/// number of odd samples. The p-value is twice the binomial tail (at most 1), which is exact for
/// every number of samples. Since only few values are possible, the p-value is somewhat too large
/// rather than too small.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Signs, Test};
///
/// let mut signs = Signs::new(3);
/// (0..20).for_each(|_| signs.record(&[1, 2, 0]));
/// let outcome = signs.outcome();
/// assert_eq!(outcome.statistic, 0.0);
/// assert!((outcome.p_value * f64::from(1 << 19) - 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Debug)]
pub struct Signs {
    len: usize,
    cycles: CycleCounter,
    odd: u64,
    samples: u64,
}

impl Signs {
    /// A test for permutations of `len` items.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`.
    pub fn new(len: usize) -> Self {
        check_len(len);
        Self { len, cycles: CycleCounter::default(), odd: 0, samples: 0 }
    }
}

impl Test for Signs {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        // A cycle of k items is a product of k - 1 exchanges.
        let exchanges = self.len as u64 - self.cycles.count(permutation);
        self.odd += exchanges % 2;
        self.samples += 1;
    }

    fn merge(&mut self, other: Self) {
        assert_eq!(self.len, other.len, "tests of different lengths");
        self.odd += other.odd;
        self.samples += other.samples;
    }

    fn outcome(&self) -> Outcome {
        let p_value = fair_coin(self.odd, self.samples);
        Outcome { statistic: self.odd as f64, p_value, samples: self.samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mallows::DiscordantPairs;

    #[test]
    fn odd_permutations_have_an_odd_number_of_inversions() {
        let mut rng = fastrand::Rng::with_seed(2);
        for len in [2, 3, 64, 65, 100] {
            let mut signs = Signs::new(len);
            let mut p: Vec<u32> = (0..len as u32).collect();
            let mut odd = 0;
            for _ in 0..50 {
                rng.shuffle(&mut p);
                signs.record(&p);
                odd += DiscordantPairs::new().inversions(&p) % 2;
            }
            assert_eq!(signs.odd, odd, "length {len}");
        }
    }

    #[test]
    fn signs_of_no_samples_have_no_outcome() {
        assert_eq!(Signs::new(3).outcome(), Outcome::silent(0));
    }
}
