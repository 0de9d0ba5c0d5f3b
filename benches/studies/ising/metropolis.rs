//! The Metropolis rule for spins of the zero-field Ising ferromagnet, by whole numbers.

/// When a flip is accepted: the probabilities exp(-beta dE) as thresholds of 32-bit words.
///
/// A flip of spin s whose neighbours' sum is h changes the energy by 2 s h, for s h in {-4, -2, 0,
/// 2, 4}. A threshold is off by at most 2^-33, and what that does to an energy is far below what
/// 10^14 updates can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metropolis {
    /// A word below this accepts a flip with s h = 2.
    pub(crate) two: u32,
    /// A word below this accepts a flip with s h = 4.
    pub(crate) four: u32,
    /// The same for every s h, modulo 16; where any word accepts, it is 2^32.
    limits: [u64; 16],
}

impl Metropolis {
    /// At an inverse temperature above 0.
    pub(crate) fn new(beta: f64) -> Self {
        // Saturates where the probability rounds to 1.
        let threshold = |cost: f64| ((-beta * cost).exp() * 2_f64.powi(32)).round() as u32;
        let (two, four) = (threshold(4.0), threshold(8.0));
        let mut limits = [1 << 32; 16];
        (limits[2], limits[4]) = (two.into(), four.into());
        Self { two, four, limits }
    }

    /// The spin after a word has decided, for the sum of its neighbours.
    ///
    /// By arithmetic alone: a branch would be taken by chance, and cost more than all the rest.
    #[inline]
    pub(crate) fn next(&self, spin: i8, sum: i8, word: u32) -> i8 {
        let limit = self.limits[usize::from((spin * sum) as u8 % 16)];
        let flip = u64::from(word).wrapping_sub(limit) >> 63;
        spin - 2 * spin * flip as i8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detailed_balance() {
        for beta in [0.1_f64, 0.4, 0.44, 1.0] {
            let metropolis = Metropolis::new(beta);
            // The share of words that accept.
            for (alignment, threshold) in [(2_i8, metropolis.two), (4, metropolis.four)] {
                for spin in [1, -1] {
                    let sum = spin * alignment;
                    assert_eq!(metropolis.next(spin, sum, threshold - 1), -spin);
                    assert_eq!(metropolis.next(spin, sum, threshold), spin);
                    // The way back is always accepted.
                    assert_eq!(metropolis.next(-spin, sum, u32::MAX), spin);
                }
                let share = f64::from(threshold) * 2_f64.powi(-32);
                let odds = (-beta * 2.0 * f64::from(alignment)).exp();
                assert!((share - odds).abs() < 2_f64.powi(-32), "{beta}, {alignment}");
            }
            assert_eq!(metropolis.next(1, 0, u32::MAX), -1);
        }
    }
}
