//! [`Key`] and [`Stream`]: the random numbers of all the algorithms.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number
//! Generators*, OOPSLA 2014): a counter and a mixing function, so that any number of independent
//! streams can start anywhere.

/// The step of the counter: 2^64 over the golden ratio, rounded to an odd number.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64, a bijection.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What a stream, or any number of further keys, is derived from. Use each key for one of the two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GAMMA)))
    }

    /// The key number `index` below this one.
    pub(crate) fn child(self, index: usize) -> Self {
        Self(mix(self.0 ^ mix((index as u64).wrapping_add(GAMMA))))
    }

    pub(crate) fn stream(self) -> Stream {
        Stream { state: self.0 }
    }
}

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    /// The next 64 random bits.
    pub(crate) fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number below `bound`, each as likely as any other (Lemire, *Fast Random Integer Generation
    /// in an Interval*, ACM TOMACS 29(1), 2019).
    ///
    /// # Panics
    ///
    /// In rare cases, if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        let mut product = u128::from(self.word()) * u128::from(bound);
        if (product as u64) < bound {
            let excess = bound.wrapping_neg() % bound;
            while (product as u64) < excess {
                product = u128::from(self.word()) * u128::from(bound);
            }
        }
        (product >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference() {
        // The first outputs of the public domain C code of S. Vigna, splitmix64.c, for the states 0
        // and 1234567.
        let zero = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        let other = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        for (state, words) in [(0, &zero[..]), (1_234_567, &other)] {
            let mut stream = Stream { state };
            assert!(words.iter().all(|&word| stream.word() == word), "{state}");
        }
    }

    #[test]
    fn numbers_below_a_bound_are_all_reached() {
        let mut stream = Key::new(1).stream();
        for bound in 1..20 {
            let mut counts = vec![0_u32; bound];
            (0..1000 * bound).for_each(|_| counts[stream.below(bound)] += 1);
            assert!(counts.iter().all(|count| count.abs_diff(1000) < 200), "{bound}: {counts:?}");
        }
    }

    #[test]
    fn numbers_below_a_large_bound_are_not_biased() {
        // Without rejection, numbers below 3/4 of 2^64 would fall into the lower third of the range
        // half the time.
        let bound = 3 << 62;
        let mut stream = Key::new(2).stream();
        let low = (0..9000).filter(|_| stream.below(bound) < bound / 3).count();
        assert!(low.abs_diff(3000) < 250, "{low} of 9000");
    }
}
