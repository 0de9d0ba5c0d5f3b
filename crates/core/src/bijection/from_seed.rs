//! [`FromSeed`]: families of bijections that can be drawn from a key.

use crate::seed::{KeyDomain, Seed, Words};
use crate::word::bits_for;

/// A family of bijections from which a seed or a random generator draws a member.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::{Lcg, VariablePhilox};
/// use bijective_shuffle::prelude::*;
///
/// let from_seed = Lcg::from_seed(1000, 42);
/// assert_eq!(from_seed.last(), 1023);
///
/// // Any generator of the rand_core ecosystem can draw the key instead.
/// let from_rng = VariablePhilox::<24>::from_rng(1000, &mut rand::rng());
/// assert_eq!(from_rng.last(), 1023);
/// ```
pub trait FromSeed: Sized {
    /// Draws a member with a domain of at least `len` points, using the next words of a source.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self;

    /// Draws a member with a domain of at least `len` points, using the next words of a generator.
    #[cfg(feature = "rand_core")]
    fn from_rng<R: rand_core::Rng + ?Sized>(len: u64, rng: &mut R) -> Self {
        Self::from_words(len, &mut Generated(rng))
    }

    /// Draws the member for a seed and a length. Another member for the same seed and length would
    /// be a new major version.
    fn from_seed(len: u64, seed: impl Into<Seed>) -> Self {
        Self::from_words(len, &mut seed.into().key_stream(Self::key_domain(len)))
    }

    /// The lengths that share a key with this one. By default they are those with the same next
    /// power of two.
    fn key_domain(len: u64) -> KeyDomain {
        KeyDomain::Bits(bits_for(len))
    }
}

/// The words of a generator.
#[cfg(feature = "rand_core")]
struct Generated<'a, R: ?Sized>(&'a mut R);

#[cfg(feature = "rand_core")]
impl<R: rand_core::Rng + ?Sized> Words for Generated<'_, R> {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
