//! [`SavedError`]: what is wrong with a saved text.

use core::fmt;

/// Why a saved text is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedError {
    /// The text is not a saved [`Seed`](crate::Seed).
    Seed,
    /// The text is not a saved `Cursor`.
    Cursor,
    /// The `Cursor` belongs to another permutation, or was altered.
    ForeignCursor,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed => f.write_str(
                "the text is not a seed: a number below 2^64 or 64 hexadecimal digits, and then `@` \
                 and the epoch, if it is not 0",
            ),
            Self::Cursor => f.write_str("the text is not a saved cursor"),
            Self::ForeignCursor => {
                f.write_str("the cursor belongs to another permutation, or was altered")
            }
        }
    }
}
