//! The named families of matrices.

use bijective_shuffle_core::Words;

use super::BitMatrix;
use super::subspace::Echelon;
use crate::MatrixError;
use bijective_shuffle_core::{KeyDomain, Seed, Word};

impl BitMatrix {
    /// The identity matrix.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    pub fn identity(bits: u32) -> Result<Self, MatrixError> {
        Self::from_fn(bits, |j| 1 << j)
    }

    /// The matrix that moves bit `j` to place `to[j]`, for every `j`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits, and [`MatrixError::NotABitPermutation`] if a place is repeated or
    /// does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::bit_permutation(&[2, 0, 1])?;
    /// assert_eq!(a.apply(0b001), 0b100);
    /// assert_eq!(a.apply(0b110), 0b011);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn bit_permutation(to: &[u32]) -> Result<Self, MatrixError> {
        let matrix = Self::zero(u32::try_from(to.len()).unwrap_or(u32::MAX))?;
        let mut taken = 0_u64;
        for &place in to {
            if place >= matrix.bits() || taken >> place & 1 == 1 {
                return Err(MatrixError::NotABitPermutation { place, bits: matrix.bits() });
            }
            taken |= 1 << place;
        }
        Self::from_fn(matrix.bits(), |j| 1 << to[j as usize])
    }

    /// The matrix that reverses the order of the bits.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    pub fn bit_reversal(bits: u32) -> Result<Self, MatrixError> {
        Self::from_fn(bits, |j| 1 << (bits - 1 - j))
    }

    /// The matrix that rotates the bits by `by` places towards the higher ones.
    ///
    /// As a permutation of an array it is a stride permutation; `by = 1` is the perfect shuffle of
    /// the array's two halves.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::rotation(3, 1)?;
    /// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|x| a.apply(x)), [0, 2, 4, 6, 1, 3, 5, 7]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn rotation(bits: u32, by: u32) -> Result<Self, MatrixError> {
        let by = by.checked_rem(bits).unwrap_or(0);
        Self::from_fn(bits, |j| 1 << ((j + by) % bits))
    }

    /// The matrix that transposes an array of `2^row_bits` rows and `2^column_bits` columns, stored
    /// row by row: index `row * 2^column_bits + column` becomes `column * 2^row_bits + row`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::array_transpose(1, 2)?; // 2 rows of 4
    /// assert_eq!(a.apply(1 * 4 + 3), 3 * 2 + 1);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn array_transpose(row_bits: u32, column_bits: u32) -> Result<Self, MatrixError> {
        Self::rotation(row_bits.saturating_add(column_bits), row_bits)
    }

    /// The reflected binary Gray code, `x ^ x >> 1`: consecutive indexes become numbers that differ
    /// in one bit.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    pub fn gray_code(bits: u32) -> Result<Self, MatrixError> {
        Self::from_fn(bits, |j| 1 << j | (1 << j) >> 1)
    }

    /// The matrix that partitions indexes by a mask: those `x` for which `x & mask` has even parity
    /// go to the lower half, the others to the upper half, both in order (Bouverot-Dupuis and
    /// Sheeran 2023, section 7.2).
    ///
    /// The highest bit of the result is the half. The bits below it are those of `x` without the
    /// mask's lowest bit, which the half and the other bits determine.
    ///
    /// # Errors
    ///
    /// [`MatrixError::EmptyMask`] if the mask has none of the bits, and
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// let a = BitMatrix::partition(3, 0b110)?;
    /// assert_eq!([0, 1, 6, 7].map(|x| a.apply(x)), [0, 1, 2, 3]);
    /// assert_eq!([2, 3, 4, 5].map(|x| a.apply(x)), [4, 5, 6, 7]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn partition(bits: u32, mask: u64) -> Result<Self, MatrixError> {
        Self::zero(bits)?;
        let mask = mask & u64::low_mask(bits);
        if mask == 0 {
            return Err(MatrixError::EmptyMask);
        }
        let lowest = mask.trailing_zeros();
        Self::from_fn(bits, |j| {
            let place = match j {
                _ if j < lowest => 1 << j,
                _ if j == lowest => 0,
                _ => 1 << (j - 1),
            };
            place | (mask >> j & 1) << (bits - 1)
        })
    }

    /// The invertible matrix for a seed. All invertible matrices have the same probability. Another
    /// matrix for a seed would be a new major version.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::BitMatrix;
    ///
    /// assert!(BitMatrix::random(30, 42)?.is_invertible());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn random(bits: u32, seed: impl Into<Seed>) -> Result<Self, MatrixError> {
        Self::zero(bits)?;
        Ok(Self::random_from(bits, &mut seed.into().key_stream(KeyDomain::Bits(bits))))
    }

    /// The invertible matrix drawn by a generator, for at most 64 bits. Each column is a 64-bit
    /// word, truncated to the width, and drawn again while it lies in the span of the columns
    /// before it.
    ///
    /// At most half of all words lie in that span. After [`DRAWS`](Self::DRAWS) such words in a
    /// row, which for a random generator has a probability of at most `2^-256`, the column is the
    /// lowest unit vector outside the span. So the function ends with an invertible matrix even if
    /// the generator always returns the same word.
    pub(crate) fn random_from<W: Words + ?Sized>(bits: u32, words: &mut W) -> Self {
        let mut span = Echelon::default();
        let column = |_| {
            let drawn = (0..Self::DRAWS).map(|_| words.next_u64() & u64::low_mask(bits));
            let units = (0..bits).map(|j| 1 << j);
            drawn.chain(units).find(|&word| span.insert(word)).expect("the columns span less")
        };
        Self::from_fn(bits, column).expect("there are at most 64 bits")
    }

    /// The largest number of words drawn for a column.
    const DRAWS: u32 = 256;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_matrices_do_what_their_names_say() {
        for bits in 0..=10_u32 {
            let n = 1_u64 << bits;
            let reversal = BitMatrix::bit_reversal(bits).unwrap();
            let gray = BitMatrix::gray_code(bits).unwrap();
            for x in 0..n {
                let reversed = if bits == 0 { 0 } else { x.reverse_bits() >> (64 - bits) };
                assert_eq!(reversal.apply(x), reversed);
                assert_eq!(gray.apply(x), x ^ x >> 1);
                assert_eq!(BitMatrix::identity(bits).unwrap().apply(x), x);
            }
            for by in 0..2 * bits + 2 {
                let rotation = BitMatrix::rotation(bits, by).unwrap();
                assert!(rotation.is_bit_permutation());
                let turn =
                    |x: u64| (0..by).fold(x, |x, _| x << 1 & (n - 1) | x >> (bits.max(1) - 1));
                assert!((0..n).all(|x| rotation.apply(x) == turn(x)), "{bits} by {by}");
            }
            for rows in 0..=bits {
                let transpose = BitMatrix::array_transpose(rows, bits - rows).unwrap();
                let width = 1 << (bits - rows);
                let turned = |x: u64| ((x % width) << rows) | (x / width);
                assert!((0..n).all(|x| transpose.apply(x) == turned(x)));
            }
        }
    }

    #[test]
    fn a_partition_is_stable() {
        for bits in 1..=7_u32 {
            let n = 1_u64 << bits;
            for mask in 1..n {
                let a = BitMatrix::partition(bits, mask).unwrap();
                let half = |x: &u64| (x & mask).count_ones() % 2;
                let mut order: Vec<u64> = (0..n).collect();
                order.sort_by_key(half);
                assert!((0..n).all(|y| a.apply(order[y as usize]) == y), "{bits} bits, {mask:b}");
            }
            assert_eq!(BitMatrix::partition(bits, n), Err(MatrixError::EmptyMask));
        }
        assert_eq!(BitMatrix::partition(0, 1), Err(MatrixError::EmptyMask));
        assert!(BitMatrix::partition(64, u64::MAX).unwrap().is_invertible());
    }

    #[test]
    fn no_place_comes_twice() {
        for (to, place) in
            [(&[0, 0][..], 0), (&[2, 0], 2), (&[0, 2, 2], 2), (&[u32::MAX], u32::MAX)]
        {
            let bits = to.len() as u32;
            let error = MatrixError::NotABitPermutation { place, bits };
            assert_eq!(BitMatrix::bit_permutation(to), Err(error));
        }
        let to: Vec<u32> = (0..64).rev().collect();
        assert_eq!(BitMatrix::bit_permutation(&to), BitMatrix::bit_reversal(64));
    }

    #[test]
    fn all_matrices_are_drawn_alike() {
        // The six invertible matrices of two bits, with 1000 expected draws each; 5 degrees of
        // freedom.
        let mut counts = std::collections::HashMap::<_, f64>::new();
        for seed in 0..6000 {
            *counts.entry(BitMatrix::random(2, seed).unwrap()).or_default() += 1.0;
        }
        assert_eq!(counts.len(), 6);
        let chi: f64 =
            counts.values().map(|count| (count - 1000.0) * (count - 1000.0) / 1000.0).sum();
        assert!(chi < 25.0, "{chi}");
    }
    #[test]
    fn a_generator_that_is_none_makes_a_matrix_too() {
        struct Constant(u64);

        impl Words for Constant {
            fn next_u32(&mut self) -> u32 {
                self.0 as u32
            }

            fn next_u64(&mut self) -> u64 {
                self.0
            }
        }

        for word in [0, 1, 0b101, u64::MAX] {
            for bits in [0, 1, 2, 30, 64] {
                let a = BitMatrix::random_from(bits, &mut Constant(word));
                assert!(a.is_invertible(), "{bits} bits from {word}");
            }
        }
    }
}
