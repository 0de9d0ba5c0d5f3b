//! [`Multipliers`]: the good ones, from the largest down.

use super::prime::is_good;

/// The multipliers that give [`Mwc`](super::Mwc) its full period, from the largest down: those for which `2^32 a - 1` is a
/// safe prime. There are some millions.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rng::{Multipliers, Mwc};
///
/// assert_eq!(Multipliers::new().next(), Some(Mwc::MULTIPLIER));
/// ```
#[derive(Clone, Debug)]
pub struct Multipliers {
    /// Candidates are below this.
    above: u32,
}

impl Multipliers {
    /// All of them.
    pub const fn new() -> Self {
        Self { above: u32::MAX }
    }
}

impl Default for Multipliers {
    fn default() -> Self {
        Self::new()
    }
}

impl Iterator for Multipliers {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.above > 0 {
            self.above -= 1;
            if is_good(self.above) {
                return Some(self.above);
            }
        }
        None
    }
}

impl core::iter::FusedIterator for Multipliers {}
