//! [`BitMatrix`]: square matrices over GF(2).

use core::fmt;

use super::subspace::Echelon;
use crate::MatrixError;
use bijective_shuffle_core::Word;
use bijective_shuffle_core::error::BijectionError;

/// A square matrix of bits, with up to 64 rows and columns, over the field GF(2): addition is
/// exclusive or, and multiplication is and.
///
/// It is stored as its columns, one word each: bit `i` of column `j` is the entry in row `i`. In a
/// vector, bit `j` is entry `j`. The product with a vector is the sum of the columns at the
/// vector's set bits.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::BitMatrix;
///
/// let reversal = BitMatrix::bit_reversal(4)?;
/// assert_eq!(reversal.apply(0b0111), 0b1110);
/// assert_eq!(reversal.inverse()?, reversal);
///
/// let gray = BitMatrix::gray_code(3)?;
/// assert_eq!([0, 1, 2, 3, 4].map(|x| gray.apply(x)), [0b000, 0b001, 0b011, 0b010, 0b110]);
/// assert_eq!(format!("{gray:?}"), r#"["110", "011", "001"]"#);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitMatrix {
    bits: u32,
    /// Columns from `bits` on are zero.
    columns: [u64; 64],
}

impl BitMatrix {
    /// The largest number of rows and columns.
    const MAX_BITS: u32 = 64;

