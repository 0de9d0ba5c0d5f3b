//! [`Seed`], the user's input, and [`KeyStream`], the key material drawn from it. The documentation
//! of `Seed` has the key schedule.
//!
//! [`words`] draws the words of many epochs at once, and [`Seed::stream_words`] many words of one.

mod text;

#[cfg(feature = "rand_core")]
use core::convert::Infallible;

#[cfg(feature = "rand_core")]
use rand_core::{Rng, TryRng};

use crate::base::philox4x32::Philox4x32;
use crate::base::philox4x32::lanes::{Counters, LOW, encrypt};
use crate::base::simd::{SimdKernel, SimdLevel};

/// The seed and epoch that choose a permutation.
///
/// Every method that takes a seed takes `impl Into<Seed>`, so a plain number works: any literal up
/// to `u64::MAX`, or a `u64`. Other integers are [converted first](#other-integers).
///
/// The epoch is a second number, for the passes of a loop over one data set. All epochs of all
/// seeds are unrelated.
///
/// `Display` writes a seed as text and `FromStr` reads it. With the feature `serde`, a seed is
/// serialised as that text. `Debug` shows that text too, also within a
/// `Permutation`: a seed is no secret, since an order does not hide it (see
/// *Not for secrets* in docs/reproducibility.md). What must not be logged should not be a seed.
///
/// The same seed, epoch and length give the same permutation on every machine and back end, and in
/// every version of this crate with the same major number (before 1.0.0: the same minor number).
///
/// # Other integers
///
/// Only `u64` converts implicitly. With a second integer type, the type of a literal such as 42
/// would be ambiguous, or it would be an `i32` that holds no number beyond 2^31 - 1.
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let (short, place, signed) = (7_u32, 7_usize, -7_i64);
/// assert_eq!(Seed::from(u64::from(short)), Seed::new(7));
/// assert_eq!(Seed::from(place as u64), Seed::new(7)); // no usize has more than 64 bits
/// assert_eq!(Seed::from(signed as u64), Seed::new(u64::MAX - 6)); // all its bits, as they are
///
/// // More than 64 bits are bytes: a u128 is the first half of 32.
/// let mut bytes = [0; 32];
/// bytes[..16].copy_from_slice(&(1_u128 << 100).to_le_bytes());
/// let wide = Seed::from(bytes);
/// # assert_eq!(wide, Seed::from_bytes(bytes));
/// ```
///
/// # The key schedule
///
/// All that is random about a permutation are the words of a [`KeyStream`]. Its 32-bit word
/// `4 j + i` is word `i` of a Philox4x32-10 block ([R123], section 4.2) with
///
/// | | |
/// | --- | --- |
/// | key | the 64-bit seed, low word first |
/// | counter word 0 | `j` |
/// | counter word 1 | the domain: its width in bits; `2^31` plus its size, where that counts; `2^30` for the seed of a [`BlockShuffle`](crate::bijection::BlockShuffle); `2^29` plus its number for a generator; `2^28` plus its number for a loader; `2^27` plus its number for a resampler |
/// | counter words 2 and 3 | the epoch, low word first |
///
/// A 64-bit word is two of these, the low one first. Seed and epoch are separate inputs, so they
/// never add up: (0, epoch 1) and (1, epoch 0) share no block. A 256-bit seed applies the block
/// function four times, once with each 64-bit quarter as the key, in order; the bytes of a quarter
/// are in little-endian order. [`KeyDomain`] is the domain, which
/// [`FromSeed::key_domain`](crate::FromSeed::key_domain) gives for a length.
///
/// [R123]: https://doi.org/10.1145/2063384.2063405
///
/// # Examples
///
/// ```
/// use bijective_shuffle::{Permutation, Seed};
///
/// let seed = Seed::new(42);
/// let first = Permutation::new(1000, seed.with_epoch(0)).to_vec();
/// let second = Permutation::new(1000, seed.with_epoch(1)).to_vec();
/// assert_ne!(first, second);
/// assert_eq!(first, Permutation::new(1000, 42).to_vec());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed {
    key: Key,
    epoch: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Short(u64),
    Long([u64; 4]),
}

