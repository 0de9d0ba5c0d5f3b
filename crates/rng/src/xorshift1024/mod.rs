//! [`XorShift1024Weyl`]: [Manssen et al., 2012], section 6 and listing 1.

mod polynomial;

use polynomial::Polynomial;

use super::lockstep::fill_blocks;
use super::rectangle::Rectangle;
use super::steps::Steps;
use super::{FirstWords, Generator, generator, tuning};
use crate::GeneratorError;
use bijective_shuffle_core::{KeyDomain, Seed};
use bijective_shuffle_engine::parallel;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

/// The number of words in the state, and of lanes in a warp.
const WORDS: usize = 32;

/// A xorshift generator of 1024 bits, which gives 32 words a step, combined with a Weyl sequence
/// ([Manssen et al., 2012], section 6 and listing 1).
///
/// With the state as one number `x` of 1024 bits, word 0 the highest, a step is `x ^= x << 329`,
/// `x ^= x >> 347`, `x ^= x << 344`. The Weyl word `y` is increased by 362437, and word `i` of the
/// block is `(y ^ (y >> 16)) + x[i]`. The step's characteristic polynomial is primitive (the
/// crate's tests prove it, from the known factors of `2^1024 - 1`), so the period is
/// `(2^1024 - 1) 2^32` steps.
///
/// In the paper it passes SmallCrush, Crush and BigCrush of TestU01, by lanes and by warps. Here
/// (docs/results/rng.md) it does so by warps, which take all 32 lanes of a stream in turn; by
/// lanes SmallCrush and Crush were run, and nothing fails. Taking a block of each of many streams
/// in turn is different: whether it passes Crush's test of linear complexity depends on the seed.
/// All streams of a seed add the same number to their lanes. So the lowest two bits of their words
/// are, up to a constant, linear functions of the states, and so is the third bit if the number is
/// even.
///
/// All streams of a seed belong to one sequence, and stream `s` starts `s 2^137` steps after stream
/// 0: streams with consecutive numbers overlap after 2^137 steps and never before. 2^137 is a
/// multiple of the Weyl sequence's period, so all streams have the same Weyl word, as in the paper.
///
/// A stream's start is computed by a power of the step: `z^n` modulo the characteristic polynomial,
/// applied to the state by as many steps as the polynomial has coefficients (H. Haramoto et al.,
/// *Efficient jump ahead for F2-linear random number generators*, 2008). That takes some 26
/// microseconds for each stream.
///
/// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rng::{Generator, XorShift1024Weyl};
///
/// let mut rng = XorShift1024Weyl::new(42, 0);
/// rng.jump(3);
/// assert_eq!(rng, XorShift1024Weyl::new(42, 3));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct XorShift1024Weyl {
    words: [u32; WORDS],
    weyl: u32,
    /// How many words of the current block have been returned.
    used: usize,
}

/// The increment of the Weyl sequence.
const INCREMENT: u32 = 362_437;

generator!([] XorShift1024Weyl);

/// One step of the 1024-bit state.
#[inline(always)]
fn step(x: &mut [u32; WORDS]) {
    left::<9>(x);
    right::<27>(x);
    left::<24>(x);
}

/// `x ^= x << (320 + BITS)`; word 0 is the highest.
#[inline(always)]
fn left<const BITS: u32>(x: &mut [u32; WORDS]) {
    let old = *x;
    for i in 0..WORDS - 11 {
        x[i] ^= old[i + 10] << BITS | old[i + 11] >> (32 - BITS);
    }
    x[WORDS - 11] ^= old[WORDS - 1] << BITS;
}

/// `x ^= x >> (320 + BITS)`.
#[inline(always)]
fn right<const BITS: u32>(x: &mut [u32; WORDS]) {
    let old = *x;
    x[10] ^= old[0] >> BITS;
    for i in 11..WORDS {
        x[i] ^= old[i - 11] << (32 - BITS) | old[i - 10] >> BITS;
    }
}

