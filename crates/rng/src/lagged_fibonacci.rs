//! [`LaggedFibonacci`]: additive lagged Fibonacci generators, [Manssen et al., 2012], section 4.

use super::lockstep::fill_blocks;
use super::rectangle::Rectangle;
use super::steps::Steps;
use super::{FirstWords, Generator, generator};
use crate::GeneratorError;
use bijective_shuffle_core::{KeyDomain, Seed};

/// The generator `x[n] = x[n - R] + x[n - S]` modulo 2^32 with lags `R > S`, such as
/// [`LaggedFibonacci521`] and [`LaggedFibonacci1279`].
///
/// If `z^R + z^S + 1` is primitive modulo 2, as it is for these two, and one of the first words is
/// odd, the period is `2^31 (2^R - 1)`. In [Manssen et al., 2012], section 4 (with floating-point
/// numbers instead of words), `R = 521` fails two tests of Crush and a simulation. `R = 1279`
/// passes Crush and fails one test of BigCrush, with one suspicious test in each.
///
/// The first `R` words of a stream are drawn from the seed. Streams thus lie at random places of
/// very many long cycles, and the chance of an overlap is negligible.
///
/// A block is the largest power of two of words that is at most `S` and at most 512. Up to `S`
/// consecutive words do not depend on each other.
///
/// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::{Generator, LaggedFibonacci521};
///
/// let mut rng = LaggedFibonacci521::new(42, 0);
/// let words: Vec<u32> = (0..1000).map(|_| rng.next_u32()).collect();
/// assert_eq!(words[999], words[999 - 521].wrapping_add(words[999 - 353]));
/// ```
#[derive(Clone)]
pub struct LaggedFibonacci<const R: usize, const S: usize> {
    /// The last `R` words, as a ring that starts at `oldest`.
    ring: [u32; R],
    oldest: usize,
}

/// The generator with lags 521 and 353.
pub type LaggedFibonacci521 = LaggedFibonacci<521, 353>;

/// The generator with lags 1279 and 861.
pub type LaggedFibonacci1279 = LaggedFibonacci<1279, 861>;

generator!([const R: usize, const S: usize] LaggedFibonacci<R, S>);

impl<const R: usize, const S: usize> LaggedFibonacci<R, S> {
    /// The generator in a given state: the `R` words that precede its first word, oldest first. The
    /// lags must satisfy `0 < S < R < 4096`; others do not compile.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::InvalidState`] if all words are even. All following words would then be
    /// even as well, and the period shorter.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::rand_core::Rng;
    /// use bijective_shuffle::rng::LaggedFibonacci;
    ///
    /// // The Fibonacci numbers.
    /// let mut rng = LaggedFibonacci::<2, 1>::from_state([1, 1])?;
    /// assert_eq!([(); 5].map(|()| rng.next_u32()), [2, 3, 5, 8, 13]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub const fn from_state(words: [u32; R]) -> Result<Self, GeneratorError> {
        let mut k = 0;
        while k < R {
            if words[k] % 2 == 1 {
                return Ok(Self::continuing(words));
            }
            k += 1;
        }
        Err(GeneratorError::InvalidState)
    }

    /// The generator that continues the given words, at least one of which is odd.
    const fn continuing(words: [u32; R]) -> Self {
        const { assert!(0 < S && S < R && R < 4096, "the lags are S < R < 4096") };
        Self { ring: words, oldest: 0 }
    }

    /// The state, as [`from_state`](Self::from_state) takes it: the last `R` words.
    pub fn state(&self) -> [u32; R] {
        core::array::from_fn(|k| self.ring[(self.oldest + k) % R])
    }

    #[inline(always)]
    fn next_word(&mut self) -> u32 {
        let other = self.oldest + (R - S);
        let other = if other < R { other } else { other - R };
        let word = self.ring[self.oldest].wrapping_add(self.ring[other]);
        self.ring[self.oldest] = word;
        self.oldest = if self.oldest + 1 == R { 0 } else { self.oldest + 1 };
        word
    }
}

/// Generators are equal if they give the same words.
impl<const R: usize, const S: usize> PartialEq for LaggedFibonacci<R, S> {
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state()
    }
}

impl<const R: usize, const S: usize> Eq for LaggedFibonacci<R, S> {}

impl<const R: usize, const S: usize> core::fmt::Debug for LaggedFibonacci<R, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LaggedFibonacci")
            .field("lags", &(R, S))
            .field("words", &FirstWords(&self.state()))
            .finish()
    }
}

