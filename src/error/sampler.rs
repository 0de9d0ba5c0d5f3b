//! [`SamplerError`]: what is wrong with a sampler's numbers, or with a saved state.

use core::fmt;

/// Why a [`Sampler`](crate::Sampler) cannot be made, or cannot go on from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplerError {
    /// There are no items to take.
    NoItems,
    /// Batches of no items were asked for.
    EmptyBatch,
    /// The items that all ranks take in a step are more than 2^64 - 1.
    GlobalBatch {
        /// The number of ranks.
        world: u64,
        /// The items a rank takes in a step.
        batch: u64,
    },
    /// A text is not that of a [`SamplerState`](crate::SamplerState).
    BadState,
    /// A [`SamplerState`](crate::SamplerState) is of a sampler with another length, seed or order,
    /// or was changed.
    ForeignState,
}

impl fmt::Display for SamplerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoItems => f.write_str("a sampler needs at least one item"),
            Self::EmptyBatch => f.write_str("a sampler needs batches of at least one item"),
            Self::GlobalBatch { world, batch } => write!(
                f,
                "{world} ranks with {batch} items each take more in a step than 64 bits count: \
                 use smaller batches"
            ),
            Self::BadState => f.write_str("the text is not that of a sampler's state"),
            Self::ForeignState => f.write_str(
                "the state is of a sampler with another length, seed or order, or was changed",
            ),
        }
    }
}
