//! How far a permutation of [`SwapOrNot`](super::SwapOrNot) can be from a uniform one, and how many
//! batches of rounds a distance takes; docs/proof.md derives it.

/// Rounds whose keys are independent in their lowest bits.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(super) struct BatchShape {
    pub(super) rounds: u32,
    /// How many of the lowest bits.
    pub(super) window: u32,
}

// A logarithm needs the standard library.
#[cfg(feature = "std")]
impl BatchShape {
    /// How many keys of a level's `2^width` each round excludes.
    fn excluded(self, width: u32) -> impl Iterator<Item = f64> {
        (0..self.rounds as i32)
            .map(move |round| 2_f64.powi(width as i32 - self.window as i32 + round))
    }

    /// The logarithm to base 2 of an upper bound of `1/2 sum (m - 1) L(m)^batches`, where `m` runs
    /// from `2^(width - 1) + 1`, at the last place that a level settles, to the `last + 1` points
    /// of its domain, and `L` is the product over a batch's rounds of
    /// `1 - (m - e) / (2 (2^width - e))` with the `e` keys that the round excludes.
    ///
    /// It is the level's part of half the divergence of Kullback and Leibler. The square root of
    /// the sum over all levels bounds the distance.
    pub(super) fn log2_part(self, width: u32, last: u64, batches: u32) -> f64 {
        let (size, least) = (2_f64.powi(width as i32), 2_f64.powi(width as i32 - 1));
        let settled = (last - ((1 << (width - 1)) - 1)) as f64;
        // The logarithm of a factor is concave in m, so it is at most its tangent where m is least:
        // `log2_least` there, and `decay` less, to base e, for each step from there.
        let (mut log2_least, mut decay) = (0.0, 0.0);
        for excluded in self.excluded(width) {
            let factor = 1.0 - (least - excluded) / (2.0 * (size - excluded));
            log2_least += factor.log2();
            decay += 0.5 / ((size - excluded) * factor);
        }
        let (batches, decay) = (f64::from(batches), decay * f64::from(batches));
        // With q = e^-decay, the sum of (least + k - 1) q^k over all k from 1 on; and what it is at
        // most over as many k as there are.
        let (q, rest) = ((-decay).exp(), -(-decay).exp_m1());
        let all = least * q / rest + (q / rest).powi(2);
        let few = settled * (least + settled) * q;
        // Rounded up by far more than the arithmetic is wrong.
        (0.5 * all.min(few)).log2() + batches * log2_least + 1e-6
    }
}

/// How many batches a level has for its part to be at most `2^-part`, where it may have all
/// `2^width` points.
///
/// It is a formula in whole numbers, so that it gives the same on every machine: a batch gains
/// 2.045 bits, and all that it has to make up for is less than `2 width - 3` bits, less the
/// logarithm of the number of batches.
pub(super) fn batches(width: u32, part: u32) -> u32 {
    let of_bits = |bits: u32| (bits * 1000).div_ceil(2045);
    let most = part + 2 * width - 3;
    of_bits(most - of_bits(most).ilog2())
}
