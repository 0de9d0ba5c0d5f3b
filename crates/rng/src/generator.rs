//! [`Generator`]: what the generators have in common.

use core::fmt::{self, Debug};

use rand_core::Rng;

use super::steps::Steps;
use super::words::words;
use bijective_shuffle_core::{KeyDomain, Seed};

/// A generator of 32-bit words, started by a seed and the number of a stream.
///
/// Its words come in *blocks* of [`BLOCK`](Self::BLOCK) words, one block for each step of its
/// state. [`Fill`](super::Fill) turns words into numbers of other types. Each generator is also one
/// of the `rand_core` ecosystem; through [`SeedableRng`](rand_core::SeedableRng) it starts
/// stream 0.
///
/// The trait is sealed, since the kernels for a GPU depend on the layout of the state.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::{Generator, Philox4x32Rng, Xorwow};
///
/// fn heads<G: Generator>(seed: u64, stream: u64) -> usize {
///     let mut rng = G::new(seed, stream);
///     (0..1000).filter(|_| rng.next_u32() >> 31 == 1).count()
/// }
/// assert!((400..600).contains(&heads::<Philox4x32Rng>(1, 0)));
/// assert!((400..600).contains(&heads::<Xorwow>(1, 7)));
/// ```
pub trait Generator: Steps + Rng + Clone + Debug + Send + Sync + 'static {
    /// The number of words that the state gives in one step.
    const BLOCK: usize;

    /// The generator at the start of one of a seed's streams. Other epochs of the seed have other
    /// streams.
    fn new(seed: impl Into<Seed>, stream: u64) -> Self {
        Self::from_child(child::<Self>(seed), stream)
    }

    /// Writes the next block of words. If the state advances by whole blocks, as those of
    /// `Philox4x32Rng` and `XorShift1024Weyl` do, this drops the rest of a block that was begun
    /// word by word.
    ///
    /// # Panics
    ///
    /// If `out` is not [`BLOCK`](Self::BLOCK) words long.
    fn fill_block(&mut self, out: &mut [u32]) {
        assert_eq!(out.len(), Self::BLOCK, "`out` must be one block");
        self.start_block();
        words(self, out);
    }
}

/// The seed from which a generator's streams are drawn.
pub(super) fn child<G: Steps>(seed: impl Into<Seed>) -> Seed {
    seed.into().child(KeyDomain::Generator(G::NUMBER))
}

/// Shows the first words of a long state in `Debug` output.
pub(super) struct FirstWords<'a>(pub(super) &'a [u32]);

impl Debug for FirstWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().take(4)).finish_non_exhaustive()
    }
}

/// Implements the traits of `rand_core` on top of a method `next_word`.
macro_rules! generator {
    ([$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> rand_core::TryRng for $type {
            type Error = core::convert::Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.next_word())
            }

            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                rand_core::utils::next_u64_via_u32(self)
            }

            fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
                $crate::words::bytes(self, dst);
                Ok(())
            }
        }

        impl<$($parameters)*> rand_core::SeedableRng for $type {
            type Seed = [u8; 32];

            fn from_seed(seed: [u8; 32]) -> Self {
                <Self as $crate::Generator>::new(bijective_shuffle_core::Seed::from_bytes(seed), 0)
            }

            fn seed_from_u64(seed: u64) -> Self {
                <Self as $crate::Generator>::new(seed, 0)
            }
        }
    };
}

pub(super) use generator;
