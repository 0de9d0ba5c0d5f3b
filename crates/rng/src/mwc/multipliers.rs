//! [`Multipliers`]: the good multipliers, from the largest down.

use super::prime::is_good;

/// An iterator over the multipliers that give [`Mwc`](super::Mwc) its full period, from the largest
/// down.
#[derive(Clone)]
pub(crate) struct Multipliers {
    /// Candidates are below this.
    end: u32,
    /// The lowest candidate sieved so far.
    sieved: u32,
    /// From there on, marks the candidates with a small factor.
    struck: [u64; SEGMENT / 64],
}

/// How many candidates are sieved at a time.
const SEGMENT: usize = 1 << 14;

/// The odd primes below 1024, used for sieving. With each come the residues of `a` for which it
/// divides `2^31 a - 1` or `2^32 a - 1`, which are powers of 1/2. Both of these numbers are above
/// 1024 themselves.
const FACTORS: [(u32, [u32; 2]); 171] = {
    let mut factors = [(0, [0; 2]); 171];
    let (mut count, mut candidate) = (0, 3_u32);
    while count < factors.len() {
        let mut divisor = 3;
        while divisor * divisor <= candidate && candidate % divisor != 0 {
            divisor += 2;
        }
        if divisor * divisor > candidate {
            let half = candidate.div_ceil(2);
            let (mut power, mut k) = (1, 0);
            while k < 31 {
                power = power * half % candidate;
                k += 1;
            }
            factors[count] = (candidate, [power, power * half % candidate]);
            count += 1;
        }
        candidate += 2;
    }
    factors
};

impl Multipliers {
    /// An iterator over all of them.
    pub(crate) const fn new() -> Self {
        Self { end: u32::MAX, sieved: u32::MAX, struck: [0; SEGMENT / 64] }
    }

    /// Sieves the candidates just below those sieved so far.
    fn sieve(&mut self) {
        let last = self.sieved - 1;
        self.sieved = self.sieved.saturating_sub(SEGMENT as u32);
        self.struck = [0; SEGMENT / 64];
        for (factor, roots) in FACTORS {
            for root in roots {
                let mut a = self.sieved + (root + factor - self.sieved % factor) % factor;
                while a <= last {
                    let place = (a - self.sieved) as usize;
                    self.struck[place / 64] |= 1 << (place % 64);
                    match a.checked_add(factor) {
                        Some(next) => a = next,
                        None => break,
                    }
                }
            }
        }
    }
}

impl Iterator for Multipliers {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.end > 0 {
            if self.end == self.sieved {
                self.sieve();
            }
            self.end -= 1;
            let place = (self.end - self.sieved) as usize;
            if self.struck[place / 64] >> (place % 64) & 1 == 0 && is_good(self.end) {
                return Some(self.end);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sieve_strikes_no_good_one() {
        // Computed by a second implementation, in Python.
        let known = [
            4_294_967_118,
            4_294_966_893,
            4_294_966_830,
            4_294_966_284,
            4_294_966_164,
            4_294_965_708,
            4_294_965_675,
        ];
        assert!(Multipliers::new().take(known.len()).eq(known));
        let mut without_sieve = (0..u32::MAX).rev().filter(|&a| is_good(a));
        assert!(Multipliers::new().take(40).all(|a| without_sieve.next() == Some(a)));
        // The smallest multipliers: none is lost at the end.
        let last = Multipliers { end: 20_000, sieved: 20_000, ..Multipliers::new() };
        assert!(last.eq((0..20_000).rev().filter(|&a| is_good(a))));
    }
}
