//! [`BijectionError`]: why a bijection cannot be constructed, or why a map was rejected as a
//! bijection.

use super::{Defect, OutOfMemory};
use core::fmt;

/// Why a bijection cannot be constructed from the given numbers, or why a map was rejected as a
/// bijection.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::CycleWalk;
/// use bijective_shuffle::bijection::VariablePhilox;
/// use bijective_shuffle::error::BijectionError;
///
/// let three_bits = VariablePhilox::<24>::new(3, [1; 24]).unwrap();
/// let error = CycleWalk::new(three_bits, 9).unwrap_err();
/// assert!(matches!(error, BijectionError::LengthExceedsDomain { len: 9, last: 7 }));
/// assert_eq!(error.to_string(), "9 items do not fit the bijection's domain of 8 points: \
///     use a wider bijection or fewer items");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BijectionError {
    /// The length is greater than the number of points in the bijection's domain.
    LengthExceedsDomain {
        /// The length asked for.
        len: u64,
        /// The last point of the domain.
        last: u64,
    },
    /// Indexes do not fit the word that should hold them.
    IndexTooWide {
        /// The number of indexes.
        len: u64,
        /// The word's width in bits.
        bits: u32,
    },
    /// A map that claims to be a bijection is not one.
    NotABijection(Defect),
    /// Memory could not be allocated.
    OutOfMemory {
        /// The size asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
    /// The number of bits is outside the range that the bijection's family or its word allows.
    BitsOutOfRange {
        /// The number of bits asked for.
        bits: u32,
        /// The smallest number allowed.
        min: u32,
        /// The largest number allowed.
        max: u32,
    },
    /// The multiplier of an [`Lcg`](crate::bijection::Lcg) is even, so the map is not a bijection.
    EvenMultiplier {
        /// The multiplier asked for.
        multiplier: u64,
    },
    /// The domain has no points.
    EmptyDomain,
    /// A [`BlockShuffle`](crate::bijection::BlockShuffle) has no items in a block, or no blocks in
    /// a window.
    EmptyBlock {
        /// The items in a block.
        block: u64,
        /// The blocks in a window.
        window: u64,
    },
    /// Two bijections to be composed, or matrices to be multiplied, have different domains.
    DomainMismatch {
        /// The last point of the first domain.
        first: u64,
        /// The last point of the second.
        second: u64,
    },
}

impl fmt::Display for BijectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthExceedsDomain { len, last } => write!(
                f,
                "{len} items do not fit the bijection's domain of {} points: \
                 use a wider bijection or fewer items",
                u128::from(*last) + 1
            ),
            Self::IndexTooWide { len, bits } => {
                write!(f, "indexes below {len} do not fit words of {bits} bits: use u64")
            }
            Self::NotABijection(defect) => write!(f, "the map is not a bijection: {defect}"),
            Self::OutOfMemory { bytes } => OutOfMemory { bytes: *bytes }.fmt(f),
            Self::BitsOutOfRange { bits, min, max } => {
                write!(f, "{bits} bits were asked for: the number must be from {min} to {max}")
            }
            Self::EvenMultiplier { multiplier } => {
                write!(f, "the multiplier {multiplier} is even: only an odd one has an inverse")
            }
            Self::EmptyDomain => f.write_str("a bijection needs a domain of at least one point"),
            Self::EmptyBlock { block, window } => write!(
                f,
                "blocks of {block} items in windows of {window} blocks were asked for: both must be at \
                 least 1"
            ),
            Self::DomainMismatch { first, second } => write!(
                f,
                "maps of {} and of {} points do not compose: their domains must be equal",
                u128::from(*first) + 1,
                u128::from(*second) + 1
            ),
        }
    }
}

impl core::error::Error for BijectionError {}

#[doc(hidden)]
impl From<OutOfMemory> for BijectionError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}