impl<const R: usize, const S: usize> Generator for LaggedFibonacci<R, S> {
    const BLOCK: usize = if S < 512 { 1 << S.ilog2() } else { 512 };
}

impl<const R: usize, const S: usize> Steps for LaggedFibonacci<R, S> {
    // The lags distinguish the key streams.
    const NUMBER: u32 = 1 << 24 | (R as u32) << 12 | S as u32;
    // The words, oldest first.
    const STATE: usize = R;

    fn from_child(child: Seed, stream: u64) -> Self {
        let mut key = child.with_epoch(stream).key_stream(KeyDomain::Generator(Self::NUMBER));
        let mut words = [0; R];
        for word in &mut words {
            *word = rand_core::Rng::next_u32(&mut key);
        }
        if words.iter().all(|word| word % 2 == 0) {
            words[0] |= 1;
        }
        Self::continuing(words)
    }

    fn save(&self, words: &mut [u32]) {
        words.copy_from_slice(&self.state());
    }

    fn load(words: &[u32]) -> Self {
        Self::continuing(core::array::from_fn(|k| words[k]))
    }

    #[inline(always)]
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]) {
        let mut out = out;
        while !out.is_empty() {
            // As far as neither run wraps around nor depends on new words of the other.
            let (oldest, other) = (self.oldest, (self.oldest + (R - S)) % R);
            let count = out.len().min(R - oldest.max(other)).min(oldest.abs_diff(other));
            let (words, rest) = out.split_at_mut(count);
            out = rest;
            let (low, high) = self.ring.split_at_mut(oldest.max(other));
            let (old, other) = if oldest < other {
                (&mut low[oldest..][..count], &high[..count])
            } else {
                (&mut high[..count], &low[other..][..count])
            };
            for ((old, other), word) in old.iter_mut().zip(other).zip(words) {
                *old = old.wrapping_add(*other);
                *word = *old;
            }
            self.oldest = (oldest + count) % R;
        }
    }

    #[inline(always)]
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>) {
        fill_blocks::<Self, VECTOR>(streams, out);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::super::Fill;
    use super::*;

    #[test]
    fn words_follow_the_recurrence() {
        fn check<const R: usize, const S: usize>() {
            let mut rng = LaggedFibonacci::<R, S>::new(3, 4);
            let mut words = rng.state().to_vec();
            assert!(words.iter().any(|word| word % 2 == 1));
            for n in R..3 * R {
                words.push(words[n - R].wrapping_add(words[n - S]));
            }
            let first = words[..R].try_into().unwrap();
            assert_eq!(LaggedFibonacci::<R, S>::from_state(first).unwrap(), rng);
            // In fills of all lengths up to more than a lag.
            let mut at = R;
            let mut len = 0;
            while at + len < 3 * R {
                let mut out = vec![0; len];
                rng.fill_u32(&mut out);
                assert_eq!(out, words[at..at + len]);
                at += len;
                len += 37;
            }
            assert_eq!(rng.state(), words[at - R..at]);
            assert_eq!(rng.next_u32(), words[at]);
        }
        check::<521, 353>();
        check::<1279, 861>();
        check::<10, 7>();
        check::<3, 1>();
    }

    #[test]
    fn one_word_has_to_be_odd() {
        let mut words = [2; 521];
        assert_eq!(LaggedFibonacci521::from_state(words), Err(GeneratorError::InvalidState));
        assert_eq!(LaggedFibonacci521::from_state([0; 521]), Err(GeneratorError::InvalidState));
        for place in [0, 520] {
            words[place] ^= 1;
            assert_eq!(LaggedFibonacci521::from_state(words).unwrap().state(), words);
            words[place] ^= 1;
        }
        // The whole cycle of the smallest such generator, with z^2 + z + 1. Modulo 2^4 its period
        // is 2^3 (2^2 - 1), which corresponds to 2^31 (2^2 - 1).
        let period = |first: [u32; 2]| {
            let mut rng = LaggedFibonacci::<2, 1>::from_state(first).unwrap();
            let low = |rng: &LaggedFibonacci<2, 1>| rng.state().map(|word| word % 16);
            (1..).find(|_| {
                rng.next_u32();
                low(&rng) == first
            })
        };
        assert_eq!(period([0, 1]), Some(8 * 3));
        assert_eq!(period([4, 7]), Some(8 * 3));
    }
}
