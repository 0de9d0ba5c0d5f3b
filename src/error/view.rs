//! [`ViewError`]: why a view of a permutation, a sampler, or rows of items cannot be made.

use core::fmt;

/// Why a view of a permutation, a sampler, or rows of items cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// A place or an index is not below the permutation's length, a range of places is not within
    /// the permutation, or one of rows not within the batch.
    OutOfRange {
        /// The place or the index, or where the range starts. Up to 2^64, since a bound may be
        /// excluded.
        start: u128,
        /// The one after its last. Up to 2^64, since a bound may be included.
        end: u128,
        /// The length of the permutation, or the number of rows.
        len: u64,
    },
    /// A sampler has no items.
    NoItems,
    /// The batches of a sampler have no items, or those of all ranks together more than
    /// 2^64 - 1.
    BatchSizeOutOfRange {
        /// The number of items that a rank takes in a step.
        batch: u64,
        /// The number of ranks.
        ranks: u64,
    },
    /// A sampler's state was asked for after more items than an epoch has.
    TooManyConsumed {
        /// The number of items that all ranks together would have consumed.
        consumed: u64,
        /// The sampler's length.
        len: u64,
    },
    /// No epoch follows the last one, 2^64 - 1.
    LastEpoch,
    /// A survivor index cannot have blocks of this many slots.
    #[doc(hidden)]
    BlockSizeOutOfRange {
        /// The number of slots in a block.
        slots: u64,
    },
    /// The view needs an index over a domain so large that it is
    /// not built implicitly.
    IndexNotBuilt {
        /// The last point of the domain.
        last: u64,
    },
    /// The offsets of segments do not begin with 0, or descend, or do not end with the number of
    /// items.
    Offsets {
        /// The number of the first offset that is wrong.
        number: u64,
    },
    /// A slice does not consist of whole rows, or has no number of rows because they have no
    /// items.
    NotWholeRows {
        /// The length of a row.
        len: u64,
        /// The length of the slice.
        actual: u64,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { start, end, len } if *end == start + 1 => {
                write!(f, "{start} is not below the length {len}")
            }
            Self::OutOfRange { start, end, len } => {
                write!(f, "the range {start}..{end} does not lie within 0..{len}")
            }
            Self::NoItems => f.write_str("a sampler needs at least one item"),
            Self::BatchSizeOutOfRange { batch, ranks } => write!(
                f,
                "batches of {batch} items on each of {ranks} ranks: a batch needs at least one item, \
                 and all together have at most 2^64 - 1"
            ),
            Self::TooManyConsumed { consumed, len } => write!(
                f,
                "{consumed} items consumed were given, and an epoch has {len}: count those of all \
                 ranks from the beginning of the epoch"
            ),
            Self::LastEpoch => f.write_str(
                "the sampler is in epoch 2^64 - 1, which no other follows: choose an epoch by \
                 `set_epoch`",
            ),
            Self::BlockSizeOutOfRange { slots } => write!(
                f,
                "a survivor index cannot have {slots} slots to a block: use a power of two from 64 to \
                 32768"
            ),
            Self::IndexNotBuilt { last } => write!(
                f,
                "the view needs an index over {} points, too many to build it implicitly: use \
                 `Permutation::walk`, which needs none, or call `Permutation::build_index` first",
                u128::from(*last) + 1
            ),
            Self::Offsets { number } => write!(
                f,
                "offset {number} of the segments is missing or wrong: the first offset is 0, none is \
                 less than the one before it, and the last one is the number of items"
            ),
            Self::NotWholeRows { len: 0, actual } => {
                write!(f, "a slice of {actual} items cannot be divided into rows of 0")
            }
            Self::NotWholeRows { len, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of {len}: \
                 its length must be a multiple of {len}"
            ),
        }
    }
}
