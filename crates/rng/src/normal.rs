//! Pairs of normal numbers by the method of Box and Muller (1958). gpu/rng/normal.cuh is the same
//! for a GPU.
//!
//! The radius is `r = sqrt(-2 ln u)`, and the angle is uniform over a whole turn. The logarithms,
//! sines and cosines of the C library and of CUDA differ in their last bits. Here they are
//! polynomials in additions, multiplications and a division, each of which IEEE 754 rounds, so the
//! bits are the same everywhere as long as no multiplication and addition are fused into one; old
//! processors have no fused ones. No intermediate result is subnormal, so flushing those to zero
//! changes nothing.
//!
//! The coefficients of the logarithms for `f64` and `f32` are from FreeBSD's msun (`e_log.c`,
//! `e_logf.c`, Sun Microsystems, 1993); those of sine and cosine are from S. Moshier's Cephes
//! (`sin.c`, `sinf.c`).

#![expect(clippy::excessive_precision, reason = "coefficients are as in their sources")]

use core::f64::consts::TAU;

/// Two normal numbers from two words: the first word gives the radius, the second the angle.
#[inline(always)]
pub(super) fn pair_f32(radius: u32, angle: u32) -> [f32; 2] {
    let radius = (-2.0 * ln_f32(open_f32(radius))).sqrt();
    let (sine, cosine) = turn_f32(angle);
    [radius * cosine, radius * sine]
}

/// Two normal numbers from two 64-bit values: the first gives the radius, the second the angle.
#[inline(always)]
pub(super) fn pair_f64(radius: u64, angle: u64) -> [f64; 2] {
    let radius = (-2.0 * ln_f64(open_f64(radius))).sqrt();
    let (sine, cosine) = turn_f64(angle);
    [radius * cosine, radius * sine]
}

/// A uniform number above 0 with 31 random bits, in the middle of their interval: from 2^-32 to 1.
#[inline(always)]
pub(super) fn open_f32(word: u32) -> f32 {
    (word >> 1) as i32 as f32 * (1.0 / (1_u64 << 31) as f32) + 1.0 / (1_u64 << 32) as f32
}

/// A uniform number above 0 with 52 random bits: from 2^-52 to 1.
#[inline(always)]
pub(super) fn open_f64(words: u64) -> f64 {
    2.0 - f64::from_bits(words >> 12 | 0x3FF0_0000_0000_0000)
}

/// The natural logarithm of a positive number that is not subnormal.
#[inline(always)]
pub(super) fn ln_f32(x: f32) -> f32 {
    // x = 2^k (1 + f), with 1 + f between the square roots of 1/2 and of 2.
    const ROOT: i32 = 0x3F33_04F4;
    const ONE: i32 = 0x3F80_0000;
    let shifted = (x.to_bits() as i32).wrapping_add(ONE - ROOT);
    let k = (shifted >> 23) - 127;
    let f = f32::from_bits(((shifted & 0x007F_FFFF) + ROOT) as u32) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = w * (0.400_009_72 + w * 0.242_790_79);
    let even = z * (0.666_666_63 + w * 0.284_987_87);
    let half_square = 0.5 * f * f;
    let k = k as f32;
    let rest = s * (half_square + (even + odd)) + k * 9.058_000_6e-6;
    k * 0.693_138_1 - ((half_square - rest) - f)
}

