//! [`Exact`]: a permutation of few points, drawn exactly, in memory of a fixed size.
//!
//! It is what [`Table`](super::Table) is for any number of points. It needs no allocation, so that
//! a seed's order is the same where nothing can be allocated.

use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, Trusted, TrustedBijection};
use crate::seed::{KeyStream, Words};
use crate::word::{Index, Word};

/// The most points.
pub(super) const POINTS: usize = 256;

/// A permutation of at most [`POINTS`] points: its values and those of its inverse.
///
/// Outside its domain every point is its own value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exact {
    last: u8,
    /// What is after `last` is 0.
    forward: [u8; POINTS],
    inverse: [u8; POINTS],
}

/// The exchanges of [`draw_exchanges`], also in a constant, where no closure can be called.
macro_rules! exchanges {
    ($len:expr, $draw:expr, |$a:ident, $b:ident| $exchange:expr) => {
        let mut range = $len as u64;
        while range > 1 {
            let (count, product) =
                if range <= POINTS as u64 { BATCHES[range as usize] } else { batch(range) };
            let mut fraction = $draw;
            while !is_accepted(fraction, product) {
                fraction = $draw;
            }
            let end = range - count;
            while range > end {
                #[allow(clippy::cast_lossless, reason = "constants have no `From`")]
                let wide = fraction as u128 * range as u128;
                fraction = wide as u64;
                range -= 1;
                let ($a, $b) = (range as usize, (wide >> 64) as usize);
                $exchange;
            }
        }
    };
}

/// The permutation that is drawn from words; a trait's method cannot be called in a constant.
macro_rules! drawn {
    ($len:expr, $words:expr) => {{
        let points = if $len == 0 { 1 } else { $len as usize };
        assert!($len <= POINTS as u64, "at most 256 points");
        let (mut forward, mut inverse) = ([0; POINTS], [0; POINTS]);
        let mut point = 0;
        while point < points {
            forward[point] = point as u8;
            point += 1;
        }
        exchanges!(points, $words.next_u64(), |a, b| forward.swap(a, b));
        let mut slot = 0;
        while slot < points {
            inverse[forward[slot] as usize] = slot as u8;
            slot += 1;
        }
        Self { last: (points - 1) as u8, forward, inverse }
    }};
}

impl Exact {
    /// Draws the permutation of `len` points (of one if `len` is 0) that a table of this length is
    /// drawn as from the same words.
    ///
    /// # Panics
    ///
    /// If there are more than [`POINTS`].
    pub(super) fn draw<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        drawn!(len, words)
    }

    /// [`draw`](Self::draw) in a constant.
    pub(super) const fn constant(len: u64, words: &mut KeyStream) -> Self {
        drawn!(len, words)
    }

    /// [`Bijection::forward`] in a constant.
    pub(super) const fn value(&self, slot: u64) -> u64 {
        if slot <= self.last as u64 { self.forward[slot as usize] as u64 } else { slot }
    }

    /// [`Bijection::inverse`] in a constant.
    pub(super) const fn slot(&self, index: u64) -> u64 {
        if index <= self.last as u64 { self.inverse[index as usize] as u64 } else { index }
    }

    pub(super) const fn last(&self) -> u64 {
        self.last as u64
    }

    fn values(&self) -> &[u8] {
        &self.forward[..=usize::from(self.last)]
    }

    fn slots(&self) -> &[u8] {
        &self.inverse[..=usize::from(self.last)]
    }
}

impl Bijection for Exact {
    fn last(&self) -> u64 {
        self.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        look_up(self.values(), slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        look_up(self.slots(), index)
    }

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        copy_run(self.values(), first, out);
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        copy_run(self.slots(), first, out);
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::of_family(self))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        Some(source(self.values(), self.slots()))
    }

    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl EngineHooks for Exact {
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        copy_run(self.values(), first, out);
    }

    fn forward_run_u16(&self, first: u64, out: &mut [u16]) {
        copy_run(self.values(), first, out);
    }

    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        copy_run(self.slots(), first, out);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        LOOK_UP_PICOSECONDS
    }
}

// SAFETY: `draw`, the only constructor, makes `forward` by exchanges from the points in order, so
// it has each point up to `last` once, and computes `inverse` from it. The fields are private and
// never change.
unsafe impl TrustedBijection for Exact {}

