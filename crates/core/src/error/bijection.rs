//! [`BijectionError`]: why a bijection cannot be constructed from the given numbers.

use core::fmt;

/// Why a bijection cannot be constructed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BijectionError {
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
    /// A domain of no points was asked for.
    EmptyDomain,
    /// A [`BlockShuffle`](crate::bijection::BlockShuffle) was asked for with no items in a block,
    /// or no blocks in a window.
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
