//! [`MatrixError`]: what is wrong with a matrix over GF(2), or with its argument.

use bijective_shuffle_core::error::BijectionError;
use bijective_shuffle_engine::{LengthMismatch, OutOfMemory};
use core::fmt;

/// Why a matrix, or a map or network of matrices, cannot be constructed or applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixError {
    /// A matrix has no inverse, so the map is not a bijection.
    Singular {
        /// The matrix's width in bits.
        bits: u32,
        /// Its rank, which is less than its width.
        rank: u32,
    },
    /// A column of a matrix has a bit below the last row.
    ColumnTooWide {
        /// The column's number.
        column: u32,
        /// The number of rows.
        bits: u32,
    },
    /// A list that should be a permutation of bits has a place twice, or a place that does not
    /// exist.
    NotABitPermutation {
        /// The offending place.
        place: u32,
        /// The number of places.
        bits: u32,
    },
    /// A mask selects none of the index's bits, so it divides nothing.
    EmptyMask,
    /// A slice's length is not a power of two.
    NotAPowerOfTwo {
        /// The length.
        len: u64,
    },
    /// A slice's length is not the number of points.
    LengthMismatch {
        /// The length that the slice should have.
        expected: u64,
        /// The slice's actual length.
        actual: u64,
    },
    /// Memory could not be allocated. Nothing was moved.
    OutOfMemory {
        /// The size asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
    /// The width in bits is out of range, or two maps have different domains.
    Bijection(BijectionError),
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Singular { bits, rank } => {
                write!(
                    f,
                    "a matrix of {bits} bits has rank {rank}: only one of full rank has an inverse"
                )
            }
            Self::ColumnTooWide { column, bits } => {
                write!(f, "column {column} of a matrix has bits beyond its {bits} rows")
            }
            Self::NotABitPermutation { place, bits } => {
                write!(
                    f,
                    "no permutation of {bits} bits: place {place} is repeated or does not exist"
                )
            }
            Self::EmptyMask => f.write_str("a mask needs at least one of the index's bits"),
            Self::NotAPowerOfTwo { len } => {
                write!(
                    f,
                    "a slice of {len} items has no whole number of index bits: its length must be a \
                     power of two"
                )
            }
            Self::LengthMismatch { expected, actual } => {
                LengthMismatch { expected: *expected, actual: *actual }.fmt(f)
            }
            Self::OutOfMemory { bytes } => OutOfMemory { bytes: *bytes }.fmt(f),
            Self::Bijection(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MatrixError {}

impl From<BijectionError> for MatrixError {
    fn from(error: BijectionError) -> Self {
        match error {
            BijectionError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            other => Self::Bijection(other),
        }
    }
}

#[doc(hidden)]
impl From<OutOfMemory> for MatrixError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_has_one_variant_whichever_package_met_it() {
        let (bytes, expected) = (5, MatrixError::OutOfMemory { bytes: 5 });
        assert_eq!(MatrixError::from(BijectionError::OutOfMemory { bytes }), expected);
        assert_eq!(MatrixError::from(OutOfMemory { bytes }), expected);
        let other = BijectionError::EmptyDomain;
        assert_eq!(MatrixError::from(other.clone()), MatrixError::Bijection(other));
    }
}
