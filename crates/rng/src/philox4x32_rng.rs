//! [`Philox4x32Rng`]: Philox4x32 as a generator.

use core::fmt;

use super::philox4x32_fill::{MOST_ROUNDS, block_at, blocks_of_streams, fill_stream};
use super::rectangle::Rectangle;
use super::steps::Steps;
use super::{Generator, generator};
use bijective_shuffle_core::{KeyDomain, Seed};
use bijective_shuffle_engine::words::{halves, joined};

/// Philox4x32 ([R123]) as a generator. Each word is computed from its position, so the only state
/// is the position.
///
/// Word `k` of stream `s` is word `k % 4` of the [block](super::Philox4x32::block) for the counter
/// that has `k / 4` in its first two words and `s` in the other two, low word first. A stream has
/// 2^66 words and then repeats; a key has 2^64 streams. Streams share no counter, and no
/// statistical test is known that tells them from unrelated ones: all tests of TestU01 pass with 10
/// rounds, and with 7, the minimum (\[R123\], and \[Manssen et al., 2012\], section 7).
/// docs/results/rng.md says which of them were run here.
///
/// [`from_key`](Self::from_key) gives the words that cuRAND's device functions give after
/// `curand_init(key, stream, 0, &state)`. [`new`](Generator::new) draws the key from a seed
/// instead, so that a stream whose number is that of an epoch does not repeat the keys of a
/// permutation.
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
/// // Skips a million words.
/// rng.skip(1_000_000);
/// assert_eq!(rng.position(), 1_000_004);
/// ```
#[derive(Clone)]
pub struct Philox4x32Rng<const ROUNDS: usize = 10> {
    key: u64,
    stream: u64,
    /// The number of the block after the one in `block`.
    next: u64,
    block: [u32; 4],
    /// How many words of `block` have been returned; 4 if it holds nothing.
    used: usize,
}

generator!([const ROUNDS: usize] Philox4x32Rng<ROUNDS>);

impl Philox4x32Rng {
    /// The generator with 10 rounds at the start of one of a seed's streams; see
    /// [`Generator::new`].
    pub fn new(seed: impl Into<Seed>, stream: u64) -> Self {
        <Self as Generator>::new(seed, stream)
    }
}

impl<const ROUNDS: usize> Philox4x32Rng<ROUNDS> {
    /// A stream of a key, at its start. The number of rounds must be from 2 to 16; others do not
    /// compile.
    pub const fn from_key(key: u64, stream: u64) -> Self {
        const { assert!(2 <= ROUNDS && ROUNDS <= MOST_ROUNDS, "2 to 16 rounds") };
        Self { key, stream, next: 0, block: [0; 4], used: 4 }
    }

    /// The key.
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// The stream's number.
    pub const fn stream(&self) -> u64 {
        self.stream
    }

    /// The position of the next word in the stream, below 2^66.
    pub const fn position(&self) -> u128 {
        let blocks = self.next as u128 * 4 + self.used as u128;
        blocks.wrapping_sub(4) % (1 << 66)
    }

    /// Moves to a position in the stream, taken modulo 2^66.
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

    /// Skips the given number of words, in constant time.
    pub const fn skip(&mut self, words: u128) {
        self.set_position(self.position().wrapping_add(words));
    }

    const fn block_at(&self, block: u64) -> [u32; 4] {
        block_at::<ROUNDS>(self.key, self.stream, block)
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
            .field("rounds", &ROUNDS)
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
    // The key, the stream and the next block, two words each.
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
            pair.copy_from_slice(&halves(value));
        }
    }

    fn load(words: &[u32]) -> Self {
        let value = |k: usize| joined([words[2 * k], words[2 * k + 1]]);
        Self { next: value(2), ..Self::from_key(value(0), value(1)) }
    }

    #[inline(always)]
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]) {
        let begun = (4 - self.used).min(out.len());
        let (begun, out) = out.split_at_mut(begun);
        for word in begun {
            *word = self.next_word();
        }
        let (blocks, rest) = out.as_chunks_mut::<4>();
        let (key, stream, first) = (self.key, self.stream, self.next);
        // As many lanes as the registers hold; see docs/results/rng.md.
        match VECTOR {
            64 => fill_stream::<48, ROUNDS>(key, stream, first, blocks),
            32 => fill_stream::<24, ROUNDS>(key, stream, first, blocks),
            _ => fill_stream::<16, ROUNDS>(key, stream, first, blocks),
        }
        self.next = first.wrapping_add(blocks.len() as u64);
        for word in rest {
            *word = self.next_word();
        }
    }

    fn skip_words(&mut self, count: u64) {
        self.skip(u128::from(count));
    }

    #[inline(always)]
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>) {
        match VECTOR {
            64 => fill_streams::<32, ROUNDS>(streams, out),
            32 => fill_streams::<16, ROUNDS>(streams, out),
            _ => fill_streams::<8, ROUNDS>(streams, out),
        }
    }
}