    /// The matrix with the given columns, first to last. It has as many rows as columns.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] for more than 64 columns, and
    /// [`MatrixError::ColumnTooWide`] if a column has a bit below the last row.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::from_columns(&[0b01, 0b11])?;
    /// assert_eq!(format!("{a:?}"), r#"["11", "01"]"#);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn from_columns(columns: &[u64]) -> Result<Self, MatrixError> {
        let mut matrix = Self::zero(u32::try_from(columns.len()).unwrap_or(u32::MAX))?;
        let mask = u64::low_mask(matrix.bits);
        if let Some(column) = columns.iter().position(|&column| column & !mask != 0) {
            return Err(MatrixError::ColumnTooWide { column: column as u32, bits: matrix.bits });
        }
        matrix.columns[..columns.len()].copy_from_slice(columns);
        Ok(matrix)
    }

    /// The matrix with the given rows, first to last; bit `j` of a row is the entry in column `j`.
    ///
    /// # Errors
    ///
    /// Those of [`from_columns`](Self::from_columns), with rows in place of columns.
    pub fn from_rows(rows: &[u64]) -> Result<Self, MatrixError> {
        Ok(Self::from_columns(rows)?.transpose())
    }

    /// The matrix of zeros.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] for more than 64 rows.
    pub(super) fn zero(bits: u32) -> Result<Self, MatrixError> {
        if bits > Self::MAX_BITS {
            return Err(MatrixError::Bijection(BijectionError::BitsOutOfRange {
                bits,
                min: 0,
                max: Self::MAX_BITS,
            }));
        }
        Ok(Self { bits, columns: [0; 64] })
    }

    /// The matrix whose column `j` is `column(j)`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] for more than 64 rows.
    pub(super) fn from_fn(bits: u32, column: impl FnMut(u32) -> u64) -> Result<Self, MatrixError> {
        let mut matrix = Self::zero(bits)?;
        let columns = (0..bits).map(column);
        for (place, column) in matrix.columns.iter_mut().zip(columns) {
            *place = column & u64::low_mask(bits);
        }
        Ok(matrix)
    }

    /// The number of rows and of columns.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The columns.
    pub fn columns(&self) -> &[u64] {
        &self.columns[..self.bits as usize]
    }

    /// The columns, for writing. The caller must not set bits below the last row.
    pub(super) fn columns_mut(&mut self) -> &mut [u64] {
        &mut self.columns[..self.bits as usize]
    }

    /// The entry in the given row and column, counted from 0.
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    pub fn get(&self, row: u32, column: u32) -> bool {
        assert!(row < self.bits, "row {row} of {}", self.bits);
        self.columns()[column as usize] >> row & 1 == 1
    }

    /// The product with a vector. Bits of `x` beyond the width are ignored.
    pub fn apply(&self, x: u64) -> u64 {
        let product = |sum, (j, column): (usize, u64)| sum ^ (column & (x >> j & 1).wrapping_neg());
        self.columns().iter().copied().enumerate().fold(0, product)
    }

    /// The transpose: the matrix with rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut transposed = Self { bits: self.bits, columns: [0; 64] };
        for (j, &column) in self.columns().iter().enumerate() {
            for (i, row) in transposed.columns_mut().iter_mut().enumerate() {
                *row |= (column >> i & 1) << j;
            }
        }
        transposed
    }

    /// The product `self * other`, which applies `other` first.
    ///
    /// # Errors
    ///
    /// [`BijectionError::DomainMismatch`] if the widths differ.
    pub fn product(&self, other: &Self) -> Result<Self, MatrixError> {
        if self.bits != other.bits {
            let [first, second] = [other.bits, self.bits].map(u64::low_mask);
            return Err(MatrixError::Bijection(BijectionError::DomainMismatch { first, second }));
        }
        Self::from_fn(self.bits, |j| self.apply(other.columns[j as usize]))
    }

    /// The rank: the dimension of the columns' span.
    pub fn rank(&self) -> u32 {
        let mut span = Echelon::default();
        self.columns().iter().filter(|&&column| span.insert(column)).count() as u32
    }

    /// Whether the matrix has an [`inverse`](Self::inverse).
    pub fn is_invertible(&self) -> bool {
        self.rank() == self.bits
    }

    /// Whether the matrix only moves bits: every row and every column has exactly one 1.
    pub(crate) fn is_bit_permutation(&self) -> bool {
        self.columns().iter().all(|column| column.is_power_of_two()) && self.is_invertible()
    }

    /// The inverse matrix, by Gauss-Jordan elimination.
    ///
    /// # Errors
    ///
    /// [`MatrixError::Singular`] if the matrix has no inverse.
    pub fn inverse(&self) -> Result<Self, MatrixError> {
        let mut rest = *self;
        let mut inverse = Self::from_fn(self.bits, |j| 1 << j)?;
        for i in 0..self.bits as usize {
            let Some(pivot) = (i..self.bits as usize).find(|&j| rest.columns[j] >> i & 1 == 1)
            else {
                return Err(MatrixError::Singular { bits: self.bits, rank: self.rank() });
            };
            rest.columns.swap(i, pivot);
            inverse.columns.swap(i, pivot);
            for j in (0..self.bits as usize).filter(|&j| j != i) {
                if rest.columns[j] >> i & 1 == 1 {
                    rest.columns[j] ^= rest.columns[i];
                    inverse.columns[j] ^= inverse.columns[i];
                }
            }
        }
        Ok(inverse)
    }
}

