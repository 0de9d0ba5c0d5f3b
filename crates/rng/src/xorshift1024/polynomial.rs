//! Polynomials over GF(2) modulo the characteristic polynomial of the step.

/// The number of 64-bit words of coefficients, lowest powers first.
const LIMBS: usize = 16;

/// The characteristic polynomial of the step, without its `z^1024`. It has 475 terms in all, as the
/// paper says, and is primitive, as a test in this file proves.
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

/// A polynomial of degree below 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Polynomial {
    coefficients: [u64; LIMBS],
}

impl Polynomial {
    /// The polynomial 1.
    const ONE: Self = {
        let mut coefficients = [0; LIMBS];
        coefficients[0] = 1;
        Self { coefficients }
    };

    /// The polynomial z, which is one step.
    pub(super) const Z: Self = {
        let mut coefficients = [0; LIMBS];
        coefficients[0] = 2;
        Self { coefficients }
    };

    /// The polynomial `z^(2^137)`, which leads from a stream to the next.
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

    /// The coefficients, from that of 1 up.
    pub(super) fn coefficients(&self) -> impl DoubleEndedIterator<Item = bool> {
        self.coefficients.iter().flat_map(|&limb| (0..64).map(move |bit| limb >> bit & 1 == 1))
    }

    /// A power.
    pub(super) fn power(&self, exponent: u128) -> Self {
        let bits = u128::BITS - exponent.leading_zeros();
        self.power_of_bits((0..bits).rev().map(|bit| exponent >> bit & 1 == 1))
    }

    /// The power whose exponent has the given bits, highest first.
    fn power_of_bits(&self, exponent: impl Iterator<Item = bool>) -> Self {
        exponent.fold(Self::ONE, |power, bit| {
            let square = power.times(&power);
            if bit { square.times(self) } else { square }
        })
    }

    /// The product, by Horner's rule.
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

    /// The sum with another polynomial, if `present` is set.
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

    /// The state after a polynomial in the step is applied.
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
        // One nonzero state is enough: an irreducible polynomial that annihilates it is its minimal
        // polynomial, and since the degree is the number of bits, it is the characteristic
        // polynomial.
        let state = core::array::from_fn(|k| (k as u32 + 1).wrapping_mul(0x9E37_79B9));
        let mut last = state;
        for _ in 0..1024 {
            step(&mut last);
        }
        assert_eq!(apply(&CHARACTERISTIC, state), last);
    }

    /// The prime factors of the Fermat numbers `2^(2^k) + 1` from `k = 0` on, from J. Brillhart et
    /// al., *Factorizations of b^n +- 1*. For the last: A. K. Lenstra, H. W. Lenstra, M. S.
    /// Manasse, J. M. Pollard, *The factorization of the ninth Fermat number*, Mathematics of
    /// Computation 61 (1993). The test relies on these sources for their primality.
    const FERMAT: [&[&str]; 10] = [
        &["3"],
        &["5"],
        &["17"],
        &["257"],
        &["65537"],
        &["641", "6700417"],
        &["274177", "67280421310721"],
        &["59649589127497217", "5704689200685129054721"],
        &["1238926361552897", "93461639715357977769163558199606896584051237541638188580280321"],
        &[
            "2424833",
            "7455602825647884208337395736200454918783366342657",
            "741640062627530801524787141901937474059940781097519023905821316144415759504705008092818711693940737",
        ],
    ];

    /// A natural number in 32-bit words, lowest first; the highest is not zero.
    #[derive(Clone, Debug, PartialEq)]
    struct Natural(Vec<u32>);

    impl Natural {
        fn from_decimal(text: &str) -> Self {
            let digits = text.bytes().map(|digit| u32::from(digit - b'0'));
            digits.fold(Self(Vec::new()), |number, digit| number.times(&[10], digit))
        }

        /// The product with a number, plus a word.
        fn times(&self, other: &[u32], plus: u32) -> Self {
            let mut product = vec![0; self.0.len() + other.len()];
            product[0] = plus;
            for (i, &a) in self.0.iter().enumerate() {
                let mut carry = 0;
                for (k, &b) in other.iter().chain([&0]).enumerate() {
                    let sum = u64::from(a) * u64::from(b) + u64::from(product[i + k]) + carry;
                    product[i + k] = sum as u32;
                    carry = sum >> 32;
                }
                assert_eq!(carry, 0);
            }
            while product.last() == Some(&0) {
                product.pop();
            }
            Self(product)
        }

        /// `2^(2^k) + 1`.
        fn fermat(k: u32) -> Self {
            let mut words = vec![0; (1 << k) / 32 + 1];
            words[(1 << k) / 32] = 1 << ((1 << k) % 32);
            words[0] |= 1;
            Self(words)
        }

        fn bits(&self) -> impl Iterator<Item = bool> {
            self.0.iter().rev().flat_map(|word| (0..32).rev().map(move |bit| word >> bit & 1 == 1))
        }
    }

    /// Whether the order of a polynomial is the product of these distinct primes.
    fn has_order(polynomial: Polynomial, primes: &[Natural]) -> bool {
        let raised = |by: &[Natural]| {
            by.iter().fold(polynomial, |power, prime| power.power_of_bits(prime.bits()))
        };
        if primes.len() == 1 {
            return polynomial != Polynomial::ONE && raised(primes) == Polynomial::ONE;
        }
        let (left, right) = primes.split_at(primes.len() / 2);
        has_order(raised(right), left) && has_order(raised(left), right)
    }

    /// The order of z is `2^1024 - 1`, the product of the Fermat numbers. So all nonzero
    /// polynomials of lower degree are powers of z, and the polynomial is also irreducible.
    #[test]
    fn the_characteristic_polynomial_is_primitive() {
        let mut primes = Vec::new();
        for (k, factors) in (0..).zip(FERMAT) {
            let factors: Vec<_> = factors.iter().map(|text| Natural::from_decimal(text)).collect();
            let product =
                factors.iter().fold(Natural(vec![1]), |product, p| product.times(&p.0, 0));
            assert_eq!(product, Natural::fermat(k));
            primes.extend(factors);
        }
        let all = primes.iter().fold(Natural(vec![1]), |product, p| product.times(&p.0, 0));
        assert_eq!(all, Natural(vec![u32::MAX; 32]));
        assert!(has_order(Polynomial::Z, &primes));
        // A cube has a third of that order.
        assert!(!has_order(Polynomial::Z.power(3), &primes));
        assert!(has_order(Polynomial::Z.power(3), &primes[1..]));
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
