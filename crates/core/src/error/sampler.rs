//! [`SamplerError`]: what is wrong with a sampler's numbers or its saved state.

use core::fmt;

/// Why a `Sampler` cannot be constructed, or cannot continue from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplerError {
    /// The sampler has no items.
    NoItems,
    /// A batch would have no items.
    EmptyBatch,
    /// All ranks together would take more than 2^64 - 1 items in a step.
    GlobalBatch {
        /// The number of ranks.
        ranks: u64,
        /// The number of items that a rank takes in a step.
        batch: u64,
    },
    /// The text is not a saved `SamplerState`.
    BadState,
    /// The `SamplerState` belongs to a sampler with another length, seed or
    /// order, or was altered.
    ForeignState,
}

impl fmt::Display for SamplerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoItems => f.write_str("a sampler needs at least one item"),
            Self::EmptyBatch => f.write_str("a sampler needs batches of at least one item"),
            Self::GlobalBatch { ranks, batch } => write!(
                f,
                "{ranks} ranks with {batch} items each take more in a step than 64 bits count: \
                 use smaller batches"
            ),
            Self::BadState => f.write_str("the text is not a saved state of a sampler"),
            Self::ForeignState => f.write_str(
                "the state belongs to a sampler with another length, seed or order, or was altered",
            ),
        }
    }
}
