//! [`Error`]: why something cannot be resampled or tested.

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
    /// A value of the data is NaN or infinite.
    NotFinite {
        /// Its place in the data.
        index: u64,
    },
    /// The data are constant, and the statistic divides by their spread.
    Constant,
    /// A sample or group has too few rows for the statistic.
    SmallSample {
        /// Its number of rows.
        rows: u64,
        /// The smallest number that is needed.
        least: u64,
    },
    /// The sizes of groups are not those of at least two groups of all rows, none of them empty.
    GroupSizes {
        /// The number of rows.
        rows: u64,
    },
    /// Designs or data that belong together have different numbers of rows.
    RowCount {
        /// The number of rows of the design, or of the first data.
        expected: u64,
        /// The number of rows of the others.
        actual: u64,
    },
    /// A matrix of distances is not square.
    NotSquare {
        /// Its number of entries.
        items: u64,
    },
    /// An entry of a matrix of distances is negative, differs from that on the other side of the
    /// diagonal, or is not 0 on it.
    NotDistances {
        /// The entry's row.
        row: u64,
        /// The entry's column.
        column: u64,
    },
    /// The design flips signs, and the statistic does not take them.
    SignsUnused,
    /// The numbers of a rule for ending a test early are out of range, or the test is two-sided.
    StopRule,
    /// A tally is not of this test, or the text is not a tally.
    Tally,
    /// The statistic of an arrangement is NaN.
    NotANumber {
        /// The arrangement's number; `None` for the data as they are.
        arrangement: Option<u64>,
    },
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
    RowRange {
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
            Self::NotFinite { index } => write!(
                f,
                "value {index} of the data is NaN or infinite: leave its row out, in the design too"
            ),
            Self::Constant => f.write_str(
                "the data are constant, so the statistic is 0 divided by 0: there is nothing to test",
            ),
            Self::SmallSample { rows, least } => write!(
                f,
                "a sample or group has {rows} rows, and the statistic needs at least {least}"
            ),
            Self::GroupSizes { rows } => write!(
                f,
                "the groups must be at least two, none of them empty, and their sizes must add up \
                 to the {rows} rows"
            ),
            Self::RowCount { expected, actual } => write!(
                f,
                "one part of the test has {expected} rows, and another {actual}: design and data \
                 must have the same rows"
            ),
            Self::NotSquare { items } => write!(
                f,
                "a matrix of {items} entries is not square: give all rows and all columns"
            ),
            Self::NotDistances { row, column } => write!(
                f,
                "the entry at row {row} and column {column} is no distance: entries are 0 on the \
                 diagonal, equal on both sides of it, and never negative"
            ),
            Self::SignsUnused => f.write_str(
                "the design flips signs, and the statistic does not take them: use a design without \
                 signs, or another statistic",
            ),
            Self::StopRule => f.write_str(
                "the test cannot end early by this rule: counts are above 0, thresholds between 0 \
                 and 1, risks between 0 and 1/2, and the alternative is Greater, Less or Absolute",
            ),
            Self::Tally => f.write_str("the tally is not one of this test: begin with a new one"),
            Self::NotANumber { arrangement: None } => {
                f.write_str("the statistic of the data is NaN: nothing can be compared with it")
            }
            Self::NotANumber { arrangement: Some(number) } => {
                write!(f, "the statistic of arrangement {number} is NaN: give it a value")
            }
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
            Self::RowRange { first, end } => write!(
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
