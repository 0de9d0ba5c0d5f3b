//! [`GeneratorError`]: what is wrong with the numbers that a generator is made of.

use core::fmt;

/// Why a generator of random numbers, or an ensemble of them, cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GeneratorError {
    /// An ensemble of no streams was asked for.
    NoStreams,
    /// The number of a leapfrog stream is not below the number of streams.
    NoSuchStream {
        /// The number of the stream, which must be below the number of streams.
        stream: u64,
        /// The number of streams.
        streams: u64,
    },
    /// A multiplier `a` does not give a [`Mwc`](crate::rng::Mwc) its full period: `2^32 a - 1` is no safe prime.
    NotASafePrime {
        /// The multiplier asked for.
        multiplier: u32,
    },
    /// A generator cannot start from this state: it is none of its cycle, such as a xorshift of zeros.
    InvalidState,
    /// An ensemble of more streams with multipliers of their own was asked for than there are multipliers.
    TooFewMultipliers {
        /// The streams asked for.
        streams: usize,
        /// The multipliers that there are.
        multipliers: usize,
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
                    "the multiplier {multiplier} is not good: 2^32 times it, less 1, must be a safe prime"
                )
            }
            Self::InvalidState => f.write_str(
                "the state is none of the generator's cycle, such as a xorshift of zeros",
            ),
            Self::TooFewMultipliers { streams, multipliers } => {
                write!(
                    f,
                    "{streams} streams with multipliers of their own were asked for: there are {multipliers} multipliers"
                )
            }
        }
    }
}