/// Writes rows of words of several streams, one stream to a lane.
#[inline(always)]
fn fill_streams<const LANES: usize, const ROUNDS: usize>(
    streams: &mut [Philox4x32Rng<ROUNDS>],
    mut out: Rectangle<'_, u32>,
) {
    const BLOCK: usize = Philox4x32Rng::<10>::BLOCK;
    for chunk in streams.chunks_mut(LANES) {
        let (mut rows, others) = out.split(chunk.len() * BLOCK);
        out = others;
        // Keys, streams and next blocks. Spare lanes repeat the first.
        let mut columns = [[0; LANES]; 3];
        let [keys, streams, next] = &mut columns;
        for lane in 0..LANES {
            let rng = chunk.get(lane).unwrap_or(&chunk[0]);
            keys[lane] = rng.key;
            streams[lane] = rng.stream;
            next[lane] = rng.next;
        }
        let mut words = [[0; 4]; LANES];
        for row in 0..rows.rows() {
            let row = rows.row(row).as_chunks_mut().0;
            match <&mut [[u32; 4]; LANES]>::try_from(&mut *row) {
                Ok(row) => blocks_of_streams::<LANES, ROUNDS>(&mut columns, row),
                Err(_) => {
                    blocks_of_streams::<LANES, ROUNDS>(&mut columns, &mut words);
                    row.copy_from_slice(&words[..row.len()]);
                }
            }
        }
        for (rng, &next) in chunk.iter_mut().zip(&columns[2]) {
            rng.next = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_core::Rng;

    use super::super::{Fill, Streams};
    use super::*;

    /// The known answers of Random123, which cuRAND's generator gives, too. The counter consists of
    /// the stream and the position.
    #[test]
    fn philox_gives_known_answers() {
        let mut rng = Philox4x32Rng::<10>::from_key(0, 0);
        assert_eq!(
            [(); 4].map(|()| rng.next_u32()),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        let mut rng = Philox4x32Rng::<10>::from_key(0x299f_31d0_a409_3822, 0x0370_7344_1319_8a2e);
        rng.set_position(0x85a3_08d3_243f_6a88 * 4);
        assert_eq!(
            [(); 4].map(|()| rng.next_u32()),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
        let mut rng = Philox4x32Rng::<7>::from_key(u64::MAX, u64::MAX);
        rng.set_position((1 << 66) - 4);
        let mut words = [0; 4];
        rng.fill_u32(&mut words);
        assert_eq!(words, [0x5207_ddc2, 0x4516_5e59, 0x4d8e_e751, 0x8c52_f662]);
        assert_eq!(rng.position(), 0);
    }

    /// Runs of lanes in which the low word, and the high word, of the counter wraps.
    #[test]
    fn counters_carry() {
        for block in [1 << 32, 1 << 63, 0_u64] {
            let mut rng = Philox4x32Rng::<10>::from_key(5, 6);
            rng.set_position((u128::from(block.wrapping_sub(100))) * 4 + 3);
            let mut out = vec![0; 1500];
            rng.clone().fill_u32(&mut out);
            assert!(out.iter().all(|&word| word == rng.next_u32()), "around block {block}");
            let mut rng = Philox4x32Rng::<10>::from_key(5, 6);
            rng.set_position(u128::from(block.wrapping_sub(2)) * 4);
            let mut streams = Streams::from_generators(vec![rng.clone(); 3]).unwrap();
            let mut out = vec![0; 60];
            streams.fill_u32(&mut out);
            for row in out.chunks(12) {
                let words = [(); 4].map(|()| rng.next_u32());
                assert_eq!(row, [words; 3].as_flattened());
            }
        }
    }

    proptest! {
        #[test]
        fn skips_of_philox_are_steps(key: u64, stream: u64, start in 0_u128..1 << 66, steps in 0_u128..100) {
            let mut rng = Philox4x32Rng::<10>::from_key(key, stream);
            rng.set_position(start);
            prop_assert_eq!(rng.position(), start);
            let mut skipped = rng.clone();
            skipped.skip(steps);
            for _ in 0..steps {
                rng.next_u32();
            }
            prop_assert_eq!(&rng, &skipped);
            prop_assert_eq!(rng.next_u64(), skipped.next_u64());
        }
    }
}
