//! [`MatrixError`]: what is wrong with a matrix over GF(2), or with what it is applied to.

use core::fmt;

/// Why a matrix, or a map or a network of matrices, cannot be made or applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixError {
    /// A matrix has no inverse, so the map is not a bijection.
    Singular {
        /// The matrix's width in bits.
        bits: u32,
        /// Its rank, which is less.
        rank: u32,
    },
    /// Two matrices that should be multiplied have different widths.
    WidthMismatch {
        /// The width of the one that is applied first, in bits.
        first: u32,
        /// The width of the other.
        second: u32,
    },
    /// A matrix's column has a bit in a row that there is not.
    ColumnTooWide {
        /// The column.
        column: u32,
        /// How many rows there are.
        bits: u32,
    },
    /// What should be a permutation of bits has a place twice, or one that there is not.
    NotABitPermutation {
        /// The place.
        place: u32,
        /// How many places there are.
        bits: u32,
    },
    /// A row of a matrix's text is not as many digits 0 or 1 as there are rows.
    Text {
        /// The row, counted from 0.
        row: u32,
        /// How many rows there are.
        bits: u32,
    },
    /// A mask has none of the index's bits, so it divides nothing.
    EmptyMask,
    /// A slice's length is not a power of two.
    NotAPowerOfTwo {
        /// The length.
        len: u64,
    },
    /// An array of two sides would have more items than any array has.
    SidesTooLong {
        /// Its rows.
        rows: u64,
        /// Its columns.
        columns: u64,
    },
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Singular { bits, rank } => {
                write!(
                    f,
                    "a matrix of {bits} bits is of rank {rank}: only one of full rank can be undone"
                )
            }
            Self::WidthMismatch { first, second } => write!(
                f,
                "matrices of {first} and of {second} bits cannot be multiplied: their widths must be equal"
            ),
            Self::ColumnTooWide { column, bits } => {
                write!(f, "column {column} of a matrix has bits beyond its {bits} rows")
            }
            Self::NotABitPermutation { place, bits } => {
                write!(
                    f,
                    "{bits} bits cannot be permuted with place {place} twice or not among them"
                )
            }
            Self::Text { row, bits } => {
                write!(f, "row {row} of a matrix of {bits} rows is not {bits} digits 0 or 1")
            }
            Self::EmptyMask => f.write_str("a mask needs at least one of the index's bits"),
            Self::NotAPowerOfTwo { len } => {
                write!(
                    f,
                    "a slice of {len} items is no array of bits' indexes: its length must be a power of two"
                )
            }
            Self::SidesTooLong { rows, columns } => {
                write!(f, "no array has as many items as {rows} rows of {columns} are")
            }
        }
    }
}
