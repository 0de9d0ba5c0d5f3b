//! [`Error`]: everything that can go wrong.

use super::{
    BijectionError, Defect, ExchangeError, GpuError, SavedError, SeedError, Unavailable, ViewError,
};
use crate::engine::{IndexError, LengthMismatch, OutOfMemory};
#[cfg(feature = "affine")]
use bijective_shuffle_affine::MatrixError;
#[cfg(feature = "rng")]
use bijective_shuffle_rng::GeneratorError;
use core::fmt;

/// What went wrong. Unless the function's documentation says otherwise, the items are unchanged,
/// and a slice for indexes may hold unspecified values.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
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
    BackendUnavailable {
        /// What is missing.
        reason: Unavailable,
    },
    /// A bijection cannot be constructed, for a reason that no other variant names.
    Bijection(BijectionError),
    /// A matrix cannot be constructed, or does not fit what it is applied to.
    #[cfg(feature = "affine")]
    Matrix(MatrixError),
    /// A random number generator, or an ensemble of generators, cannot be constructed.
    #[cfg(feature = "rng")]
    Generator(GeneratorError),
    /// A view of a permutation, or a division into rows, is not possible.
    View(ViewError),
    /// A text does not have the form that a program saves.
    Saved(SavedError),
    /// An exchange between ranks cannot be planned.
    Exchange(ExchangeError),
    /// The GPU engine cannot do the job.
    Gpu(GpuError),
}

impl Error {
    /// The error for a GPU that cannot be used.
    pub(crate) fn no_cuda(reason: Unavailable) -> Self {
        Self::BackendUnavailable { reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthExceedsDomain { len, last } => {
                BijectionError::LengthExceedsDomain { len: *len, last: *last }.fmt(f)
            }
            Self::LengthMismatch { expected, actual } => {
                LengthMismatch { expected: *expected, actual: *actual }.fmt(f)
            }
            Self::IndexTooWide { len, bits } => {
                BijectionError::IndexTooWide { len: *len, bits: *bits }.fmt(f)
            }
            Self::NotABijection(defect) => BijectionError::NotABijection(*defect).fmt(f),
            Self::OutOfMemory { bytes } => OutOfMemory { bytes: *bytes }.fmt(f),
            Self::NoSuchRank { rank, ranks: 0 } => {
                write!(f, "there is no rank {rank} among 0: the number of ranks is at least 1")
            }
            Self::NoSuchRank { rank, ranks } => {
                write!(f, "there is no rank {rank} among {ranks}: ranks are counted from 0")
            }
            Self::BackendUnavailable { reason } => {
                write!(f, "back end cuda is not available: {reason}")
            }
            Self::Bijection(error) => error.fmt(f),
            #[cfg(feature = "affine")]
            Self::Matrix(error) => error.fmt(f),
            #[cfg(feature = "rng")]
            Self::Generator(error) => error.fmt(f),
            Self::View(error) => error.fmt(f),
            Self::Saved(error) => error.fmt(f),
            Self::Exchange(error) => error.fmt(f),
            Self::Gpu(error) => error.fmt(f),
        }
    }
}

// Each text includes that of the error within. A source as well would make reports say it twice.
impl std::error::Error for Error {}

impl From<BijectionError> for Error {
    fn from(error: BijectionError) -> Self {
        match error {
            BijectionError::LengthExceedsDomain { len, last } => {
                Self::LengthExceedsDomain { len, last }
            }
            BijectionError::IndexTooWide { len, bits } => Self::IndexTooWide { len, bits },
            BijectionError::NotABijection(defect) => Self::NotABijection(defect),
            BijectionError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            other => Self::Bijection(other),
        }
    }
}

impl From<SeedError> for Error {
    fn from(error: SeedError) -> Self {
        Self::Saved(SavedError::Seed(error))
    }
}

#[cfg(feature = "affine")]
impl From<MatrixError> for Error {
    fn from(error: MatrixError) -> Self {
        match error {
            MatrixError::Bijection(error) => error.into(),
            MatrixError::LengthMismatch { expected, actual } => {
                Self::LengthMismatch { expected, actual }
            }
            MatrixError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            other => Self::Matrix(other),
        }
    }
}

#[cfg(feature = "rng")]
impl From<GeneratorError> for Error {
    fn from(error: GeneratorError) -> Self {
        match error {
            GeneratorError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            other => Self::Generator(other),
        }
    }
}

impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}

#[doc(hidden)]
impl From<OutOfMemory> for Error {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

#[doc(hidden)]
impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::NotBuilt { last } => Self::View(ViewError::IndexNotBuilt { last }),
            IndexError::OutOfMemory(error) => error.into(),
            IndexError::NotABijection(defect) => Self::NotABijection(defect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Display;

    /// What an error says before and after it has become the library's.
    fn kept<E: Clone + Display + Into<Error>>(error: E) -> Error {
        let converted: Error = error.clone().into();
        assert_eq!(converted.to_string(), error.to_string());
        converted
    }

    #[test]
    fn errors_of_other_packages_keep_their_texts() {
        let defect = Defect::Survivors { expected: 3, actual: 2 };
        for (error, expected) in [
            (
                BijectionError::LengthExceedsDomain { len: 9, last: 7 },
                Error::LengthExceedsDomain { len: 9, last: 7 },
            ),
            (
                BijectionError::IndexTooWide { len: 1 << 40, bits: 32 },
                Error::IndexTooWide { len: 1 << 40, bits: 32 },
            ),
            (BijectionError::NotABijection(defect), Error::NotABijection(defect)),
            (BijectionError::OutOfMemory { bytes: 5 }, Error::OutOfMemory { bytes: 5 }),
            (BijectionError::EmptyDomain, Error::Bijection(BijectionError::EmptyDomain)),
        ] {
            assert_eq!(kept(error), expected);
        }
        assert_eq!(kept(OutOfMemory { bytes: 5 }), Error::OutOfMemory { bytes: 5 });
        let error = "x".parse::<crate::Seed>().unwrap_err();
        assert_eq!(kept(error), Error::Saved(SavedError::Seed(error)));
        assert_eq!(kept(GpuError::OutOfMemory), Error::Gpu(GpuError::OutOfMemory));
    }

    #[test]
    #[cfg(all(feature = "affine", feature = "rng"))]
    fn one_cause_has_one_variant_whichever_package_met_it() {
        let (expected, actual) = (8, 7);
        for (error, converted) in [
            (MatrixError::EmptyMask, Error::Matrix(MatrixError::EmptyMask)),
            (
                MatrixError::LengthMismatch { expected, actual },
                Error::LengthMismatch { expected, actual },
            ),
            (MatrixError::OutOfMemory { bytes: 5 }, Error::OutOfMemory { bytes: 5 }),
            (
                MatrixError::Bijection(BijectionError::EmptyDomain),
                Error::Bijection(BijectionError::EmptyDomain),
            ),
            (
                MatrixError::Bijection(BijectionError::OutOfMemory { bytes: 5 }),
                Error::OutOfMemory { bytes: 5 },
            ),
        ] {
            assert_eq!(kept(error), converted);
        }
        for (error, converted) in [
            (GeneratorError::NoStreams, Error::Generator(GeneratorError::NoStreams)),
            (GeneratorError::OutOfMemory { bytes: 5 }, Error::OutOfMemory { bytes: 5 }),
        ] {
            assert_eq!(kept(error), converted);
        }
    }
}
