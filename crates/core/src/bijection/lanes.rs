//! Evaluates many points at once: the common part of the families' vectorised evaluators.
//!
//! ```text
//! run, each:                              here, compiled for each pair of words
//!     for 256 points:
//!         lanes = the points, in the family's word
//!         evaluate(lanes)
//!         out = lanes, in the caller's word
//!
//! evaluate(lanes):                        a family's `Lanes`, compiled for each instruction set
//!     for round in rounds:                the outer loop, which must not be unrolled (`uncounted`)
//!         for x in lanes: x = round(x)    the inner loop, which the compiler vectorises
//! ```
//!
//! One point's rounds wait for each other. Those of 256 points do not, so the multipliers stay
//! busy, and the lanes still fit the registers of AVX-512.

use core::ops::{BitAnd, BitOr, BitXor, Shl, Shr};
use core::slice;

#[cfg(target_arch = "x86_64")]
use crate::base::simd;
use crate::base::simd::{SimdKernel, SimdLevel};
use crate::word::Index;

/// How many points are evaluated together: eight vectors of AVX-512 with 16-bit lanes. That is
/// enough to keep the multipliers busy through their latency, and more would not fit the registers.
/// (On two cores of an AMD EPYC with AVX-512, half as many were a quarter slower, and a quarter as
/// many took twice as long.)
pub const BLOCK: usize = 256;

/// Fewer points than this are evaluated one at a time.
pub const FEW: usize = 8;

/// The runs of a family that has the methods `run` and `each`, generic in whether they go back and
/// in the word. They are `inline`, so that only the families that a program has are compiled.
macro_rules! runs {
    ($word:ty) => {
        #[inline]
        fn forward_run(&self, first: $word, out: &mut [$word]) {
            self.run::<false, $word>(first, out);
        }

        #[inline]
        fn inverse_run(&self, first: $word, out: &mut [$word]) {
            self.run::<true, $word>(first, out);
        }

        #[inline]
        fn forward_each(&self, values: &mut [$word]) {
            self.each::<false, $word>(values);
        }

        #[inline]
        fn inverse_each(&self, values: &mut [$word]) {
            self.each::<true, $word>(values);
        }
    };
}
pub(super) use runs;

/// The hooks of such a family, in narrow words.
macro_rules! narrow_hooks {
    ($word:ty) => {
        #[inline]
        fn forward_run_u32(&self, first: $word, out: &mut [u32]) {
            self.run::<false, u32>(first, out);
        }

        #[inline]
        fn forward_run_u16(&self, first: $word, out: &mut [u16]) {
            self.run::<false, u16>(first, out);
        }

        #[inline]
        fn inverse_run_u32(&self, first: $word, out: &mut [u32]) {
            self.run::<true, u32>(first, out);
        }

        #[inline]
        fn forward_each_u32(&self, values: &mut [u32]) {
            self.each::<false, u32>(values);
        }
    };
}
pub(super) use narrow_hooks;

/// A bijection that is evaluated on a block of points at once.
pub trait Lanes: Sync {
    /// The word type of the points, wide enough for the domain.
    type Point: Index;

    /// Replaces points with their values. For words that are not points the result is unspecified,
    /// but nothing else goes wrong. The function and everything that it calls must be
    /// `#[inline(always)]`. `LARGE` says that a block fits the registers with room to spare, as it
    /// does with AVX-512.
    fn evaluate<const LARGE: bool>(&self, points: &mut [Self::Point; BLOCK]);

    /// [`evaluate`](Self::evaluate) with AVX2; a family may override it with intrinsics.
    ///
    /// # Safety
    ///
    /// The machine has the features of [`SimdKernel::run_avx2`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn evaluate_avx2(&self, points: &mut [Self::Point; BLOCK]) {
        self.evaluate::<false>(points);
    }

    /// [`evaluate`](Self::evaluate) with AVX-512; a family may override it with intrinsics.
    ///
    /// # Safety
    ///
    /// The machine has the features of [`SimdKernel::run_avx512`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn evaluate_avx512(&self, points: &mut [Self::Point; BLOCK]) {
        self.evaluate::<true>(points);
    }

    /// Writes the values at consecutive points where the family has a faster way than block by
    /// block, and returns how many it has written: by default none.
    fn run_at_once(
        &self,
        _level: SimdLevel,
        _first: Self::Point,
        _out: &mut [Self::Point],
    ) -> usize {
        0
    }

    /// The value at one point.
    fn evaluate_one(&self, point: Self::Point) -> Self::Point;
}

