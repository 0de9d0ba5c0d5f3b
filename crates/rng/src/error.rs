//! [`GeneratorError`]: why a generator cannot be constructed from the given numbers.

use bijective_shuffle_engine::OutOfMemory;
use core::fmt;

/// Why a random number generator, or an ensemble of generators, cannot be constructed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GeneratorError {
    /// The ensemble has no streams.
    NoStreams,
    /// A leapfrog stream's number is not below the number of streams.
    NoSuchStream {
        /// The stream's number.
        stream: u64,
        /// The number of streams.
        streams: u64,
    },
    /// The multiplier `a` does not give a `Mwc` its full period, because
    /// `2^32 a - 1` is not a safe prime.
    NotASafePrime {
        /// The multiplier asked for.
        multiplier: u32,
    },
    /// The state is not on the generator's cycle; a xorshift generator, for example, cannot start
    /// from all zeros.
    InvalidState,
    /// There are fewer multipliers than streams, and each stream needs its own.
    TooFewMultipliers {
        /// The number of streams asked for.
        streams: usize,
        /// The number of multipliers available.
        multipliers: usize,
    },
    /// Memory could not be allocated.
    OutOfMemory {
        /// The size asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStreams => f.write_str("an ensemble needs at least one stream"),
            Self::NoSuchStream { stream, streams } => {
                write!(f, "there is no stream {stream} of {streams}: streams are counted from 0")
            }
            Self::NotASafePrime { multiplier } => {
                write!(
                    f,
                    "the multiplier {multiplier} does not give the full period: 2^32 times it, minus 1, \
                     must be a safe prime"
                )
            }
            Self::InvalidState => f.write_str(
                "the state is not on the generator's cycle: a xorshift, for example, cannot start from \
                 zeros",
            ),
            Self::TooFewMultipliers { streams, multipliers } => {
                write!(
                    f,
                    "{streams} streams need a multiplier each, and there are only {multipliers}"
                )
            }
            Self::OutOfMemory { bytes } => OutOfMemory { bytes: *bytes }.fmt(f),
        }
    }
}

impl std::error::Error for GeneratorError {}

#[doc(hidden)]
impl From<OutOfMemory> for GeneratorError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}
