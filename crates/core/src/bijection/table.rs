//! [`Table`]: a permutation written out.
//!
//! It is a bijection like any other, so that an exact draw for few items is no special case in any
//! engine or view.

use super::exact::{LOOK_UP_PICOSECONDS, POINTS, copy_run, draw_exchanges, look_up, source};
use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::check::{
    check_in_order, check_word, or_panic, try_with_capacity, try_with_capacity_u64,
};
use crate::error::BijectionError;
use crate::seed::{KeyDomain, Seed, Words};
use crate::word::Word;
use alloc::{boxed::Box, vec::Vec};

/// A permutation stored as its values and the values of its inverse: two words for each point.
///
/// Outside its domain every point is its own value.
///
/// [`FromSeed`] draws a table exactly: every permutation of the length has the same probability, as
/// far as the words that key it are random. [`Standard`](crate::bijection::Standard) draws the same
/// permutation for small lengths, and needs no allocation for it.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Table;
/// use bijective_shuffle::error::BijectionError;
/// use bijective_shuffle::prelude::*;
///
/// let f = Table::new(vec![2, 0, 1])?;
/// assert_eq!(f.forward(0), 2);
/// assert_eq!(f.inverse(2), 0);
///
/// assert!(matches!(Table::new(vec![2, 0, 2]), Err(BijectionError::NotABijection(_))));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table<N = u64> {
    forward: Box<[N]>,
    inverse: Box<[N]>,
}

impl Table {
    /// The permutation with the given values: `values[x]` is `forward(x)`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`] if there are no values, [`BijectionError::NotABijection`] if
    /// they are not the numbers from 0 up to their count, each once, and
    /// [`BijectionError::OutOfMemory`].
    pub fn new(values: Vec<u64>) -> Result<Self, BijectionError> {
        if values.is_empty() {
            return Err(BijectionError::EmptyDomain);
        }
        check_in_order(&values)?;
        let inverse = try_with_capacity(values.len())?;
        Ok(Self::inverted(values, inverse))
    }

    /// Draws the permutation that [`from_seed`](FromSeed::from_seed) does, and returns an error
    /// where that panics.
    ///
    /// # Errors
    ///
    /// [`BijectionError::OutOfMemory`] if there is no room for 16 bytes a point.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Table;
    /// use bijective_shuffle::error::BijectionError;
    /// use bijective_shuffle::prelude::*;
    ///
    /// assert_eq!(Table::try_from_seed(1000, 42)?, Table::from_seed(1000, 42));
    /// let error = Table::try_from_seed(1 << 60, 42).unwrap_err();
    /// assert!(matches!(error, BijectionError::OutOfMemory { .. }));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn try_from_seed(len: u64, seed: impl Into<Seed>) -> Result<Self, BijectionError> {
        Self::draw(len, &mut seed.into().key_stream(Self::key_domain(len)))
    }

    /// Draws a permutation of `len` points, or of one.
    fn draw<W: Words + ?Sized>(len: u64, words: &mut W) -> Result<Self, BijectionError> {
        let points = len.max(1);
        let (mut values, inverse) =
            (try_with_capacity_u64(points)?, try_with_capacity_u64(points)?);
        values.extend(0..points);
        draw_exchanges(values.len(), || words.next_u64(), |a, b| values.swap(a, b));
        Ok(Self::inverted(values, inverse))
    }
}

impl<N: Word> Table<N> {
    /// The same permutation in words of another width.
    ///
    /// # Errors
    ///
    /// [`BijectionError::IndexTooWide`] if the word is too narrow for the values, and
    /// [`BijectionError::OutOfMemory`].
    pub fn to_word<M: Word>(&self) -> Result<Table<M>, BijectionError> {
        check_word::<M>(self.forward.len())?;
        let mut values = try_with_capacity(self.forward.len())?;
        values.extend(self.forward.iter().map(|value| M::wrap(value.widen())));
        let inverse = try_with_capacity(values.len())?;
        Ok(Table::inverted(values, inverse))
    }

    /// Makes the table of values that are a permutation, writing the inverse to the given vector.
    fn inverted(values: Vec<N>, mut inverse: Vec<N>) -> Self {
        inverse.resize(values.len(), N::ZERO);
        for (slot, value) in values.iter().enumerate() {
            inverse[value.widen() as usize] = N::wrap(slot as u64);
        }
        Self { forward: values.into(), inverse: inverse.into() }
    }

    /// The values in order.
    pub fn values(&self) -> &[N] {
        &self.forward
    }
}

impl<N: Word> Bijection<N> for Table<N> {
    fn last(&self) -> N {
        N::wrap(self.forward.len() as u64 - 1)
    }

    fn forward(&self, slot: N) -> N {
        look_up(&self.forward, slot)
    }

    fn inverse(&self, index: N) -> N {
        look_up(&self.inverse, index)
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        copy_run(&self.forward, first, out);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        copy_run(&self.inverse, first, out);
    }

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::of_family(self))
    }

    /// The parameters have one byte for each value. Tables of more than 256 points have no source:
    /// they are too large for a kernel's parameter.
    fn device_source(&self) -> Option<DeviceSource> {
        (self.forward.len() <= POINTS).then(|| source(&self.forward, &self.inverse))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word> EngineHooks<N> for Table<N> {
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        copy_run(&self.forward, first, out);
    }

    fn forward_run_u16(&self, first: N, out: &mut [u16]) {
        copy_run(&self.forward, first, out);
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        copy_run(&self.inverse, first, out);
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        for value in values {
            *value = self.forward(N::wrap(u64::from(*value))).widen() as u32;
        }
    }

    fn evaluation_picoseconds(&self) -> u32 {
        LOOK_UP_PICOSECONDS
    }
}

// SAFETY: the constructors check that `forward` has each value from 0 to its length exactly once,
// and compute `inverse` from it; there is at least one value. The fields are private and never
// change.
unsafe impl<N: Word> TrustedBijection<N> for Table<N> {}

impl FromSeed for Table {
    /// Draws a permutation of exactly `len` points (of 1 point if `len` is 0) by the method of
    /// Fisher and Yates: each place, from the last down, is exchanged with a random one up to and
    /// including itself.
    ///
    /// The places are drawn in batches from one 64-bit word (Brackett-Rozinsky and Lemire, *Batched
    /// ranged random integer generation*, 2024): as many ranges as have a product of at most
    /// `2^56`, without bias.
    ///
    /// # Panics
    ///
    /// If there is no room for 16 bytes a point; [`try_from_seed`](Table::try_from_seed) returns an
    /// error instead.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        or_panic(Self::draw(len, words))
    }

    fn key_domain(len: u64) -> KeyDomain {
        KeyDomain::Exact(len)
    }
}
