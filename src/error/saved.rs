//! [`SavedError`]: what is wrong with a saved text.

use super::SeedError;
use core::fmt;

/// Why a saved text, or what was read from it, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedError {
    /// The text is not a saved [`Seed`](crate::Seed).
    Seed(SeedError),
    /// The text is not a saved `Cursor`.
    NotACursor,
    /// The text is not a saved state of a sampler.
    NotAState,
    /// The `Cursor` or the state belongs to another permutation or sampler, or was altered.
    Foreign,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(error) => error.fmt(f),
            Self::NotACursor => f.write_str("the text is not a saved cursor"),
            Self::NotAState => f.write_str("the text is not a saved state of a sampler"),
            Self::Foreign => f.write_str(
                "what was saved belongs to another permutation or sampler, or was altered",
            ),
        }
    }
}
