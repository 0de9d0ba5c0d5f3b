//! [`Generator`]: what the generators have in common.

use core::fmt::{self, Debug};

use rand_core::Rng;

use super::steps::Steps;
use super::words::words;
use crate::seed::{KeyDomain, Seed};

/// A generator of 32-bit words that a seed and the number of a stream start.
///
/// Its words come in *blocks* of [`BLOCK`](Self::BLOCK): so many its state gives in one step. Numbers of other types are
/// made of the words by [`Fill`](super::Fill). It is a generator of the `rand_core` ecosystem as well, and in
/// [`SeedableRng`](rand_core::SeedableRng) the stream is 0.
///
/// The trait is sealed: the state's layout is known to the kernels for a GPU.
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
    /// How many words the state gives in one step.
    const BLOCK: usize;

    /// The generator of one of a seed's streams, at its start. The seed's epoch counts: other epochs have other streams.
    fn new(seed: impl Into<Seed>, stream: u64) -> Self {
        Self::from_child(child::<Self>(seed), stream)
    }

    /// Writes the next block of words. Where the state goes on by whole blocks, as those of `Philox4x32Rng` and `XorShift1024Weyl`
    /// do, what is left of one that was begun word by word is dropped.
    ///
    /// # Panics
    ///
    /// If `out` is not [`BLOCK`](Self::BLOCK) words long.
    fn fill_block(&mut self, out: &mut [u32]) {
        assert_eq!(out.len(), Self::BLOCK, "a block has so many words");
        self.start_block();
        words(self, out);
    }
}

/// The seed from which a generator's streams are drawn.
pub(super) fn child<G: Steps>(seed: impl Into<Seed>) -> Seed {
    seed.into().child(KeyDomain::Generator(G::NUMBER))
}

/// The first words of a long state, as `Debug` shows them.
pub(super) struct FirstWords<'a>(pub(super) &'a [u32]);

impl Debug for FirstWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().take(4)).finish_non_exhaustive()
    }
}

/// What all generators have: the traits of `rand_core` on top of a method `next_word`, and `new`.
macro_rules! generator {
    ([$($parameters:tt)*] $type:ty, new: [$($new:tt)*] $of_new:ty) => {
        impl<$($new)*> $of_new {
            /// The generator of one of a seed's streams, at its start: see [`Generator::new`](crate::rng::Generator::new).
            pub fn new(seed: impl Into<$crate::Seed>, stream: u64) -> Self {
                <Self as $crate::rng::Generator>::new(seed, stream)
            }
        }

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
                $crate::rng::words::bytes(self, dst);
                Ok(())
            }
        }

        impl<$($parameters)*> rand_core::SeedableRng for $type {
            type Seed = [u8; 32];

            fn from_seed(seed: [u8; 32]) -> Self {
                <Self as $crate::rng::Generator>::new($crate::Seed::from_bytes(seed), 0)
            }

            fn seed_from_u64(seed: u64) -> Self {
                <Self as $crate::rng::Generator>::new(seed, 0)
            }
        }
    };
}

pub(super) use generator;