/// The time to read a value from a list.
pub(super) const LOOK_UP_PICOSECONDS: u32 = 200;

/// The value at a point, or the point itself if it is outside the list.
#[inline]
pub(super) fn look_up<V: Index, N: Word>(values: &[V], point: N) -> N {
    let place = usize::try_from(point.widen()).ok();
    place.and_then(|place| values.get(place)).map_or(point, |value| N::wrap(value.extend()))
}

/// Writes the values at consecutive points.
#[inline]
pub(super) fn copy_run<V: Index, N: Word, M: Index>(values: &[V], first: N, out: &mut [M]) {
    let start = usize::try_from(first.widen()).map_or(values.len(), |at| at.min(values.len()));
    let values = &values[start..];
    let (within, beyond) = out.split_at_mut(values.len().min(out.len()));
    for (out, &value) in within.iter_mut().zip(values) {
        *out = M::truncate(value.extend());
    }
    let mut point = first.wrapping_add(N::wrap(within.len() as u64));
    for out in beyond {
        *out = M::truncate(point.widen());
        point = point.wrapping_add(N::ONE);
    }
}

/// Lists of at most [`POINTS`] values as device text, whose parameters have a byte for each value.
#[cfg(feature = "alloc")]
pub(super) fn source<V: Index>(forward: &[V], inverse: &[V]) -> DeviceSource {
    let bytes = |values: &[V]| {
        let mut bytes = [0; POINTS];
        for (byte, value) in bytes.iter_mut().zip(values) {
            *byte = value.extend() as u8;
        }
        bytes
    };
    let family = DeviceSource::own("Table", r#"#include "bijection/table.cuh""#);
    let family = family.field("len", &[forward.len() as u64]);
    family.field("values", &bytes(forward)).field("slots", &bytes(inverse))
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
    exchanges!(len, draw(), |a, b| exchange(a, b));
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
static BATCHES: [(u64, u64); POINTS + 1] = {
    let mut batches = [(0, 0); POINTS + 1];
    let mut range = 0;
    while range < batches.len() {
        batches[range] = batch(range as u64);
        range += 1;
    }
    batches
};

/// Whether the ranges can be drawn from a word without bias. Words whose last remainder is below
/// `2^64 mod product` are rejected.
#[inline]
const fn is_accepted(word: u64, product: u64) -> bool {
    // The remainder after all multiplications is that of a single multiplication by the product.
    let remainder = word.wrapping_mul(product);
    remainder >= product || remainder >= rejected(product)
}

/// How many of the `2^64` remainders are rejected, the smallest ones, so that each outcome keeps
/// the same number of the others.
#[inline]
pub const fn rejected(product: u64) -> u64 {
    product.wrapping_neg() % product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "alloc")]
    #[test]
    fn every_length_is_the_table_of_its_seed() {
        use crate::bijection::{Standard, Table};
        use crate::{FromSeed, Seed};

        for len in 0..=POINTS as u64 {
            let seed = Seed::new(7).with_epoch(len);
            let (exact, table) = (Standard::from_seed(len, seed), Table::from_seed(len, seed));
            assert_eq!(exact.last(), table.last());
            // Also beyond the last point, where both return the point itself.
            for point in 0..300 {
                assert_eq!(exact.forward(point), table.forward(point));
                assert_eq!(exact.inverse(point), table.inverse(point));
            }
            let runs = |f: &dyn Bijection, first| {
                let (mut values, mut slots) = ([0; 40], [0; 40]);
                f.forward_run(first, &mut values);
                f.inverse_run(first, &mut slots);
                let hooks = f.hooks().expect("hooks");
                let (mut narrow, mut short, mut back) = ([0; 40], [0; 40], [0; 40]);
                hooks.forward_run_u32(first, &mut narrow);
                hooks.forward_run_u16(first, &mut short);
                hooks.inverse_run_u32(first, &mut back);
                (values, slots, narrow, short, back)
            };
            for first in [0, len / 2, len] {
                assert_eq!(runs(&exact, first), runs(&table, first));
            }
            assert_eq!(exact.device_source(), table.device_source());
        }
    }

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
