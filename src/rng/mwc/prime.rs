//! Arithmetic modulo numbers of 64 bits, and safe primes.

/// The product modulo a number; the factors are below it.
pub(super) const fn multiply(a: u64, b: u64, modulus: u64) -> u64 {
    (a as u128 * b as u128 % modulus as u128) as u64
}

/// A power modulo a number.
pub(super) const fn power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let (mut result, mut square) = (1 % modulus, base % modulus);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = multiply(result, square, modulus);
        }
        square = multiply(square, square, modulus);
        exponent /= 2;
    }
    result
}

/// Bases with which the test of Miller and Rabin is never wrong below 2^64 (J. Sinclair, 2011).
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
    // Pocklington: where the half is prime, one power shows that the whole is (3 does not divide it).
    prime % 3 != 0 && power(2, prime - 1, prime) == 1 && is_prime(half)
}