impl Seed {
    /// The seed with this number, at epoch 0.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self { key: Key::Short(seed), epoch: 0 }
    }

    /// A 256-bit seed, at epoch 0.
    ///
    /// The permutations of a 256-bit seed are unrelated to those of any 64-bit seed, even where one
    /// is all zeros and the other is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::{Permutation, Seed};
    ///
    /// let long = Permutation::new(100, Seed::from_bytes([7; 32]));
    /// assert_ne!(long.to_vec(), Permutation::new(100, 7).to_vec());
    /// ```
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        let mut words = [0; 4];
        let mut k = 0;
        while k < 32 {
            words[k / 8] |= (bytes[k] as u64) << (8 * (k % 8));
            k += 1;
        }
        Self { key: Key::Long(words), epoch: 0 }
    }

    /// A 256-bit seed drawn from a generator.
    ///
    /// Any generator of the `rand` ecosystem can thus choose a permutation, including one that was
    /// itself seeded. The 32 bytes that seed a generator such as `StdRng` make a seed with
    /// [`from_bytes`](Self::from_bytes).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Seed;
    ///
    /// let mut rng = rand::rng();
    /// assert_ne!(Seed::from_rng(&mut rng), Seed::from_rng(&mut rng));
    ///
    /// use rand::SeedableRng;
    /// use rand::rngs::ChaCha12Rng;
    ///
    /// let seed = || Seed::from_rng(&mut ChaCha12Rng::seed_from_u64(7));
    /// assert_eq!(seed(), seed());
    /// ```
    #[cfg(feature = "rand_core")]
    pub fn from_rng<R: Rng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self::from_bytes(bytes)
    }

    /// The same seed at another epoch, which replaces the current one.
    #[must_use]
    #[inline]
    pub const fn with_epoch(self, epoch: u64) -> Self {
        Self { epoch, ..self }
    }

    /// The seed's epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Seed;
    ///
    /// let seed = Seed::new(42);
    /// assert_eq!(seed.epoch(), 0);
    /// assert_eq!(seed.with_epoch(3).epoch(), 3);
    /// ```
    #[inline]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The key material for the bijections on a domain.
    ///
    /// # Panics
    ///
    /// For [`KeyDomain::Bits`] of more than 64 bits, which no domain has.
    #[inline]
    pub const fn key_stream(&self, domain: KeyDomain) -> KeyStream {
        KeyStream { seed: *self, domain: domain.word(), next_block: 0, block: [0; 4], used: 4 }
    }

    /// The keys for the block function, in the order in which they are applied.
    #[doc(hidden)]
    #[inline]
    pub const fn keys(&self) -> &[u64] {
        match &self.key {
            Key::Short(key) => core::slice::from_ref(key),
            Key::Long(keys) => keys,
        }
    }

    /// A seed of the same width, at epoch 0, made of the first words of the key stream for a
    /// purpose.
    #[doc(hidden)]
    pub fn child(&self, domain: KeyDomain) -> Self {
        let mut stream = self.key_stream(domain);
        let key = match self.key {
            Key::Short(_) => Key::Short(stream.next_u64()),
            Key::Long(_) => Key::Long([(); 4].map(|()| stream.next_u64())),
        };
        Self { key, epoch: 0 }
    }

    /// The 64-bit words of the stream for a domain that [`BLOCKS`] blocks from `first` on give,
    /// computed side by side.
    #[doc(hidden)]
    pub fn stream_words(&self, domain: KeyDomain, first: u32) -> [u64; 2 * BLOCKS] {
        SimdLevel::current().run(StreamWords { seed: self, domain: domain.word(), first })
    }

    #[inline]
    const fn block(&self, counter: [u32; 4]) -> [u32; 4] {
        let keys = self.keys();
        let (mut x, mut k) = (counter, 0);
        while k < keys.len() {
            x = Philox4x32::<10>::new([keys[k] as u32, (keys[k] >> 32) as u32]).block(x);
            k += 1;
        }
        x
    }
}

impl From<u64> for Seed {
    fn from(seed: u64) -> Self {
        Self::new(seed)
    }
}

impl From<[u8; 32]> for Seed {
    fn from(bytes: [u8; 32]) -> Self {
        Self::from_bytes(bytes)
    }
}

