//! [`Error`]: why a design, a test or an arrangement is not possible.

use core::fmt;

use bijective_shuffle::error::{BijectionError, SeedError};
use bijective_shuffle_engine::OutOfMemory;

/// Why something of this package cannot be constructed, or a question cannot be answered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A design, or a part of one, has no rows.
    NoRows,
    /// The rows of a design, or the shifts of a grid, cannot be counted in 64 bits.
    TooManyRows,
    /// Designs are nested too deeply.
    TooDeep {
        /// The largest number of levels.
        most: u32,
    },
    /// The parts of a design need more random streams than a seed has.
    TooManyParts {
        /// The largest number of streams.
        most: u64,
    },
    /// Signs are flipped in a part of the design that has signs already.
    SignsTwice,
    /// The design that exchanges whole plots flips signs, which belong to the rows in a plot.
    SignsBetween,
    /// One row has no derangement.
    NoDerangement,
    /// The number of plots is not what the design between them exchanges.
    PlotCount {
        /// The number of plots.
        plots: u64,
        /// The number of plots that are exchanged.
        exchanged: u64,
    },
    /// Whole plots are exchanged, but they do not all have the same number of rows.
    PlotSize {
        /// The first plot of another size, counted in the order in which plots first occur.
        plot: u64,
        /// Its number of rows.
        rows: u64,
        /// The number of rows that the design inside a plot has.
        expected: u64,
    },
    /// A list of rows does not name each row of the design once.
    NotRows {
        /// The first place that is wrong.
        place: u64,
    },
    /// Rows of a tree have different numbers of levels.
    TreeLevels {
        /// The first row that has another number than row 0.
        row: u64,
    },
    /// A label of a tree is 0, or has different signs in one block.
    TreeLabel {
        /// The row.
        row: u64,
        /// The level, from 0 on.
        level: u64,
    },
    /// A design has too many arrangements to number them in 64 bits.
    TooManyArrangements,
    /// The rank is not below the number of arrangements.
    NoSuchRank {
        /// The rank.
        rank: u64,
        /// The number of arrangements.
        count: u64,
    },
    /// More different arrangements were asked for than there are, besides the identity.
    TooFewArrangements {
        /// The number asked for.
        asked: u64,
        /// The number that there is.
        available: u64,
    },
    /// A seed's arrangements are numbered from 0 to 2^64 - 2.
    BeyondLast {
        /// The first arrangement asked for.
        first: u64,
        /// The number of arrangements asked for.
        count: u64,
    },
    /// A slice for orders or signs does not have the length of the rows that are asked for.
    SliceLength {
        /// The length that is needed.
        expected: u64,
        /// The slice's length.
        actual: u64,
    },
    /// The library has refused the call, or memory could not be allocated.
    Shuffle(bijective_shuffle::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRows => f.write_str("a design and each of its parts need at least one row"),
            Self::TooManyRows => f.write_str(
                "the design has too many rows: it can have fewer than 2^62, or 2^60 in a grid",
            ),
            Self::TooDeep { most } => {
                write!(f, "the design is nested too deeply: use at most {most} levels")
            }
            Self::TooManyParts { most } => {
                write!(f, "the design has more parts that are drawn than the {most} allowed")
            }
            Self::SignsTwice => f.write_str(
                "the design flips signs already: flip those of whole blocks or those of rows, not \
                 both",
            ),
            Self::SignsBetween => f.write_str(
                "the design between plots flips signs: flip those of the design within plots",
            ),
            Self::NoDerangement => {
                f.write_str("one row alone has no derangement: use at least two rows")
            }
            Self::PlotCount { plots, exchanged } => write!(
                f,
                "there are {plots} plots, and the design between plots exchanges {exchanged}: give \
                 it as many rows as there are plots"
            ),
            Self::PlotSize { plot, rows, expected } => write!(
                f,
                "plot {plot} has {rows} rows, and the design within plots {expected}: whole plots \
                 can only be exchanged if they are equally large"
            ),
            Self::NotRows { place } => write!(
                f,
                "the list of rows is wrong at place {place}: it must have each row of the design \
                 once"
            ),
            Self::TreeLevels { row } => write!(
                f,
                "row {row} of the tree has another number of levels than row 0: give each row a \
                 label for each level"
            ),
            Self::TreeLabel { row, level } => write!(
                f,
                "the label of row {row} at level {level} is 0, or has another sign than other rows \
                 of its block: labels are above 0 where parts are exchanged, and below 0 otherwise"
            ),
            Self::TooManyArrangements => f.write_str(
                "the design has 2^64 arrangements or more, too many to enumerate: draw some instead",
            ),
            Self::NoSuchRank { rank, count } => {
                write!(f, "there is no arrangement {rank}: the design has {count}")
            }
            Self::TooFewArrangements { asked, available } => write!(
                f,
                "{asked} different arrangements were asked for, and the design has {available} \
                 besides the identity: ask for fewer, or enumerate all"
            ),
            Self::BeyondLast { first, count } => write!(
                f,
                "{count} arrangements from {first} on were asked for, and 2^64 - 2 is the last: ask \
                 for fewer"
            ),
            Self::SliceLength { expected, actual } => {
                write!(f, "the slice has {actual} items, and {expected} are needed")
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

impl From<BijectionError> for Error {
    fn from(error: BijectionError) -> Self {
        Self::Shuffle(error.into())
    }
}

impl From<SeedError> for Error {
    fn from(error: SeedError) -> Self {
        Self::Shuffle(error.into())
    }
}

#[doc(hidden)]
impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self::Shuffle(error.into())
    }
}
