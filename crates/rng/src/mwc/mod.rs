//! [`Mwc`]: multiply with carry, [Manssen et al., 2012], section 3.

mod multipliers;
mod prime;

pub(crate) use multipliers::Multipliers;

use super::lockstep::{LockStep, fill_columns};
use super::rectangle::Rectangle;
use super::steps::Steps;
use super::{Generator, generator};
use crate::GeneratorError;
use bijective_shuffle_core::{KeyDomain, Seed};
use bijective_shuffle_engine::words::{halves, joined};

/// A multiply-with-carry generator (Marsaglia): the low half of `a x + c` is the next word, and its
/// high half the next carry.
///
/// With `p = 2^32 a - 1`, a step divides the state `n = 2^32 c + x` by 2^32 modulo `p`, or
/// equivalently multiplies it by `a`. `p` has to be a safe prime. All states but the two fixed ones
/// then lie on two cycles of `(p - 1) / 2 = 2^31 a - 1` words; the order is no larger because 2^32
/// is a square. ([Manssen et al., 2012], section 3, says `2^32 a - 2`, which is twice that.) It
/// fails a test of SmallCrush and 29 of the statistics of Crush (table 2 there;
/// docs/results/rng.md has the crate's own results).
///
/// [`new`](Generator::new) uses the largest multiplier, as the paper does. With `a = 2^32 - d`, the
/// sum `d x_n - x_(n-1) + x_(n+1)` is small modulo 2^32, and `d` is 178 there. Where that matters,
/// use a multiplier that is not near 2^32, through [`from_multiplier`](Self::from_multiplier). With
/// 3036999759 no test of SmallCrush fails and two statistics of Crush do (25 with 4294967118), and
/// the simulation of docs/results/rng.md that 4294967118 gets wrong has the exact energy.
///
/// Streams of [`new`](Generator::new) have the same multiplier and random starts: `s` streams of
/// `n` words overlap with a probability of about `s^2 n / 2^64`. With other
/// [`multipliers`](Self::multipliers) each stream has its own sequence: see
/// [`from_multiplier`](Self::from_multiplier) and
/// [`Streams::different`](super::Streams::different).
///
/// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::Mwc;
///
/// let mut rng = Mwc::from_state(1, 2, Mwc::MULTIPLIER)?;
/// assert_eq!(rng.next_u32(), Mwc::MULTIPLIER + 2);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mwc {
    word: u32,
    carry: u32,
    multiplier: u32,
}

generator!([] Mwc);

impl Mwc {
    /// The largest good multiplier, which [`new`](Generator::new) uses.
    pub const MULTIPLIER: u32 = 4_294_967_118;

    /// The multipliers that give the full period, from the largest down: those for which
    /// `2^32 a - 1` is a safe prime. There are some millions.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::rng::Mwc;
    ///
    /// let largest: Vec<u32> = Mwc::multipliers().take(3).collect();
    /// assert_eq!(largest, [Mwc::MULTIPLIER, 4294966893, 4294966830]);
    /// ```
    pub fn multipliers() -> impl Iterator<Item = u32> + Clone {
        Multipliers::new()
    }

    /// The generator at the start of one of a seed's streams, with a given multiplier.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NotASafePrime`] if the multiplier does not give the full period.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::rng::{GeneratorError, Mwc};
    ///
    /// let second = Mwc::multipliers().nth(1).unwrap();
    /// assert!(Mwc::from_multiplier(second, 42, 0).is_ok());
    /// let error = Mwc::from_multiplier(second - 1, 42, 0).unwrap_err();
    /// assert_eq!(error, GeneratorError::NotASafePrime { multiplier: second - 1 });
    /// ```
    pub fn from_multiplier(
        multiplier: u32,
        seed: impl Into<Seed>,
        stream: u64,
    ) -> Result<Self, GeneratorError> {
        check(multiplier)?;
        Ok(Self::start(super::generator::child::<Self>(seed), stream, multiplier))
    }