impl XorShift1024Weyl {
    /// The generator in a given state: the words of the listing's 32 lanes, and the word of the
    /// Weyl sequence. Its first word comes from the step after that state.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::InvalidState`] if the words are all zero.
    pub fn from_state(words: [u32; 32], weyl: u32) -> Result<Self, GeneratorError> {
        if words == [0; WORDS] {
            Err(GeneratorError::InvalidState)
        } else {
            Ok(Self { words, weyl, used: WORDS })
        }
    }

    /// The state of the last word returned, as [`from_state`](Self::from_state) takes it.
    pub const fn state(&self) -> ([u32; 32], u32) {
        (self.words, self.weyl)
    }

    /// Skips the given number of steps, of 32 words each, in time proportional to its logarithm.
    pub fn skip(&mut self, steps: u128) {
        self.transform(&Polynomial::Z.power(steps));
        self.weyl = self.weyl.wrapping_add((steps as u32).wrapping_mul(INCREMENT));
    }

    /// Moves to the stream whose number is greater by `streams`: skips that many times `2^137`
    /// steps.
    pub fn jump(&mut self, streams: u64) {
        self.transform(&Polynomial::JUMP.power(u128::from(streams)));
    }

    /// Applies a polynomial in the step to the state.
    fn transform(&mut self, polynomial: &Polynomial) {
        self.words = SimdLevel::current().run(Transform { words: self.words, polynomial });
    }

    #[inline(always)]
    fn step(&mut self) {
        step(&mut self.words);
        self.weyl = self.weyl.wrapping_add(INCREMENT);
    }

    #[inline(always)]
    fn word(&self, lane: usize) -> u32 {
        (self.weyl ^ (self.weyl >> 16)).wrapping_add(self.words[lane])
    }

    #[inline]
    fn next_word(&mut self) -> u32 {
        if self.used == WORDS {
            self.step();
            self.used = 0;
        }
        let word = self.word(self.used);
        self.used += 1;
        word
    }
}

/// A polynomial in the step, to be applied to a state.
struct Transform<'a> {
    words: [u32; WORDS],
    polynomial: &'a Polynomial,
}

impl SimdKernel for Transform<'_> {
    type Output = [u32; WORDS];

    #[inline(always)]
    fn run(mut self) -> [u32; WORDS] {
        let mut sum = [0; WORDS];
        for coefficient in self.polynomial.coefficients() {
            let mask = u32::from(coefficient).wrapping_neg();
            for (sum, word) in sum.iter_mut().zip(&self.words) {
                *sum ^= word & mask;
            }
            step(&mut self.words);
        }
        sum
    }
}

impl core::fmt::Debug for XorShift1024Weyl {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("XorShift1024Weyl")
            .field("words", &FirstWords(&self.words))
            .field("weyl", &self.weyl)
            .field("used", &self.used)
            .finish()
    }
}

impl Generator for XorShift1024Weyl {
    const BLOCK: usize = WORDS;
}

impl Steps for XorShift1024Weyl {
    const NUMBER: u32 = 5;
    // The words of the lanes, and the Weyl word.
    const STATE: usize = WORDS + 1;

    fn from_child(child: Seed, stream: u64) -> Self {
        let mut key = child.key_stream(KeyDomain::Generator(Self::NUMBER));
        let mut words = [(); WORDS].map(|()| rand_core::Rng::next_u32(&mut key));
        if words == [0; WORDS] {
            words[0] = 1;
        }
        let weyl = rand_core::Rng::next_u32(&mut key);
        let mut first = Self { words, weyl, used: WORDS };
        if stream > 0 {
            first.jump(stream);
        }
        first
    }

    fn extend(child: Seed, first: u64, count: usize, streams: &mut Vec<Self>) {
        let base = Self::from_child(child, 0);
        streams.resize(streams.len() + count, base.clone());
        let new = streams.len() - count;
        parallel::each_chunk(&mut streams[new..], tuning::JUMPS, |number, streams| {
            // Stream numbers are below 2^64, and ranges do not wrap, so neither do jumps.
            let mut next = base.clone();
            next.jump(first + (number * tuning::JUMPS) as u64);
            for stream in streams {
                *stream = next.clone();
                next.transform(&Polynomial::JUMP);
            }
        });
    }

