//! [`Lcg32`] and [`Lcg64`]: linear congruential generators, [Manssen et al., 2012], section 2.

use super::lockstep::{LockStep, fill_columns};
use super::rectangle::Rectangle;
use super::steps::Steps;
use super::{Generator, Streams, generator};
use crate::GeneratorError;
use bijective_shuffle_core::{KeyDomain, Seed, Word};
use bijective_shuffle_engine::words::{halves, joined};

/// A linear congruential generator modulo `2^w`, where `w` is the width of `W`: [`Lcg32`] or
/// [`Lcg64`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Congruential<W> {
    state: W,
    multiplier: W,
    increment: W,
}

/// A modulus, with the constants of its generator.
pub trait Modulus: Word {
    /// [`Steps::NUMBER`].
    const NUMBER: u32;
    /// The multiplier of the original sequence.
    const MULTIPLIER: Self;
    /// The increment of the original sequence.
    const INCREMENT: Self;

    /// The word that belongs to a state.
    fn word(self) -> u32;

    /// Writes a number into its words.
    fn save(self, words: &mut [u32]);

    /// Reads a number from its words.
    fn load(words: &[u32]) -> Self;

    /// Writes the next words, with as many lanes as are fastest.
    fn run(rng: &mut Congruential<Self>, out: &mut [u32]);

    /// Writes rows of words, with as many lanes as are fastest.
    fn fill(streams: &mut [Congruential<Self>], out: Rectangle<'_, u32>);
}

impl Modulus for u32 {
    const NUMBER: u32 = 1;
    const MULTIPLIER: Self = 1_664_525;
    const INCREMENT: Self = 1_013_904_223;

    #[inline(always)]
    fn word(self) -> u32 {
        self
    }

    fn save(self, words: &mut [u32]) {
        words[0] = self;
    }

    fn load(words: &[u32]) -> Self {
        words[0]
    }

    #[inline(always)]
    fn run(rng: &mut Congruential<Self>, out: &mut [u32]) {
        rng.run::<128>(out);
    }

    #[inline(always)]
    fn fill(streams: &mut [Congruential<Self>], out: Rectangle<'_, u32>) {
        fill_columns::<64, _>(streams, out);
    }
}

impl Modulus for u64 {
    const NUMBER: u32 = 2;
    const MULTIPLIER: Self = 2_862_933_555_777_941_757;
    const INCREMENT: Self = 1_442_695_040_888_963_407;

    #[inline(always)]
    fn word(self) -> u32 {
        (self >> 32) as u32
    }

    fn save(self, words: &mut [u32]) {
        words.copy_from_slice(&halves(self));
    }

    fn load(words: &[u32]) -> Self {
        joined([words[0], words[1]])
    }

    #[inline(always)]
    fn run(rng: &mut Congruential<Self>, out: &mut [u32]) {
        rng.run::<64>(out);
    }

    #[inline(always)]
    fn fill(streams: &mut [Congruential<Self>], out: Rectangle<'_, u32>) {
        fill_columns::<32, _>(streams, out);
    }
}

generator!([W: Modulus] Congruential<W>);

impl<W: Modulus> Congruential<W> {
    /// The generator of the original sequence in a given state. Its first word comes from the state
    /// after that one.
    pub const fn from_state(state: W) -> Self {
        Self { state, multiplier: W::MULTIPLIER, increment: W::INCREMENT }
    }

    /// The state, which is that of the last word returned.
    pub const fn state(&self) -> W {
        self.state
    }

    /// Skips the given number of words, in time proportional to its logarithm: [Manssen et al.,
    /// 2012], equations 2 and 3. The sum in equation 3 is misprinted: the exponent of `a^i c` goes
    /// from 0 to `t - 1`, not from 1 to `t`.
    ///
    /// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
    pub fn skip(&mut self, words: u64) {
        let (multiplier, increment) = self.power(words);
        self.state = multiplier.wrapping_mul(self.state).wrapping_add(increment);
    }

