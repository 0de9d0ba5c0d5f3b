//! Binomial numbers by inversion, from a table of whole numbers of 128 bits.
//!
//! The logarithms of different C libraries differ in their last bits, so no floating-point number
//! is involved. With `n` items, a probability of `q / 2^128` and `p = 2^128 - q`, the weights of
//! the counts are
//!
//! ```text
//! w[mode] = 2^128,  mode = floor((n + 1) q / 2^128)
//! w[k + 1] = floor(w[k] (n - k) q / ((k + 1) p))         from the mode upwards
//! w[k - 1] = floor(w[k] k p / ((n - k + 1) q))           from the mode downwards
//! ```
//!
//! each until it is 0 or there is no other count. A count is the first `k` with `u < s[k] 2^128 /
//! total`, rounded down, where `u` is a word of 128 bits, `s[k]` the sum of the weights up to `k`,
//! and `total` that of all.
//!
//! The weights fall from the mode on, so an error of rounding does not grow, and each of the `t`
//! weights is less than `t` below the exact one. Hence the law differs from the binomial one by
//! less than `(t^2 + t) / 2^128` in total variation.

use bijective_shuffle_engine::check;
use num_bigint::BigUint;

use crate::Error;

/// The binomial law of some number of items that each come with one probability.
#[derive(Clone, Debug)]
pub(super) struct Binomial {
    /// The count of the first entry of `below`.
    first: u64,
    /// How many of the 2^128 words give this count or a smaller one, for every count but the last.
    below: Vec<u128>,
}

impl Binomial {
    /// The law for a probability of `q / 2^128`, which is neither 0 nor 1.
    pub(super) fn new(items: u64, q: u128) -> Result<Self, Error> {
        let one: BigUint = BigUint::from(1_u8) << 128;
        let (q, p) = (BigUint::from(q), &one - q);
        let mode: BigUint = ((BigUint::from(items) + 1_u8) * &q) >> 128;
        let mode = u64::try_from(&mode).expect("it is at most the number of items");
        let mut weights = Vec::new();
        let mut weight = one.clone();
        let mut k = mode;
        while k > 0 {
            weight = weight * k * &p / (BigUint::from(items - k + 1) * &q);
            if weight == BigUint::ZERO {
                break;
            }
            check::try_reserve(&mut weights, 1)?;
            weights.push(weight.clone());
            k -= 1;
        }
        let first = mode - weights.len() as u64;
        weights.reverse();
        let (mut weight, mut k) = (one, mode);
        loop {
            check::try_reserve(&mut weights, 1)?;
            weights.push(weight.clone());
            if k == items {
                break;
            }
            weight = weight * (items - k) * &q / (BigUint::from(k + 1) * &p);
            if weight == BigUint::ZERO {
                break;
            }
            k += 1;
        }
        let total: BigUint = weights.iter().sum();
        let mut below = check::try_with_capacity(weights.len())?;
        let mut sum = BigUint::ZERO;
        weights.pop();
        for weight in weights {
            sum += weight;
            let bound: BigUint = (&sum << 128) / &total;
            below.push(u128::try_from(&bound).expect("a part of the total is below it"));
        }
        Ok(Self { first, below })
    }

    /// The count that a word gives.
    pub(super) fn count(&self, word: u128) -> u64 {
        self.first + self.below.partition_point(|&bound| bound <= word) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest difference from the exact probabilities, which are computed as fractions.
    fn check_all(items: u64, q: u128) {
        let law = Binomial::new(items, q).unwrap();
        let power = |base: &BigUint, n: u64| base.pow(u32::try_from(n).unwrap());
        let q = BigUint::from(q);
        let p: BigUint = (BigUint::from(1_u8) << 128) - &q;
        let (mut choices, mut sum) = (BigUint::from(1_u8), BigUint::ZERO);
        for k in 0..items {
            sum += &choices * power(&q, k) * power(&p, items - k);
            choices = choices * (items - k) / (k + 1);
            let exact: BigUint = &sum >> (128 * (items - 1));
            let exact = u128::try_from(&exact).unwrap();
            let ours = match k.checked_sub(law.first) {
                None => 0,
                Some(place) => law.below.get(place as usize).copied().unwrap_or(u128::MAX),
            };
            let bound = (items + 1) * (items + 2);
            assert!(ours.abs_diff(exact) <= u128::from(bound), "{items}, {q}, {k}");
        }
    }

    #[test]
    fn probabilities_are_the_exact_ones() {
        for items in 1..20 {
            for q in [1, 1 << 40, 1 << 127, u128::MAX / 3, u128::MAX / 1000, u128::MAX] {
                check_all(items, q);
            }
        }
        check_all(200, u128::MAX / 17);
    }

    #[test]
    fn words_at_the_ends_give_the_smallest_and_the_largest_count() {
        let law = Binomial::new(3, 1 << 127).unwrap();
        assert_eq!(law.first, 0);
        // Eighths: 1, 3, 3 and 1.
        for (word, count) in [(0.0, 0), (0.9, 0), (1.1, 1), (3.9, 1), (4.1, 2), (6.9, 2), (7.1, 3)]
            .map(|(eighths, count): (f64, u64)| ((eighths * 125_f64.exp2()) as u128, count))
        {
            assert_eq!(law.count(word), count);
        }
        assert_eq!(law.count(u128::MAX), 3);
    }
}
