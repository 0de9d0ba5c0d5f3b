//! [`CycleWalk`]: a bijection restricted to fewer points.

use super::hooks::{EngineHooks, Hooked};
use super::{Bijection, DeviceSource, FromSeed, Standard, Trusted, TrustedBijection};
use crate::error::{BijectionError, IndexError};
use crate::seed::{KeyDomain, Seed, Words};
use crate::word::Word;

/// A bijection on `[0, n)` restricted to `[0, m)`: values of `m` or more are mapped again until one
/// falls below `m` (Black and Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA 2002, "cycle
/// walking").
///
/// Every point below `m` lies on a cycle of the inner bijection, and a walk along the cycle must
/// come back below `m`. So this is a bijection, and its inverse walks the other way. A value takes
/// `n / m` steps on average, fewer than two where `n` is the next power of two. It needs no memory
/// and no scan, but its permutation is *not* that of a compaction to the same length.
///
/// Over a map that is not a bijection a walk could run for ever. No walk passes more points than
/// lie outside the domain, so a walk gives up after `n - m + 1` steps and returns a value outside
/// the domain, which the check rejects. Here `n` is the size of the inner domain at the time of the
/// call. If that has shrunk below `m`, a walk gives up after one step.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::{CycleWalk, VariablePhilox};
/// use bijective_shuffle::prelude::*;
///
/// let f = CycleWalk::new(VariablePhilox::<24>::new(8, [7; 24])?, 200)?;
/// assert_eq!(f.last(), 199);
/// assert!((0..200).all(|x| f.forward(x) < 200 && f.inverse(f.forward(x)) == x));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CycleWalk<B, N = u64> {
    inner: B,
    last: N,
}

/// The value of a walk, also in a constant, where no closure can be called.
macro_rules! walked {
    ($word:ident, $point:expr, $last:expr, $outside:expr, $x:ident => $step:expr) => {{
        let ($x, mut left) = ($point, $outside);
        let mut value = $step;
        while value > $last && left > <$word as Word>::ZERO {
            let $x = value;
            value = $step;
            left = left - <$word as Word>::ONE;
        }
        value
    }};
}

impl<B, N: Word> CycleWalk<B, N> {
    /// Restricts a bijection to `[0, last]`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::LengthExceedsDomain`] if the bijection's own domain is smaller.
    pub fn from_last(inner: B, last: N) -> Result<Self, BijectionError>
    where
        B: Bijection<N>,
    {
        let inner_last = inner.last();
        if last > inner_last {
            return Err(BijectionError::LengthExceedsDomain {
                len: last.widen().saturating_add(1),
                last: inner_last.widen(),
            });
        }
        Ok(Self { inner, last })
    }
}

impl<B: Bijection<u64>> CycleWalk<B> {
    /// Restricts a bijection to `[0, len)`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`] if `len` is 0, and [`BijectionError::LengthExceedsDomain`]
    /// if the bijection's own domain is smaller.
    pub fn new(inner: B, len: u64) -> Result<Self, BijectionError> {
        let last = len.checked_sub(1).ok_or(BijectionError::EmptyDomain)?;
        Self::from_last(inner, last)
    }
}

impl CycleWalk<Standard> {
    /// What [`from_seed`](FromSeed::from_seed) draws, also in a constant: the order of `len` items
    /// of `Permutation::walk`. A length of 0 counts as 1.
    ///
    /// In a `const` or a `static` the compiler draws the key, so a microcontroller has it in its
    /// program memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::{CycleWalk, Standard};
    /// use bijective_shuffle::prelude::*;
    ///
    /// static PAGES: CycleWalk<Standard> = CycleWalk::of_seed(1000, Seed::new(42));
    /// const FIRST: u64 = PAGES.forward(0);
    ///
    /// assert_eq!(PAGES, CycleWalk::from_seed(1000, 42));
    /// assert_eq!(Permutation::walk(1000, 42).get(0)?, FIRST);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub const fn of_seed(len: u64, seed: Seed) -> Self {
        Self { inner: Standard::constant(len, seed), last: len.saturating_sub(1) }
    }

    /// [`Bijection::forward`], also in a constant.
    pub const fn forward(&self, slot: u64) -> u64 {
        let outside = self.inner.constant_last() - self.last;
        walked!(u64, slot, self.last, outside, x => self.inner.constant_value(x))
    }

    /// [`Bijection::inverse`], also in a constant.
    pub const fn inverse(&self, index: u64) -> u64 {
        let outside = self.inner.constant_last() - self.last;
        walked!(u64, index, self.last, outside, x => self.inner.constant_slot(x))
    }
}

/// Applies `step` to `point` until the value is at most `last`, or no more steps are allowed.
#[inline]
fn walk<N: Word>(point: N, last: N, outside: N, step: impl Fn(N) -> N) -> N {
    walked!(N, point, last, outside, x => step(x))
}

impl<N: Word, B: Bijection<N>> CycleWalk<B, N> {
    /// How many points of the inner domain lie outside this one, which is the length of the longest
    /// detour. 0 if the inner domain has shrunk below this one, which breaks its requirements.
    fn outside(&self) -> N {
        let inner_last = self.inner.last();
        if inner_last > self.last { inner_last - self.last } else { N::ZERO }
    }

