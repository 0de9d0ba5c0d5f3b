//! The Metropolis rule for spins of the zero-field Ising ferromagnet, by whole numbers.

/// When a flip is accepted: the probabilities exp(-beta dE) as thresholds of 32-bit words.
///
/// A flip of spin s whose neighbours' sum is h changes the energy by 2 s h, for s h in {-4, -2, 0, 2, 4}. A threshold
/// is off by at most 2^-33, and what that does to an energy is far below what 10^14 updates can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metropolis {
    /// A word below this accepts a flip with s h = 2.
    pub(crate) two: u32,
    /// A word below this accepts a flip with s h = 4.
    pub(crate) four: u32,
}

impl Metropolis {
    /// At an inverse temperature above 0.
    pub(crate) fn new(beta: f64) -> Self {
        // Saturates where the probability rounds to 1.
        let threshold = |cost: f64| ((-beta * cost).exp() * 2_f64.powi(32)).round() as u32;
        Self { two: threshold(4.0), four: threshold(8.0) }
    }

    /// Whether a flip is accepted, for s h and a random word.
    #[inline]
    pub(crate) fn accepts(self, alignment: i8, word: u32) -> bool {
        let threshold = if alignment == 2 { self.two } else { self.four };
        // Both are looked at, since a branch would be taken by chance.
        (alignment <= 0) | (word < threshold)
    }

    /// The spin after a word has decided, for the sum of its neighbours.
    #[inline]
    pub(crate) fn next(self, spin: i8, sum: i8, word: u32) -> i8 {
        let flip = i8::from(self.accepts(spin * sum, word));
        spin * (1 - 2 * flip)
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
                assert!(metropolis.accepts(alignment, threshold - 1));
                assert!(!metropolis.accepts(alignment, threshold));
                // The way back is always accepted.
                assert!(metropolis.accepts(-alignment, u32::MAX));
                let share = f64::from(threshold) * 2_f64.powi(-32);
                let odds = (-beta * 2.0 * f64::from(alignment)).exp();
                assert!((share - odds).abs() < 2_f64.powi(-32), "{beta}, {alignment}");
            }
            assert!(metropolis.accepts(0, u32::MAX));
        }
    }
}
