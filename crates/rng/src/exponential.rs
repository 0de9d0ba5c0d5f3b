//! Exponential numbers by inversion: `-ln u`.
//!
//! `u` is never 0. It is made like the `u` of the radius of normal numbers, so logarithms only ever
//! see that one set of arguments, and the bits are the same everywhere for the same reasons.

use super::normal::{ln_f32, ln_f64, open_f32, open_f64};

/// An exponential number of mean 1, from one word.
#[inline(always)]
pub(super) fn exponential_f32(word: u32) -> f32 {
    // Subtracts instead of negating, since the negated logarithm of 1 would be -0.
    0.0 - ln_f32(open_f32(word))
}

/// An exponential number of mean 1, from two words.
#[inline(always)]
pub(super) fn exponential_f64(words: u64) -> f64 {
    0.0 - ln_f64(open_f64(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_end_where_documented() {
        assert_eq!(exponential_f32(u32::MAX).to_bits(), 0);
        assert!((22.18..22.19).contains(&exponential_f32(0)));
        assert_eq!(exponential_f64(0).to_bits(), 0);
        assert!((36.04..36.05).contains(&exponential_f64(u64::MAX)));
    }

    #[test]
    fn numbers_are_logarithms() {
        for k in 0..100_000_u64 {
            let words = k.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let u = (f64::from((words >> 33) as u32) + 0.5) / f64::from(1_u32 << 31);
            let number = f64::from(exponential_f32((words >> 32) as u32));
            // `u` is rounded to 24 bits twice, and the logarithm once.
            assert!((number + u.ln()).abs() < 1.3e-7 + 1.3e-7 * number, "{u}");
            let u = 1.0 - (words >> 12) as f64 / (1_u64 << 52) as f64;
            let number = exponential_f64(words);
            assert!((number + u.ln()).abs() <= 4.5e-16 * number, "{u}");
        }
    }
}
