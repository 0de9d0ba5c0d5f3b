//! Triangular factors of invertible matrices: [`Factors`].

use super::BitMatrix;
use crate::MatrixError;

/// The triangular factors of a matrix: `A = P L U` by [`BitMatrix::plu`], `A = U L P` by
/// [`BitMatrix::ulp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Factors {
    /// `P`, which has exactly one 1 in every row and column.
    pub permutation: BitMatrix,
    /// `L`, which has ones on the diagonal and zeros above it.
    pub lower: BitMatrix,
    /// `U`, which has ones on the diagonal and zeros below it.
    pub upper: BitMatrix,
}

impl BitMatrix {
    /// Factorises the matrix as `A = P L U`.
    ///
    /// # Errors
    ///
    /// [`MatrixError::Singular`] if the matrix has no inverse.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::random(20, 1)?;
    /// let plu = a.plu()?;
    /// assert_eq!(plu.permutation.product(&plu.lower)?.product(&plu.upper)?, a);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[inline]
    pub fn plu(&self) -> Result<Factors, MatrixError> {
        // Factorise the transpose with rows and columns in reverse order, B = J A^T J = U L P. Then
        // A = J B^T J = (J P^T J) (J L^T J) (J U^T J): the transposition exchanges upper and lower,
        // and the reversal exchanges them back.
        let Factors { upper, lower, permutation } = self.transpose().reversed().ulp()?;
        Ok(Factors {
            permutation: permutation.reversed().transpose(),
            lower: lower.reversed().transpose(),
            upper: upper.reversed().transpose(),
        })
    }

    /// Factorises the matrix as `A = U L P`.
    ///
    /// With the bit reversal `R`, `A = (U R)(R L P)` is a product of two matrices that can be tiled
    /// (Bouverot-Dupuis and Sheeran 2023, section 5.2).
    ///
    /// # Errors
    ///
    /// [`MatrixError::Singular`] if the matrix has no inverse.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::random(20, 1)?;
    /// let ulp = a.ulp()?;
    /// assert_eq!(ulp.upper.product(&ulp.lower)?.product(&ulp.permutation)?, a);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[inline]
    pub fn ulp(&self) -> Result<Factors, MatrixError> {
        // From the last row up: move the column of the row's pivot to the diagonal, and add the row
        // to all rows above that have a 1 there. The remainder is lower triangular: L = U' A P',
        // where U' and P' collect the steps.
        let bits = self.bits();
        let mut lower = *self;
        let mut upper = Self::identity(bits)?;
        let mut permutation = Self::identity(bits)?;
        for i in (0..bits as usize).rev() {
            let pivot = (0..=i).rev().find(|&j| lower.columns()[j] >> i & 1 == 1);
            let Some(pivot) = pivot else {
                return Err(MatrixError::Singular { bits, rank: self.rank() });
            };
            lower.columns_mut().swap(i, pivot);
            permutation.columns_mut().swap(i, pivot);
            let above = lower.columns()[i] & ((1 << i) - 1);
            for column in lower.columns_mut() {
                *column ^= above & (*column >> i & 1).wrapping_neg();
            }
            // Each step is its own inverse, so U = U'^-1 is the product of the steps in this order.
            upper.columns_mut()[i] |= above;
        }
        Ok(Factors { upper, lower, permutation: permutation.transpose() })
    }

    /// The matrix with its rows and its columns in reverse order.
    fn reversed(&self) -> Self {
        let bits = self.bits();
        let column = |j| self.columns()[(bits - 1 - j) as usize].reverse_bits() >> (64 - bits);
        Self::from_fn(bits, column).expect("the width is that of a matrix")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_unit_upper(a: &BitMatrix) -> bool {
        a.columns().iter().enumerate().all(|(j, column)| column.checked_ilog2() == Some(j as u32))
    }

    fn is_unit_lower(a: &BitMatrix) -> bool {
        is_unit_upper(&a.transpose())
    }

    fn check(a: &BitMatrix) {
        let Factors { upper, lower, permutation } = a.ulp().unwrap();
        assert!(is_unit_upper(&upper) && is_unit_lower(&lower), "{a:?}");
        assert!(permutation.is_bit_permutation(), "{a:?}");
        assert_eq!(upper.product(&lower).unwrap().product(&permutation).unwrap(), *a);
        let Factors { permutation, lower, upper } = a.plu().unwrap();
        assert!(is_unit_upper(&upper) && is_unit_lower(&lower), "{a:?}");
        assert!(permutation.is_bit_permutation(), "{a:?}");
        assert_eq!(permutation.product(&lower).unwrap().product(&upper).unwrap(), *a);
    }

    #[test]
    fn every_matrix_of_three_bits() {
        for number in 0..512_u64 {
            let a = BitMatrix::from_columns(&[number & 7, number >> 3 & 7, number >> 6]).unwrap();
            if a.is_invertible() {
                check(&a);
            } else {
                let singular = Err(MatrixError::Singular { bits: 3, rank: a.rank() });
                assert_eq!(a.ulp().map(|_| ()), singular);
                assert_eq!(a.plu().map(|_| ()), singular);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn factors_multiply_to_the_matrix(bits in 0..=64_u32, seed: u64) {
            check(&BitMatrix::random(bits, seed).unwrap());
        }
    }
}
