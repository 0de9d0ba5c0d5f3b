//! [`LengthMismatch`]: a slice that is too short or too long.

use core::fmt;

/// A slice differs in length from what it is for. The errors of packages have a variant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    /// The length that the slice should have.
    pub expected: u64,
    /// The slice's actual length.
    pub actual: u64,
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, actual } = self;
        write!(
            f,
            "a slice of {actual} items was given for {expected} items: the lengths must be equal"
        )
    }
}
