//! [`Error`]: why what training loops draw is not possible.

use core::fmt;

use bijective_shuffle::error::{BijectionError, SeedError};
use bijective_shuffle_engine::OutOfMemory;

/// Why something of this package cannot be constructed, or a question cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No weight is above 0, so nothing can be drawn.
    NoWeight,
    /// The weights add up to 2^64 or more.
    TotalWeightTooLarge,
    /// A weight is negative, infinite or NaN.
    NotAWeight {
        /// Its place among the weights.
        index: u64,
    },
    /// A weight has changed since it was first read.
    WeightsChanged,
    /// More items are to be drawn without replacement than have a weight above 0.
    SampleTooLarge {
        /// The number of items asked for.
        count: u64,
        /// The number of items with a weight above 0.
        available: u64,
    },
    /// The table was not made for draws by weights, or was altered.
    NotATable,
    /// The number of weights is not the number of sets.
    SetCountMismatch {
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
    /// A change of a mixture lies before its last change.
    ChangeTooEarly {
        /// The place from which on it is to change.
        from: u64,
        /// The place of the last change.
        last: u64,
    },
    /// The text is not a saved mixture.
    NotAMixture,
    /// A number of places was given for an epoch that has a number of its own.
    EpochLengthMismatch {
        /// The number of places asked for.
        asked: u64,
        /// The number of places that the epoch has.
        has: u64,
    },
    /// The lengths of the documents or items add up to 2^63 or more.
    TotalLengthTooLarge,
    /// A sequence has no tokens, or shares so many with the next that it has none of its own.
    SequenceLengthOutOfRange {
        /// The number of tokens that a sequence has for itself.
        length: u64,
        /// The number of tokens that it shares with the next one.
        overlap: u64,
    },
    /// All documents together are shorter than one sequence.
    TooFewTokens {
        /// The number of tokens of all documents.
        total: u64,
        /// The number of tokens of a sequence.
        needed: u64,
    },
    /// A length has changed since the index was built.
    LengthsChanged,
    /// An item has more tokens than a batch may have.
    ItemTooLong {
        /// The item.
        item: u64,
        /// Its number of tokens.
        length: u64,
        /// The largest number of tokens of a batch.
        most: u64,
    },
    /// A window or a buffer holds no items, or more than it can.
    WindowSizeOutOfRange {
        /// The number of items.
        size: u64,
        /// The largest number of items.
        most: u64,
    },
    /// The resumed input lacks an item that was in the stream's buffer.
    StreamItemMissing {
        /// Its number in the input, counted from 0.
        item: u64,
    },
    /// The input of a stream is longer than when the state was saved.
    StreamTooLong {
        /// The number of items that it had.
        items: u64,
    },
    /// There are no shares, more than 2^16, or their sum is too large.
    SharesOutOfRange,
    /// There are fewer items than parts with a share, so that some would be empty.
    TooFewItems {
        /// The number of items.
        items: u64,
        /// The number of parts with a share.
        parts: u64,
    },
    /// There are no nodes, or more nodes than blocks.
    NodeCountOutOfRange {
        /// The number of blocks.
        blocks: u64,
        /// The number of nodes.
        nodes: u64,
    },
    /// The share of its blocks that a node keeps is not from 0 to 1.
    KeptShareOutOfRange,
    /// An epoch would begin or end after place 2^64 - 1, the last that can be counted.
    EpochTooLarge {
        /// The epoch.
        epoch: u64,
        /// The number of places in an epoch.
        len: u64,
    },
    /// Places beyond the last one, 2^64 - 1, were asked for.
    PlacesOutOfRange {
        /// The first place asked for.
        first: u64,
        /// The number of places asked for.
        count: u64,
    },
    /// The library has refused the call, or memory could not be allocated.
    Shuffle(bijective_shuffle::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWeight => f.write_str("at least one weight must be above 0"),
            Self::TotalWeightTooLarge => f.write_str(
                "the weights add up to 2^64 or more: divide them by a common factor, or pass them \
                 as floating-point numbers",
            ),
            Self::NotAWeight { index } => write!(
                f,
                "weight {index} is negative, infinite or NaN: weights are finite numbers from 0 on"
            ),
            Self::WeightsChanged => f.write_str(
                "a weight is not what it was when it was first read: let the weights stay as they \
                 are until the table is built",
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
            Self::SetCountMismatch { sets, weights } => write!(
                f,
                "{weights} weights were given for {sets} sets: give one weight for each set"
            ),
            Self::EmptySet { set } => write!(
                f,
                "set {set} has a weight above 0 and no items: leave it out, or set its weight to 0"
            ),
            Self::ChangeTooEarly { from, last } => write!(
                f,
                "the mixture cannot change at place {from}, because it changes at place \
                 {last} already: make changes in the order of their places"
            ),
            Self::NotAMixture => f.write_str("the text is not a saved mixture"),
            Self::EpochLengthMismatch { asked, has } => write!(
                f,
                "an epoch of {asked} places was asked for, and this one has {has}: leave the number \
                 out"
            ),
            Self::TotalLengthTooLarge => f.write_str(
                "the lengths add up to 2^63 or more: give lengths in tokens, not in bits or bytes",
            ),
            Self::SequenceLengthOutOfRange { length, overlap } => write!(
                f,
                "a sequence of {length} tokens that shares {overlap} with the next is not possible: \
                 its length is at least 1 and at most 2^32, and it shares no more than its length"
            ),
            Self::TooFewTokens { total, needed } => write!(
                f,
                "the documents have {total} tokens, fewer than the {needed} of one sequence: use \
                 shorter sequences, or more documents"
            ),
            Self::LengthsChanged => f.write_str(
                "a length is not what it was when the index was built: build the index again from \
                 the present lengths",
            ),
            Self::ItemTooLong { item, length, most } => write!(
                f,
                "item {item} has {length} tokens, more than the {most} of a batch: cut the item, or \
                 allow more tokens"
            ),
            Self::WindowSizeOutOfRange { size, most } => write!(
                f,
                "a window or buffer of {size} items is not possible: it holds from 1 to {most}"
            ),
            Self::StreamItemMissing { item } => write!(
                f,
                "the input has no item {item}, where the state goes on: begin it earlier, and \
                 with the same items as before"
            ),
            Self::StreamTooLong { items } => write!(
                f,
                "the input goes on behind its {items} items, with which it had ended when the state \
                 was saved: go on with the same items as before, and read new ones in the next epoch"
            ),
            Self::SharesOutOfRange => f.write_str(
                "shares are from 1 to 65,536 whole numbers, of which at least one is above 0, and \
                 whose sum, divided by their greatest common divisor, is at most 2^20: give simpler \
                 shares",
            ),
            Self::TooFewItems { items, parts } => write!(
                f,
                "{items} items cannot be shared out to {parts} parts so that none is empty: give \
                 more items, or fewer parts"
            ),
            Self::NodeCountOutOfRange { blocks, nodes } => write!(
                f,
                "{blocks} blocks cannot be shared out to {nodes} nodes: use at least one node, and \
                 at most as many as there are blocks"
            ),
            Self::KeptShareOutOfRange => f.write_str(
                "the share of its blocks that a node keeps is not a number from 0 to 1: give 0.9 for \
                 nine of ten",
            ),
            Self::EpochTooLarge { epoch, len } => write!(
                f,
                "epoch {epoch} of {len} places ends after place 2^64 - 1, the last one: use a \
                 smaller epoch"
            ),
            Self::PlacesOutOfRange { first, count } => write!(
                f,
                "{count} places from {first} on were asked for, and place 2^64 - 1 is the \
                 last: ask for fewer"
            ),
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