/// What a key stream is for: a bijection on `2^bits` points, or on any other number. Different
/// domains get unrelated keys, and those of this project's other packages are among them, unlisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyDomain {
    /// A domain of `2^bits` points, for `bits` up to 64. A stream for more bits panics.
    Bits(u32),
    /// A domain of exactly this size or shape. All numbers below 2^31 are distinct; larger ones are
    /// folded to 31 bits.
    Exact(u64),
    /// The seed from which a [`BlockShuffle`](crate::bijection::BlockShuffle) draws its keys.
    #[doc(hidden)]
    Blocks,
    /// The seed and states of a generator of `rng`, given by its number there, which
    /// is below 2^29.
    #[doc(hidden)]
    Generator(u32),
    /// The seed from which something of the package `bijective-shuffle-loaders` draws, given by its
    /// number there, which is below 2^28.
    #[doc(hidden)]
    Loader(u32),
    /// The seed from which something of the package `bijective-shuffle-resample` draws, given by
    /// its number there, which is below 2^27.
    #[doc(hidden)]
    Resample(u32),
}

impl KeyDomain {
    /// Word 1 of the counters.
    #[doc(hidden)]
    #[inline]
    pub const fn word(self) -> u32 {
        const EXACT: u32 = 1 << 31;
        const GENERATOR: u32 = 1 << 29;
        const LOADER: u32 = 1 << 28;
        const RESAMPLE: u32 = 1 << 27;
        match self {
            Self::Bits(bits) => {
                // Larger numbers are the words of the other domains.
                assert!(bits <= 64, "a domain has at most 2^64 points");
                bits
            }
            Self::Exact(size) => (size ^ size >> 31 ^ size >> 62) as u32 | EXACT,
            // Above every width in bits, so it is distinct from them.
            Self::Blocks => 1 << 30,
            Self::Generator(number) => number & (GENERATOR - 1) | GENERATOR,
            Self::Loader(number) => number & (LOADER - 1) | LOADER,
            Self::Resample(number) => number & (RESAMPLE - 1) | RESAMPLE,
        }
    }
}

/// The stream of random words that a [`Seed`] gives for one domain, as a generator of the
/// `rand_core` ecosystem.
///
/// It repeats after 2^34 words, far more than any key needs.
#[derive(Clone, Debug)]
pub struct KeyStream {
    seed: Seed,
    domain: u32,
    next_block: u32,
    block: [u32; 4],
    used: usize,
}

impl KeyStream {
    /// The next 32-bit word.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        if self.used == self.block.len() {
            let epoch = self.seed.epoch;
            let counter = [self.next_block, self.domain, epoch as u32, (epoch >> 32) as u32];
            self.block = self.seed.block(counter);
            self.next_block = self.next_block.wrapping_add(1);
            self.used = 0;
        }
        let word = self.block[self.used];
        self.used += 1;
        word
    }

    /// The next 64-bit word: two of 32 bits, the low one first.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let low = self.next_u32() as u64;
        (self.next_u32() as u64) << 32 | low
    }
}

impl Words for KeyStream {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        self.next_u32()
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.next_u64()
    }
}

#[cfg(feature = "rand_core")]
impl TryRng for KeyStream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        rand_core::utils::fill_bytes_via_next_word(dst, || self.try_next_u32())
    }
}

/// A source of random words: a [`KeyStream`], or any generator of the `rand_core`
/// ecosystem.
pub trait Words {
    /// The next 32 random bits.
    fn next_u32(&mut self) -> u32;

    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64;
}

/// How many blocks [`Seed::stream_words`] computes: two vectors of AVX-512 for each of a block's
/// words. That is more than the default family's key takes, and as fast as half of it.
#[doc(hidden)]
pub const BLOCKS: usize = 16;

struct StreamWords<'a> {
    seed: &'a Seed,
    domain: u32,
    first: u32,
}

