//! Polynomials over GF(2) modulo the characteristic polynomial of the step.

/// Words of 64 coefficients, those of the lowest powers first.
const LIMBS: usize = 16;

/// The characteristic polynomial of the step but for its `z^1024`. It has 475 terms in all, as the paper says.
const CHARACTERISTIC: Polynomial = Polynomial {
    coefficients: [
        0xE55B_EA57_8000_0001,
        0xD32F_4C2D_D4D0_79C3,
        0x55A8_F442_7D90_346F,
        0x5215_97EE_18CC_C1FB,
        0x560B_2696_DA86_6D88,
        0xAA64_7382_76A9_71BF,
        0x7B79_3BA3_A89F_40D2,
        0x4560_DFBA_E602_F871,
        0x0E7B_007B_120E_BF33,
        0x8539_D9DF_0260_B5FE,
        0xA98B_98CA_6AB2_CAAB,
        0xB4B5_8410_E96F_AAAD,
        0xF2CC_5557_8819_E578,
        0x1B0E_CE45_A86B_CD1D,
        0xD546_CAFB_9815_F580,
        0x0000_0000_0000_0002,
    ],
};

/// A polynomial of a degree below 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Polynomial {
    coefficients: [u64; LIMBS],
}

impl Polynomial {
    /// 1.
    const ONE: Self = {
        let mut coefficients = [0; LIMBS];
        coefficients[0] = 1;
        Self { coefficients }
    };

    /// z, which is one step.
    pub(super) const Z: Self = {
        let mut coefficients = [0; LIMBS];
        coefficients[0] = 2;
        Self { coefficients }
    };

    /// `z^(2^137)`, which is the way from a stream to the next.
    pub(super) const JUMP: Self = Self {
        coefficients: [
            0xFB40_97CE_AFE4_1448,
            0x9F58_8643_1FA1_237D,
            0x66D2_3A0F_FDF5_337C,
            0xDD30_DB3E_8212_2FB3,
            0x61B2_2F3F_9EFC_EE72,
            0xE0B4_0B3B_D9C3_EE73,
            0x6218_BF43_E0F9_5966,
            0xAAEC_8F02_2474_6431,
            0xDC62_301D_7577_2066,
            0xD84B_C6B6_900F_503B,
            0xE4DD_93D3_9926_2914,
            0x1DE3_F44F_54B2_657D,
            0x29F7_63B4_8693_5553,
            0x887C_2064_7CB3_C5F4,
            0x3817_2185_CE33_A153,
            0x0B95_33A0_89B4_BBA4,
        ],
    };

    /// The coefficients, that of 1 first.
    pub(super) fn coefficients(&self) -> impl DoubleEndedIterator<Item = bool> {
        self.coefficients.iter().flat_map(|&limb| (0..64).map(move |bit| limb >> bit & 1 == 1))
    }

    /// A power.
    pub(super) fn power(&self, exponent: u128) -> Self {
        let bits = u128::BITS - exponent.leading_zeros();
        (0..bits).rev().fold(Self::ONE, |power, bit| {
            let square = power.times(&power);
            if exponent >> bit & 1 == 1 { square.times(self) } else { square }
        })
    }

    /// The product, by the rule of Horner.
    fn times(&self, other: &Self) -> Self {
        other.coefficients().rev().fold(Self { coefficients: [0; LIMBS] }, |sum, coefficient| {
            sum.times_z().plus(self, coefficient)
        })
    }

    /// The product with z.
    #[inline(always)]
    fn times_z(&self) -> Self {
        let mut shifted = self.coefficients;
        for k in (1..LIMBS).rev() {
            shifted[k] = shifted[k] << 1 | shifted[k - 1] >> 63;
        }
        shifted[0] <<= 1;
        Self { coefficients: shifted }
            .plus(&CHARACTERISTIC, self.coefficients[LIMBS - 1] >> 63 == 1)
    }

    /// The sum with another, or with nothing.
    #[inline(always)]
    fn plus(mut self, other: &Self, present: bool) -> Self {
        let mask = u64::from(present).wrapping_neg();
        for (sum, limb) in self.coefficients.iter_mut().zip(&other.coefficients) {
            *sum ^= limb & mask;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::{WORDS, step};
    use super::*;

    /// A state after a polynomial of steps.
    fn apply(polynomial: &Polynomial, mut state: [u32; WORDS]) -> [u32; WORDS] {
        let mut sum = [0; WORDS];
        for coefficient in polynomial.coefficients() {
            if coefficient {
                for (sum, word) in sum.iter_mut().zip(&state) {
                    *sum ^= word;
                }
            }
            step(&mut state);
        }
        sum
    }

    #[test]
    fn the_step_is_a_root_of_its_characteristic_polynomial() {
        let terms = CHARACTERISTIC.coefficients().filter(|&coefficient| coefficient).count();
        assert_eq!(terms + 1, 475);
        // On a state whose first 1024 steps span all: it is of the minimal polynomial's degree.
        for seed in [1, 0x9E37_79B9] {
            let state = core::array::from_fn(|k| (k as u32 + 1).wrapping_mul(seed));
            let mut last = state;
            for _ in 0..1024 {
                step(&mut last);
            }
            assert_eq!(apply(&CHARACTERISTIC, state), last);
        }
    }

    #[test]
    fn the_period_is_not_shorter_for_want_of_a_field() {
        // z^(2^1024) = z, which holds in a field of so many elements.
        let last = (0..1024).fold(Polynomial::Z, |power, _| power.times(&power));
        assert_eq!(last, Polynomial::Z);
    }

    #[test]
    fn jumps_are_powers() {
        let jump = (0..137).fold(Polynomial::Z, |power, _| power.times(&power));
        assert_eq!(jump, Polynomial::JUMP);
        assert_eq!(Polynomial::Z.power(0), Polynomial::ONE);
        assert_eq!(Polynomial::Z.power(1 << 127).power(1 << 10), Polynomial::JUMP);
        let (a, b) = (Polynomial::Z.power(12_345), Polynomial::Z.power(1 << 99));
        assert_eq!(a.times(&b), Polynomial::Z.power((1 << 99) + 12_345));
    }
}
