//! [`Affine`]: affine maps over GF(2).

use super::BitMatrix;
use crate::MatrixError;
use bijective_shuffle_core::bijection::hooks::EngineHooks;
use bijective_shuffle_core::error::BijectionError;
use bijective_shuffle_core::{
    Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection, Word, Words,
};
use bijective_shuffle_engine::bijection::lanes::{BLOCK, Lanes, each, uncounted};
use bijective_shuffle_engine::check::check_bits;
use bijective_shuffle_engine::simd::PerLevel;
use bijective_shuffle_engine::word::bits_for;

/// The map `x -> A x ^ c` on `2^b` points, `b` from 0 to 64, with an invertible matrix `A` over
/// GF(2): a bit matrix multiply complement permutation (Cormen 1993; Bouverot-Dupuis and Sheeran,
/// FHPNC 2023).
///
/// A random member is a poor shuffle, since `f(x) ^ f(y)` depends only on `x ^ y`. The type is for
/// permutations that have this form, such as bit reversal and transposition; the module
/// [crate](crate) has their matrices.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::BitMatrix;
/// use bijective_shuffle::affine::Affine;
/// use bijective_shuffle::prelude::*;
///
/// let f = Affine::new(&BitMatrix::bit_reversal(3)?, 0b001)?;
/// assert_eq!((0..8).map(|x| f.forward(x)).collect::<Vec<_>>(), [1, 5, 3, 7, 0, 4, 2, 6]);
/// assert_eq!(f.inverse(5), 1);
///
/// // Like every bijection it shuffles any number of items up to 2^b, by compaction.
/// let mut items = ['a', 'b', 'c', 'd', 'e'];
/// items.try_par_bijective_shuffle(&f)?;
/// assert_eq!(items, ['b', 'd', 'a', 'e', 'c']);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Affine<N = u64> {
    forward: MapDirection<N>,
    inverse: MapDirection<N>,
}

/// One direction of the map: one column for each bit, and the constant that is added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MapDirection<N> {
    columns: Box<[N]>,
    offset: N,
}

impl Affine {
    /// The map `x -> matrix * x ^ offset`, where the offset is taken modulo `2^bits`.
    ///
    /// # Errors
    ///
    /// [`MatrixError::Singular`] if the matrix has no inverse.
    pub fn new(matrix: &BitMatrix, offset: u64) -> Result<Self, MatrixError> {
        let inverse = matrix.inverse()?;
        let offset = offset & u64::low_mask(matrix.bits());
        Ok(Self {
            forward: MapDirection { columns: matrix.columns().into(), offset },
            inverse: MapDirection {
                columns: inverse.columns().into(),
                offset: inverse.apply(offset),
            },
        })
    }

    /// The map `x -> x ^ offset`, a butterfly exchange.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] for more than 64 bits.
    pub fn translation(bits: u32, offset: u64) -> Result<Self, MatrixError> {
        Self::new(&BitMatrix::identity(bits)?, offset)
    }

    /// The map `x -> 2^bits - 1 - x`, which reverses an array.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] for more than 64 bits.
    pub fn reversal(bits: u32) -> Result<Self, MatrixError> {
        Self::translation(bits, u64::MAX)
    }

    /// The matrix `A`.
    pub fn matrix(&self) -> BitMatrix {
        BitMatrix::from_columns(&self.forward.columns).expect("it came from a matrix")
    }

    /// The matrix of the inverse map, `A^-1`.
    pub(crate) fn inverse_matrix(&self) -> BitMatrix {
        BitMatrix::from_columns(&self.inverse.columns).expect("it came from a matrix")
    }

    /// The inverse map, which is affine as well.
    #[must_use]
    pub fn inverted(&self) -> Self {
        Self { forward: self.inverse.clone(), inverse: self.forward.clone() }
    }

    /// The composition as a single map: this map first, then `next`.
    /// `A (B x ^ d) ^ c = A B x ^ (A d ^ c)`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::DomainMismatch`] if the domains differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    /// use bijective_shuffle::affine::Affine;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let gray = Affine::new(&BitMatrix::gray_code(10)?, 3)?;
    /// let reversal = Affine::new(&BitMatrix::bit_reversal(10)?, 700)?;
    /// let both = gray.then(&reversal)?;
    /// assert_eq!(both.forward(99), reversal.forward(gray.forward(99)));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[inline]
    pub fn then(&self, next: &Self) -> Result<Self, MatrixError> {
        if self.bits() != next.bits() {
            return Err(MatrixError::Bijection(BijectionError::DomainMismatch {
                first: self.last(),
                second: next.last(),
            }));
        }
        Self::new(&next.matrix().product(&self.matrix())?, next.forward(self.offset()))
    }

