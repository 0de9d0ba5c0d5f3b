//! [`Error`]: everything that can go wrong. What belongs to one room of the crate is in a type of its
//! own, in a file of its own.

mod bijection;
mod defect;
mod generator;
mod gpu;
mod matrix;
mod rows;
mod sampler;
mod saved;
mod unavailable;
mod view;

pub use bijection::BijectionError;
pub use defect::Defect;
pub use generator::GeneratorError;
pub use gpu::GpuError;
pub use matrix::MatrixError;
pub use rows::RowsError;
pub use sampler::SamplerError;
pub use saved::SavedError;
pub use unavailable::Unavailable;
pub use view::ViewError;

use core::fmt;

/// What went wrong. Items that were passed in are where they were, unless the function says otherwise; a slice that
/// indexes should be written to may hold unspecified values.
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
    /// The permutation is longer than the bijection's domain.
    LengthExceedsDomain {
        /// The length asked for.
        len: u64,
        /// The last point of the domain.
        last: u64,
    },
    /// A slice is not as long as the permutation, or as the other one.
    LengthMismatch {
        /// The length that it should have.
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
    /// Memory could not be had; nothing was moved.
    OutOfMemory {
        /// How much was asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
    /// The GPU cannot be used here.
    BackendUnavailable {
        /// What is missing.
        reason: Unavailable,
    },
    /// A bijection cannot be made.
    Bijection(BijectionError),
    /// A matrix cannot be made, or does not suit what it is applied to.
    Matrix(MatrixError),
    /// A generator of random numbers, or an ensemble of them, cannot be made.
    Generator(GeneratorError),
    /// A part of a permutation cannot be looked at.
    View(ViewError),
    /// Rows of a batch cannot be written or moved.
    Rows(RowsError),
    /// A text is not what a program saves.
    Saved(SavedError),
    /// A [`Sampler`](crate::Sampler) cannot be made, or cannot go on from a state.
    Sampler(SamplerError),
    /// The GPU engine cannot do it.
    Gpu(GpuError),
}

impl Error {
    /// The GPU cannot be had.
    pub(crate) fn no_cuda(reason: Unavailable) -> Self {
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
                "a slice of {actual} items was given for {expected} items: the lengths must be equal"
            ),
            Self::IndexTooWide { len, bits } => {
                write!(f, "indexes below {len} do not fit words of {bits} bits: use u64")
            }
            Self::NotABijection(defect) => write!(f, "the map is not a bijection: {defect}"),
            Self::OutOfMemory { bytes } => {
                write!(f, "{bytes} bytes of working memory could not be allocated")
            }
            Self::BackendUnavailable { reason } => {
                write!(f, "back end cuda is not available: {reason}")
            }
            Self::Bijection(error) => error.fmt(f),
            Self::Matrix(error) => error.fmt(f),
            Self::Generator(error) => error.fmt(f),
            Self::View(error) => error.fmt(f),
            Self::Rows(error) => error.fmt(f),
            Self::Saved(error) => error.fmt(f),
            Self::Sampler(error) => error.fmt(f),
            Self::Gpu(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

/// The room's own error as that of the crate.
macro_rules! from {
    ($($group:ident($error:ident);)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$group(error)
            }
        }

        impl core::error::Error for $error {}
    )*};
}

from! {
    Bijection(BijectionError);
    Matrix(MatrixError);
    Generator(GeneratorError);
    View(ViewError);
    Rows(RowsError);
    Saved(SavedError);
    Sampler(SamplerError);
    Gpu(GpuError);
}
