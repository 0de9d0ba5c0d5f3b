//! [`OutOfMemory`]: all that allocating can give but memory.

use core::fmt;

/// Memory could not be allocated. Each package's own error has a variant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The size asked for, in bytes; `u64::MAX` if the number does not fit.
    pub bytes: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of working memory could not be allocated", self.bytes)
    }
}
