//! Arithmetic modulo 64-bit numbers, and safe primes.

/// The product of two factors modulo a number; the factors are below it.
pub(super) const fn multiply(a: u64, b: u64, modulus: u64) -> u64 {
    (a as u128 * b as u128 % modulus as u128) as u64
}

/// A power modulo an odd number, by Montgomery multiplication (1985), which needs no division.
pub(super) const fn power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    // The inverse modulo 2^64: 3 bits are right at first, and each step doubles that.
    let mut inverse = modulus;
    let mut bits = 3;
    while bits < 64 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(modulus.wrapping_mul(inverse)));
        bits *= 2;
    }
    // From here on, numbers are in Montgomery form: times 2^64.
    let mut result = modulus.wrapping_neg() % modulus;
    let mut square = multiply(base % modulus, result, modulus);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = reduce(result as u128 * square as u128, modulus, inverse);
        }
        square = reduce(square as u128 * square as u128, modulus, inverse);
        exponent /= 2;
    }
    reduce(result as u128, modulus, inverse)
}

/// Montgomery reduction: `x / 2^64` modulo `modulus`, for `x` below `2^64 modulus`.
const fn reduce(x: u128, modulus: u64, inverse: u64) -> u64 {
    let quotient = (x as u64).wrapping_mul(inverse);
    let product = (quotient as u128 * modulus as u128) >> 64;
    let (rest, borrowed) = ((x >> 64) as u64).overflowing_sub(product as u64);
    if borrowed { rest.wrapping_add(modulus) } else { rest }
}

/// Bases with which the Miller-Rabin test is never wrong below 2^64 (J. Sinclair, 2011).
const BASES: [u64; 7] = [2, 325, 9375, 28_178, 450_775, 9_780_504, 1_795_265_022];

/// Whether an odd number above 2 is prime.
pub(super) fn is_prime(n: u64) -> bool {
    let halvings = (n - 1).trailing_zeros();
    let odd = (n - 1) >> halvings;
    BASES.iter().all(|&base| {
        let mut x = power(base, odd, n);
        if base % n == 0 || x == 1 || x == n - 1 {
            return true;
        }
        (1..halvings).any(|_| {
            x = multiply(x, x, n);
            x == n - 1
        })
    })
}

/// Whether `2^32 a - 1` is a safe prime.
pub(super) fn is_good(multiplier: u32) -> bool {
    if multiplier == 0 {
        return false;
    }
    let half = (u64::from(multiplier) << 31) - 1;
    let prime = 2 * half + 1;
    // Pocklington's criterion: if the half is prime, one power shows that the whole is prime,
    // provided that 3 does not divide it.
    prime % 3 != 0 && power(2, prime - 1, prime) == 1 && is_prime(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_prime_by_division(n: u64) -> bool {
        n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
    }

    #[test]
    fn primes_are_those_by_division() {
        for n in (3..20_000).step_by(2) {
            assert_eq!(is_prime(n), is_prime_by_division(n), "{n}");
        }
        // The largest prime below 2^64; then strong pseudoprimes to the bases 2, 3, 5 and 7, and to
        // the first nine primes.
        assert!(is_prime(0xFFFF_FFFF_FFFF_FFC5));
        assert!(!is_prime(3_215_031_751));
        assert!(!is_prime(3_825_123_056_546_413_051));
    }

    #[test]
    fn powers_are_products() {
        for modulus in [3, 0xFFFF_FFFF_FFFF_FFC5, (1 << 63) + 1] {
            let base = 0x0123_4567_89AB_CDEF % modulus;
            let mut product = 1;
            for exponent in 0..100 {
                assert_eq!(power(base, exponent, modulus), product);
                product = multiply(product, base, modulus);
            }
        }
    }
}