    /// The generator that returns every `of`-th word, starting with word `k`: `of` such generators
    /// share a sequence, each with steps of its own (*leapfrog*; [Manssen et al., 2012], the
    /// variant that is not *random*).
    ///
    /// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NoSuchStream`] if `k` is not below `of`.
    pub fn leapfrog(&self, k: u64, of: u64) -> Result<Self, GeneratorError> {
        if k >= of {
            return Err(GeneratorError::NoSuchStream { stream: k, streams: of });
        }
        let mut first = self.clone();
        // Goes to word k, and one of the new steps back. Steps are counted modulo 2^64, which is a
        // multiple of the order of every such map.
        first.skip(k.wrapping_add(1).wrapping_sub(of));
        let (multiplier, increment) = self.power(of);
        Ok(Self { state: first.state, multiplier, increment })
    }

    /// The multiplier and increment of many steps combined into one.
    fn power(&self, mut steps: u64) -> (W, W) {
        let (mut multiplier, mut increment) = (W::ONE, W::ZERO);
        let (mut a, mut c) = (self.multiplier, self.increment);
        while steps > 0 {
            if steps % 2 == 1 {
                multiplier = multiplier.wrapping_mul(a);
                increment = increment.wrapping_mul(a).wrapping_add(c);
            }
            c = a.wrapping_add(W::ONE).wrapping_mul(c);
            a = a.wrapping_mul(a);
            steps /= 2;
        }
        (multiplier, increment)
    }

    #[inline(always)]
    fn next_word(&mut self) -> u32 {
        self.state = self.multiplier.wrapping_mul(self.state).wrapping_add(self.increment);
        self.state.word()
    }