    /// Whether the map is its own inverse.
    pub(crate) fn is_involution(&self) -> bool {
        self.forward == self.inverse
    }
}

impl Affine {
    /// Whether the map is the identity.
    #[doc(hidden)]
    pub fn is_identity(&self) -> bool {
        let columns = self.forward.columns.iter().enumerate();
        self.forward.offset == 0 && columns.into_iter().all(|(j, &column)| column == 1 << j)
    }
}

impl<N: Word> Affine<N> {
    /// The width of the domain in bits.
    pub fn bits(&self) -> u32 {
        self.forward.columns.len() as u32
    }

    /// The constant `c` that is added to every product.
    pub fn offset(&self) -> N {
        self.forward.offset
    }

    /// The same map in words of another width.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if the domain does not fit the word.
    pub fn to_word<M: Word>(&self) -> Result<Affine<M>, MatrixError> {
        check_bits::<M>(self.bits(), 0)?;
        let convert = |part: &MapDirection<N>| MapDirection {
            columns: part.columns.iter().map(|column| M::wrap(column.widen())).collect(),
            offset: M::wrap(part.offset.widen()),
        };
        Ok(Affine { forward: convert(&self.forward), inverse: convert(&self.inverse) })
    }
}

/// The logarithm of how many values are tabulated for a run. All other values differ from these by
/// a constant.
const RUN_BITS: usize = 8;

/// Fewer points than this are evaluated one at a time.
const FEW: usize = 8;

impl<N: Word> MapDirection<N> {
    #[inline(always)]
    fn value(&self, x: N) -> N {
        let mut value = self.offset;
        for (j, &column) in self.columns.iter().enumerate() {
            value = value ^ (column & (N::ZERO.wrapping_sub(x >> j & N::ONE)));
        }
        value
    }

    /// Writes the values at consecutive points. In a block of points that is aligned to its length,
    /// each value is the sum of the value of the block's first point and a value of the low bits.
    /// The latter are in a table, built by doubling it once for each bit.
    fn run<M: Word>(&self, first: N, out: &mut [M]) {
        let mut point = first.widen();
        if out.len() < FEW {
            for out in out {
                *out = M::wrap(self.value(N::wrap(point)).widen());
                point = point.wrapping_add(1);
            }
            return;
        }
        let bits = self.columns.len().min(RUN_BITS);
        let mut table = [M::ZERO; 1 << RUN_BITS];
        for (j, column) in self.columns[..bits].iter().enumerate() {
            let (done, next) = table.split_at_mut(1 << j);
            for (next, &done) in next.iter_mut().zip(&*done) {
                *next = done ^ M::wrap(column.widen());
            }
        }
        let mut rest = out;
        while !rest.is_empty() {
            let low = point as usize & ((1 << bits) - 1);
            let count = rest.len().min((1 << bits) - low);
            let (now, later) = rest.split_at_mut(count);
            let base = M::wrap(self.value(N::wrap(point - low as u64)).widen());
            for (out, &value) in now.iter_mut().zip(&table[low..]) {
                *out = base ^ value;
            }
            point = point.wrapping_add(count as u64);
            rest = later;
        }
    }
}

impl<N: Word> Lanes for MapDirection<N> {
    type Point = N;

    #[inline(always)]
    fn evaluate<const LARGE: bool>(&self, points: &mut [N; BLOCK]) {
        let mut values = [self.offset; BLOCK];
        for (j, &column) in uncounted(&self.columns).iter().enumerate() {
            for (value, &point) in values.iter_mut().zip(&*points) {
                *value = *value ^ (column & N::ZERO.wrapping_sub(point >> j & N::ONE));
            }
        }
        *points = values;
    }

    #[inline(always)]
    fn evaluate_one(&self, point: N) -> N {
        self.value(point)
    }
}

impl<N: Word> Bijection<N> for Affine<N> {
    fn last(&self) -> N {
        N::low_mask(self.bits())
    }

    fn forward(&self, slot: N) -> N {
        self.forward.value(slot)
    }

    fn inverse(&self, index: N) -> N {
        self.inverse.value(index)
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        self.forward.run(first, out);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.inverse.run(first, out);
    }

    fn forward_each(&self, values: &mut [N]) {
        each(&self.forward, values);
    }

