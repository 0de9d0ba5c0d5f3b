//! [`SavedError`]: what is wrong with a text that was saved.

use core::fmt;

/// Why a text is refused that a program saved earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedError {
    /// A text is not that of a [`Seed`](crate::Seed).
    Seed,
    /// A text is not that of a [`Cursor`](crate::Cursor).
    Cursor,
    /// A [`Cursor`](crate::Cursor) is of another permutation, or was changed.
    ForeignCursor,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed => f.write_str(
                "the text is not that of a seed: a number below 2^64 or 64 hexadecimal digits, and \
                 then `@` and the epoch, if it is not 0",
            ),
            Self::Cursor => f.write_str("the text is not that of a cursor"),
            Self::ForeignCursor => {
                f.write_str("the cursor is of another permutation, or was changed")
            }
        }
    }
}
