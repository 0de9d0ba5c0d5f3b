//! [`Philox4x32Rng`]: Philox4x32 as a generator.

use core::fmt;

use super::number::Draw;
use super::philox4x32::Philox4x32;
use super::rows::{Rows, fill_blocks};
use super::steps::Steps;
use super::{Generator, generator};
use crate::seed::{KeyDomain, Seed};

/// Philox4x32 ([R123]) as a generator: words are computed from their place, so there is no state but the place.
///
/// Word `k` of stream `s` is word `k % 4` of the [block](Philox4x32::block) of the counter that has `k / 4` in its first two words and
/// `s` in the others, the low word first. A stream has 2^66 words and starts again after them; a key has 2^64
/// streams. They share no counter, and nobody knows how to tell them from unrelated ones: with 10 rounds, and with 7, the
/// fewest that will do, all tests of TestU01 pass (\[R123\], and \[Manssen et al., 2012\], section 7).
///
/// [`from_key`](Self::from_key) gives the words that cuRAND's device functions give after
/// `curand_init(key, stream, 0, &state)`; [`new`](Generator::new) draws the key from a seed.
///
/// [R123]: https://doi.org/10.1145/2063384.2063405
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::{Philox4x32, Philox4x32Rng};
///
/// let mut rng = Philox4x32Rng::<10>::from_key(0, 5);
/// let block = Philox4x32::<10>::new([0, 0]).block([0, 0, 5, 0]);
/// assert_eq!(block, [(); 4].map(|()| rng.next_u32()));
///
/// // A million words further.
/// rng.skip(1_000_000);
/// assert_eq!(rng.position(), 1_000_004);
/// ```
#[derive(Clone)]
pub struct Philox4x32Rng<const ROUNDS: usize = 10> {
    key: u64,
    stream: u64,
    /// The block after the one in `block`.
    next: u64,
    block: [u32; 4],
    /// How many words of `block` were given; 4 if it holds nothing.
    used: usize,
}

generator!([const ROUNDS: usize] Philox4x32Rng<ROUNDS>, new: [] Philox4x32Rng<10>);

impl<const ROUNDS: usize> Philox4x32Rng<ROUNDS> {
    /// A stream of a key, at its start.
    pub const fn from_key(key: u64, stream: u64) -> Self {
        Self { key, stream, next: 0, block: [0; 4], used: 4 }
    }

    /// The key.
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// The number of the stream.
    pub const fn stream(&self) -> u64 {
        self.stream
    }

    /// Which word of the stream is next, below 2^66.
    pub const fn position(&self) -> u128 {
        let blocks = self.next as u128 * 4 + self.used as u128;
        blocks.wrapping_sub(4) % (1 << 66)
    }

    /// Goes to a word of the stream, modulo 2^66.
    pub const fn set_position(&mut self, position: u128) {
        self.next = (position / 4) as u64;
        self.used = 4;
        let used = (position % 4) as usize;
        if used > 0 {
            self.block = self.block_at(self.next);
            self.next = self.next.wrapping_add(1);
            self.used = used;
        }
    }

    /// Leaves out as many words, in constant time.
    pub const fn skip(&mut self, words: u128) {
        self.set_position(self.position().wrapping_add(words));
    }

    const fn block_at(&self, block: u64) -> [u32; 4] {
        let key = [self.key as u32, (self.key >> 32) as u32];
        Philox4x32::<ROUNDS>::new(key).block([
            block as u32,
            (block >> 32) as u32,
            self.stream as u32,
            (self.stream >> 32) as u32,
        ])
    }

    #[inline]
    fn next_word(&mut self) -> u32 {
        if self.used == 4 {
            self.block = self.block_at(self.next);
            self.next = self.next.wrapping_add(1);
            self.used = 0;
        }
        let word = self.block[self.used];
        self.used += 1;
        word
    }
}

/// Generators are equal if they give the same words.
impl<const ROUNDS: usize> PartialEq for Philox4x32Rng<ROUNDS> {
    fn eq(&self, other: &Self) -> bool {
        (self.key, self.stream, self.position()) == (other.key, other.stream, other.position())
    }
}

impl<const ROUNDS: usize> Eq for Philox4x32Rng<ROUNDS> {}

impl<const ROUNDS: usize> fmt::Debug for Philox4x32Rng<ROUNDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Philox4x32Rng")
            .field("key", &self.key)
            .field("stream", &self.stream)
            .field("position", &self.position())
            .finish()
    }
}

impl<const ROUNDS: usize> Generator for Philox4x32Rng<ROUNDS> {
    const BLOCK: usize = 4;
}

impl<const ROUNDS: usize> Steps for Philox4x32Rng<ROUNDS> {
    const NUMBER: u32 = 0;
    // The key, the stream and the next block.
    const STATE: usize = 6;
    const SKIPS: bool = true;

    fn from_child(child: Seed, stream: u64) -> Self {
        let key =
            rand_core::Rng::next_u64(&mut child.key_stream(KeyDomain::Generator(Self::NUMBER)));
        Self::from_key(key, stream)
    }

    fn start_block(&mut self) {
        self.used = 4;
    }

    fn save(&self, words: &mut [u32]) {
        for (pair, value) in words.chunks_exact_mut(2).zip([self.key, self.stream, self.next]) {
            pair.copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
    }

    fn load(words: &[u32]) -> Self {
        let value = |k: usize| u64::from(words[2 * k + 1]) << 32 | u64::from(words[2 * k]);
        Self { next: value(2), ..Self::from_key(value(0), value(1)) }
    }

    #[inline(always)]
    fn next_words(&mut self, out: &mut [u32]) {
        for word in out {
            *word = self.next_word();
        }
    }

    fn skip_words(&mut self, count: u64) {
        self.skip(u128::from(count));
    }

    #[inline(always)]
    fn fill_rows<D: Draw>(streams: &mut [Self], out: Rows<'_, D::Number>) {
        fill_blocks::<Self, D>(streams, out);
    }
}
