//! [`ExchangeError`]: what is wrong with an exchange between ranks.

use core::fmt;

/// Why an exchange between ranks cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Two divisions are of different numbers of ranks.
    RankCountMismatch {
        /// The number of ranks in the division of what is held before the exchange.
        from: usize,
        /// The number of ranks in the division of what is held after it.
        to: usize,
    },
    /// The ranks' counts of places add up to more than 64 bits can hold.
    TooManyPlaces,
    /// The counts of a census are not those of the permutation, or the exchange needs a census and
    /// was given none.
    CensusMismatch,
    /// The items that are to be received are not those that the permutation sends. The ranks
    /// disagree, or the map is no bijection.
    ItemsMismatch,
    /// A rank asked for something else than the first one did. Nothing was moved.
    Disagreement {
        /// The lowest rank that differs from rank 0.
        rank: usize,
        /// In what they differ.
        about: &'static str,
    },
    /// Another rank has failed, and has an error that says why. Nothing was moved.
    RankFailed {
        /// The lowest rank that has failed.
        rank: usize,
    },
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RankCountMismatch { from, to } => write!(
                f,
                "the items are divided among {from} ranks before the exchange and among {to} \
                 after it"
            ),
            Self::TooManyPlaces => write!(f, "the ranks hold more places than 2^64 - 1"),
            Self::CensusMismatch => {
                write!(f, "the census is missing, or of another permutation, or of no bijection")
            }
            Self::ItemsMismatch => write!(
                f,
                "the items received are not those that the permutation sends: the ranks \
                 disagree, or the map is not a bijection"
            ),
            Self::Disagreement { rank, about } => {
                write!(f, "rank {rank} and rank 0 do not agree on {about}")
            }
            Self::RankFailed { rank } => {
                write!(f, "rank {rank} could not take part: its own error says why")
            }
        }
    }
}
