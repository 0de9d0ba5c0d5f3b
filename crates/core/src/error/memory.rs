//! [`OutOfMemory`]: the error of a failed allocation.

use core::fmt;

/// Memory could not be allocated. Each package's own error has a variant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The size asked for, in bytes; `u64::MAX` if the number does not fit.
    pub bytes: u64,
}

impl OutOfMemory {
    /// The error of an allocation for as many items.
    #[doc(hidden)]
    pub const fn for_items<T>(len: u64) -> Self {
        Self { bytes: len.saturating_mul(size_of::<T>() as u64) }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of working memory could not be allocated", self.bytes)
    }
}