    fn inverse_each(&self, values: &mut [N]) {
        each(&self.inverse, values);
    }

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::of_family(self))
    }

    fn device_source(&self) -> Option<DeviceSource> {
        // SAFETY: the text reads its columns, an array of `bits` words, and nothing else.
        let family =
            unsafe { DeviceSource::family("Affine", r#"#include "bijection/affine.cuh""#) };
        let columns = |part: &MapDirection<N>| -> Vec<u64> {
            part.columns.iter().map(|column| column.widen()).collect()
        };
        let Self { forward, inverse, .. } = self;
        let family = family.number("bits", self.bits()).field("columns", &columns(forward));
        let family = family.field("offset", &[forward.offset.widen()]);
        let family = family.field("undo", &columns(inverse));
        Some(family.field("undo_offset", &[inverse.offset.widen()]))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word> EngineHooks<N> for Affine<N> {
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        self.forward.run(first, out);
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        self.inverse.run(first, out);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        PerLevel { portable: 400, avx2: 250, avx512: 190 }.current()
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        each(&self.forward, values);
    }
}

// SAFETY: an invertible matrix permutes the vectors of its width, and so does adding a constant.
// The constructor computes the inverse from the matrix by an elimination that rejects singular
// matrices, and the offsets match: A^-1 (A x ^ c) ^ A^-1 c = x. A run adds two parts of the same
// product. The fields are private and never change.
unsafe impl<N: Word> TrustedBijection<N> for Affine<N> {}

impl FromSeed for Affine {
    /// Draws the columns in order, as [`BitMatrix::random`] does, and then the offset, a 64-bit
    /// word. The width is the smallest that holds the length.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        let matrix = BitMatrix::random_from(bits_for(len), words);
        Self::new(&matrix, words.next_u64()).expect("it was drawn to be invertible")
    }
}

impl<N: Word> core::fmt::Debug for Affine<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Affine")
            .field("columns", &self.forward.columns)
            .field("offset", &self.forward.offset)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MatrixError;
    use bijective_shuffle_engine::bijection::lanes::check;

    #[test]
    fn lanes_agree_with_single_points() {
        for bits in [1, 2, 7, 8, 9, 31, 32, 33, 63] {
            let f = Affine::from_seed(u64::low_mask(bits).saturating_add(1), 5);
            check(&f.forward, f.last(), &format!("{bits} bits"));
            if bits <= 32 {
                let narrow = f.to_word::<u32>().unwrap();
                check(&narrow.inverse, f.last(), &format!("{bits} bits in u32"));
            }
        }
    }

    #[test]
    fn maps_fuse_and_invert() {
        for bits in [0, 1, 5, 30, 64] {
            let random = |seed| Affine::from_seed(u64::low_mask(bits).saturating_add(1), seed);
            let (f, g) = (random(1), random(2));
            let both = f.then(&g).unwrap();
            let undone = both.then(&both.inverted()).unwrap();
            assert_eq!(undone, Affine::translation(bits, 0).unwrap());
            for x in [0, 1, 2, 3, 77, u64::MAX / 3].map(|x| x & f.last()) {
                assert_eq!(both.forward(x), g.forward(f.forward(x)));
                assert_eq!(f.inverted().forward(x), f.inverse(x));
            }
            assert_eq!(Affine::new(&f.matrix(), f.offset()).unwrap(), f);
            assert_eq!(f.matrix().inverse().unwrap(), f.inverse_matrix());
        }
    }

    #[test]
    fn involutions_are_known() {
        assert!(Affine::reversal(20).unwrap().is_involution());
        let reversal = BitMatrix::bit_reversal(7).unwrap();
        assert!(Affine::new(&reversal, 0).unwrap().is_involution());
        // A c ^ c is not 0, so the map is not an involution.
        assert!(!Affine::new(&reversal, 1).unwrap().is_involution());
        assert!(!Affine::new(&BitMatrix::gray_code(7).unwrap(), 0).unwrap().is_involution());
    }

    #[test]
    fn the_identity_is_known() {
        for bits in [0, 1, 5, 64] {
            assert!(Affine::translation(bits, 0).unwrap().is_identity(), "{bits} bits");
        }
        for bits in [1, 5, 64] {
            assert!(!Affine::translation(bits, 1).unwrap().is_identity(), "{bits} bits");
        }
        assert!(!Affine::from_seed(1 << 5, 1).is_identity());
        assert!(!Affine::new(&BitMatrix::bit_reversal(2).unwrap(), 0).unwrap().is_identity());
    }

    #[test]
    fn affine_maps_refuse_bad_parameters() {
        let singular = BitMatrix::from_columns(&[1, 1]).unwrap();
        let error = MatrixError::Singular { bits: 2, rank: 1 };
        assert_eq!(Affine::new(&singular, 0).unwrap_err(), error);
        let (narrow, wide) = (Affine::reversal(3).unwrap(), Affine::reversal(40).unwrap());
        let error = MatrixError::Bijection(BijectionError::DomainMismatch {
            first: 7,
            second: (1 << 40) - 1,
        });
        assert_eq!(narrow.then(&wide).unwrap_err(), error);
        assert!(wide.to_word::<u32>().is_err());
    }
}