/// [`Lanes`] of any family, so that what brings points to blocks, and values from there, is
/// compiled for each pair of words, and not again for each family and direction.
trait Evaluator<P> {
    fn block(&self, points: &mut [P; BLOCK]);

    /// # Safety
    ///
    /// The machine has the features of [`SimdKernel::run_avx2`].
    #[cfg(target_arch = "x86_64")]
    unsafe fn block_avx2(&self, points: &mut [P; BLOCK]);

    /// # Safety
    ///
    /// The machine has the features of [`SimdKernel::run_avx512`].
    #[cfg(target_arch = "x86_64")]
    unsafe fn block_avx512(&self, points: &mut [P; BLOCK]);

    fn at_once(&self, level: SimdLevel, first: P, out: &mut [P]) -> usize;

    fn one(&self, point: P) -> P;
}

impl<L: Lanes> Evaluator<L::Point> for L {
    fn block(&self, points: &mut [L::Point; BLOCK]) {
        self.evaluate::<false>(points);
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn block_avx2(&self, points: &mut [L::Point; BLOCK]) {
        // SAFETY: the caller promises the features.
        unsafe { simd::run_avx2(ReplaceBlock { lanes: self, points }) }
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn block_avx512(&self, points: &mut [L::Point; BLOCK]) {
        // SAFETY: the caller promises the features.
        unsafe { simd::run_avx512(ReplaceBlock { lanes: self, points }) }
    }

    fn at_once(&self, level: SimdLevel, first: L::Point, out: &mut [L::Point]) -> usize {
        self.run_at_once(level, first, out)
    }

    fn one(&self, point: L::Point) -> L::Point {
        self.evaluate_one(point)
    }
}

/// A word type that vectors have lanes of.
pub trait Lane:
    Index
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<usize, Output = Self>
    + Shr<usize, Output = Self>
{
    const ONE: Self;

    /// As many lanes as the registers hold together: eight vectors of AVX-512.
    type Lanes: AsMut<[Self]>;

    /// Lanes that are all zero.
    const EMPTY: Self::Lanes;

    /// These three are modulo `2^bits`, where a word has this many bits.
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
}

macro_rules! lane {
    ($word:ty, $lanes:literal) => {
        impl Lane for $word {
            type Lanes = [Self; $lanes];
            const ONE: Self = 1;
            const EMPTY: Self::Lanes = [0; $lanes];

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                <$word>::wrapping_add(self, other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                <$word>::wrapping_sub(self, other)
            }

            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                <$word>::wrapping_mul(self, other)
            }
        }
    };
}

lane!(u16, 256);
lane!(u32, 128);
lane!(u64, 64);

/// Hides the number of rounds from the compiler. If it knew the number, it would unroll the rounds
/// and compute all rounds of one vector after another, each waiting for the one before (measured:
/// 1.4 to 2 times slower).
#[inline(always)]
pub fn uncounted<R>(rounds: &[R]) -> &[R] {
    core::hint::black_box(rounds)
}

/// Writes the values at consecutive points, in words of any width that holds them.
pub fn run<L: Lanes, M: Index>(lanes: &L, first: u64, out: &mut [M]) {
    run_at(SimdLevel::current(), lanes, first, out);
}

/// Replaces points with their values, in words of any width that holds them.
pub fn each<L: Lanes, M: Index>(lanes: &L, values: &mut [M]) {
    each_at(SimdLevel::current(), lanes, values);
}

/// [`run`] at a given level of vector instructions.
pub fn run_at<L: Lanes, M: Index>(level: SimdLevel, lanes: &L, first: u64, out: &mut [M]) {
    run_by(level, lanes, L::Point::truncate(first), out);
}

/// [`each`] at a given level of vector instructions.
pub fn each_at<L: Lanes, M: Index>(level: SimdLevel, lanes: &L, values: &mut [M]) {
    each_by(level, lanes, values);
}

fn run_by<P: Index, M: Index>(
    level: SimdLevel,
    lanes: &dyn Evaluator<P>,
    first: P,
    mut out: &mut [M],
) {
    let mut done = 0;
    if size_of::<M>() == size_of::<P>() {
        // SAFETY: indexes are u16, u32 and u64, so one of the size of P is a P.
        let points = unsafe { slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
        done = lanes.at_once(level, first, points);
    }
    out = &mut out[done..];
    if !out.is_empty() {
        let first = first.further(P::truncate(done as u64));
        level.run(WriteValues { lanes, first: Some(first), out });
    }
}

fn each_by<P: Index, M: Index>(level: SimdLevel, lanes: &dyn Evaluator<P>, out: &mut [M]) {
    level.run(WriteValues { lanes, first: None, out });
}

/// A block of points that are to be replaced with their values.
#[cfg(target_arch = "x86_64")]
struct ReplaceBlock<'a, L: Lanes> {
    lanes: &'a L,
    points: &'a mut [L::Point; BLOCK],
}

#[cfg(target_arch = "x86_64")]
impl<L: Lanes> SimdKernel for ReplaceBlock<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.lanes.evaluate::<false>(self.points);
    }

    #[inline(always)]
    unsafe fn run_avx2(self) {
        // SAFETY: the caller promises the same features.
        unsafe { self.lanes.evaluate_avx2(self.points) };
    }

    #[inline(always)]
    unsafe fn run_avx512(self) {
        // SAFETY: the caller promises the same features.
        unsafe { self.lanes.evaluate_avx512(self.points) };
    }
}

