//! [`Error`]: everything that can go wrong, in one type.

use core::fmt;

use crate::backend::Backend;

/// What went wrong. Items that were passed in are where they were; a slice that indexes should be written to may hold
/// unspecified values.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let three_bits = VariablePhilox::<24>::from_keys(3, [1; 24]);
/// let error = Permutation::with_bijection(9, three_bits).unwrap_err();
/// assert!(matches!(error, Error::LengthExceedsDomain { len: 9, last: 7 }));
/// assert_eq!(error.to_string(), "9 items do not fit the bijection's domain of 8 points: \
///     use a wider bijection or fewer items");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A bijection was asked for with a width that its family or its word does not have.
    BitsOutOfRange {
        /// The width asked for, in bits.
        bits: u32,
        /// The smallest width there is.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// The multiplier of an [`Lcg`](crate::Lcg) is even, so the map is not a bijection.
    EvenMultiplier {
        /// The multiplier asked for.
        multiplier: u64,
    },
    /// A domain of no points was asked for.
    EmptyDomain,
    /// The permutation is longer than the bijection's domain.
    LengthExceedsDomain {
        /// The length asked for.
        len: u64,
        /// The last point of the domain.
        last: u64,
    },
    /// Two bijections that should be composed have different domains.
    DomainMismatch {
        /// The last point of the first domain.
        first: u64,
        /// The last point of the second.
        second: u64,
    },
    /// A slice is not as long as the permutation.
    LengthMismatch {
        /// The permutation's length.
        expected: u64,
        /// The slice's length.
        actual: u64,
    },
    /// A permutation's indexes do not fit the word they should be written in.
    IndexTooWide {
        /// The permutation's length.
        len: u64,
        /// The word's width in bits.
        bits: u32,
    },
    /// What claims to be a bijection is none; nothing was moved.
    NotABijection(Defect),
    /// The back end that was asked for cannot be had here.
    BackendUnavailable {
        /// The back end.
        backend: Backend,
        /// Why.
        reason: &'static str,
    },
    /// Memory could not be had; nothing was moved.
    OutOfMemory {
        /// How much was asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
}

/// How a map was seen not to be a bijection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Two slots have the same value.
    Repeats {
        /// The value that came again.
        index: u64,
    },
    /// A value is not below the length.
    OutOfRange {
        /// The value.
        index: u64,
        /// The length.
        len: u64,
    },
    /// The number of slots with a value below the length is not the length.
    Survivors {
        /// The permutation's length.
        expected: u64,
        /// How many slots survived; the length and one more if there are too many.
        actual: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitsOutOfRange { bits, min, max } => {
                write!(f, "a width of {bits} bits was asked for: it must be from {min} to {max}")
            }
            Self::EvenMultiplier { multiplier } => {
                write!(f, "the multiplier {multiplier} is even: only an odd one can be undone")
            }
            Self::EmptyDomain => f.write_str("a bijection needs a domain of at least one point"),
            Self::LengthExceedsDomain { len, last } => write!(
                f,
                "{len} items do not fit the bijection's domain of {} points: \
                 use a wider bijection or fewer items",
                u128::from(*last) + 1
            ),
            Self::DomainMismatch { first, second } => write!(
                f,
                "bijections on {} and on {} points do not compose: their domains must be equal",
                u128::from(*first) + 1,
                u128::from(*second) + 1
            ),
            Self::LengthMismatch { expected, actual } => write!(
                f,
                "the permutation is of {expected} items and the slice of {actual}: \
                 the lengths must be equal"
            ),
            Self::IndexTooWide { len, bits } => {
                write!(f, "indexes below {len} do not fit words of {bits} bits: use u64")
            }
            Self::NotABijection(defect) => write!(f, "the map is not a bijection: {defect}"),
            Self::BackendUnavailable { backend, reason } => {
                write!(f, "back end {backend} is not available: {reason}")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "{bytes} bytes of working memory could not be allocated")
            }
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeats { index } => write!(f, "two slots have the value {index}"),
            Self::OutOfRange { index, len } => {
                write!(f, "the value {index} is not below the length {len}")
            }
            Self::Survivors { expected, actual } => write!(
                f,
                "{actual} {more}slots have values below the length {expected}, which must be as many",
                more = if actual > expected { "or more " } else { "" }
            ),
        }
    }
}

impl core::error::Error for Error {}