impl SimdKernel for StreamWords<'_> {
    type Output = [u64; 2 * BLOCKS];

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { seed, domain, first } = self;
        let mut numbers = [0; BLOCKS];
        for (number, lane) in numbers.iter_mut().zip(0..) {
            *number = u64::from(first.wrapping_add(lane));
        }
        let domain = [u64::from(domain); BLOCKS];
        let epochs = [seed.epoch, seed.epoch >> 32].map(|word| [word; BLOCKS]);
        let mut x: Counters<BLOCKS> = [numbers, domain, epochs[0], epochs[1]];
        for &key in seed.keys() {
            encrypt(key, &mut x);
        }
        let mut words = [0; 2 * BLOCKS];
        for (lane, words) in words.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *words = [x[1][lane] << 32 | x[0][lane] & LOW, x[3][lane] << 32 | x[2][lane] & LOW];
        }
        words
    }
}

/// The 64-bit words `2 block` and `2 block + 1` of the streams of consecutive epochs, one epoch to
/// a lane. Epochs wrap around.
#[doc(hidden)]
#[inline(always)]
pub fn words<const LANES: usize>(
    keys: &[u64],
    domain: u32,
    block: u32,
    first_epoch: u64,
) -> [[u64; LANES]; 2] {
    words_of(keys, &[domain; LANES], block, first_epoch)
}