    /// The generator in a given state: the last word returned, and the carry.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NotASafePrime`] if the multiplier does not give the full period, and
    /// [`GeneratorError::InvalidState`] if the state is one of the two fixed ones, (0, 0) and
    /// (2^32 - 1, `multiplier` - 1), or if the carry is not below the multiplier.
    pub fn from_state(word: u32, carry: u32, multiplier: u32) -> Result<Self, GeneratorError> {
        check(multiplier)?;
        let fixed = [(0, 0), (u32::MAX, multiplier - 1)].contains(&(word, carry));
        if fixed || carry >= multiplier {
            return Err(GeneratorError::InvalidState);
        }
        Ok(Self { word, carry, multiplier })
    }

    /// The multiplier.
    pub const fn multiplier(&self) -> u32 {
        self.multiplier
    }

    /// The last word returned, and the carry.
    pub const fn state(&self) -> (u32, u32) {
        (self.word, self.carry)
    }

    /// Skips the given number of words, in time proportional to its logarithm.
    pub const fn skip(&mut self, words: u64) {
        let modulus = modulus(self.multiplier);
        let factor = prime::power(self.multiplier as u64, words, modulus);
        let state = prime::multiply(joined([self.word, self.carry]), factor, modulus);
        [self.word, self.carry] = halves(state);
    }

    /// A stream of a [child](super::generator::child), with a multiplier known to be good.
    pub(super) fn start(child: Seed, stream: u64, multiplier: u32) -> Self {
        let mut words = child.with_epoch(stream).key_stream(KeyDomain::Generator(Self::NUMBER));
        let random = rand_core::Rng::next_u64(&mut words);
        // From 1 to p - 1, which excludes the fixed states.
        let choices = u128::from(modulus(multiplier) - 1);
        let state = ((u128::from(random) * choices) >> 64) as u64 + 1;
        let [word, carry] = halves(state);
        Self { word, carry, multiplier }
    }

    #[inline(always)]
    fn next_word(&mut self) -> u32 {
        let sum = u64::from(self.multiplier) * u64::from(self.word) + u64::from(self.carry);
        [self.word, self.carry] = halves(sum);
        self.word
    }
}

/// How many parts of a sequence are made in parallel lanes.
const LANES: usize = 16;

/// The number of words in each part. Finding where a part starts costs about as much as a dozen
/// words.
const RUN: usize = 96;

impl Mwc {
    /// Writes the next words, `LANES` parts of them in parallel.
    #[inline(always)]
    fn next_runs(&mut self, out: &mut [u32; LANES * RUN]) {
        let modulus = modulus(self.multiplier);
        let factor = prime::power(u64::from(self.multiplier), RUN as u64, modulus);
        let mut start = joined([self.word, self.carry]);
        let mut state = [[0; LANES], [u64::from(self.multiplier); LANES]];
        for state in &mut state[0] {
            *state = start;
            start = prime::multiply(start, factor, modulus);
        }
        for k in 0..RUN {
            let words = <Self as LockStep<LANES>>::step(&mut state);
            for lane in 0..LANES {
                out[lane * RUN + k] = words[lane];
            }
        }
        [self.word, self.carry] = halves(state[0][LANES - 1]);
    }
}

/// The modulus of the state's multiplication.
const fn modulus(multiplier: u32) -> u64 {
    ((multiplier as u64) << 32).wrapping_sub(1)
}

fn check(multiplier: u32) -> Result<(), GeneratorError> {
    if prime::is_good(multiplier) {
        Ok(())
    } else {
        Err(GeneratorError::NotASafePrime { multiplier })
    }
}

impl Generator for Mwc {
    const BLOCK: usize = 1;
}

impl Steps for Mwc {
    const NUMBER: u32 = 3;
    // The word, the carry and the multiplier.
    const STATE: usize = 3;
    const SKIPS: bool = true;

    fn from_child(child: Seed, stream: u64) -> Self {
        Self::start(child, stream, Self::MULTIPLIER)
    }

    fn save(&self, words: &mut [u32]) {
        words.copy_from_slice(&[self.word, self.carry, self.multiplier]);
    }

