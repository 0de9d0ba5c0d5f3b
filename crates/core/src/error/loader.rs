//! [`LoaderError`]: why draws by weights, or a mixture of sets, are not possible.

use core::fmt;

/// Why something of the package `bijective-shuffle-loaders` cannot be constructed or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoaderError {
    /// No weight is above 0, so nothing can be drawn.
    NoWeight,
    /// The weights add up to 2^64 or more.
    TotalWeight,
    /// A weight is negative, infinite or NaN.
    NotAWeight {
        /// Its place among the weights.
        index: u64,
    },
    /// More items are to be drawn without replacement than have a weight above 0.
    SampleTooLarge {
        /// The number of items asked for.
        count: u64,
        /// The number of items with a weight above 0.
        available: u64,
    },
    /// The table was not made for draws by weights, or was altered.
    NotATable,
    /// There is not one weight for each set.
    SetCount {
        /// The number of sets.
        sets: u64,
        /// The number of weights.
        weights: u64,
    },
    /// A set with a weight above 0 has no items.
    EmptySet {
        /// Its place among the sets.
        set: u64,
    },
    /// A mixture is to change before its last change.
    ChangeTooEarly {
        /// The position from which on it is to change.
        from: u64,
        /// The position of the last change.
        last: u64,
    },
    /// The text is not a saved mixture.
    NotAMixture,
    /// Positions are counted up to 2^64 - 1, and an epoch would begin or end behind that.
    PositionTooLarge {
        /// The epoch.
        epoch: u64,
        /// The number of positions in an epoch.
        len: u64,
    },
}

impl fmt::Display for LoaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWeight => f.write_str("at least one weight must be above 0"),
            Self::TotalWeight => f.write_str(
                "the weights add up to 2^64 or more: divide them by a common factor, or pass them \
                 as floating-point numbers",
            ),
            Self::NotAWeight { index } => write!(
                f,
                "weight {index} is negative, infinite or NaN: weights are finite numbers from 0 on"
            ),
            Self::SampleTooLarge { count, available } => write!(
                f,
                "{count} items cannot be drawn without replacement from the {available} that have \
                 a weight above 0: draw fewer"
            ),
            Self::NotATable => f.write_str(
                "the table was not made for draws by weights, or was altered: make it again from \
                 the weights",
            ),
            Self::SetCount { sets, weights } => write!(
                f,
                "{weights} weights were given for {sets} sets: give one weight for each set"
            ),
            Self::EmptySet { set } => write!(
                f,
                "set {set} has a weight above 0 and no items: leave it out, or set its weight to 0"
            ),
            Self::ChangeTooEarly { from, last } => write!(
                f,
                "the mixture cannot change at position {from}, because it changes at position \
                 {last} already: make changes in the order of their positions"
            ),
            Self::NotAMixture => f.write_str("the text is not a saved mixture"),
            Self::PositionTooLarge { epoch, len } => write!(
                f,
                "epoch {epoch} of {len} positions ends behind position 2^64 - 1, the last there \
                 is: use a smaller epoch"
            ),
        }
    }
}
