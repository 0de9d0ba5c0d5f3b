//! [`Table`]: a permutation written out.
//!
//! It is a bijection like any other, so that an exact draw for few items is no special case in any
//! engine or view.

use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::check::{check_in_order, check_word, or_panic, try_with_capacity};
use crate::error::{BijectionError, Error};
use crate::seed::{KeyDomain, Seed, Words};
use crate::word::Word;
use alloc::{boxed::Box, vec::Vec};

/// A permutation stored as its values and the values of its inverse: two words for each point.
///
/// Outside its domain every point is its own value.
///
/// [`FromSeed`] draws a table exactly: every permutation of the length has the same probability, as
/// far as the words that key it are random. [`Standard`](crate::bijection::Standard) does that for
/// small lengths.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Table;
/// use bijective_shuffle::prelude::*;
///
/// let f = Table::new(vec![2, 0, 1])?;
/// assert_eq!(f.forward(0), 2);
/// assert_eq!(f.inverse(2), 0);
///
/// assert!(matches!(Table::new(vec![2, 0, 2]), Err(Error::NotABijection(_))));
/// # Ok::<(), Error>(())
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
    /// [`BijectionError::EmptyDomain`](crate::error::BijectionError::EmptyDomain) if there are no
    /// values, [`Error::NotABijection`] if they are not the numbers from 0 up to their count, each
    /// once, and [`Error::OutOfMemory`].
    pub fn new(values: Vec<u64>) -> Result<Self, Error> {
        if values.is_empty() {
            return Err(Error::Bijection(BijectionError::EmptyDomain));
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
    /// [`Error::OutOfMemory`] if there is no room for 16 bytes a point.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Table;
    /// use bijective_shuffle::prelude::*;
    ///
    /// assert_eq!(Table::try_from_seed(1000, 42)?, Table::from_seed(1000, 42));
    /// assert!(matches!(Table::try_from_seed(1 << 60, 42), Err(Error::OutOfMemory { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn try_from_seed(len: u64, seed: impl Into<Seed>) -> Result<Self, Error> {
        Self::draw(len, &mut seed.into().key_stream(Self::key_domain(len)))
    }

    /// Draws a permutation of `len` points, or of one.
    fn draw<W: Words + ?Sized>(len: u64, words: &mut W) -> Result<Self, Error> {
        let points = len.max(1);
        let bytes = points.saturating_mul(size_of::<u64>() as u64);
        let len = usize::try_from(points).map_err(|_| Error::OutOfMemory { bytes })?;
        let (mut values, inverse) = (try_with_capacity(len)?, try_with_capacity(len)?);
        values.extend(0..points);
        draw_exchanges(len, || words.next_u64(), |a, b| values.swap(a, b));
        Ok(Self::inverted(values, inverse))
    }
}

impl<N: Word> Table<N> {
    /// The same permutation in words of another width.
    ///
    /// # Errors
    ///
    /// [`Error::IndexTooWide`] if the word is too narrow for the values, and
    /// [`Error::OutOfMemory`].
    pub fn to_word<M: Word>(&self) -> Result<Table<M>, Error> {
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

/// The value at a point, or the point itself if it is outside the table.
#[inline]
fn look_up<N: Word>(values: &[N], point: N) -> N {
    let place = usize::try_from(point.widen()).ok();
    place.and_then(|place| values.get(place)).copied().unwrap_or(point)
}

/// Writes the values at consecutive points.
#[inline]
fn copy_run<N: Word, M>(values: &[N], first: N, out: &mut [M], convert: impl Fn(N) -> M) {
    let start = usize::try_from(first.widen()).map_or(values.len(), |at| at.min(values.len()));
    let values = &values[start..];
    let (within, beyond) = out.split_at_mut(values.len().min(out.len()));
    for (out, &value) in within.iter_mut().zip(values) {
        *out = convert(value);
    }
    let mut point = first.wrapping_add(N::wrap(within.len() as u64));
    for out in beyond {
        *out = convert(point);
        point = point.wrapping_add(N::ONE);
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
        copy_run(&self.forward, first, out, |value| value);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        copy_run(&self.inverse, first, out, |value| value);
    }

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::of_family(self))
    }