    fn load(words: &[u32]) -> Self {
        Self { word: words[0], carry: words[1], multiplier: words[2] }
    }

    #[inline(always)]
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]) {
        let (runs, rest) = out.as_chunks_mut::<{ LANES * RUN }>();
        for run in runs {
            self.next_runs(run);
        }
        for word in rest {
            *word = self.next_word();
        }
    }

    fn skip_words(&mut self, count: u64) {
        self.skip(count);
    }

    #[inline(always)]
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>) {
        fill_columns::<32, Self>(streams, out);
    }
}

impl<const LANES: usize> LockStep<LANES> for Mwc {
    /// The word and the carry in one lane, and the multiplier, both as wide as the product.
    type State = [[u64; LANES]; 2];

    #[inline(always)]
    fn gather(streams: &[Self; LANES]) -> Self::State {
        let mut state = [[0; LANES]; 2];
        for (lane, stream) in streams.iter().enumerate() {
            state[0][lane] = joined([stream.word, stream.carry]);
            state[1][lane] = u64::from(stream.multiplier);
        }
        state
    }

    #[inline(always)]
    fn step(state: &mut Self::State) -> [u32; LANES] {
        let mut words = [0; LANES];
        for lane in 0..LANES {
            let last = state[0][lane];
            state[0][lane] = (last & 0xFFFF_FFFF) * (state[1][lane] & 0xFFFF_FFFF) + (last >> 32);
            words[lane] = state[0][lane] as u32;
        }
        words
    }

    #[inline(always)]
    fn scatter(state: &Self::State, streams: &mut [Self; LANES]) {
        for (stream, &state) in streams.iter_mut().zip(&state[0]) {
            [stream.word, stream.carry] = halves(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_core::Rng;

    use super::super::Streams;
    use super::*;

    #[test]
    fn half_of_all_states_are_a_cycle() {
        let half = (u64::from(Mwc::MULTIPLIER) << 31) - 1;
        let start = Mwc::new(1, 1);
        let mut rng = start.clone();
        rng.skip(half);
        assert_eq!(rng, start);
        // The half is prime, so no smaller power leads back.
        assert!(prime::is_prime(half));
        rng.skip(1);
        assert_ne!(rng, start);
    }

    #[test]
    fn fixed_states_are_refused() {
        let a = Mwc::MULTIPLIER;
        for (word, carry) in [(0, 0), (u32::MAX, a - 1), (0, a), (5, u32::MAX)] {
            assert_eq!(Mwc::from_state(word, carry, a), Err(GeneratorError::InvalidState));
        }
        assert!(Mwc::from_state(0, 1, a).is_ok());
        for multiplier in [0, 1, 5, u32::MAX] {
            let error = GeneratorError::NotASafePrime { multiplier };
            assert_eq!(Mwc::from_state(1, 1, multiplier), Err(error.clone()));
            assert_eq!(Mwc::from_multiplier(multiplier, 1, 1), Err(error));
        }
    }

    #[test]
    fn multipliers_are_those_of_the_search() {
        let streams = Streams::<Mwc>::different(5, 20).unwrap();
        for (k, (rng, multiplier)) in
            streams.generators().iter().zip(Multipliers::new()).enumerate()
        {
            assert_eq!(*rng, Mwc::from_multiplier(multiplier, 5, k as u64).unwrap());
        }
    }

    proptest! {
        #[test]
        fn skips_of_mwc_are_steps(seed: u64, multiplier in 0_usize..5, steps in 0_u64..1000, far: u64) {
            let multiplier = Multipliers::new().nth(multiplier).unwrap();
            let mut rng = Mwc::from_multiplier(multiplier, seed, 0).unwrap();
            let mut skipped = rng.clone();
            skipped.skip(steps);
            for _ in 0..steps {
                rng.next_u32();
            }
            prop_assert_eq!(&rng, &skipped);
            rng.skip(far / 2);
            rng.skip(far - far / 2);
            skipped.skip(far);
            prop_assert_eq!(&rng, &skipped);
        }
    }
}