    fn start_block(&mut self) {
        self.used = WORDS;
    }

    fn save(&self, words: &mut [u32]) {
        words[..WORDS].copy_from_slice(&self.words);
        words[WORDS] = self.weyl;
    }

    fn load(words: &[u32]) -> Self {
        let lanes = core::array::from_fn(|k| words[k]);
        Self { words: lanes, weyl: words[WORDS], used: WORDS }
    }

    #[inline(always)]
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]) {
        let left = (WORDS - self.used).min(out.len());
        let (begun, out) = out.split_at_mut(left);
        for word in begun {
            *word = self.next_word();
        }
        let (blocks, rest) = out.as_chunks_mut::<WORDS>();
        for block in blocks {
            self.step();
            let weyl = self.weyl ^ (self.weyl >> 16);
            for (word, lane) in block.iter_mut().zip(&self.words) {
                *word = weyl.wrapping_add(*lane);
            }
        }
        for word in rest {
            *word = self.next_word();
        }
    }

    #[inline(always)]
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>) {
        fill_blocks::<Self, VECTOR>(streams, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_core::Rng;

    use super::super::Streams;
    use super::*;

    /// The step as it is defined: shifts of one number of 1024 bits, highest word first.
    fn step_by_bits(words: [u32; WORDS]) -> [u32; WORDS] {
        let bit = |x: &[bool], k: usize| x.get(k).copied().unwrap_or(false);
        let mut x: Vec<bool> =
            words.iter().flat_map(|word| (0..32).rev().map(move |k| word >> k & 1 == 1)).collect();
        for (shift, to_the_left) in [(329, true), (347, false), (344, true)] {
            let old = x.clone();
            for (k, to) in x.iter_mut().enumerate() {
                // The bit that moves to place k, counted from the highest.
                *to ^= bit(&old, if to_the_left { k + shift } else { k.wrapping_sub(shift) });
            }
        }
        core::array::from_fn(|i| {
            x[32 * i..][..32].iter().fold(0, |word, &bit| word << 1 | u32::from(bit))
        })
    }

    #[test]
    fn a_step_is_three_shifts() {
        let mut words = core::array::from_fn(|k| (k as u32 + 1).wrapping_mul(0x9E37_79B9));
        for _ in 0..50 {
            let expected = step_by_bits(words);
            step(&mut words);
            assert_eq!(words, expected);
        }
    }

    #[test]
    fn streams_are_jumps_apart() {
        let streams = Streams::<XorShift1024Weyl>::new(5, 1000..1700).unwrap();
        let mut rng = XorShift1024Weyl::new(5, 1000);
        for stream in 0..700 {
            if [0, 1, 2, 511, 512, 513, 699].contains(&stream) {
                assert_eq!(streams.generators()[stream as usize], rng, "{stream}");
            }
            rng.transform(&Polynomial::JUMP);
        }
        assert_eq!(rng, XorShift1024Weyl::new(5, 1700));
        // 2^137 steps, by repeated squaring of the step.
        let mut rng = XorShift1024Weyl::new(5, 0);
        rng.transform(&Polynomial::Z.power(1 << 127).power(1 << 10));
        assert_eq!(rng, XorShift1024Weyl::new(5, 1));
        assert_eq!(XorShift1024Weyl::from_state([0; 32], 1), Err(GeneratorError::InvalidState));
    }

    #[test]
    fn last_streams_can_be_had() {
        let last = Streams::<XorShift1024Weyl>::new(5, u64::MAX - 3..u64::MAX).unwrap();
        assert_eq!(last.generators()[2], XorShift1024Weyl::new(5, u64::MAX - 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn skips_of_xorshift_are_steps_and_compose(seed: u64, steps in 0_u128..300, far: u128, begun in 0_usize..40) {
            let mut rng = XorShift1024Weyl::new(seed, 0);
            for _ in 0..begun {
                rng.next_u32();
            }
            let mut skipped = rng.clone();
            skipped.skip(steps);
            for _ in 0..32 * steps {
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