    /// Writes the next words, with one lane for each of `LANES`, each of which leaps over the
    /// others.
    #[inline(always)]
    fn run<const LANES: usize>(&mut self, out: &mut [u32]) {
        let (lanes, rest) = out.as_chunks_mut::<LANES>();
        if lanes.len() > 1 {
            let (multiplier, increment) = self.power(LANES as u64);
            let mut state = [W::ZERO; LANES];
            for state in &mut state {
                self.next_word();
                *state = self.state;
            }
            for words in lanes {
                for lane in 0..LANES {
                    words[lane] = state[lane].word();
                }
                self.state = state[LANES - 1];
                for state in &mut state {
                    *state = multiplier.wrapping_mul(*state).wrapping_add(increment);
                }
            }
        } else {
            for word in lanes.as_flattened_mut() {
                *word = self.next_word();
            }
        }
        for word in rest {
            *word = self.next_word();
        }
    }
}

impl<W: Modulus> Streams<Congruential<W>> {
    /// An ensemble of `count` generators that share a sequence.
    ///
    /// Its rows, one after another, are the sequence of the generator that
    /// [`Generator::new`] starts for stream 0; see [`Congruential::leapfrog`].
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NoStreams`] if `count` is 0, and [`GeneratorError::OutOfMemory`].
    pub fn leapfrog(seed: impl Into<Seed>, count: usize) -> Result<Self, GeneratorError> {
        let first = Congruential::new(seed, 0);
        Self::collect(count, (0..count as u64).map(|k| first.leapfrog(k, count as u64)))
    }
}

impl<W: Modulus> Generator for Congruential<W> {
    const BLOCK: usize = 1;
}

impl<W: Modulus> Steps for Congruential<W> {
    const NUMBER: u32 = W::NUMBER;
    // The state, the multiplier and the increment.
    const STATE: usize = 3 * size_of::<W>() / 4;
    const SKIPS: bool = true;

    fn from_child(child: Seed, stream: u64) -> Self {
        let mut words = child.with_epoch(stream).key_stream(KeyDomain::Generator(Self::NUMBER));
        Self::from_state(W::wrap(rand_core::Rng::next_u64(&mut words)))
    }

    fn save(&self, words: &mut [u32]) {
        let numbers = words.chunks_exact_mut(size_of::<W>() / 4);
        for (words, number) in numbers.zip([self.state, self.multiplier, self.increment]) {
            number.save(words);
        }
    }

    fn load(words: &[u32]) -> Self {
        let number = |k: usize| W::load(&words[k * size_of::<W>() / 4..][..size_of::<W>() / 4]);
        Self { state: number(0), multiplier: number(1), increment: number(2) }
    }

    #[inline(always)]
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]) {
        W::run(self, out);
    }

    fn skip_words(&mut self, count: u64) {
        self.skip(count);
    }

    #[inline(always)]
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>) {
        W::fill(streams, out);
    }
}

impl<W: Modulus, const LANES: usize> LockStep<LANES> for Congruential<W> {
    type State = [[W; LANES]; 3];

    #[inline(always)]
    fn gather(streams: &[Self; LANES]) -> Self::State {
        let mut state = [[W::ZERO; LANES]; 3];
        for (lane, stream) in streams.iter().enumerate() {
            state[0][lane] = stream.state;
            state[1][lane] = stream.multiplier;
            state[2][lane] = stream.increment;
        }
        state
    }

    #[inline(always)]
    fn step(state: &mut Self::State) -> [u32; LANES] {
        let mut words = [0; LANES];
        for lane in 0..LANES {
            let next = state[1][lane].wrapping_mul(state[0][lane]);
            state[0][lane] = next.wrapping_add(state[2][lane]);
            words[lane] = state[0][lane].word();
        }
        words
    }

    #[inline(always)]
    fn scatter(state: &Self::State, streams: &mut [Self; LANES]) {
        for (stream, &state) in streams.iter_mut().zip(&state[0]) {
            stream.state = state;
        }
    }
}

/// The generator `x = 1664525 x + 1013904223` modulo 2^32, with the whole state as the word:
/// `ranqd1` of *Numerical Recipes*.
///
/// The period is 2^32, and that of bit `k` of the words only 2^(k + 1). It is fast and bad, and
/// here for comparison. Its words lie on few planes, which most tests of SmallCrush notice, and
/// a program should use no more than the square root of the period, 2^16 words ([Manssen et
/// al., 2012], section 2, has a simulation that goes wrong).
///
/// Streams of [`new`](Generator::new) start at random places of the one sequence, which is the
/// *random* variant of the paper: `s` streams of `n` words overlap with a probability of about
/// `s^2 n / 2^32`. [`leapfrog`](Congruential::leapfrog) and [`skip`](Congruential::skip) divide the
/// sequence without overlap, which the paper found to be even worse.
///
/// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::Lcg32;
///
/// let mut rng = Lcg32::from_state(0);
/// assert_eq!([rng.next_u32(), rng.next_u32()], [0x3C6E_F35F, 0x4750_2932]);
///
/// // Four generators share the sequence.
/// let mut third = Lcg32::from_state(0).leapfrog(2, 4)?;
/// assert_eq!(third.next_u32(), rng.next_u32());
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub type Lcg32 = Congruential<u32>;

/// The generator `x = 2862933555777941757 x + 1442695040888963407` modulo 2^64. A word is the
/// upper half of the state.
///
/// The period is 2^64. It passes SmallCrush and fails some tests of Crush; as the *random* variant
/// it nearly passes Crush ([Manssen et al., 2012], section 2). Streams of [`new`](Generator::new)
/// start at random places of the one sequence: `s` streams of `n` words overlap with a probability
/// of about `s^2 n / 2^64`. [`leapfrog`](Congruential::leapfrog) and [`skip`](Congruential::skip)
/// divide the sequence without overlap, which the paper found to be worse.
///
/// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::{Generator, Lcg64};
///
/// let mut rng = Lcg64::new(42, 0);
/// let mut later = rng.clone();
/// later.skip(1_000_000);
/// for _ in 0..1_000_000 {
///     rng.next_u32();
/// }
/// assert_eq!(rng, later);
/// ```
pub type Lcg64 = Congruential<u64>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_core::Rng;

