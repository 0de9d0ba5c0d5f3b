//! [`Buffered`]: a generator whose words are drawn ahead.
//!
//! Generators themselves have no buffer. Their state and position are exact at any time, which
//! GPUs, `skip` and equality rely on.

use core::convert::Infallible;
use core::fmt;

use rand_core::block::{self, BlockRng};
use rand_core::{SeedableRng, TryRng};

use super::Generator;
use super::words::words;

/// How many words are drawn at a time: a multiple of what each level of vector instructions makes
/// of `Philox4x32Rng` in parallel (48, 24 and 16 blocks of 4). No other number was tried.
const WORDS: usize = 192;

/// A generator for code that takes words one at a time, through `rand` for example. It draws 192
/// words ahead. The words are the inner generator's own, in order.
///
/// It suits generators that make 192 words faster than one at a time: `Philox4x32Rng` (with AVX-512
/// four times as fast, and twice as fast as `ChaCha8Rng` of `rand`), `XorShift1024Weyl` and the
/// lagged Fibonacci generators. `Lcg64` gains nothing; `Lcg32`, `Mwc` and `Xorwow` become slower.
/// Figures are in docs/results/rng.md.
///
/// It is not a [`Generator`] itself, and words that were drawn ahead cannot be put back. For many
/// numbers at once, or for access to a position in the stream, keep the generator and use its
/// [`Fill`](super::Fill), which is faster still.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::{Buffered, Philox4x32Rng};
///
/// let mut rng = Philox4x32Rng::new(42, 0);
/// let mut buffered = Buffered::new(rng.clone());
/// for _ in 0..1000 {
///     assert_eq!(buffered.next_u32(), rng.next_u32());
/// }
/// ```
#[derive(Clone)]
pub struct Buffered<G: Generator>(BlockRng<AheadGenerator<G>>);

/// The inner generator, which is ahead of the words taken so far.
#[derive(Clone, Debug)]
struct AheadGenerator<G>(G);

impl<G: Generator> Buffered<G> {
    /// Buffers a generator, starting at its next word.
    pub fn new(generator: G) -> Self {
        Self(BlockRng::new(AheadGenerator(generator)))
    }
}

impl<G: Generator> block::Generator for AheadGenerator<G> {
    type Output = [u32; WORDS];

    fn generate(&mut self, output: &mut Self::Output) {
        words(&mut self.0, output);
    }
}

impl<G: Generator> TryRng for Buffered<G> {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_word())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64_from_u32())
    }

    #[inline]
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(dst);
        Ok(())
    }
}

impl<G: Generator + SeedableRng> SeedableRng for Buffered<G> {
    type Seed = G::Seed;

    fn from_seed(seed: G::Seed) -> Self {
        Self::new(G::from_seed(seed))
    }

    fn seed_from_u64(seed: u64) -> Self {
        Self::new(G::seed_from_u64(seed))
    }
}

impl<G: Generator> fmt::Debug for Buffered<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ahead = self.0.remaining_results().len();
        f.debug_struct("Buffered")
            .field("generator", &self.0.core.0)
            .field("ahead", &ahead)
            .finish()
    }
}
