//! [`Error`]: why something cannot be resampled.

use core::fmt;

use bijective_shuffle_engine::OutOfMemory;

/// Why a resampling plan cannot be made, or has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// There are no items to draw from.
    NoItems,
    /// Values, labels, counts or weights are not as many as the items.
    ItemCount {
        /// The number of items.
        items: usize,
        /// The number that was given.
        given: usize,
    },
    /// Blocks of a series are empty, or longer than the series.
    BlockLength {
        /// The length asked for.
        length: usize,
        /// The number of items of the series.
        items: usize,
    },
    /// A number of draws was given for a plan that has a number of its own.
    OwnDraws,
    /// A row has 2^31 draws or more, or might have.
    TooManyDraws {
        /// The number of draws.
        draws: usize,
    },
    /// Rows beyond the last one, 2^64 - 1, were asked for, or more than memory could hold.
    RowCount {
        /// The first row asked for.
        first: u64,
        /// The row after the last one asked for.
        end: u64,
    },
    /// A weight is negative, infinite or NaN.
    NotAWeight {
        /// Its place among the weights.
        index: usize,
    },
    /// A number that has to be between 0 and 1 is not.
    NotBetweenZeroAndOne {
        /// The number.
        given: f64,
    },
    /// An interval was asked for from no values.
    NoValues,
    /// The interval is undefined: every value of the bootstrap is on one side of the observed one,
    /// or leaving out an item never changes the statistic.
    Degenerate,
    /// A batch is expected to have 2^48 items or more.
    BatchTooLarge,
    /// A batch without replacement has more items than there are.
    SampleTooLarge {
        /// The number of items of a batch.
        size: u64,
        /// The number of items to choose from.
        items: u64,
    },
    /// There is no such rank.
    Rank {
        /// The rank.
        rank: u64,
        /// The number of ranks.
        ranks: u64,
    },
    /// The library has refused the call, or memory could not be allocated.
    Shuffle(bijective_shuffle::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoItems => f.write_str("there are no items to draw from: give at least one"),
            Self::ItemCount { items, given } => {
                write!(f, "{given} numbers were given for {items} items: give one for each item")
            }
            Self::BlockLength { length, items } => write!(
                f,
                "blocks of {length} items cannot be taken from a series of {items}: a block has at \
                 least one item, and at most as many as the series"
            ),
            Self::OwnDraws => f.write_str(
                "a row of strata or clusters has as many draws as they say: leave the number out",
            ),
            Self::TooManyDraws { draws } => write!(
                f,
                "{draws} draws for one row are too many, because counts are below 2^31: draw fewer, or \
                 from smaller clusters"
            ),
            Self::RowCount { first, end } => write!(
                f,
                "rows {first} to {end} are not possible: the first row comes before the last, and \
                 their values have to fit memory"
            ),
            Self::NotAWeight { index } => write!(
                f,
                "weight {index} is negative, infinite or NaN: weights are finite numbers from 0 on"
            ),
            Self::NotBetweenZeroAndOne { given } => {
                write!(f, "{given} is not a number between 0 and 1: give 0.05 for 5 %")
            }
            Self::NoValues => f.write_str("an interval needs at least one value: ask for rows"),
            Self::Degenerate => f.write_str(
                "the BCa interval is undefined, because the values of the bootstrap are all on one \
                 side of the observed one, or because the statistic never changes when an item is \
                 left out: use the percentile interval, or another statistic",
            ),
            Self::BatchTooLarge => {
                f.write_str("a batch of 2^48 items or more is too large: use a smaller probability")
            }
            Self::SampleTooLarge { size, items } => write!(
                f,
                "{size} items cannot be chosen from {items} without repetition: use smaller batches"
            ),
            Self::Rank { rank, ranks } => {
                write!(f, "there is no rank {rank} of {ranks}: ranks count from 0")
            }
            Self::Shuffle(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<bijective_shuffle::Error> for Error {
    fn from(error: bijective_shuffle::Error) -> Self {
        Self::Shuffle(error)
    }
}

#[doc(hidden)]
impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self::Shuffle(error.into())
    }
}