/// Values are to be written: those at consecutive points from `first` on or, if there is none, at
/// the points that they replace.
struct WriteValues<'a, P, M> {
    lanes: &'a dyn Evaluator<P>,
    first: Option<P>,
    out: &'a mut [M],
}

impl<P: Index, M: Index> SimdKernel for WriteValues<'_, P, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lanes = self.lanes;
        self.by(|points| lanes.block(points));
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx2(self) {
        let lanes = self.lanes;
        // SAFETY: the caller promises the same features.
        self.by(|points| unsafe { lanes.block_avx2(points) });
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) {
        let lanes = self.lanes;
        // SAFETY: the caller promises the same features.
        self.by(|points| unsafe { lanes.block_avx512(points) });
    }
}

impl<P: Index, M: Index> WriteValues<'_, P, M> {
    /// Evaluates blocks by a function.
    #[inline(always)]
    fn by(self, evaluate: impl Fn(&mut [P; BLOCK])) {
        let Self { lanes, mut first, out } = self;
        let mut points = [P::ZERO; BLOCK];
        for values in out.chunks_mut(BLOCK) {
            if let Some(first) = &mut first {
                for (point, k) in points.iter_mut().zip(0..values.len() as u64) {
                    *point = first.further(P::truncate(k));
                }
                *first = first.further(P::truncate(BLOCK as u64));
            } else {
                for (point, value) in points.iter_mut().zip(&*values) {
                    *point = P::truncate(value.extend());
                }
            }
            if values.len() < FEW {
                for (value, &point) in values.iter_mut().zip(&points) {
                    *value = M::truncate(lanes.one(point).extend());
                }
                return;
            }
            evaluate(&mut points);
            for (value, point) in values.iter_mut().zip(&points) {
                *value = M::truncate(point.extend());
            }
        }
    }
}

/// Checks a family's lanes against its single points, at every level that this machine has.
#[cfg(any(feature = "std", test))]
pub fn check<L: Lanes>(lanes: &L, last: u64, what: &str) {
    const LENGTHS: [u64; 12] =
        [0, 1, FEW as u64 - 1, FEW as u64, 31, 32, 33, 255, 256, 257, 511, 700];
    for level in SimdLevel::all() {
        for first in [0, 1, last / 3, last - last.min(700), last] {
            for len in LENGTHS.map(|len| len.min(last - first + 1)) {
                let points = (0..len).map(|k| first + k);
                let expected: Vec<u64> = points
                    .clone()
                    .map(|x| lanes.evaluate_one(L::Point::truncate(x)).extend())
                    .collect();
                let what = format!("{what}, {}, {len} from {first}", level.name());
                let mut wide = vec![u64::MAX; len as usize];
                run_at(level, lanes, first, &mut wide);
                assert_eq!(wide, expected, "{what}: run");
                let mut own = vec![L::Point::ZERO; len as usize];
                run_at(level, lanes, first, &mut own);
                assert!(own.iter().map(|x| x.extend()).eq(expected.clone()), "{what}: run, narrow");
                let mut own: Vec<L::Point> = points.rev().map(L::Point::truncate).collect();
                each_at(level, lanes, &mut own);
                own.reverse();
                assert!(own.iter().map(|x| x.extend()).eq(expected), "{what}: each");
            }
        }
    }
}
