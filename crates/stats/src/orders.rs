//! [`Orders`]: tests how often each of the `n!` orders occurs.

use super::tails::chi_squared;
use super::{Outcome, Test, check_sample};

/// The chi-squared test of all `n!` orders of `n` items, `n` from 2 to 8.
///
/// Given enough samples, it detects every fault. The statistic is Pearson's. The p-value is its
/// upper tail, from the chi-squared distribution with `n! - 1` degrees of freedom, for which about
/// 5 samples for each order are enough. Counts that are *more* even than chance would make them
/// have a p-value close to 1, and pass.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Orders, Test};
///
/// let mut orders = Orders::new(3);
/// (0..30).for_each(|_| orders.record(&[1, 2, 0]));
/// assert_eq!(orders.counts(), [0, 0, 0, 30, 0, 0]);
/// assert_eq!(orders.outcome().statistic, 150.0);
/// ```
#[derive(Clone, Debug)]
pub struct Orders {
    len: usize,
    counts: Vec<u64>,
}

impl Orders {
    /// The longest permutations whose orders are counted: 8! is 40320.
    pub const LEN_MAX: usize = 8;

    /// A test for permutations of `len` items.
    ///
    /// # Panics
    ///
    /// If `len` is not from 2 to 8.
    pub fn new(len: usize) -> Self {
        assert!(
            (2..=Self::LEN_MAX).contains(&len),
            "orders are counted for 2 to 8 items, not {len}"
        );
        Self { len, counts: vec![0; (1..=len).product()] }
    }

    /// How often each order occurred, in lexicographic order.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

impl Test for Orders {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        self.counts[lexicographic_rank(permutation)] += 1;
    }

    fn merge(&mut self, other: Self) {
        assert_eq!(self.len, other.len, "tests of different lengths");
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    fn outcome(&self) -> Outcome {
        let samples: u64 = self.counts.iter().sum();
        if samples == 0 {
            return Outcome::silent(0);
        }
        let expected = samples as f64 / self.counts.len() as f64;
        let statistic =
            self.counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        let degrees = (self.counts.len() - 1) as f64;
        Outcome { statistic, p_value: chi_squared(statistic, degrees), samples }
    }
}

/// The rank of a permutation of at most 64 items among all of its length in lexicographic order,
/// from 0: the number of unused values below each value, as digits in the mixed base
/// `n, n - 1, .., 1`.
fn lexicographic_rank(permutation: &[u32]) -> usize {
    let mut unused = u64::MAX;
    let mut base = permutation.len();
    permutation.iter().fold(0, |rank, &value| {
        let bit = 1_u64 << value;
        unused &= !bit;
        let digit = (unused & (bit - 1)).count_ones() as usize;
        let rank = rank * base + digit;
        base -= 1;
        rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps to the next permutation in lexicographic order, and returns whether there is one.
    fn step(p: &mut [u32]) -> bool {
        let Some(k) = p.windows(2).rposition(|pair| pair[0] < pair[1]) else {
            return false;
        };
        let next = p.iter().rposition(|&value| value > p[k]).unwrap();
        p.swap(k, next);
        p[k + 1..].reverse();
        true
    }

    #[test]
    fn ranks_count_up_in_lexicographic_order() {
        for len in 2..=8 {
            let mut p: Vec<u32> = (0..len).collect();
            let mut rank = 0;
            assert_eq!(lexicographic_rank(&p), 0);
            while step(&mut p) {
                rank += 1;
                assert_eq!(lexicographic_rank(&p), rank, "{p:?}");
            }
            assert_eq!(rank + 1, (1..=len as usize).product::<usize>());
        }
    }

    #[test]
    #[should_panic(expected = "2 to 8 items, not 9")]
    fn too_many_items_are_refused() {
        Orders::new(9);
    }

    #[test]
    fn orders_of_no_samples_have_no_outcome() {
        assert_eq!(Orders::new(3).outcome(), Outcome::silent(0));
    }
}