    /// Continues the walks of all values that are outside, together.
    fn walk_each(&self, values: &mut [N], step_each: impl Fn(&mut [N])) {
        for values in values.chunks_mut(WALKERS) {
            let mut points = [N::ZERO; WALKERS];
            let mut places = [0; WALKERS];
            let mut count = 0;
            for (place, &value) in values.iter().enumerate() {
                points[count] = value;
                places[count] = place;
                count += usize::from(value > self.last);
            }
            let mut left = self.outside();
            while count > 0 && left > N::ZERO {
                step_each(&mut points[..count]);
                let walking = count;
                count = 0;
                for k in 0..walking {
                    let (point, place) = (points[k], places[k]);
                    values[place] = point;
                    points[count] = point;
                    places[count] = place;
                    count += usize::from(point > self.last);
                }
                left = left - N::ONE;
            }
        }
    }
}

/// How many points walk together: as many as a family evaluates at once.
const WALKERS: usize = 256;

impl<N: Word, B: Bijection<N>> Bijection<N> for CycleWalk<B, N> {
    fn last(&self) -> N {
        self.last
    }

    fn forward(&self, slot: N) -> N {
        walk(slot, self.last, self.outside(), |x| self.inner.forward(x))
    }

    fn inverse(&self, index: N) -> N {
        walk(index, self.last, self.outside(), |x| self.inner.inverse(x))
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        self.inner.forward_run(first, out);
        self.walk_each(out, |points| self.inner.forward_each(points));
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.inner.inverse_run(first, out);
        self.walk_each(out, |points| self.inner.inverse_each(points));
    }

    fn forward_each(&self, values: &mut [N]) {
        self.inner.forward_each(values);
        self.walk_each(values, |points| self.inner.forward_each(points));
    }

    fn inverse_each(&self, values: &mut [N]) {
        self.inner.inverse_each(values);
        self.walk_each(values, |points| self.inner.inverse_each(points));
    }

    #[cfg(feature = "alloc")]
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        // The part's trusted form may be a different bijection, so the constructor checks its
        // domain again.
        let walk = CycleWalk::from_last(self.inner.trusted()?, self.last).ok()?;
        let conduct = walk.inner.conduct();
        Some(Trusted::from_owned(walk).with_conduct(conduct))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        let walk = DeviceSource::combinator("CycleWalk").part(self.inner.device_source()?);
        let walk = walk.field("last", &[self.last.widen()]);
        Some(walk.field("outside", &[self.outside().widen()]))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word, B: Bijection<N>> EngineHooks<N> for CycleWalk<B, N> {
    fn evaluation_picoseconds(&self) -> u32 {
        // The average number of steps.
        let steps = (self.inner.last().widen() / self.last.widen().max(1)).saturating_add(1);
        self.inner.evaluation_picoseconds().saturating_mul(steps.min(1 << 16) as u32)
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), IndexError> {
        self.inner.build_indexes(is_asked)
    }
}

// This is implemented for a `Trusted` part, as `trusted` makes it, and not for every trusted part:
// a clone of another type may have a different domain from the one that the constructor checked.
//
// SAFETY: the constructor checked that [0, last] is within the inner domain, and a `Trusted` cannot
// be cloned or replaced by another. A point of [0, last] lies on a cycle of the inner bijection,
// and its value is the next point on that cycle that is in [0, last]. That is a bijection, whose
// inverse walks the cycle the other way. At most all the points outside lie in between, and the
// walk allows that number of further steps.
unsafe impl<N: Word> TrustedBijection<N> for CycleWalk<Trusted<'_, N>, N> {}

impl<B: FromSeed + Bijection<u64>> FromSeed for CycleWalk<B> {
    /// A member of the inner family, restricted to the length. A length of 0 counts as 1.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        let inner = B::from_words(len, words);
        // A family that draws too small a domain breaks its promise. The walk is then restricted to
        // that domain, the widest possible.
        let last = len.saturating_sub(1).min(inner.last());
        Self { inner, last }
    }

    fn key_domain(len: u64) -> KeyDomain {
        B::key_domain(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What constants have: the same members and the same values, to the ends of the domain and
    /// beyond.
    #[test]
    fn constants_are_what_a_seed_draws() {
        let long = [257, 300, 1000, 1024, 1025, 1 << 32, (1 << 32) + 1, 1 << 63, u64::MAX];
        for len in (0..=300).chain(long) {
            for seed in [Seed::new(len), Seed::from_bytes([len as u8; 32])] {
                let seed = seed.with_epoch(len ^ 3);
                let drawn: CycleWalk<Standard> = CycleWalk::from_seed(len, seed);
                let constant = CycleWalk::of_seed(len, seed);
                assert_eq!(constant, drawn);
                let last = drawn.last();
                for point in (0..300).map(|k| k.min(last)).chain([last / 3, last]) {
                    let value = Bijection::forward(&drawn, point);
                    assert_eq!(constant.forward(point), value);
                    assert_eq!(constant.inverse(value), point);
                    assert_eq!(Bijection::inverse(&drawn, value), point);
                }
            }
        }
    }
}