/// [`words`], where each epoch has a domain of its own.
#[doc(hidden)]
#[inline(always)]
pub fn words_of<const LANES: usize>(
    keys: &[u64],
    domains: &[u32; LANES],
    block: u32,
    first_epoch: u64,
) -> [[u64; LANES]; 2] {
    let mut epochs = [first_epoch; LANES];
    for (lane, epoch) in epochs.iter_mut().enumerate() {
        *epoch = epoch.wrapping_add(lane as u64);
    }
    let high_words = epochs.map(|epoch| epoch >> 32);
    let mut x: Counters<LANES> =
        [[u64::from(block); LANES], domains.map(u64::from), epochs, high_words];
    for &key in keys {
        encrypt(key, &mut x);
    }
    let [mut first, high_of_first, mut second, high_of_second] = x;
    for (words, high_words) in [(&mut first, high_of_first), (&mut second, high_of_second)] {
        for (word, high) in words.iter_mut().zip(high_words) {
            *word = high << 32 | *word & LOW;
        }
    }
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_the_documented_schedule() {
        let seed = Seed::new(0x0123_4567_89AB_CDEF).with_epoch(0xFEDC_BA98_7654_3210);
        let mut stream = seed.key_stream(KeyDomain::Bits(20));
        let philox = Philox4x32::<10>::new([0x89AB_CDEF, 0x0123_4567]);
        for block in 0..3 {
            let expected = philox.block([block, 20, 0x7654_3210, 0xFEDC_BA98]);
            assert_eq!(expected, core::array::from_fn(|_| stream.next_u32()));
        }
    }

    #[test]
    fn words_side_by_side_are_those_of_the_stream() {
        for seed in [Seed::new(0x0123_4567_89AB_CDEF), Seed::from_bytes([0xA5; 32])] {
            let seed = seed.with_epoch(0xFEDC_BA98_7654_3210);
            for domain in [KeyDomain::Bits(20), KeyDomain::Exact(77)] {
                let mut stream = seed.key_stream(domain);
                for first in [0, BLOCKS as u32, 2 * BLOCKS as u32] {
                    let expected = [(); 2 * BLOCKS].map(|()| stream.next_u64());
                    assert_eq!(seed.stream_words(domain, first), expected);
                }
            }
        }
    }

    #[test]
    fn words_of_many_epochs_are_those_of_each() {
        fn check(
            seed: Seed,
            domains: [KeyDomain; 5],
            (block, first): (u32, u64),
            words: [[u64; 5]; 2],
        ) {
            for (lane, domain) in domains.into_iter().enumerate() {
                let epoch = first.wrapping_add(lane as u64);
                let mut stream = seed.with_epoch(epoch).key_stream(domain);
                for _ in 0..2 * block {
                    stream.next_u64();
                }
                assert_eq!(words.map(|word| word[lane]), [0; 2].map(|_| stream.next_u64()));
            }
        }
        for seed in [Seed::new(0x0123_4567_89AB_CDEF), Seed::from_bytes([0xA5; 32])] {
            // Crosses the end of the low word, and the end of all epochs.
            for first in [0, u64::from(u32::MAX) - 2, u64::MAX - 1] {
                for block in 0..3 {
                    let alike = [KeyDomain::Exact(32); 5];
                    let words = words::<5>(seed.keys(), alike[0].word(), block, first);
                    check(seed, alike, (block, first), words);
                    let domains = [9, 32, 5, 9, 20].map(KeyDomain::Exact);
                    let words = words_of(seed.keys(), &domains.map(KeyDomain::word), block, first);
                    check(seed, domains, (block, first), words);
                }
            }
        }
    }

    #[test]
    fn children_are_as_wide_and_depend_on_all() {
        let child = |seed: Seed| seed.child(KeyDomain::Blocks);
        let mut stream = Seed::new(5).with_epoch(7).key_stream(KeyDomain::Blocks);
        assert_eq!(child(Seed::new(5).with_epoch(7)), Seed::new(stream.next_u64()));
        let long = Seed::from_bytes([5; 32]).with_epoch(7);
        let mut bytes = [0; 32];
        let mut stream = long.key_stream(KeyDomain::Blocks);
        for word in bytes.as_chunks_mut().0 {
            *word = stream.next_u64().to_le_bytes();
        }
        assert_eq!(child(long), Seed::from_bytes(bytes));
        assert_ne!(child(long), child(long.with_epoch(8)));
        assert_ne!(child(Seed::new(5)), child(Seed::new(6)));
    }

    #[test]
    fn long_seeds_use_every_byte() {
        let first_word = |bytes| Seed::from_bytes(bytes).key_stream(KeyDomain::Bits(4)).next_u64();
        let zero = first_word([0; 32]);
        let mut seen = vec![zero];
        for k in 0..32 {
            let mut bytes = [0; 32];
            bytes[k] = 1;
            seen.push(first_word(bytes));
        }
        seen.push(Seed::new(0).key_stream(KeyDomain::Bits(4)).next_u64());
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 34);
    }

    #[test]
    fn seed_and_epoch_do_not_add_up() {
        let word = |seed: u64, epoch| {
            Seed::new(seed).with_epoch(epoch).key_stream(KeyDomain::Bits(9)).next_u64()
        };
        let mut words: Vec<u64> = (0..30).flat_map(|s| (0..30).map(move |e| word(s, e))).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 900);
    }

    #[test]
    fn domains_of_more_than_64_bits_have_no_stream() {
        let stream =
            |bits| std::panic::catch_unwind(|| Seed::new(5).key_stream(KeyDomain::Bits(bits)));
        assert!(stream(64).is_ok());
        for bits in [65, 1 << 28, 1 << 29, 1 << 30, 1 << 31, u32::MAX] {
            assert!(stream(bits).is_err(), "{bits}");
        }
    }

    #[test]
    fn domains_do_not_share_words() {
        let seed = Seed::new(5);
        let word = |domain| seed.key_stream(domain).next_u64();
        assert_ne!(word(KeyDomain::Bits(7)), word(KeyDomain::Bits(8)));
        assert_ne!(word(KeyDomain::Exact(7)), word(KeyDomain::Bits(7)));
        assert_ne!(word(KeyDomain::Exact(7)), word(KeyDomain::Exact(8)));
        assert_ne!(word(KeyDomain::Blocks), word(KeyDomain::Exact(0)));
        assert_ne!(word(KeyDomain::Blocks), word(KeyDomain::Bits(0)));
        assert_ne!(word(KeyDomain::Generator(0)), word(KeyDomain::Generator(1)));
        assert_ne!(word(KeyDomain::Generator(0)), word(KeyDomain::Blocks));
        assert_ne!(word(KeyDomain::Generator(7)), word(KeyDomain::Bits(7)));
        assert_ne!(word(KeyDomain::Loader(0)), word(KeyDomain::Loader(1)));
        assert_ne!(word(KeyDomain::Loader(7)), word(KeyDomain::Generator(7)));
        assert_ne!(word(KeyDomain::Loader(7)), word(KeyDomain::Bits(7)));
        assert_ne!(word(KeyDomain::Resample(0)), word(KeyDomain::Resample(1)));
        assert_ne!(word(KeyDomain::Resample(7)), word(KeyDomain::Loader(7)));
        assert_ne!(word(KeyDomain::Resample(7)), word(KeyDomain::Bits(7)));
    }
}
