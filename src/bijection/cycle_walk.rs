//! [`CycleWalk`]: a bijection restricted to fewer points.

use rand_core::Rng;

use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::error::{BijectionError, Error};
use crate::seed::KeyDomain;
use crate::word::Word;

/// A bijection on `[0, n)` restricted to `[0, m)`: values from `m` on are sent through it again until one
/// falls below (Black and Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA 2002, "cycle walking").
///
/// Every point below `m` lies on a cycle of the inner bijection, and walking along it must come back below
/// `m`, so this is a bijection, with an inverse that walks the other way. On average a value takes `n / m` steps,
/// fewer than two where `n` is the next power of two. It needs no memory and no scan, but its permutation is *not*
/// that of a compaction to the same length.
///
/// If the inner bijection keeps every requirement, so does this one. If it does not, a walk gives up after
/// `n - m + 1` steps, which is as many as any can take, and the value lies outside the domain; with
/// `n` the size that it has at that time, so that after one step if it has shrunk below `m`.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let f = CycleWalk::new(VariablePhilox::<24>::from_keys(8, [7; 24]), 200)?;
/// assert_eq!(f.last(), 199);
/// assert!((0..200).all(|x| f.forward(x) < 200 && f.inverse(f.forward(x)) == x));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CycleWalk<B, N = u64> {
    inner: B,
    last: N,
}

impl<B, N: Word> CycleWalk<B, N> {
    /// The restriction of a bijection to `[0, last]`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`] if the bijection's own domain is smaller.
    pub fn to_last(inner: B, last: N) -> Result<Self, Error>
    where
        B: Bijection<N>,
    {
        let inner_last = inner.last();
        if last > inner_last {
            return Err(Error::LengthExceedsDomain {
                len: last.widen().saturating_add(1),
                last: inner_last.widen(),
            });
        }
        Ok(Self { inner, last })
    }

    /// The bijection that is walked along.
    pub fn into_inner(self) -> B {
        self.inner
    }
}

impl<B: Bijection<u64>> CycleWalk<B> {
    /// The restriction of a bijection to `[0, len)`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`](crate::BijectionError::EmptyDomain) if `len` is 0, and [`Error::LengthExceedsDomain`] if the bijection's own domain
    /// is smaller.
    pub fn new(inner: B, len: u64) -> Result<Self, Error> {
        let last = len.checked_sub(1).ok_or(Error::Bijection(BijectionError::EmptyDomain))?;
        Self::to_last(inner, last)
    }
}

/// Steps from `point` until a value is at most `last`.
#[inline]
fn walk<N: Word>(point: N, last: N, outside: N, step: impl Fn(N) -> N) -> N {
    let mut value = step(point);
    let mut left = outside;
    while value > last && left > N::zero() {
        value = step(value);
        left = left - N::one();
    }
    value
}

impl<N: Word, B: Bijection<N>> CycleWalk<B, N> {
    /// How many points of the inner domain lie outside this one: the longest detour there is. None if
    /// the inner bijection has fewer points by now, and so breaks its requirements.
    fn outside(&self) -> N {
        let inner_last = self.inner.last();
        if inner_last > self.last { inner_last - self.last } else { N::zero() }
    }

    /// Walks on from the values that are outside, all together.
    fn walk_each(&self, values: &mut [N], step_each: impl Fn(&mut [N])) {
        for values in values.chunks_mut(WALKERS) {
            let mut points = [N::zero(); WALKERS];
            let mut places = [0; WALKERS];
            let mut count = 0;
            for (place, &value) in values.iter().enumerate() {
                points[count] = value;
                places[count] = place;
                count += usize::from(value > self.last);
            }
            let mut left = self.outside();
            while count > 0 && left > N::zero() {
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
                left = left - N::one();
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

    fn evaluation_picoseconds(&self) -> u32 {
        // So many steps are made on average.
        let steps = (self.inner.last().widen() / self.last.widen().max(1)).saturating_add(1);
        self.inner.evaluation_picoseconds().saturating_mul(steps.min(1 << 16) as u32)
    }

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        // The part may hand out another bijection than itself, hence the constructor's check once more.
        let inner = CycleWalk::to_last(self.inner.trusted()?, self.last).ok()?;
        Some(Trusted::from_owned(inner))
    }

    fn device_source(&self) -> Option<DeviceSource> {
        let params = [self.last, self.outside()].map(N::widen);
        Some(DeviceSource::combine("CycleWalk", [self.inner.device_source()?], params))
    }
}

// Only of a `Trusted` part, as `trusted` makes it, and not of any trusted part: the clone of another type may have
// another domain than the one that the constructor checked.
//
// SAFETY: [0, last] is within the inner domain by the constructor's check, and a `Trusted` cannot be cloned or
// exchanged for another. A point there lies on a cycle of the inner bijection, and the first point after it on that
// cycle that is in [0, last] again is its value: a bijection, whose inverse walks the cycle the other way. At most
// all the points outside come in between, which is the number of further steps that are allowed.
unsafe impl<N: Word> TrustedBijection<N> for CycleWalk<Trusted<'_, N>, N> {}

impl<B: FromSeed + Bijection<u64>> FromSeed for CycleWalk<B> {
    /// A member of the inner family, restricted to the length; a length of 0 is taken as 1.
    fn from_rng<R: Rng + ?Sized>(len: u64, rng: &mut R) -> Self {
        let inner = B::from_rng(len, rng);
        // A family that draws too small a domain breaks its promise; its own domain is then the widest there is.
        let last = len.saturating_sub(1).min(inner.last());
        Self { inner, last }
    }

    fn key_domain(len: u64) -> KeyDomain {
        B::key_domain(len)
    }
}