/// The rows as digits, the first row first.
impl fmt::Debug for BitMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |row, column| if self.get(row, column) { '1' } else { '0' };
        let row = |row| (0..self.bits()).map(|column| digit(row, column)).collect::<String>();
        f.debug_list().entries((0..self.bits()).map(row)).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any matrix of any width; most are singular.
    pub(super) fn any_matrix() -> impl Strategy<Value = BitMatrix> {
        (0..=64_u32).prop_flat_map(matrix_of)
    }

    fn matrix_of(bits: u32) -> impl Strategy<Value = BitMatrix> {
        prop::collection::vec(0..=u64::low_mask(bits), bits as usize)
            .prop_map(|columns| BitMatrix::from_columns(&columns).unwrap())
    }

    #[test]
    fn wide_matrices_and_mismatched_products_are_refused() {
        let wide =
            MatrixError::Bijection(BijectionError::BitsOutOfRange { bits: 65, min: 0, max: 64 });
        assert_eq!(BitMatrix::from_columns(&[0; 65]), Err(wide.clone()));
        assert_eq!(BitMatrix::identity(65), Err(wide));
        let beyond = MatrixError::ColumnTooWide { column: 2, bits: 3 };
        assert_eq!(BitMatrix::from_columns(&[1, 7, 8]), Err(beyond));
        let (three, four) = (BitMatrix::identity(3).unwrap(), BitMatrix::identity(4).unwrap());
        assert_eq!(
            three.product(&four),
            Err(MatrixError::Bijection(BijectionError::DomainMismatch { first: 15, second: 7 }))
        );
        let singular = BitMatrix::from_columns(&[3, 5, 6]).unwrap();
        assert_eq!(singular.inverse(), Err(MatrixError::Singular { bits: 3, rank: 2 }));
    }

    #[test]
    fn rank_and_inverse_of_every_matrix_of_three_bits() {
        let mut invertible = 0;
        for number in 0..512_u64 {
            let a = BitMatrix::from_columns(&[number & 7, number >> 3 & 7, number >> 6]).unwrap();
            let mut images: Vec<u64> = (0..8).map(|x| a.apply(x)).collect();
            images.sort_unstable();
            images.dedup();
            assert_eq!(images.len(), 1 << a.rank(), "{a:?}");
            assert_eq!(a.is_invertible(), images.len() == 8);
            if let Ok(inverse) = a.inverse() {
                invertible += 1;
                assert!((0..8).all(|x| inverse.apply(a.apply(x)) == x), "{a:?}");
            }
        }
        // (8 - 1)(8 - 2)(8 - 4)
        assert_eq!(invertible, 168);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn products_are_linear(a in any_matrix(), x: u64, y: u64) {
            prop_assert_eq!(a.apply(x ^ y), a.apply(x) ^ a.apply(y));
            let mask = u64::low_mask(a.bits());
            prop_assert_eq!(a.apply(x & mask), a.apply(x));
            prop_assert_eq!(a.apply(x) & !mask, 0);
            for (j, &column) in a.columns().iter().enumerate() {
                prop_assert_eq!(a.apply(1 << j), column);
            }
        }

        #[test]
        fn a_product_applies_one_after_the_other(
            (a, b, c) in (0..=64_u32).prop_flat_map(|n| (matrix_of(n), matrix_of(n), matrix_of(n))),
            x: u64,
        ) {
            let ab = a.product(&b).unwrap();
            prop_assert_eq!(ab.apply(x), a.apply(b.apply(x)));
            prop_assert_eq!(ab.product(&c).unwrap(), a.product(&b.product(&c).unwrap()).unwrap());
            prop_assert_eq!(ab.transpose(), b.transpose().product(&a.transpose()).unwrap());
            prop_assert!(ab.rank() <= a.rank().min(b.rank()));
        }

        #[test]
        fn rows_are_the_columns_of_the_transpose(a in any_matrix()) {
            let t = a.transpose();
            prop_assert_eq!(t.transpose(), a);
            prop_assert_eq!(t.rank(), a.rank());
            prop_assert_eq!(BitMatrix::from_rows(t.columns()).unwrap(), a);
            for i in 0..a.bits() {
                for j in 0..a.bits() {
                    prop_assert_eq!(a.get(i, j), t.get(j, i));
                }
            }
        }

        #[test]
        fn an_inverse_undoes(bits in 0..=64_u32, seed: u64) {
            let a = BitMatrix::random(bits, seed).unwrap();
            let inverse = a.inverse().unwrap();
            let identity = BitMatrix::identity(bits).unwrap();
            prop_assert_eq!(a.product(&inverse).unwrap(), identity);
            prop_assert_eq!(inverse.product(&a).unwrap(), identity);
            prop_assert_eq!(a.transpose().inverse().unwrap(), inverse.transpose());
        }

        #[test]
        fn matrices_of_full_rank_have_an_inverse(a in any_matrix()) {
            prop_assert_eq!(a.inverse().is_ok(), a.rank() == a.bits());
        }
    }
}
