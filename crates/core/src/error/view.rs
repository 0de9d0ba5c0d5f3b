//! [`ViewError`]: why a view of a permutation, or rows of items, cannot be had.

use core::fmt;

/// Why a view of a permutation, or rows of items, cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// A range of places is not within the permutation.
    OutOfRange {
        /// The range's first place.
        start: u64,
        /// The place after the range's last.
        end: u64,
        /// The permutation's length.
        len: u64,
    },
    /// The rank is not below the number of workers.
    NoSuchShard {
        /// The worker's rank.
        rank: u64,
        /// The number of workers.
        ranks: u64,
    },
    /// A survivor index cannot have blocks of this many slots.
    BlockSize {
        /// The number of slots in a block.
        slots: u64,
    },
    /// A permutation's `SurvivorIndex` could not be allocated.
    IndexTooLarge {
        /// The size of the part that could not be allocated, in bytes; `u64::MAX` if the number
        /// does not fit.
        bytes: u64,
    },
    /// The view needs a `SurvivorIndex` over a domain so large that it is
    /// not built implicitly.
    IndexNotBuilt {
        /// The last point of the domain.
        last: u64,
    },
    /// Rows of no items are asked for, and a slice has no number of these.
    NoWidth,
    /// A slice does not consist of whole rows.
    NotWhole {
        /// The length of a row.
        len: u64,
        /// The length of the slice.
        actual: u64,
    },
    /// A range of rows is not within the batch.
    NoSuchRows {
        /// The first row asked for.
        first: u64,
        /// The number of rows asked for.
        rows: u64,
        /// The number of rows in the batch.
        count: u64,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { start, end, len } => {
                write!(f, "places {start}..{end} do not lie within a permutation of {len} items")
            }
            Self::NoSuchShard { rank, ranks } => {
                write!(f, "there is no rank {rank} among {ranks}: ranks are counted from 0")
            }
            Self::BlockSize { slots } => write!(
                f,
                "a survivor index cannot have {slots} slots to a block: use a power of two from 64 to \
                 32768"
            ),
            Self::IndexTooLarge { bytes } => write!(
                f,
                "a survivor index with {bytes} bytes could not be allocated: \
                 use `Permutation::walk` or a length that fills the domain, which need none"
            ),
            Self::IndexNotBuilt { last } => write!(
                f,
                "the view needs an index over {} points, too many to build it implicitly: use \
                 `Permutation::walk`, which needs none, or call `Permutation::build_index` first",
                u128::from(*last) + 1
            ),
            Self::NoWidth => write!(f, "rows of 0 items were asked for: a row needs at least one"),
            Self::NotWhole { len: 0, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of 0: it must be empty"
            ),
            Self::NotWhole { len, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of {len}: \
                 its length must be a multiple of {len}"
            ),
            Self::NoSuchRows { first, rows, count } => {
                write!(f, "{rows} rows from row {first} on are not within a batch of {count} rows")
            }
        }
    }
}