    use super::super::Fill;
    use super::*;

    /// *Numerical Recipes in C*, section 7.1, prints the first words of `ranqd1` from 0.
    #[test]
    fn lcg_gives_known_answers() {
        let mut rng = Lcg32::from_state(0);
        for word in [
            0x3C6E_F35F,
            0x4750_2932,
            0xD1CC_F6E9,
            0xAAF9_5334,
            0x6252_E503,
            0x9F2E_C686,
            0x57FE_6C2D,
            0xA3D9_5FA8,
            0x81FD_BEE7,
            0x94F0_AF1A,
            0xCBF6_33B1,
        ] {
            assert_eq!(rng.next_u32(), word);
        }
        let mut rng = Lcg64::from_state(0);
        assert_eq!(rng.next_u32(), (<u64 as Modulus>::INCREMENT >> 32) as u32);
        let second =
            <u64 as Modulus>::MULTIPLIER.wrapping_add(1).wrapping_mul(<u64 as Modulus>::INCREMENT);
        assert_eq!(rng.next_u32(), (second >> 32) as u32);
    }

    #[test]
    fn a_whole_period_leads_back() {
        let mut rng = Lcg32::from_state(7);
        rng.skip(1 << 32);
        assert_eq!(rng, Lcg32::from_state(7));
        rng.skip(1 << 31);
        assert_ne!(rng, Lcg32::from_state(7));
        let mut rng = Lcg64::from_state(7);
        rng.skip(1 << 63);
        assert_ne!(rng, Lcg64::from_state(7));
        rng.skip(1 << 63);
        assert_eq!(rng, Lcg64::from_state(7));
    }

    #[test]
    fn rows_of_a_leapfrog_are_the_sequence() {
        for count in [1, 2, 7, 100] {
            let mut out = vec![0; 3000];
            Streams::<Lcg32>::leapfrog(9, count).unwrap().fill_u32(&mut out);
            let mut rng = Lcg32::new(9, 0);
            assert!(out.iter().all(|&word| word == rng.next_u32()), "{count}");
            Streams::<Lcg64>::leapfrog(9, count).unwrap().fill_u32(&mut out);
            let mut rng = Lcg64::new(9, 0);
            assert!(out.iter().all(|&word| word == rng.next_u32()), "{count}");
        }
        let frogs = [0, 1].map(|k| Lcg32::new(9, 0).leapfrog(k, 2).unwrap());
        let mut streams = Streams::from_generators(frogs.to_vec()).unwrap();
        assert_eq!(streams, Streams::<Lcg32>::leapfrog(9, 2).unwrap());
        streams.fill_u32(&mut [0]);
        assert_ne!(streams, Streams::<Lcg32>::leapfrog(9, 2).unwrap());
        let error = Lcg64::new(1, 1).leapfrog(3, 3).unwrap_err();
        assert_eq!(error, GeneratorError::NoSuchStream { stream: 3, streams: 3 });
    }

    proptest! {
        #[test]
        fn skips_of_lcg_are_steps(state: u64, steps in 0_u64..1000, far: u64, of in 1_u64..50) {
            let (mut narrow, mut wide) = (Lcg32::from_state(state as u32), Lcg64::from_state(state));
            let (mut skipped_narrow, mut skipped_wide) = (narrow.clone(), wide.clone());
            skipped_narrow.skip(steps);
            skipped_wide.skip(steps);
            for _ in 0..steps {
                narrow.next_u32();
                wide.next_u32();
            }
            prop_assert_eq!(&narrow, &skipped_narrow);
            prop_assert_eq!(&wide, &skipped_wide);
            // Skips compose, and so do those of a leapfrog generator.
            let mut frog = wide.leapfrog(far % of, of).unwrap();
            let mut same = frog.clone();
            frog.skip(far);
            frog.skip(steps);
            same.skip(far.wrapping_add(steps));
            prop_assert_eq!(frog, same);
        }
    }
}