    /// The parameters have one byte for each value. Tables of more than 256 points have no source:
    /// they are too large for a kernel's parameter.
    fn device_source(&self) -> Option<DeviceSource> {
        let len = self.forward.len();
        if len > 256 {
            return None;
        }
        let text = r#"#include "bijection/table.cuh""#;
        let words = |values: &[N]| {
            let mut words = [0; 256 / 8];
            for (place, value) in values.iter().enumerate() {
                words[place / 8] |= value.widen() << (place % 8 * 8);
            }
            words
        };
        let params = [&[len as u64], &words(&self.forward)[..], &words(&self.inverse)];
        Some(DeviceSource::own(format_args!("Table"), text, &params))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word> EngineHooks<N> for Table<N> {
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        copy_run(&self.forward, first, out, |value| value.widen() as u32);
    }

    fn forward_run_u16(&self, first: N, out: &mut [u16]) {
        copy_run(&self.forward, first, out, |value| value.widen() as u16);
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        copy_run(&self.inverse, first, out, |value| value.widen() as u32);
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        for value in values {
            *value = self.forward(N::wrap(u64::from(*value))).widen() as u32;
        }
    }

    fn evaluation_picoseconds(&self) -> u32 {
        200
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

/// The largest product of ranges for one word. The chance that a word is rejected is then at most
/// 2^-8.
const BATCH: u64 = 1 << 56;

/// Draws the exchanges of a Fisher-Yates shuffle of `len` places, in the order in which they must
/// be made, from random words.
#[inline]
pub fn draw_exchanges(
    len: usize,
    mut draw: impl FnMut() -> u64,
    mut exchange: impl FnMut(usize, usize),
) {
    let mut range = len as u64;
    while range > 1 {
        let known = usize::try_from(range).ok().and_then(|range| BATCHES.get(range));
        let (count, product) = known.copied().unwrap_or_else(|| batch(range));
        let mut fraction = accepted(product, &mut draw);
        let end = range - count;
        while range > end {
            let wide = u128::from(fraction) * u128::from(range);
            fraction = wide as u64;
            range -= 1;
            exchange(range as usize, (wide >> 64) as usize);
        }
    }
}

/// How many of the ranges `range, range - 1, .., 2` one word can serve, and their product.
#[inline]
pub const fn batch(range: u64) -> (u64, u64) {
    let (mut count, mut product) = (1, range);
    while range > count + 1 {
        match product.checked_mul(range - count) {
            Some(next) if next <= BATCH => product = next,
            _ => break,
        }
        count += 1;
    }
    (count, product)
}

/// [`batch`] for short ranges, since computing it takes as long as the exchanges.
static BATCHES: [(u64, u64); 257] = {
    let mut batches = [(0, 0); 257];
    let mut range = 0;
    while range < batches.len() {
        batches[range] = batch(range as u64);
        range += 1;
    }
    batches
};

/// Draws a word from which the ranges can be drawn without bias. Words whose last remainder is
/// below `2^64 mod product` are rejected.
#[inline]
fn accepted(product: u64, mut draw: impl FnMut() -> u64) -> u64 {
    loop {
        let word = draw();
        // The remainder after all multiplications is that of a single multiplication by the
        // product.
        let remainder = word.wrapping_mul(product);
        if remainder >= product || remainder >= rejected(product) {
            return word;
        }
    }
}

/// How many of the `2^64` remainders are rejected, the smallest ones, so that each outcome keeps
/// the same number of the others.
#[inline]
pub fn rejected(product: u64) -> u64 {
    product.wrapping_neg() % product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_stay_within_the_word() {
        assert_eq!(batch(2), (1, 2));
        assert_eq!(batch(5), (4, 120));
        for range in 2..5000 {
            let (count, product) = batch(range);
            let expected: u128 = (range - count + 1..=range).map(u128::from).product();
            assert_eq!(u128::from(product), expected);
            assert!(product <= BATCH);
            if let Some(&known) = BATCHES.get(range as usize) {
                assert_eq!(known, (count, product));
            }
        }
        // A range above the batch's limit is drawn alone.
        assert_eq!(batch(u64::MAX), (1, u64::MAX));
    }
}
