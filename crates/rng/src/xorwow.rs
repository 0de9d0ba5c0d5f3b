//! [`Xorwow`]: G. Marsaglia, *Xorshift RNGs*, Journal of Statistical Software 8 (2003), section
//! 3.1.

use super::lockstep::{LockStep, fill_columns};
use super::rectangle::Rectangle;
use super::steps::Steps;
use super::{Generator, generator};
use crate::GeneratorError;
use bijective_shuffle_core::{KeyDomain, Seed};

/// Marsaglia's xorwow: a xorshift generator of 160 bits, combined with a Weyl sequence.
///
/// The period is 2^192 - 2^32. It is cuRAND's default generator. In [Manssen et al., 2012] it
/// passes SmallCrush and Crush and fails one to three tests of BigCrush (table 2). Here it fails
/// one test of Crush, of the linear complexity of a low bit, which is 26,085
/// (docs/results/rng.md). A simulation of the Ising model with many streams of it gives an
/// energy that is off by 7.4 standard errors (docs/results/rng.md), as in the paper.
///
/// Streams of [`new`](Generator::new) start at random places of the sequence: `s` streams of `n`
/// words overlap with a probability of about `s^2 n / 2^192`. cuRAND instead places its streams
/// 2^67 words apart, and starts from different states.
///
/// [Manssen et al., 2012]: https://doi.org/10.1140/epjst/e2012-01637-8
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::Xorwow;
///
/// // Marsaglia's own starting state.
/// let state = [123456789, 362436069, 521288629, 88675123, 5783321];
/// let mut rng = Xorwow::from_state(state, 6615241)?;
/// assert_eq!(rng.next_u32(), 246875399);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xorwow {
    /// The words x, y, z, w and v.
    words: [u32; 5],
    weyl: u32,
}

/// The increment of the Weyl sequence.
const INCREMENT: u32 = 362_437;

generator!([] Xorwow);

impl Xorwow {
    /// The generator in a given state: Marsaglia's words `x`, `y`, `z`, `w`, `v`, and his `d`, the
    /// Weyl sequence.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::InvalidState`] if the five words are all zero.
    pub const fn from_state(words: [u32; 5], weyl: u32) -> Result<Self, GeneratorError> {
        let [x, y, z, w, v] = words;
        if x | y | z | w | v == 0 {
            Err(GeneratorError::InvalidState)
        } else {
            Ok(Self { words, weyl })
        }
    }

    /// The state, as [`from_state`](Self::from_state) takes it.
    pub const fn state(&self) -> ([u32; 5], u32) {
        (self.words, self.weyl)
    }

    #[inline(always)]
    fn next_word(&mut self) -> u32 {
        let [x, y, z, w, v] = self.words;
        let t = x ^ (x >> 2);
        let new = v ^ (v << 4) ^ t ^ (t << 1);
        self.words = [y, z, w, v, new];
        self.weyl = self.weyl.wrapping_add(INCREMENT);
        self.weyl.wrapping_add(new)
    }

    /// Writes the next words. It is not inlined, so it is compiled without AVX, with which the
    /// compiler keeps the state in a vector and takes three times as long (docs/results/rng.md).
    #[inline(never)]
    fn run(&mut self, out: &mut [u32]) {
        for word in out {
            *word = self.next_word();
        }
    }
}

impl Generator for Xorwow {
    const BLOCK: usize = 1;
}

impl Steps for Xorwow {
    const NUMBER: u32 = 4;
    const STATE: usize = 6;

    fn from_child(child: Seed, stream: u64) -> Self {
        let mut key = child.with_epoch(stream).key_stream(KeyDomain::Generator(Self::NUMBER));
        let mut words = [(); 5].map(|()| rand_core::Rng::next_u32(&mut key));
        if words == [0; 5] {
            words[0] = 1;
        }
        Self { words, weyl: rand_core::Rng::next_u32(&mut key) }
    }

    fn save(&self, words: &mut [u32]) {
        words[..5].copy_from_slice(&self.words);
        words[5] = self.weyl;
    }

    fn load(words: &[u32]) -> Self {
        Self { words: core::array::from_fn(|k| words[k]), weyl: words[5] }
    }

    #[inline(always)]
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]) {
        self.run(out);
    }

    #[inline(always)]
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>) {
        fill_columns::<32, Self>(streams, out);
    }
}

impl<const LANES: usize> LockStep<LANES> for Xorwow {
    type State = [[u32; LANES]; 6];

    #[inline(always)]
    fn gather(streams: &[Self; LANES]) -> Self::State {
        let mut state = [[0; LANES]; 6];
        for (lane, stream) in streams.iter().enumerate() {
            for (state, word) in state.iter_mut().zip(stream.words) {
                state[lane] = word;
            }
            state[5][lane] = stream.weyl;
        }
        state
    }

    #[inline(always)]
    fn step(state: &mut Self::State) -> [u32; LANES] {
        let [x, y, z, w, v, weyl] = state;
        let mut new = [0; LANES];
        let mut words = [0; LANES];
        for lane in 0..LANES {
            let t = x[lane] ^ (x[lane] >> 2);
            new[lane] = v[lane] ^ (v[lane] << 4) ^ t ^ (t << 1);
            weyl[lane] = weyl[lane].wrapping_add(INCREMENT);
            words[lane] = weyl[lane].wrapping_add(new[lane]);
        }
        *state = [*y, *z, *w, *v, new, *weyl];
        words
    }

    #[inline(always)]
    fn scatter(state: &Self::State, streams: &mut [Self; LANES]) {
        for (lane, stream) in streams.iter_mut().enumerate() {
            for (word, state) in stream.words.iter_mut().zip(state) {
                *word = state[lane];
            }
            stream.weyl = state[5][lane];
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    /// Marsaglia's seeds; the words are those of his C program.
    #[test]
    fn xorwow_gives_known_answers() {
        let words = [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321];
        let mut rng = Xorwow::from_state(words, 6_615_241).unwrap();
        for word in [
            246_875_399,
            3_690_007_200,
            1_264_581_005,
            3_906_711_041,
            1_866_187_943,
            2_481_925_219,
            2_464_530_826,
            1_604_040_631,
        ] {
            assert_eq!(rng.next_u32(), word);
        }
        assert_eq!(Xorwow::from_state([0; 5], 1), Err(GeneratorError::InvalidState));
    }
}
