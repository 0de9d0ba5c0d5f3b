//! [`Error`]: everything that can go wrong.

use super::{BijectionError, Defect, SavedError};
#[cfg(feature = "engine")]
use super::{ExchangeError, GeneratorError, GpuError, MatrixError, Unavailable, ViewError};
use core::fmt;

/// What went wrong. Unless the function's documentation says otherwise, items that were passed in
/// are where they were. A slice that was to receive indexes may hold unspecified values.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::VariablePhilox;
/// use bijective_shuffle::prelude::*;
///
/// let three_bits = VariablePhilox::<24>::new(3, [1; 24]).unwrap();
/// let error = Permutation::from_bijection(9, three_bits).unwrap_err();
/// assert!(matches!(error, Error::LengthExceedsDomain { len: 9, last: 7 }));
/// assert_eq!(error.to_string(), "9 items do not fit the bijection's domain of 8 points: \
///     use a wider bijection or fewer items");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The permutation is longer than the bijection's domain.
    LengthExceedsDomain {
        /// The length asked for.
        len: u64,
        /// The last point of the domain.
        last: u64,
    },
    /// A slice differs in length from the permutation, or from another slice.
    LengthMismatch {
        /// The length that the slice should have.
        expected: u64,
        /// The slice's actual length.
        actual: u64,
    },
    /// A permutation's indexes do not fit the word that should hold them.
    IndexTooWide {
        /// The permutation's length.
        len: u64,
        /// The word's width in bits.
        bits: u32,
    },
    /// A map that claims to be a bijection is not one. Nothing was moved.
    NotABijection(Defect),
    /// Memory could not be allocated. Nothing was moved.
    OutOfMemory {
        /// The size asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
    /// The rank, or the worker, is not below the number of ranks.
    NoSuchRank {
        /// The rank asked for.
        rank: u64,
        /// The number of ranks.
        ranks: u64,
    },
    /// The GPU cannot be used here.
    #[cfg(feature = "engine")]
    BackendUnavailable {
        /// What is missing.
        reason: Unavailable,
    },
    /// A bijection cannot be constructed.
    Bijection(BijectionError),
    /// A matrix cannot be constructed, or does not fit what it is applied to.
    #[cfg(feature = "engine")]
    Matrix(MatrixError),
    /// A random number generator, or an ensemble of generators, cannot be constructed.
    #[cfg(feature = "engine")]
    Generator(GeneratorError),
    /// A view of a permutation, or rows of items, are not possible.
    #[cfg(feature = "engine")]
    View(ViewError),
    /// A text does not have the form that a program saves.
    Saved(SavedError),
    /// An exchange between ranks cannot be planned.
    #[cfg(feature = "engine")]
    Exchange(ExchangeError),
    /// The GPU engine cannot do the job.
    #[cfg(feature = "engine")]
    Gpu(GpuError),
}

#[cfg(feature = "engine")]
impl Error {
    /// The error for a GPU that cannot be used.
    #[doc(hidden)]
    pub fn no_cuda(reason: Unavailable) -> Self {
        Self::BackendUnavailable { reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthExceedsDomain { len, last } => write!(
                f,
                "{len} items do not fit the bijection's domain of {} points: \
                 use a wider bijection or fewer items",
                u128::from(*last) + 1
            ),
            Self::LengthMismatch { expected, actual } => write!(
                f,
                "a slice of {actual} items was given for {expected} items: the lengths must be \
                 equal"
            ),
            Self::IndexTooWide { len, bits } => {
                write!(f, "indexes below {len} do not fit words of {bits} bits: use u64")
            }
            Self::NotABijection(defect) => write!(f, "the map is not a bijection: {defect}"),
            Self::OutOfMemory { bytes } => {
                write!(f, "{bytes} bytes of working memory could not be allocated")
            }
            Self::NoSuchRank { rank, ranks: 0 } => {
                write!(f, "there is no rank {rank} among 0: the number of ranks is at least 1")
            }
            Self::NoSuchRank { rank, ranks } => {
                write!(f, "there is no rank {rank} among {ranks}: ranks are counted from 0")
            }
            #[cfg(feature = "engine")]
            Self::BackendUnavailable { reason } => {
                write!(f, "back end cuda is not available: {reason}")
            }
            Self::Bijection(error) => error.fmt(f),
            #[cfg(feature = "engine")]
            Self::Matrix(error) => error.fmt(f),
            #[cfg(feature = "engine")]
            Self::Generator(error) => error.fmt(f),
            #[cfg(feature = "engine")]
            Self::View(error) => error.fmt(f),
            Self::Saved(error) => error.fmt(f),
            #[cfg(feature = "engine")]
            Self::Exchange(error) => error.fmt(f),
            #[cfg(feature = "engine")]
            Self::Gpu(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

#[cfg(feature = "engine")]
impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}
