//! [`ViewError`]: what is wrong with a view of a permutation.

use core::fmt;

/// Why a part of a permutation cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// A range of places does not lie within the permutation.
    OutOfRange {
        /// Where it starts.
        start: u64,
        /// The first place after it.
        end: u64,
        /// The permutation's length.
        len: u64,
    },
    /// There is no such worker.
    NoSuchShard {
        /// The number of the worker, which must be below the number of workers.
        rank: u64,
        /// The number of workers.
        world: u64,
    },
    /// A survivor index was asked for with a number of slots to a block that it does not have.
    BlockSize {
        /// The number of slots.
        slots: u64,
    },
    /// There is no memory for a permutation's [`SurvivorIndex`](crate::SurvivorIndex).
    IndexTooLarge {
        /// How much one of its parts would take, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
    /// A view of a permutation needs its [`SurvivorIndex`](crate::SurvivorIndex), which is over too large
    /// a domain to be built unasked.
    IndexNotBuilt {
        /// The last point of the domain.
        last: u64,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { start, end, len } => {
                write!(f, "places {start}..{end} do not lie within a permutation of {len} items")
            }
            Self::NoSuchShard { rank, world } => {
                write!(f, "there is no rank {rank} among {world}: ranks are counted from 0")
            }
            Self::BlockSize { slots } => write!(
                f,
                "a survivor index cannot have {slots} slots to a block: use a power of two from 64 to 32768"
            ),
            Self::IndexTooLarge { bytes } => write!(
                f,
                "a survivor index with {bytes} bytes could not be allocated: \
                 use `Permutation::walk` or a length that fills the domain, which need none"
            ),
            Self::IndexNotBuilt { last } => write!(
                f,
                "the view needs an index over {} points, more than are counted unasked: use \
                 `Permutation::walk`, which needs none, or call `Permutation::build_index` first",
                u128::from(*last) + 1
            ),
        }
    }
}