/// The natural logarithm of a positive number that is not subnormal.
#[inline(always)]
pub(super) fn ln_f64(x: f64) -> f64 {
    const ROOT: u64 = 0x3FE6_A09E_667F_3BCD;
    const ONE: u64 = 0x3FF0_0000_0000_0000;
    let shifted = x.to_bits().wrapping_add(ONE - ROOT);
    // The exponent as a number, through the bit pattern of 2^52 and above.
    let k =
        f64::from_bits(shifted >> 52 | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let f = f64::from_bits((shifted & 0x000F_FFFF_FFFF_FFFF) + ROOT) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = w
        * (3.999_999_999_940_941_908e-1
            + w * (2.222_219_843_214_978_396e-1 + w * 1.531_383_769_920_937_332e-1));
    let even = z
        * (6.666_666_666_666_735_13e-1
            + w * (2.857_142_874_366_239_149e-1
                + w * (1.818_357_216_161_805_012e-1 + w * 1.479_819_860_511_658_591e-1)));
    let half_square = 0.5 * f * f;
    let rest = s * (half_square + (even + odd)) + k * 1.908_214_929_270_587_700_02e-10;
    k * 6.931_471_803_691_238_164_90e-1 - ((half_square - rest) - f)
}

/// The sine and cosine of an angle in units of 2^-32 turns.
#[inline(always)]
fn turn_f32(angle: u32) -> (f32, f32) {
    // The nearest quarter turn, and the remainder, which is at most an eighth of a turn.
    let quarter = angle.wrapping_add(1 << 29) >> 30;
    let x = (angle << 2) as i32 as f32 * (TAU / (1_u64 << 34) as f64) as f32;
    let z = x * x;
    let sine = x + x * (z * (-1.666_665_5e-1 + z * (8.332_161e-3 + z * -1.951_529_6e-4)));
    let cosine =
        (1.0 - 0.5 * z) + z * z * (4.166_664_6e-2 + z * (-1.388_731_6e-3 + z * 2.443_315_7e-5));
    let odd = (quarter & 1).wrapping_neg();
    let (sine, cosine) = (sine.to_bits(), cosine.to_bits());
    // In an odd quarter, sine and cosine change places; the quarter also determines the signs.
    let swap = (sine ^ cosine) & odd;
    let sine = sine ^ swap ^ (quarter & 2) << 30;
    let cosine = cosine ^ swap ^ (quarter.wrapping_add(1) & 2) << 30;
    (f32::from_bits(sine), f32::from_bits(cosine))
}

/// The sine and cosine of an angle in units of 2^-64 turns. Only its upper 54 bits count.
#[inline(always)]
fn turn_f64(angle: u64) -> (f64, f64) {
    let quarter = angle.wrapping_add(1 << 61) >> 62;
    // The remainder, from -2^51 to 2^51 units of 2^-54 turns, as a number, through the bit pattern
    // of 1.5 * 2^52 and above.
    let rest = (angle.wrapping_add(1 << 61) << 2 >> 12).wrapping_add(0x4330_0000_0000_0000);
    let x = (f64::from_bits(rest) - (4_503_599_627_370_496.0 + 2_251_799_813_685_248.0))
        * (TAU / (1_u64 << 54) as f64);
    let z = x * x;
    let sine = x + x
        * (z * (-1.666_666_666_666_663_072_95e-1
            + z * (8.333_333_333_322_118_588_78e-3
                + z * (-1.984_126_982_958_953_859_96e-4
                    + z * (2.755_731_362_138_572_452_13e-6
                        + z * (-2.505_074_776_285_780_728_66e-8
                            + z * 1.589_623_015_765_465_680_60e-10))))));
    let cosine = (1.0 - 0.5 * z)
        + z * z
            * (4.166_666_666_666_659_292_18e-2
                + z * (-1.388_888_888_887_305_641_16e-3
                    + z * (2.480_158_728_885_170_453_48e-5
                        + z * (-2.755_731_417_929_673_881_12e-7
                            + z * (2.087_570_084_197_473_167_78e-9
                                + z * -1.135_853_652_138_768_173_00e-11)))));
    let odd = (quarter & 1).wrapping_neg();
    let (sine, cosine) = (sine.to_bits(), cosine.to_bits());
    let swap = (sine ^ cosine) & odd;
    let sine = sine ^ swap ^ (quarter & 2) << 62;
    let cosine = cosine ^ swap ^ (quarter.wrapping_add(1) & 2) << 62;
    (f64::from_bits(sine), f64::from_bits(cosine))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are spread over all of a word, with the ends and their neighbours.
    fn spread(bits: u32) -> impl Iterator<Item = u64> {
        let most = u64::MAX >> (64 - bits);
        let scattered =
            (0..200_000_u64).map(move |k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits));
        let ends = (0..8).flat_map(move |eighth| {
            let at = (most / 8 + 1).wrapping_mul(eighth);
            (0..4).flat_map(move |k| [at.wrapping_add(k) & most, at.wrapping_sub(k) & most])
        });
        scattered.chain(ends).chain((0..bits).map(|bit| 1 << bit))
    }

    #[test]
    fn logarithms_are_accurate() {
        for word in spread(32) {
            let x = (word + 1) as f32 / (1_u64 << 32) as f32;
            let exact = f64::from(x).ln();
            let error = (f64::from(ln_f32(x)) - exact).abs();
            assert!(error <= 1.2e-7 * exact.abs(), "ln {x} is off by {error}");
        }
        for word in spread(64) {
            let x = 2.0 - f64::from_bits(word >> 12 | 0x3FF0_0000_0000_0000);
            let error = (ln_f64(x) - x.ln()).abs();
            assert!(error <= 2.3e-16 * x.ln().abs(), "ln {x} is off by {error}");
        }
    }

    #[test]
    fn sines_and_cosines_are_accurate() {
        for word in spread(32) {
            let angle = word as f64 * (TAU / (1_u64 << 32) as f64);
            let (sine, cosine) = turn_f32(word as u32);
            assert!((f64::from(sine) - angle.sin()).abs() < 1.3e-7, "sine of {angle}");
            assert!((f64::from(cosine) - angle.cos()).abs() < 1.3e-7, "cosine of {angle}");
        }
        for word in spread(64) {
            let angle = (word >> 10) as f64 * (TAU / (1_u64 << 54) as f64);
            let (sine, cosine) = turn_f64(word);
            // A large angle has a larger rounding error than its sine.
            let most = if angle < 0.75 { 2.5e-16 } else { 1.2e-15 };
            assert!((sine - angle.sin()).abs() < most, "sine of {angle}");
            assert!((cosine - angle.cos()).abs() < most, "cosine of {angle}");
        }
    }

    #[test]
    fn normal_numbers_end_where_documented() {
        assert_eq!(pair_f32(u32::MAX, 0), [0.0, 0.0]);
        assert!((6.6..6.67).contains(&pair_f32(0, 0)[0]));
        assert_eq!(pair_f64(0, 0), [0.0, 0.0]);
        assert!((8.4..8.50).contains(&pair_f64(u64::MAX, 0)[0]));
    }
}
